--- `require "alisio"`: what a user's init.lua, plugins and scripts are written with. Only names that
-- live elsewhere; nothing of Alisio itself requires this file.
local script = require "alisio.agent.script"
local hooks = require "alisio.agent.hooks"
local models = require "alisio.agent.model"
local permission = require "alisio.agent.permission"
local toolset = require "alisio.agent.toolset"

return {
  setup = script.setup,
  tool = toolset.add,
  model = models.add,
  permission = permission.rule,
  on = hooks.on,
  before = hooks.before,
  deny = hooks.deny,
  hooks = hooks.list,
  command = script.command,
  agent = script.agent,
  run = script.run,
  python = script.python,
  dataset = { open = script.open_dataset },
}
