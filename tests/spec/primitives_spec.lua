--- The examples of docs/primitives: a block of Lua followed by a block of text prints that text. A … in
--- it stands for anything on that line.
local fs = require "std.fs"

local function examples(page)
  local found, at = {}, 1
  while true do
    local _, start = page:find("```lua\n", at, true)
    if not start then
      return found
    end
    local stop, after = page:find("\n```\n", start, true)
    local output = page:match("^```text\n(.-)```\n", after + 1)
    if output then
      found[#found + 1] = { code = page:sub(start + 1, stop), output = output }
    end
    at = after + 1
  end
end

local function run(code, name)
  local lines = {}
  local env = setmetatable({ print = function(...)
    local cells = table.pack(...)
    for i = 1, cells.n do
      cells[i] = tostring(cells[i])
    end
    lines[#lines + 1] = table.concat(cells, "\t") .. "\n"
  end }, { __index = _G })
  assert(load(code, "=" .. name, "t", env))()
  return table.concat(lines)
end

local function fits(expected, printed)
  local pattern = expected:gsub("[%^%$%(%)%%%.%[%]%*%+%-%?]", "%%%0"):gsub("…", "[^\n]*")
  return printed:find("^" .. pattern .. "$") ~= nil
end

describe("docs/primitives", function()
  for _, entry in ipairs(assert(fs.list "docs/primitives")) do
    for n, example in ipairs(examples((fs.read("docs/primitives/" .. entry.name)))) do
      it(("%s, example %d"):format(entry.name, n), function()
        local printed = run(example.code, entry.name)
        if not fits(example.output, printed) then
          assert.equal(example.output, printed)
        end
      end)
    end
  end
end)
