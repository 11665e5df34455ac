local context = require "alisio.agent.context"

describe("the context", function()
  it("cuts a result on characters, keeping both ends and saying how much is missing", function()
    assert.equal("short", context.cap("short", 10))
    assert.equal(("é"):rep(10), context.cap(("é"):rep(10), 10))
    local cut = context.cap("A" .. ("é"):rep(98) .. "Z", 20)
    assert.equal("A" .. ("é"):rep(14) .. "\n[cut here: 80 of 100 characters are not shown; ask for less at a time]\n"
      .. ("é"):rep(4) .. "Z", cut)
  end)

  local function started(id, name)
    return { type = "tool_started", callId = id, name = name or "t", input = { n = id } }
  end
  local function completed(id, status, words)
    return {
      type = "tool_completed", callId = id, name = "t", status = status or "ok",
      output = words and { { type = "text", text = words } } or {},
    }
  end
  local function shape(events)
    local out = {}
    for i, message in ipairs(context.messages(events)) do
      local calls = {}
      for k, call in ipairs(message.toolCalls or {}) do
        calls[k] = call.id
      end
      out[i] = message.role .. ":" .. (message.callId or table.concat(calls, "+")) .. ":" .. message.text
    end
    return out
  end

  it("rebuilds turns, with results in the order of the calls whenever they came", function()
    assert.same({ "user::hi", "assistant:a+b:Looking.", "tool:a:one", "tool:b:two", "assistant::Done." }, shape {
      { type = "session_opened" },
      { type = "run_started", prompt = "hi" },
      { type = "message_completed", role = "assistant", text = "Looking." },
      started "a", started "b", completed("b", "ok", "two"), completed("a", "ok", "one"),
      { type = "turn_completed" },
      { type = "message_completed", role = "assistant", text = "Done." },
      { type = "turn_completed" },
      { type = "run_completed" },
    })
  end)

  it("keeps turns apart that have calls and no words", function()
    assert.same({ "user::hi", "assistant:a:", "tool:a:1", "assistant:b:", "tool:b:2" }, shape {
      { type = "run_started", prompt = "hi" },
      started "a", completed("a", "ok", "1"), { type = "turn_completed" },
      started "b", completed("b", "ok", "2"), { type = "turn_completed" },
    })
  end)

  it("answers a call that has no result, so that no provider meets an open one", function()
    local messages = context.messages {
      { type = "run_started", prompt = "hi" },
      started "a", started "b", completed("a", "ok", "1"),
      { type = "run_completed", status = "cancelled" },
      { type = "run_started", prompt = "again" },
    }
    assert.equal("uncertain", messages[4].status)
    assert.matches("not known", messages[4].text)
    assert.equal("again", messages[5].text)
  end)

  it("keeps a partial message of a cancelled run, and adds no empty request for a run that went on", function()
    assert.same({ "user::hi", "assistant::Half", "assistant::Whole" }, shape {
      { type = "run_started", prompt = "hi" },
      { type = "message_completed", role = "assistant", text = "Half", partial = true },
      { type = "run_completed", status = "cancelled" },
      { type = "run_started", prompt = "" },
      { type = "message_completed", role = "assistant", text = "Whole" },
      { type = "run_completed", status = "completed" },
    })
  end)

  it("counts what it sends in characters", function()
    local request = { system = "é", messages = { { role = "user", text = "éé" } }, tools = {} }
    assert.equal(3, context.characters(request))
    request.messages[2] = { role = "assistant", text = "", toolCalls = { { name = "ab", input = {} } } }
    assert.equal(7, context.characters(request))
  end)
end)
