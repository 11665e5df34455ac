--- The recorded streams of tests/data/openai: each .sse with what it means beside it, in JSON.
local fs = require "std.fs"
local json = require "std.json"

local M = {}

--- A copy without JSON's nulls.
local function plain(value)
  if value == json.null then
    return nil
  elseif type(value) ~= "table" then
    return value
  end
  local copy = {}
  for key, inner in pairs(value) do
    copy[key] = plain(inner)
  end
  return copy
end

local function read(name)
  return (assert(fs.read("tests/data/openai/" .. name)))
end

---@return { name: string, bytes: string, expected: table }[]
function M.all()
  local list = {}
  for _, entry in ipairs(assert(fs.list "tests/data/openai")) do
    local name = entry.name:match "^(.*)%.sse$"
    if name then
      list[#list + 1] = {
        name = name,
        bytes = read(entry.name),
        expected = plain(json.decode(read(name .. ".json"))),
      }
    end
  end
  return list
end

--- What a provider did, in the form of the expectations.
---@param stream fun(emit: function): table?, string?, string?, table?
function M.observe(stream)
  local seen, text, reasoning = { calls = {} }, {}, {}
  local result, message, id, fields = stream(function(piece)
    if piece.type == "text" then
      text[#text + 1] = piece.text
    elseif piece.type == "reasoning" then
      reasoning[#reasoning + 1] = piece.text
    elseif piece.type == "tool_call" then
      seen.calls[#seen.calls + 1] = { id = piece.id, name = piece.name, input = piece.input, badInput = piece.badInput }
    end
  end)
  seen.text, seen.reasoning = table.concat(text), #reasoning > 0 and table.concat(reasoning) or nil
  if result then
    seen.stop, seen.usage, seen.extra = result.stop, result.usage, plain(result.extra)
  else
    seen.error = { reason = fields and fields.reason, retry = fields and fields.retry and true or false }
    seen.message, seen.id = message, id
  end
  return seen
end

--- Compares what was seen with what is expected; an id "*" is any id of its own.
function M.check(assert, seen, stream)
  local want, ids = stream.expected, {}
  assert.equal(want.text, seen.text, stream.name)
  assert.equal(want.reasoning, seen.reasoning, stream.name)
  if want.error then
    assert.same({}, seen.calls, stream.name)
    assert.same(want.error, seen.error, stream.name)
    assert.equal("provider_failed", seen.id, stream.name)
    return
  end
  assert.is_nil(seen.message, stream.name)
  assert.equal(#want.calls, #seen.calls, stream.name)
  for i, call in ipairs(want.calls) do
    local got = seen.calls[i]
    assert.is_true(call.id == "*" and #got.id > 0 or call.id == got.id, stream.name)
    assert.is_nil(ids[got.id], stream.name)
    ids[got.id] = true
    assert.equal(call.name, got.name, stream.name)
    assert.same(call.input, plain(got.input), stream.name)
    assert.equal(call.badInput, got.badInput, stream.name)
  end
  assert.equal(want.stop, seen.stop, stream.name)
  assert.same(want.usage, seen.usage, stream.name)
  assert.same(want.extra, seen.extra, stream.name)
end

return M
