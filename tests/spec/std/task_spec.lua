local task = require "std.task"

local function closing(fn)
  return setmetatable({}, { __close = fn })
end

describe("std.task", function()
  it("gives a task's results to who waits #oom", function()
    local child = assert(task.spawn(function(a, b)
      task.sleep(0)
      return a + b, nil, "third"
    end, 1, 2))
    assert.are.same({ true, 3, nil, "third" }, { child:wait() })
    assert.are.same({ true, 3, nil, "third" }, { child:wait() })
  end)

  it("gives nil and the error of a task that raised", function()
    local ok, err = task.spawn(error, "no luck", 0):wait()
    assert.is_nil(ok)
    assert.equal("no luck", err)
  end)
end)
