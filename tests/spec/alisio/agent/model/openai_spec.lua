local clock = require "std.clock"
local fault_server = require "spec.fault_server"
local http = require "std.http"
local json = require "std.json"
local openai = require "alisio.agent.model.openai"
local quickest = require "spec.quickest"
local retry = require "alisio.agent.model.retry"
local secret = require "std.secret"
local streams = require "spec.openai_streams"
local task = require "std.task"

local KEY = "sk-canary-0123456789"

local function profile(more)
  local out = { provider = "openai", name = "p", model = "m", baseUrl = "http://test.invalid/v1", auth = "bearer",
    keyEnv = "KEY", idleTimeoutMs = 5000 }
  for key, value in pairs(more or {}) do
    out[key] = value
  end
  return out
end

local function request(more)
  local out = { system = "", messages = { { role = "user", text = "hi" } }, tools = {}, limits = {}, profile = profile(),
    locale = "en" }
  for key, value in pairs(more or {}) do
    out[key] = value
  end
  return out
end

--- Streams of every shape, to be cut at every byte.
local CUT = {}
for name in ([[text tools interleaved index_missing index_zero id_missing id_late name_late args_object
  args_placeholder args_repeated finish_stop_with_tools choices_empty_null_absent error_in_stream error_event
  no_done done_unfinished reasoning thought_signature crlf cr bom keepalives separators]]):gmatch "%S+" do
  CUT[name] = true
end

describe("the openai provider reads every recorded stream", function()
  local attempts, real = retry.ATTEMPTS, http.sse
  local all = streams.all()
  local pieces -- what the faked connection gives

  setup(function()
    retry.ATTEMPTS = 1
    http.sse = function()
      local parser, at, queue = http.sse_parser(), 0, {}
      local stream = setmetatable({ status = 200, headers = {} }, { __close = function() end })
      function stream:next()
        while #queue == 0 do
          at = at + 1
          if at > #pieces + 1 then
            return nil
          end
          queue = pieces[at] and parser:feed(pieces[at]) or { parser:finish() }
        end
        return table.remove(queue, 1)
      end
      return stream
    end
  end)

  teardown(function()
    retry.ATTEMPTS, http.sse = attempts, real
  end)

  local function observe(...)
    pieces = { ... }
    return streams.observe(function(emit) return openai.stream(request(), emit) end)
  end

  for _, stream in ipairs(all) do
    it(("%s: %s"):format(stream.name, stream.expected.about), function()
      streams.check(assert, observe(stream.bytes), stream)
      local bytes = {}
      for i = 1, #stream.bytes do
        bytes[i] = stream.bytes:sub(i, i)
      end
      streams.check(assert, observe(table.unpack(bytes)), stream)
    end)

    local cut_it = CUT[stream.name] and it or function() end
    cut_it(stream.name .. ", cut at every byte, runs nothing early and keeps what came", function()
      local whole = observe(stream.bytes)
      for cut = 0, #stream.bytes - 1 do
        local seen = observe(stream.bytes:sub(1, cut))
        assert.equal(seen.text, whole.text:sub(1, #seen.text))
        if seen.stop then
          assert.same(#(whole.calls or {}), #seen.calls)
        else
          assert.same({}, seen.calls)
          assert.equal("provider_failed", seen.id)
          local as_whole = whole.error and seen.error.reason == whole.error.reason
          assert.is_true(as_whole or seen.error.reason == "cut")
        end
      end
    end)
  end
end)

describe("a reply of a hostile server", function()
  local replies = require "alisio.agent.model.openai.reply"

  -- Without the collector: what it costs depends on what every other spec has left in memory.
  local function time(n, delta)
    local event = { event = "message", id = "", data = '{"choices":[{"index":0,"delta":' .. delta .. "}]}" }
    collectgarbage()
    collectgarbage "stop"
    local _ <close> = setmetatable({}, { __close = function() collectgarbage "restart" end })
    local start = clock.monotonic()
    local reply = replies.new(function() end)
    for _ = 1, n do
      assert(reply:event(event))
    end
    reply:event { event = "message", id = "", data = "[DONE]" }
    assert(reply:close())
    return clock.monotonic() - start
  end

  it("takes time in proportion to its length", function()
    for _, delta in ipairs {
      '{"content":"abcd"}', '{"reasoning_content":"abcd"}', '{"reasoning_details":[1]}',
      '{"tool_calls":[{"index":0,"function":{"arguments":"abcd"}}]}',
      '{"tool_calls":[{"index":0,"function":{"name":"x","arguments":"{}"}}]}',
      '{"tool_calls":[{"index":0,"function":{"name":"x","arguments":"{}x"}}]}',
      [[{"tool_calls":[{"id":"a","function":{"name":"x","arguments":"{\"a\":1}"}}]}]],
      [[{"tool_calls":[{"function":{"name":"x","arguments":"[\"\\\""}}]}]],
    } do
      -- Sixteen times the input: 16 times the time, 256 times were it the square. The quickest of each
      -- counts, since others use the machine, too.
      local long, short = math.huge, math.huge
      for _ = 1, 5 do
        long, short = math.min(long, time(8000, delta)), math.min(short, time(500, delta))
        if long / short < 40 then
          break
        end
      end
      assert.is_true(long / short < 64, delta .. " " .. long / short)
    end
  end)

  it("may change its mind about the kind of a field, and send any JSON", function()
    local reply = replies.new(function() end)
    for _, said in ipairs {
      '{"choices":[{"delta":{"x":"a"}}]}', '{"choices":[{"delta":{"x":[1]}}]}', '{"choices":[{"delta":{"x":{"y":1}}}]}',
      '{"choices":[{"delta":{"x":"b"}}]}', '{"choices":[{"delta":{"x":"c"}}]}', "[]", "{}", '{"choices":7}',
      '{"choices":[7,null,[],{"delta":[1]},{"delta":"x"}]}', '{"choices":{"0":{}}}', '{"usage":[],"choices":[]}',
      '{"usage":{"prompt_tokens":"many","completion_tokens":1.5}}', '{"choices":[{"delta":{"content":{"a":1}}}]}',
      '{"choices":[{"delta":{"content":[1,{"text":2},{"thinking":7}]}}]}', '{"choices":[{"delta":{"tool_calls":{"a":1}}}]}',
      '{"choices":[{"delta":{"tool_calls":[1,[],{"function":7},{"index":1e300,"id":7}]}}]}',
      '{"choices":[{"delta":{"role":7,"refusal":[],"reasoning":{}},"finish_reason":["stop"]}]}',
    } do
      assert(reply:event { event = "message", id = "", data = said }, said)
    end
    assert.equal("bc", reply:close().extra.fields.x)
    for _, said in ipairs { "7", '"text"', "null", "true", "{", "nothing", "\0" } do
      local ok, problem = replies.new(print):event { event = "message", id = "", data = said }
      assert.is_nil(ok)
      assert.equal("garbage", problem.reason)
    end
  end)
end)

describe("the openai provider sends", function()
  local body_of = require("alisio.agent.model.openai.body").make

  local function sent(more, dialect)
    return json.decode(json.encode(body_of(request(more), dialect or {})))
  end

  it("the conversation and the tools", function()
    local body = sent {
      system = "Be brief.",
      messages = {
        { role = "user", text = "hi" },
        { role = "assistant", text = "", toolCalls = { { id = "a", name = "list_files", input = {} } } },
        { role = "tool", callId = "a", text = "x.csv" },
        { role = "assistant", text = "One file.", extra = { provider = "other", fields = { secret = 1 } } },
        { role = "user", text = "thanks" },
      },
      tools = { { name = "list_files", description = "Lists.", input = { type = "object", properties = {} } } },
    }
    assert.same({
      { role = "system", content = "Be brief." },
      { role = "user", content = "hi" },
      { role = "assistant", content = json.null, tool_calls = {
        { id = "a", type = "function", ["function"] = { name = "list_files", arguments = "{}" } },
      } },
      { role = "tool", tool_call_id = "a", content = "x.csv" },
      { role = "assistant", content = "One file." },
      { role = "user", content = "thanks" },
    }, body.messages)
    assert.same({ { type = "function", ["function"] = {
      name = "list_files", description = "Lists.", parameters = { type = "object", properties = {} },
    } } }, body.tools)
    assert.is_true(body.stream)
    assert.same({ include_usage = true }, body.stream_options)
    assert.is_nil(body.parallel_tool_calls)
    assert.is_nil(body.max_tokens)
    assert.is_nil(body.temperature)
  end)

  it("no list of tools when there are none", function()
    assert.is_nil(sent().tools)
  end)

  it("no more tokens than are left", function()
    local with = { profile = profile { maxOutputTokens = 500, temperature = 0.5 }, limits = { outputTokens = 200 } }
    assert.equal(200, sent(with).max_tokens)
    assert.equal(0.5, sent(with).temperature)
    local other = sent(with, { completionTokens = true, noStreamOptions = true })
    assert.equal(200, other.max_completion_tokens)
    assert.is_nil(other.max_tokens)
    assert.is_nil(other.stream_options)
  end)

  it("back what the server sent along, reasoning only once tools were used", function()
    local said = { role = "assistant", text = "Hm", extra = {
      provider = "openai", fields = { reasoning_content = "r", reasoning_details = { 1 }, role = "evil", content = "evil" }, calls = {},
    } }
    local body = sent { messages = { said } }
    assert.same({ role = "assistant", content = "Hm", reasoning_details = { 1 } }, body.messages[1])
    local called = { role = "assistant", text = "", toolCalls = { { id = "a", name = "t", input = { x = 1 } } }, extra = {
      provider = "openai", fields = {}, calls = { ["1"] = { extra_content = { google = { thought_signature = "s" } }, id = "evil" } },
    } }
    body = sent { messages = { said, called, { role = "tool", callId = "a", text = "ok" } } }
    assert.equal("r", body.messages[1].reasoning_content)
    assert.same({ { id = "a", type = "function", ["function"] = { name = "t", arguments = '{"x":1}' },
      extra_content = { google = { thought_signature = "s" } } } }, body.messages[2].tool_calls)
  end)
end)

describe("the openai provider on the wire", function()
  local server, first

  setup(function()
    server = fault_server.start()
    first = retry.FIRST_MS
    retry.FIRST_MS = 1
  end)

  teardown(function()
    retry.FIRST_MS = first
    server:close()
  end)

  local function ask(more, on_piece)
    more = more or {}
    more.profile = profile(more.profile)
    more.profile.baseUrl = more.profile.base or server.url .. "/v1"
    more.profile.key = secret.new(KEY)
    local waits = {}
    local seen = streams.observe(function(emit)
      return openai.stream(request(more), function(piece)
        if piece.type == "log" then
          waits[#waits + 1] = piece.text
        end
        emit(piece)
        if on_piece then
          on_piece(piece)
        end
      end)
    end)
    seen.waits = waits
    assert.is_nil((seen.message or ""):find(KEY, 1, true))
    return seen
  end

  local hello = { file = "tests/data/openai/text.sse" }

  it("reads streams byte by byte through a socket", function()
    for _, stream in ipairs(streams.all()) do
      if not stream.expected.error or not stream.expected.error.retry then
        server:script { file = "tests/data/openai/" .. stream.name .. ".sse", cut = 1 }
        streams.check(assert, ask(), stream)
        assert.equal(1, #server:log())
      end
    end
  end)

  it("sends the key in one header and nowhere else", function()
    server:script(hello)
    ask { profile = { headers = { "X-Title: Alisio", "no header" } } }
    local got = server:log()[1]
    assert.equal("/v1/chat/completions", got.path)
    assert.equal("Bearer " .. KEY, got.headers.authorization)
    assert.equal("Alisio", got.headers["x-title"])
    assert.is_nil(got.body:find(KEY, 1, true))
  end)

  it("takes addresses as people write them", function()
    for base, path in pairs {
      ["/v1/"] = "/v1/chat/completions",
      [""] = "/chat/completions",
      ["/v1/chat/completions"] = "/v1/chat/completions",
      ["/openai?api-version=1"] = "/openai/chat/completions?api-version=1",
    } do
      server:script(hello)
      assert.equal("end", ask({ profile = { base = server.url .. base } }).stop)
      assert.equal(path, server:log()[1].path)
    end
  end)

  it("tries again after 429, 503, 529 and gateways' failures, as told", function()
    for _, status in ipairs { 429, 502, 503, 504, 529 } do
      server:script { { status = status, headers = { ["Retry-After"] = "0" }, type = "application/json",
        body = '{"error":{"message":"slow down"}}' }, hello }
      local seen = ask()
      assert.equal("Hello, señora 👋", seen.text)
      assert.equal(1, #seen.waits)
      assert.matches("slow down", seen.waits[1])
      assert.equal(2, #server:log())
    end
  end)

  it("waits as long as Retry-After says, and survives garbage in it", function()
    server:script { { status = 429, headers = { ["Retry-After"] = "0.15" } }, hello }
    local start = clock.monotonic()
    ask()
    assert.is_true(clock.monotonic() - start >= 150)
    server:script { { status = 429, headers = { ["Retry-After"] = "whenever" } }, hello }
    assert.equal("end", ask().stop)
  end)

  it("gives up in the end and says why", function()
    server:script { status = 429, headers = { ["Retry-After"] = "0" }, body = "" }
    local seen = ask()
    assert.equal("overloaded", seen.error.reason)
    assert.equal(retry.ATTEMPTS, #server:log())
    assert.matches("429", seen.message)
  end)

  it("does not repeat what cannot succeed", function()
    for reply, reason in pairs {
      [{ status = 401, body = '{"error":{"message":"bad key ' .. KEY .. '"}}' }] = "key",
      [{ status = 404, body = '{"error":{"message":"no model m"}}' }] = "unknown",
      [{ status = 400, body = '{"error":"bad request"}' }] = false,
      [{ status = 500, body = "<html><body>oops</body></html>" }] = false,
      [{ status = 429, body = '{"error":{"message":"You exceeded your quota","code":"insufficient_quota"}}' }] = false,
      [{ status = 302, headers = { Location = "http://127.0.0.1:1/" } }] = "unreachable",
    } do
      server:script(reply)
      local seen = ask()
      assert.equal(reason or nil, seen.error.reason)
      assert.equal(1, #server:log())
      assert.matches("^127.0.0.1:%d+ ", seen.message:gsub("^The model at ", ""))
    end
  end)

  it("survives any body of a failure", function()
    for _, body in ipairs {
      "", "[]", "[1]", "7", "null", "{}", '{"error":null}', '{"error":[]}', '{"error":7}', '[{"error":{"message":"no"}}]',
      '{"error":{"message":{"a":1},"code":[],"type":{},"status":7,"metadata":[]}}', '{"detail":[{"loc":["body"],"msg":"no"}]}', "\0\255",
    } do
      server:script { status = 400, type = "application/json", body = body }
      local seen = ask()
      assert.equal("provider_failed", seen.id, body)
      assert.matches("failed: .", seen.message, nil, nil, body)
    end
  end)

  it("tries again when the connection fails before anything came", function()
    server:script { { raw = true, body = "", ["end"] = "reset" }, { raw = true, body = "" }, { body = ":\n\n" }, hello }
    assert.equal("end", ask().stop)
    assert.equal(4, #server:log())
    local seen = ask { profile = { base = "http://127.0.0.1:1/v1" } }
    assert.equal("unreachable", seen.error.reason)
    assert.equal(retry.ATTEMPTS - 1, #seen.waits)
  end)

  it("never repeats a request once text was handed on", function()
    for _, ending in ipairs { "close", "reset" } do
      server:script { file = "tests/data/openai/text.sse", after = 600, ["end"] = ending, headers = { ["Content-Length"] = "9999" } }
      local seen = ask()
      assert.equal("cut", seen.error.reason)
      assert.matches("^Hel", seen.text)
      assert.equal(1, #server:log())
    end
  end)

  it("ends a reply that stands still", function()
    server:script { file = "tests/data/openai/text.sse", after = 600, ["end"] = "hang" }
    local seen = ask { profile = { idleTimeoutMs = 100 } }
    assert.equal("timeout", seen.error.reason)
    assert.matches("^Hel", seen.text)
    assert.equal(1, #server:log())
  end)

  it("does not wait for a server that forgets to hang up", function()
    server:script { file = "tests/data/openai/text.sse", ["end"] = "hang" }
    local start = clock.monotonic()
    assert.equal("end", ask().stop)
    assert.is_true(clock.monotonic() - start < 2000)
  end)

  it("stops within 100 ms of a cancel, with what came", function()
    assert.is_true(quickest(100, function(start)
      server:script { file = "tests/data/openai/text.sse", after = 600, ["end"] = "hang" }
      local text, came = "", task.channel(1)
      local t = task.spawn(ask, nil, function(piece)
        text = text .. piece.text
        came:try_send(true)
      end)
      came:receive()
      start()
      t:cancel()
      assert.is_nil((t:wait()))
      assert.matches("^Hel", text)
    end) < 100)
  end)

  it("reads an answer that is no stream", function()
    server:script { type = "application/json; charset=utf-8", body = json.encode {
      choices = { { message = { role = "assistant", content = "Hello", tool_calls = json.array {
        { id = "a", ["function"] = { name = "t", arguments = '{"x":1}' } } } }, finish_reason = "tool_calls" } },
      usage = { prompt_tokens = 3, completion_tokens = 4 },
    } }
    local seen = ask()
    assert.equal("Hello", seen.text)
    assert.same({ { id = "a", name = "t", input = { x = 1 } } }, seen.calls)
    assert.same({ inputTokens = 3, outputTokens = 4 }, seen.usage)
    server:script { type = "application/json", body = "{" }
    assert.equal("garbage", ask().error.reason)
    server:script { type = "application/json", body = '{"error":{"message":"no"}}' }
    assert.matches("no", ask().message)
  end)

  it("leaves out what the server does not take", function()
    server:script { { status = 400, body = '{"error":{"message":"unknown field stream_options"}}' },
      { status = 400, body = '{"error":{"message":"Use \'max_completion_tokens\' instead."}}' }, hello }
    local base = server.url .. "/strict"
    assert.equal("end", ask({ profile = { base = base, maxOutputTokens = 9 } }).stop)
    local last = server:log()[3].json
    assert.is_nil(last.stream_options)
    assert.equal(9, last.max_completion_tokens)
    server:script(hello)
    ask { profile = { base = base } }
    assert.is_nil(server:log()[1].json.stream_options)
  end)

  it("shows no control characters of a server", function()
    server:script { status = 400, body = '{"error":{"message":"a\\u001b[31mred\\u202e\\r\\nb' .. ("x"):rep(2000) .. '"}}' }
    local message = ask().message
    assert.is_nil(message:find "[\0-\31]")
    assert.is_nil(message:find("\u{202e}", 1, true))
    assert.is_true(#message < 800)
  end)
end)
