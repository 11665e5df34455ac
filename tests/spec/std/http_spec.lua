local fault_server = require "spec.fault_server"
local http = require "std.http"
local quickest = require "spec.quickest"
local secret = require "std.secret"
local task = require "std.task"

describe("std.http", function()
  local server

  setup(function() server = fault_server.start() end)
  teardown(function() server:close() end)

  it("gets an answer with its headers #oom", function()
    server:script { status = 404, type = "text/plain", headers = { ["X-Two"] = "b" }, body = "no\0t here", length = true }
    local answer = http.get(server.url .. "/x?q=1", { headers = { ["X-One"] = "a" } })
    if not answer then
      return -- out of memory, said as a failure
    end
    assert.equal(404, answer.status)
    assert.equal("text/plain", answer.headers["content-type"])
    assert.equal("b", answer.headers["x-two"])
    assert.equal("no\0t here", answer.body)
  end)

  it("sends method, headers and body", function()
    server:script { body = "" }
    http.post(server.url .. "/a", "{}", { headers = { ["Content-Type"] = "application/json", Empty = "" } })
    http.request { url = server.url .. "/b", method = "DELETE", headers = { Number = 7 } }
    local log = server:log()
    assert.equal("POST", log[1].method)
    assert.equal("application/json", log[1].headers["content-type"])
    assert.equal("", log[1].headers.empty)
    assert.equal("{}", log[1].body)
    assert.equal("DELETE", log[2].method)
    assert.equal("7", log[2].headers.number)
  end)

  it("sends secrets and shows them nowhere", function()
    server:script { body = "" }
    local key = "Bearer " .. secret.new "sk-verysecret"
    assert.equal("***", tostring(key))
    http.get(server.url, { headers = { Authorization = key } })
    assert.equal("Bearer sk-verysecret", server:log()[1].headers.authorization)
    local _, err = http.get(server.url, { headers = { ["A b"] = key } })
    assert.is_nil(err:find("verysecret", 1, true))
  end)

  it("joins repeated headers", function()
    server:script { raw = true, body = "HTTP/1.1 200 OK\r\nA: 1\r\nA: 2\r\nContent-Length: 0\r\n\r\n" }
    assert.equal("1, 2", http.get(server.url).headers.a)
  end)

  it("refuses more than maxBytes", function()
    server:script { body = ("x"):rep(1000) }
    assert.equal(1000, #http.get(server.url, { maxBytes = 1000 }).body)
    local answer, err, id, fields = http.get(server.url, { maxBytes = 999 })
    assert.is_nil(answer)
    assert.matches("larger than allowed", err)
    assert.equal("io_error", id)
    assert.equal("maxBytes", fields.reason)
  end)

  it("names what went wrong", function()
    local function reason(url, opts)
      local ok, err, id, fields = http.get(url, opts)
      assert.is_nil(ok)
      assert.equal("io_error", id)
      assert.is_string(err)
      return fields.reason
    end
    assert.equal("connect", reason "http://127.0.0.1:1/")
    assert.equal("url", reason "gopher://x/")
    server:script { body = "abc", length = true, after = 2 }
    assert.equal("aborted", reason(server.url))
    server:script { body = "abc", length = true, after = 2, ["end"] = "reset" }
    assert.equal("aborted", reason(server.url))
    server:script { body = "abc", length = true, after = 2, ["end"] = "hang" }
    assert.equal("timeout", reason(server.url, { idleTimeoutMs = 50 }))
    assert.equal("timeout", reason(server.url, { timeoutMs = 50 }))
    server:script { status = 302, headers = { Location = "http://localhost:1/" } }
    assert.equal("redirect", reason(server.url))
  end)

  it("follows a redirect on the same host, but never with a key", function()
    server:script { { status = 302, headers = { Location = "/b" } }, { body = "b" } }
    assert.equal("b", http.get(server.url .. "/a").body)
    server:script { { status = 302, headers = { Location = "/b" } }, { body = "b" } }
    local _, err = http.get(server.url .. "/a", { headers = { authorization = secret.new "Bearer k" } })
    assert.matches("redirects to /b", err)
    assert.equal(1, #server:log())
  end)

  it("streams what comes #oom", function()
    server:script { body = "abcdef", cut = 1 }
    local stream <close> = http.stream { url = server.url }
    if not stream then
      return
    end
    assert.equal(200, stream.status)
    local parts = {}
    for bytes in function() return stream:read() end do
      parts[#parts + 1] = bytes
    end
    assert.equal("abcdef", table.concat(parts))
    assert.is_nil(stream:read())
  end)

  it("hands bytes on before the answer is over", function()
    server:script { body = "abc", ["end"] = "hang" }
    local stream <close> = http.stream { url = server.url }
    assert.equal("abc", stream:read())
  end)

  it("reads no more of a body than asked for", function()
    server:script { body = ("x"):rep(1000000) }
    local stream <close> = http.stream { url = server.url }
    assert.equal(("x"):rep(100), stream:rest(100))
  end)

  it("reads server-sent events", function()
    server:script { body = ": hi\nevent: a\nid: 1\ndata: x\ndata: y\n\ndata: z\nretry: 5\n\ndata: cut", cut = 1 }
    local stream <close> = http.sse { url = server.url }
    local events = {}
    for event in stream:events() do
      events[#events + 1] = event
    end
    assert.same({
      { event = "a", id = "1", data = "x\ny" },
      { event = "message", id = "1", data = "z", retry = 5 },
      { event = "message", id = "1", data = "cut", unfinished = true },
    }, events)
    assert.is_nil(stream:next())
  end)

  it("says where a stream of events broke", function()
    server:script { body = "data: a\n\ndata: b\n\n", headers = { ["Content-Length"] = "100" } }
    local stream <close> = http.sse { url = server.url }
    assert.equal("a", stream:next().data)
    assert.equal("b", stream:next().data)
    local event, err, id, fields = stream:next()
    assert.is_nil(event)
    assert.is_string(err)
    assert.equal("io_error", id)
    assert.equal("aborted", fields.reason)
    assert.has_error(function()
      for _ in stream:events() do
        error "no event is left"
      end
    end)
  end)

  it("stops within 100 ms of a cancel", function()
    for _, reply in ipairs { { wait = 60 }, { body = "x", ["end"] = "hang" } } do
      assert.is_true(quickest(100, function(start)
        server:script(reply)
        local t = task.spawn(function() return http.get(server.url) end)
        task.sleep(50)
        start()
        t:cancel()
        assert.is_nil((t:wait()))
      end) < 100)
    end
  end)

  it("wakes a reader when another task closes the stream", function()
    server:script { body = "x", ["end"] = "hang" }
    local stream = http.stream { url = server.url }
    stream:read()
    local t = task.spawn(function() return stream:read() end)
    task.sleep(0)
    stream:close()
    local ok, err = t:wait()
    assert.is_nil(ok)
    assert.matches("closed by another task", err)
  end)

  it("raises for a caller's mistake", function()
    assert.error_matches(function() http.get("http://x/", { timeout = 5 }) end, "unknown key in a request: timeout")
    assert.error_matches(function() http.request {} end, "needs a url")
    assert.has_error(function() http.get(server.url, { timeoutMs = -1 }) end)
  end)

  it("forgets transfers that are left alone #oom", function()
    http.stream { url = server.url }
    collectgarbage()
  end)
end)

describe("std.http.sse_parser", function()
  it("takes bytes in any pieces #oom", function()
    local parser = http.sse_parser()
    assert.same({}, parser:feed "data: a")
    local events = parser:feed "b\r"
    assert.same({}, events)
    events = parser:feed "\n\r\ndata: c"
    assert.equal("ab", events[1].data)
    assert.equal("c", parser:finish().data)
    assert.is_nil(http.sse_parser():finish())
  end)

  it("is bounded", function()
    local parser = http.sse_parser { lineBytes = 10 }
    local events, err, id = parser:feed("data: " .. ("x"):rep(20))
    assert.is_nil(events)
    assert.matches("more than 10 bytes", err)
    assert.equal("io_error", id)
  end)
end)

describe("std.secret", function()
  it("shows nothing of its text", function()
    local json = require "std.json"
    local key = secret.new "sk-123456"
    assert.equal("***", tostring(key))
    assert.equal("x: ***", ("x: %s"):format(key))
    assert.is_nil(json.encode({ key = key }):find("123456", 1, true))
    assert.is_true(secret.is(key .. "x"))
    assert.is_true(secret.is("x" .. key))
    assert.equal("Bearer sk-123456", secret.reveal("Bearer " .. key))
    assert.equal("plain", secret.reveal "plain")
    for _, value in pairs(key) do
      error("a field shows " .. tostring(value))
    end
    assert.equal("secret", getmetatable(key))
  end)

  it("takes known secrets out of texts", function()
    local key = secret.new "sk-%w+(x)"
    assert.equal("key *** is wrong, *** too", secret.redact "key sk-%w+(x) is wrong, sk-%w+(x) too")
    assert.is_true(secret.is(key))
    assert.has_error(function() secret.new(nil) end)
  end)
end)
