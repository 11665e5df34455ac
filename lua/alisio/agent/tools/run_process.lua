--- Runs a program, without a shell between.
local json = require "std.json"
local program = require "alisio.agent.program"

return {
  name = "run_process",
  description = "Runs a program with its arguments, no shell between, and gives exit status and output. "
    .. "Its whole process tree ends with it or at the time limit.",
  effect = "process",
  capability = "process.run",
  input = {
    argv = { "string[]", "the program and its arguments", minItems = 1 },
    cwd = program.input.cwd,
    timeoutMs = program.input.timeoutMs,
    stdin = program.input.stdin,
  },
  approval = function(input, call)
    return program.approval("run_process", input.argv, json.encode(json.array(input.argv)), input, call)
  end,
  run = function(args, call)
    return program.run(args.argv, args, call)
  end,
}
