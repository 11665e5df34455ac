--- Runs a command line in a shell.
local command = require "alisio.agent.command"

return {
  name = "shell",
  description = "Runs a command line with /bin/sh and gives exit status and output. "
    .. "Its whole process tree ends with it or at the time limit.",
  effect = "process",
  capability = "process.shell",
  input = {
    command = { "string", "the command line", minLength = 1 },
    cwd = command.input.cwd,
    timeoutMs = command.input.timeoutMs,
    stdin = command.input.stdin,
  },
  approval = function(input, call)
    return command.approval("shell", { input.command }, input.command, input, call)
  end,
  run = function(args, call)
    return command.run({ "/bin/sh", "-c", args.command }, args, call)
  end,
}
