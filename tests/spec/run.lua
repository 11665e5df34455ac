--- Runs specs inside the program, all of them as one task, so that they call what waits directly:
---   build/alisio script tests/spec/run.lua [--filter PATTERN] [FILE or FOLDER ...]
--- A test whose name says #oom is run again and again with one allocation failing, the first, the
--- second, …, until it passes untouched (builds with test hooks only). Helpers: `require "spec.…"`.
package.path = "tests/?.lua;" .. package.path

local task = require "std.task"
local has_hooks, hooks = pcall(require, "host.test")

local MOST_FAILURES = 20000

-- What a round left running may still have its second to end.
local function settle(before)
  for _ = 1, 200 do
    if hooks.tasks() <= before then
      return
    end
    task.sleep(10)
  end
  error(("%d tasks were left running"):format(hooks.tasks() - before), 0)
end

-- One round for each allocation of the body. Under a failure the body may fail as it likes.
local function torture(body)
  body() -- modules it requires are loaded after this
  local before = hooks.tasks()
  task.on_error(function() end)
  local _ <close> = setmetatable({}, { __close = function()
    task.on_error(nil)
  end })
  for _, of in ipairs { "lua", "c" } do
    for n = 1, MOST_FAILURES do
      hooks.fail(of, n)
      local ok, err = pcall(body)
      local fired = hooks.fail(of, 0)
      if not fired then
        if not ok then
          error(err, 0)
        end
        break
      elseif n == MOST_FAILURES then
        error("still allocating after " .. n .. " rounds", 0)
      end
      task.sleep(0)
    end
  end
  settle(before)
end

local function read_arguments(...)
  local filters, paths, words = {}, {}, { ... }
  local i = 1
  while i <= #words do
    if words[i] == "--filter" then
      i = i + 1
      filters[#filters + 1] = words[i]
    else
      paths[#paths + 1] = words[i]
    end
    i = i + 1
  end
  return filters, #paths > 0 and paths or { "tests/spec" }
end

local function count(busted)
  local counts = { success = 0, failure = 0, error = 0, pending = 0 }
  busted.subscribe({ "test", "end" }, function(_, _, status)
    counts[status] = counts[status] + 1
    return nil, true
  end)
  busted.subscribe({ "error" }, function(element)
    if element.descriptor ~= "it" then
      counts.error = counts.error + 1
    end
    return nil, true
  end)
  return counts
end

-- Says why a test is skipped.
local function report_pending(busted)
  busted.subscribe({ "pending" }, function(element, _, message)
    print(("\nSKIP %s: %s"):format(element.name, message or "no reason given"))
    return nil, true
  end)
end

local function wrap_torture(busted)
  local wrapped = {}
  busted.subscribe({ "register", "it" }, function(name, body, ...)
    if wrapped[body] or not name:find "#oom" then
      return nil, true
    end
    local function run()
      torture(body)
    end
    wrapped[run] = true
    busted.publish({ "register", "it" }, name, run, ...)
    return nil, false
  end, { priority = 1 })
end

local filters, paths = read_arguments(...)
local busted = require "busted.core"()
require "busted"(busted)
local counts = count(busted)
report_pending(busted)
require "busted.modules.output_handler_loader"()(busted, "plainTerminal", {
  defaultOutput = "plainTerminal",
  language = "en",
  arguments = {},
})
if has_hooks then
  wrap_torture(busted)
end
require "busted.modules.filter_loader"()(busted, {
  tags = {},
  excludeTags = {},
  filter = filters,
  filterOut = {},
})
require "busted.modules.test_file_loader"(busted, { "lua" })(paths, { "_spec%.lua$" }, {
  excludes = {},
  recursive = true,
})
require "busted.execute"(busted)(1, {})
busted.publish { "exit" }

local failed = counts.failure + counts.error
print(("%d passed, %d failed, %d skipped"):format(counts.success, failed, counts.pending))
return failed == 0 and 0 or 1
