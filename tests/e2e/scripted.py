"""A model that says what a test wrote down, as a user's init.lua."""
import os

MODEL = """
local alisio = require "alisio"
local task = require "std.task"
local calls = %s
alisio.model {
  name = "scripted",
  stream = function(request, emit)
    local done = 0
    for _, message in ipairs(request.messages) do
      done = done + (message.role == "assistant" and 1 or 0)
    end
    local call = calls[done + 1]
    if call and call.text then
      for _, piece in ipairs(call.text) do
        emit { type = "text", text = piece }
        task.sleep(call.pause or 0)
      end
      return { stop = "end" }
    elseif call then
      for i, one in ipairs(type(call[1]) == "table" and call or { call }) do
        emit { type = "tool_call", id = "c" .. i, name = one[1], input = one[2] }
      end
      return { stop = "tools" }
    end
    emit { type = "text", text = "The end: " .. request.messages[#request.messages].text }
    return { stop = "end" }
  end,
}
alisio.setup { model = "scripted" }
"""


def lua(value):
    """A Lua literal of strings, numbers, lists and dicts."""
    if isinstance(value, str):
        return '"' + "".join(f"\\{b:03d}" for b in value.encode()) + '"'
    if isinstance(value, dict):
        return "{" + ", ".join(f"[{lua(k)}] = {lua(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "{" + ", ".join(lua(v) for v in value) + "}"
    return str(value)


def install(env, calls, more=""):
    """Writes an init.lua whose model makes these calls, one a turn, then repeats the last result."""
    config = env["ALISIO_CONFIG_HOME"]
    os.makedirs(config, exist_ok=True)
    with open(os.path.join(config, "init.lua"), "w", encoding="utf-8") as file:
        file.write(MODEL % lua(calls) + more)
