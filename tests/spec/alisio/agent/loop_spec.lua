local fs = require "std.fs"
local json = require "std.json"
local task = require "std.task"
local helper = require "spec.agent_helper"
local hooks = require "alisio.agent.hooks"
local registry = require "alisio.agent.registry"

local of = helper.of

local function text_of(event)
  return event.output[1] and event.output[1].text
end

describe("a run", function()
  local bench
  before_each(function()
    bench = helper.new()
  end)
  after_each(function()
    bench:close()
  end)

  it("streams the reply, stores it whole, and completes", function()
    local opened = bench:session()
    bench:will_reply { pieces = { "Hello ", "there." }, usage = { inputTokens = 7, outputTokens = 3 } }
    local result, events = bench:prompt(opened, "hi")
    assert.equal("completed", result.status)
    assert.equal("Hello there.", result.text)
    assert.same({ inputTokens = 7, outputTokens = 3 }, result.usage)
    local streamed = ""
    for _, event in ipairs(of(events, "message_delta")) do
      assert.is_nil(event.seq)
      streamed = streamed .. event.text
    end
    assert.equal("Hello there.", streamed)
    assert.equal("Hello there.", of(events, "message_completed")[1].text)
    assert.equal("run_completed", events[#events].type)
  end)

  it("numbers its durable events and stores them before they are told", function()
    local opened = bench:session()
    bench:will_reply({ text = "x", calls = { { "list_files", {} } } })
    local last = 0
    opened:on(function(event)
      if event.seq then
        assert.equal(last + 1, event.seq)
        last = event.seq
        local stored = bench.store:events(opened.id, { after = event.seq - 1 })
        assert.equal(event.type, stored[1].type)
      end
    end)
    bench:prompt(opened, "hi")
    assert.is_true(last > 5)
  end)

  it("answers the call of a tool that does not exist, bad JSON and bad input so that the model can mend it", function()
    local opened = bench:session()
    bench:file("a.txt", "content")
    bench:will_reply {
      calls = {
        { "red_file", { path = "a.txt" } },
        { "read_file", nil, bad = '{"path": ' },
        { "read_file", { path = 5 } },
        { "read_file", { path = "a.txt" } },
      },
    }
    local result, events = bench:prompt(opened, "hi")
    assert.equal("completed", result.status)
    local done = of(events, "tool_completed")
    local by_id = {}
    for _, event in ipairs(done) do
      by_id[event.callId] = event
    end
    assert.matches("did you mean read_file", text_of(by_id.call_1):lower())
    assert.matches("not a JSON object", text_of(by_id.call_2))
    assert.matches("%$%.path: expected a string", text_of(by_id.call_3))
    assert.matches("content", text_of(by_id.call_4))
    assert.equal("error", by_id.call_1.status)
    assert.equal("ok", by_id.call_4.status)
    -- The history holds what can be sent back, in the order of the calls.
    local messages = bench.requests[2].messages
    assert.same({}, messages[2].toolCalls[2].input)
    assert.equal("call_1", messages[3].callId)
    assert.equal("call_4", messages[6].callId)
  end)

  it("survives what is no call: input that no JSON holds, ids and names of any kind", function()
    local endless = {}
    endless.of = endless
    local inputs = { { path = print }, { 1, 2, path = "x" }, endless, "text", 5, { path = 0 / 0 } }
    for i, input in ipairs(inputs) do
      inputs[i] = { "read_file", input, id = i == 1 and "\xff" or ("i"):rep(1000) }
    end
    inputs[#inputs + 1] = { "\27[2J\xff", {} }
    bench:will_reply({ calls = inputs })
    local result, events = bench:prompt(bench:session(), "go")
    assert.equal("completed", result.status)
    local done = of(events, "tool_completed")
    assert.equal(#inputs, #done)
    for _, event in ipairs(done) do
      assert.equal("error", event.status)
      assert.is_true(#event.callId < 250)
    end
  end)

  it("says what a model handed over wrongly, and keeps what came", function()
    local opened = bench:session()
    for said, reply in pairs {
      ["emit takes"] = function(_, emit) emit(nil) end,
      ["emit: text"] = function(_, emit) emit { type = "text", text = 5 } end,
      ["level of a log"] = function(_, emit) emit { type = "log", level = "loud", text = "x" } end,
      ["not a string"] = function() return "x" end,
      ["extra of a reply"] = function(_, emit)
        emit { type = "text", text = "x" }
        return { extra = { print } }
      end,
      ["answered nothing"] = function() end,
    } do
      table.insert(bench.replies, reply)
      local result = bench:prompt(opened, "go")
      assert.same({ "failed", "provider_failed" }, { result.status, result.error.code })
      assert.is_truthy(result.error.message:find(said, 1, true), result.error.message)
    end
    bench:will_reply { text = "ok", usage = { inputTokens = "many", outputTokens = -1 } }
    assert.equal("completed", (bench:prompt(opened, "go")).status)
  end)

  it("runs the first of far too many calls, and says so", function()
    local calls = {}
    for i = 1, 10000 do
      calls[i] = { "list_files", {}, id = "same" }
    end
    bench:will_reply({ calls = calls })
    local result, events = bench:prompt(bench:session(), "go")
    assert.equal("completed", result.status)
    assert.equal(128, #of(events, "tool_completed"))
    assert.matches("10,?000 calls", of(events, "log")[1].text)
    assert.equal(128, #bench.requests[2].messages - 2)
  end)

  it("answers a tool's result that is none", function()
    for i, bad in ipairs { { text = 5 }, { text = "x", table = { columns = { print }, rows = {} } } } do
      bench:tool { name = "bad_" .. i, effect = "read", run = function() return bad end }
      bench:will_reply { calls = { { "bad_" .. i, {} } } }
      local result, events = bench:prompt(bench:session(), "go")
      assert.equal("completed", result.status)
      assert.matches("returned what is no result", text_of(of(events, "tool_completed")[1]))
    end
  end)

  it("keeps the ids of calls apart over turns and runs", function()
    local opened = bench:session()
    bench:will_reply({ calls = { { "list_files", {}, id = "x" } } }, { calls = { { "list_files", {}, id = "x" } } })
    local _, events = bench:prompt(opened, "hi")
    bench:will_reply { calls = { { "list_files", {}, id = "x" } } }
    local _, later = bench:prompt(opened, "again")
    assert.equal("x", of(events, "tool_started")[1].callId)
    assert.equal("x_2", of(events, "tool_started")[2].callId)
    assert.equal("x_3", of(later, "tool_started")[1].callId)
  end)

  it("runs at most four reads at once, and effects one after another in order", function()
    local now, most, order = 0, 0, {}
    bench:tool {
      name = "slow_read", effect = "read", input = { n = "integer" },
      run = function(args)
        now = now + 1
        most = math.max(most, now)
        task.sleep(10)
        now = now - 1
        order[#order + 1] = args.n
        return tostring(args.n)
      end,
    }
    bench:tool {
      name = "slow_note", effect = "internal", input = { n = "integer" },
      run = function(args)
        assert.equal(0, now)
        now = now + 1
        task.sleep(5)
        now = now - 1
        order[#order + 1] = args.n
        return tostring(args.n)
      end,
    }
    local calls = {}
    for n = 1, 6 do
      calls[n] = { "slow_read", { n = n }, id = "r" .. n }
    end
    calls[7], calls[8] = { "slow_note", { n = 7 }, id = "n7" }, { "slow_note", { n = 8 }, id = "n8" }
    calls[9] = { "slow_read", { n = 9 }, id = "r9" }
    bench:will_reply { calls = calls }
    bench:prompt(bench:session(), "go")
    assert.equal(4, most)
    assert.same({ 7, 8, 9 }, { order[7], order[8], order[9] })
    for i, message in ipairs { table.unpack(bench.requests[2].messages, 3) } do
      assert.equal(tostring(i), message.text)
    end
  end)

  it("turns what a tool raises into an error for the model and goes on", function()
    bench:tool { name = "broken", effect = "read", run = function() error "some fault" end }
    bench:will_reply { calls = { { "broken", {} } } }
    local result, events = bench:prompt(bench:session(), "go")
    assert.equal("completed", result.status)
    assert.equal("error", of(events, "tool_completed")[1].status)
    assert.matches("some fault", text_of(of(events, "tool_completed")[1]))
  end)

  it("shows faces a table and the whole text, and the model a capped one that says so", function()
    bench:tool {
      name = "wide", effect = "read",
      run = function()
        return { text = ("é"):rep(100000), table = { columns = { "a" }, rows = { { 1 } }, truncated = false } }
      end,
    }
    bench:will_reply { calls = { { "wide", {} } } }
    local _, events = bench:prompt(bench:session(), "go")
    local output = of(events, "tool_completed")[1].output
    assert.equal(200000, #output[1].text)
    assert.same({ 1 }, output[2].table.rows[1])
    local seen = bench.requests[2].messages[3]
    assert.is_true(utf8.len(seen.text) < 33000)
    assert.matches("68000 of 100000 characters are not shown", seen.text)
    assert.same({ 1 }, seen.table.rows[1])
  end)

  it("leaves out what needs a question nobody answers, and says so at the end", function()
    local result, events = bench:prompt(bench:session(), "go")
    local offered = {}
    for _, tool in ipairs(bench.requests[1].tools) do
      offered[tool.name] = true
    end
    assert.is_true(offered.read_file)
    assert.is_nil(offered.write_file)
    assert.is_nil(offered.shell)
    local names = table.concat(result.notOffered, " ")
    assert.matches("shell", names)
    assert.matches("write_file", names)
    assert.same(result.notOffered, events[#events].notOffered)
  end)

  it("reports a call the user denied as denied", function()
    local opened = bench:session { ask = function() return "deny", "not today" end }
    bench:will_reply { calls = { { "write_file", { path = "x", content = "y" } } } }
    local _, events = bench:prompt(opened, "go")
    assert.equal("denied", of(events, "tool_completed")[1].status)
    assert.matches("not today", bench.requests[2].messages[3].text)
    assert.is_nil(bench:read "x")
    assert.equal("user", of(events, "permission_resolved")[1].source)
  end)

  describe("meets a limit softly:", function()
    it("turns", function()
      bench:will_reply({ calls = { { "list_files", {} } } }, { calls = { { "list_files", {} } } }, { text = "never" })
      local result = bench:prompt(bench:session { limits = { turns = 2 } }, "go")
      assert.same({ "limit_reached", "turns" }, { result.status, result.limit })
    end)

    it("output tokens, counted or reported by the model", function()
      bench:will_reply { text = "long", usage = { inputTokens = 1, outputTokens = 50 } }
      local result = bench:prompt(bench:session { limits = { outputTokens = 50 } }, "go")
      assert.same({ "limit_reached", "outputTokens" }, { result.status, result.limit })
      assert.equal("long", result.text)
      bench:will_reply { text = "cut", stop = "length", calls = { { "list_files", {} } } }
      local events
      result, events = bench:prompt(bench:session(), "go")
      assert.same({ "limit_reached", "outputTokens" }, { result.status, result.limit })
      assert.same({}, of(events, "tool_started"))
    end)

    it("context characters", function()
      local result = bench:prompt(bench:session { limits = { contextCharacters = 10 } }, "go")
      assert.same({ "limit_reached", "contextCharacters" }, { result.status, result.limit })
      assert.equal(0, #bench.requests)
    end)

    it("tokens in all", function()
      bench:will_reply { calls = { { "list_files", {} } }, usage = { inputTokens = 90, outputTokens = 20 } }
      local result = bench:prompt(bench:session { limits = { totalTokens = 100 } }, "go")
      assert.same({ "limit_reached", "totalTokens" }, { result.status, result.limit })
    end)

    it("time, and keeps what came", function()
      bench:will_reply(function(_, emit)
        emit { type = "text", text = "half of it" }
        task.sleep(60000)
      end)
      local result, events = bench:prompt(bench:session { limits = { timeMs = 60 } }, "go")
      assert.same({ "limit_reached", "time" }, { result.status, result.limit })
      assert.equal("half of it", of(events, "message_completed")[1].text)
      assert.equal("time", events[#events].limit)
    end)

    it("time, without counting the wait for a person", function()
      local opened = bench:session {
        limits = { timeMs = 800 },
        ask = function()
          task.sleep(1000)
          return "allow_once"
        end,
      }
      bench:will_reply { calls = { { "write_file", { path = "x", content = "y" } } } }
      local result, events = bench:prompt(opened, "go")
      assert.equal("completed", result.status)
      assert.is_true(of(events, "tool_completed")[1].durationMs < 800)
    end)
  end)

  it("stops soon when it is cancelled, and keeps what came", function()
    local stopped, runs = false, task.channel(1)
    bench:tool {
      name = "forever", effect = "read",
      run = function()
        local _ <close> = setmetatable({}, { __close = function() stopped = true end })
        runs:send(true)
        task.sleep(60000)
      end,
    }
    bench:will_reply { text = "Looking.", calls = { { "forever", {} } } }
    local opened = bench:session()
    local clock = require "std.clock"
    local asked
    task.spawn(function()
      runs:receive()
      asked = clock.monotonic()
      opened:cancel()
    end)
    local result, events = bench:prompt(opened, "go")
    assert.is_true(clock.monotonic() - asked < 1000)
    assert.is_true(stopped)
    assert.equal("cancelled", result.status)
    assert.equal("cancelled", of(events, "tool_completed")[1].status)
    assert.equal("Looking.", of(events, "message_completed")[1].text)
    -- The session goes on, and the model is told.
    bench:will_reply { text = "fine" }
    assert.equal("completed", (bench:prompt(opened, "and now?")).status)
    local messages = bench.requests[2].messages
    assert.equal("tool", messages[3].role)
    assert.matches("cancelled", messages[3].text)
  end)

  it("stops before its first turn when it is cancelled that early", function()
    local opened = bench:session()
    registry.as("spec", hooks.before, "prompt", function()
      opened:cancel()
    end)
    local result, events = bench:prompt(opened, "go")
    assert.equal("cancelled", result.status)
    assert.equal(0, #bench.requests)
    assert.equal("run_started", events[2].type)
    assert.equal("run_completed", events[#events].type)
  end)

  it("ends its run, stored, when whoever called it is cancelled", function()
    local speaks = task.channel(1)
    bench:will_reply(function(_, emit)
      emit { type = "text", text = "so far" }
      speaks:send(true)
      task.sleep(60000)
    end)
    local opened = bench:session()
    local caller = task.spawn(function()
      opened:prompt "go"
    end)
    speaks:receive()
    caller:cancel()
    caller:wait()
    local stored = bench.store:events(opened.id)
    assert.equal("run_completed", stored[#stored].type)
    assert.equal("cancelled", stored[#stored].status)
    assert.equal("so far", stored[#stored - 1].text)
  end)

  it("fails, with the partial text kept, when the stream breaks off", function()
    bench:will_reply(function(_, emit)
      emit { type = "text", text = "The answer is" }
      return nil, "the stream ended in the middle", "provider_failed"
    end)
    local result, events = bench:prompt(bench:session(), "go")
    assert.equal("failed", result.status)
    assert.same({ code = "provider_failed", message = "the stream ended in the middle" }, result.error)
    assert.equal("The answer is", of(events, "message_completed")[1].text)
  end)

  it("fails when the model answers nothing", function()
    bench:will_reply { text = "" }
    local result = bench:prompt(bench:session(), "go")
    assert.equal("failed", result.status)
    assert.equal("provider_failed", result.error.code)
  end)

  it("fails when the provider raises, and the session stays usable", function()
    bench:will_reply(function()
      error "broken provider"
    end)
    local opened = bench:session()
    local result = bench:prompt(opened, "go")
    assert.equal("failed", result.status)
    assert.equal("provider_failed", result.error.code)
    assert.matches("broken provider", result.error.message)
    assert.equal("completed", (bench:prompt(opened, "again")).status)
  end)

  it("stores text that is no UTF-8 as text that is", function()
    bench:will_reply { text = "caf\xe9 ok" }
    local result = bench:prompt(bench:session(), "go")
    assert.equal("caf\u{FFFD} ok", result.text)
  end)

  it("ends when an event cannot be stored, and says that it was not", function()
    local opened = bench:session()
    bench:tool { name = "act", effect = "read", run = function() return "acted" end }
    bench:will_reply { calls = { { "act", {} } } }
    local append_all = bench.store.append_all
    bench.store.append_all = function(self, id, events, ...)
      for _, event in ipairs(events) do
        if event.type == "tool_completed" or event.type == "run_completed" then
          return nil, "disk full", "no_space", { object = "sessions.sqlite" }
        end
      end
      return append_all(self, id, events, ...)
    end
    local result = bench:prompt(opened, "go")
    bench.store.append_all = append_all
    assert.equal("failed", result.status)
    assert.equal("no_space", result.error.code)
    assert.is_false(result.stored)
    assert.equal(1, #bench.requests)
  end)

  it("reads AGENTS.md of the folder, bounded, and not through a link that leads out", function()
    bench:file("AGENTS.md", "Prefer euros.")
    bench:prompt(bench:session(), "go")
    assert.matches("Prefer euros%.", bench.requests[1].system)
    bench:file("AGENTS.md", ("x"):rep(40000))
    bench:prompt(bench:session(), "go")
    assert.is_true(#bench.requests[2].system < 34000)
    assert.matches("cut here", bench.requests[2].system)
    fs.write(bench.dir .. "/outside.md", "outside words")
    fs.remove(bench.work .. "/AGENTS.md")
    assert(os.execute(("ln -s ../outside.md '%s/AGENTS.md'"):format(bench.work)))
    bench:prompt(bench:session(), "go")
    assert.is_nil(bench.requests[3].system:find("outside words", 1, true))
  end)

  describe("with hooks", function()
    it("changes the prompt, the request and the reply", function()
      registry.as("spec", function()
        hooks.before("prompt", function(step) step.text = step.text .. "!" end)
        hooks.before("model", function(request) request.system = "be brief" end)
        hooks.before("reply", function(step) step.text = step.text:upper() end)
      end)
      bench:will_reply { text = "quiet" }
      local result = bench:prompt(bench:session(), "hey")
      assert.equal("hey!", bench.requests[1].messages[1].text)
      assert.equal("be brief", bench.requests[1].system)
      assert.equal("QUIET", result.text)
    end)

    it("refuses a prompt before anything is stored", function()
      registry.as("spec", hooks.before, "prompt", function()
        return hooks.deny "closed"
      end)
      local opened = bench:session()
      local result, message, id = opened:prompt "hey"
      assert.is_nil(result)
      assert.same({ "closed", "permission_denied" }, { message, id })
      assert.same({}, bench.store:events(opened.id))
    end)

    it("reports a listener that raises once, with its place, and goes on", function()
      registry.as("spec", hooks.on, "*", function()
        error "listener fault"
      end)
      local result, events = bench:prompt(bench:session(), "hey")
      assert.equal("completed", result.status)
      local logs = of(events, "log")
      assert.equal(1, #logs)
      assert.matches("loop_spec.lua:%d+", logs[1].text)
    end)
  end)

  describe("of a session that is opened again", function()
    it("sends the whole conversation, and what the provider wants back", function()
      local opened = bench:session()
      bench:file("a.txt", "content")
      bench:will_reply({ text = "Reading.", calls = { { "read_file", { path = "a.txt" } } }, extra = { kept = 1 } },
        { text = "It says content." })
      bench:prompt(opened, "read a.txt")
      opened:close()
      local again = bench:session { id = opened.id }
      bench:will_reply { text = "Yes." }
      local _, events = bench:prompt(again, "sure?")
      assert.is_true(of(events, "session_opened")[1].resumed)
      local messages = bench.requests[3].messages
      local roles = {}
      for i, message in ipairs(messages) do
        roles[i] = message.role
      end
      assert.same({ "user", "assistant", "tool", "assistant", "user" }, roles)
      assert.same({ kept = 1 }, messages[2].extra)
      assert.same({ path = "a.txt" }, messages[2].toolCalls[1].input)
      assert.matches("content", messages[3].text)
    end)

    it("shows a tool that was running as uncertain, and does not run it again", function()
      local opened = bench:session()
      local ran = 0
      bench:tool { name = "effectful", effect = "internal", run = function() ran = ran + 1 return "done" end }
      for _, event in ipairs {
        { type = "run_started", run = "run_x", prompt = "do it", model = "m", agent = "a" },
        { type = "tool_started", run = "run_x", callId = "c1", name = "effectful", input = json.decode "{}", effect = "internal" },
      } do
        assert(bench.store:append(opened.id, event))
      end
      opened:close()
      local again = bench:session { id = opened.id }
      bench:will_reply { text = "I will look first." }
      local result = bench:prompt(again, "")
      assert.equal("completed", result.status)
      assert.equal(0, ran)
      local messages = bench.requests[1].messages
      assert.equal("do it", messages[1].text)
      assert.equal("uncertain", messages[3].status)
      assert.matches("not known", messages[3].text)
      assert.equal(3, #messages)
    end)

    it("is held by one process at a time", function()
      local session = require "alisio.agent.session"
      local opened = bench:session()
      local second, message, id, fields = session.open { runtime = bench.runtime, id = opened.id }
      assert.is_nil(second)
      assert.equal("session_locked", id)
      assert.matches(opened.id, message)
      assert.is_table(fields)
    end)
  end)
end)
