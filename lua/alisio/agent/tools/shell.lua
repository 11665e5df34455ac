--- Runs a command line in a shell.
local program = require "alisio.agent.program"

return {
  name = "shell",
  description = "Runs a command line with /bin/sh and gives exit status and output. "
    .. "Its whole process tree ends with it or at the time limit.",
  effect = "process",
  capability = "process.shell",
  input = {
    command = { "string", "the command line", minLength = 1 },
    cwd = program.input.cwd,
    timeoutMs = program.input.timeoutMs,
    stdin = program.input.stdin,
  },
  approval = function(input, call)
    return program.approval("shell", { input.command }, input.command, input, call)
  end,
  run = function(args, call)
    return program.run({ "/bin/sh", "-c", args.command }, args, call)
  end,
}
