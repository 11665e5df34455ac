--- Runs a program, without a shell between.
local json = require "std.json"
local command = require "alisio.agent.command"

return {
  name = "run_process",
  description = "Runs a program with its arguments, no shell between, and gives exit status and output. "
    .. "Its whole process tree ends with it or at the time limit.",
  effect = "process",
  capability = "process.run",
  input = {
    argv = { "string[]", "the program and its arguments", minItems = 1 },
    cwd = command.input.cwd,
    timeoutMs = command.input.timeoutMs,
    stdin = command.input.stdin,
  },
  approval = function(input, call)
    return command.approval("run_process", input.argv, json.encode(json.array(input.argv)), input, call)
  end,
  run = function(args, call)
    return command.run(args.argv, args, call)
  end,
}
