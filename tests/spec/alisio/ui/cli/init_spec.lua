local json = require "std.json"
local term = require "std.term"
local cli = require "alisio.ui.cli"
local help = require "alisio.ui.cli.lib.help"
local options = require "alisio.ui.cli.lib.options"

-- Runs the command line with its outputs caught.
local function run(...)
  local out, err = {}, {}
  local write, werr = term.write, term.werr
  term.write = function(s) out[#out + 1] = s return true end
  term.werr = function(s) err[#err + 1] = s return true end
  local ok, status = pcall(cli.main, { ... })
  term.write, term.werr = write, werr
  assert(ok, status)
  return status, table.concat(out), table.concat(err)
end

local function every(fn)
  for _, name in ipairs(cli.names()) do
    local command = cli.command(name)
    fn(name, command)
    for _, sub in ipairs(command.commands or {}) do
      fn(name .. " " .. sub.name, sub)
    end
  end
end

describe("the command line", function()
  it("has help in both languages for every command and option", function()
    every(function(title, command)
      for _, locale in ipairs { "en", "es" } do
        assert.is_string(command.help[locale], title .. " has no help in " .. locale)
        for _, option in ipairs(options.of(command)) do
          assert.is_string(option.help[locale], ("%s --%s has no help in %s"):format(title, option.name, locale))
        end
        local shown = help.command(title, command, locale)
        for line in shown:gmatch "[^\n]+" do
          assert.is_true(utf8.len(line) <= 80, title .. ": " .. line)
        end
        for _, option in ipairs(options.of(command)) do
          assert.truthy(shown:find("--" .. option.name, 1, true))
        end
      end
    end)
  end)

  it("answers --help of every command with status 0", function()
    every(function(title)
      local argv = {}
      for word in title:gmatch "%S+" do
        argv[#argv + 1] = word
      end
      argv[#argv + 1] = "--help"
      local status, out = run(table.unpack(argv))
      assert.equal(0, status)
      assert.matches("alisio " .. title:gsub("%-", "%%-"), out)
    end)
  end)

  it("lists every command in its overview, the completions and the man page", function()
    local status, out = run()
    assert.equal(0, status)
    local texts = { out, help.man(cli, "0"), help.completion("bash", cli), help.completion("zsh", cli),
      help.completion("fish", cli) }
    for _, name in ipairs(cli.names()) do
      for _, text in ipairs(texts) do
        assert.truthy(text:find(name, 1, true), name)
      end
    end
  end)

  it("lists the words an option takes, in help and man page", function()
    local _, out = run("data", "inspect", "--help")
    assert.matches("utf%-16le, utf%-16be,%s+windows%-1252%.", out)
    assert.matches("csv, tsv, json, jsonl, xlsx, ods%.", (help.man(cli, "0")))
  end)

  it("names the nearest command, with status 2", function()
    local status, out, err = run "vesion"
    assert.same({ 2, "", "alisio: There is no command vesion. Did you mean version?\n" }, { status, out, err })
    status, out, err = run("data", "inspct", "x.csv")
    assert.same({ 2, "", "alisio: There is no command data inspct. Did you mean data inspect?\n" }, { status, out, err })
    status = run("--json", "frobnicate")
    assert.equal(2, status)
  end)

  it("writes an error as one JSON document with --json, wherever the flag stands", function()
    for _, argv in ipairs { { "--json", "vesion" }, { "version", "--json", "--wrong" }, { "--wrong", "--json" } } do
      local status, out, err = run(table.unpack(argv))
      assert.equal(2, status)
      assert.equal("", err)
      local document = json.decode(out)
      assert.equal("usage", document.error.code)
      assert.is_string(document.error.message)
    end
  end)

  it("turns what a command returns into a status, and what it raises into an internal error", function()
    local version = cli.command "version"
    local real = version.run
    local function with(fn, ...)
      version.run = fn
      local status, out, err = run("version", ...)
      version.run = real
      return status, out, err
    end
    assert.equal(0, (with(function() end)))
    assert.equal(130, (with(function() return 130 end)))
    assert.equal(3, (with(function() return nil, "no", "permission_denied" end)))
    assert.equal(1, (with(function() return nil, "no", "io_error" end)))
    local status, out = with(function()
      return nil, "bad folder", "artifact_rejected", { reason = "symlink", object = "a" }
    end, "--json")
    assert.equal(1, status)
    local err = json.decode(out).error
    assert.same({ "artifact_rejected", "symlink" }, { err.code, err.reason })
    assert.matches("^a is a symbolic link", err.message)
    status, out = with(function() error "oops" end, "--json")
    assert.equal(1, status)
    assert.equal("internal", json.decode(out).error.code)
    assert.matches("oops", out)
  end)

  it("refuses a folder that is not there", function()
    local status, out = run("help", "--cwd", "/no/such/folder", "--json")
    assert.equal(1, status)
    assert.matches("/no/such/folder", json.decode(out).error.message)
  end)

  it("makes a bash completion that bash accepts", function()
    local file = os.tmpname()
    local handle = assert(io.open(file, "w"))
    handle:write(help.completion("bash", cli))
    handle:close()
    assert.is_true(os.execute("bash -n " .. file))
    os.remove(file)
  end)
end)
