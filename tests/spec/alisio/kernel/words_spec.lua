local words = require "alisio.kernel.words"
local en = require "alisio.kernel.words.en"
local es = require "alisio.kernel.words.es"

local function places(entry, found)
  found = found or {}
  if type(entry) == "string" then
    for name in entry:gmatch "{(%w+:?%w*)}" do
      found[name] = true
    end
  else
    for _, inner in pairs(entry) do
      places(inner, found)
    end
  end
  return found
end

describe("words", function()
  it("has the same keys, shapes and places in both languages", function()
    for key, entry in pairs(en) do
      assert.is_truthy(es[key], "es lacks " .. key)
      assert.equal(type(entry), type(es[key]), key)
      if type(entry) == "table" then
        assert.equal(#entry, #es[key], key)
      end
      assert.same(places(entry), places(es[key]), key)
    end
    for key in pairs(es) do
      assert.is_truthy(en[key], "en lacks " .. key)
    end
  end)

  it("keeps to the voice of the product", function()
    for _, list in ipairs { en, es } do
      for key, entry in pairs(list) do
        local function look(text)
          if type(text) == "table" then
            for _, inner in pairs(text) do
              look(inner)
            end
          else
            assert.is_nil(text:lower():find "please", key)
            assert.is_nil(text:lower():find "sorry", key)
            assert.is_nil(text:lower():find "successfully", key)
            assert.is_nil(text:find "%a!", key)
            assert.is_nil(text:lower():find "por favor", key)
          end
        end
        look(entry)
      end
    end
  end)

  it("has a sentence for every code of the contract", function()
    for _, id in ipairs {
      "usage", "not_found", "ingest_invalid", "ingest_limit", "dataset_unsupported", "query_rejected", "query_timeout",
      "query_failed", "artifact_rejected", "no_usable_columns", "permission_denied", "python_missing",
      "provider_failed", "config_invalid", "session_locked", "engine_failed", "io_error", "no_space", "cancelled",
      "internal",
    } do
      assert.is_truthy(en["error." .. id], id)
    end
    for _, reason in ipairs {
      "symlink", "hardlink", "special_file", "hidden", "bad_path", "bad_name", "name_clash", "bad_manifest", "missing",
      "empty", "unreadable", "depth", "maxFiles", "maxFileBytes", "maxOutputBytes",
    } do
      assert.is_truthy(en["error.artifact_rejected." .. reason], reason)
    end
  end)

  it("fills places, and takes the first sentence it can fill #oom", function()
    assert.equal("/a/b.json, line 3, column 7: broken.",
      words.error("en", "config_invalid", { object = "/a/b.json", line = 3, column = 7, detail = "broken" }))
    assert.equal("/a/b.json: broken.",
      words.error("en", "config_invalid", { object = "/a/b.json", line = 0, column = 0, detail = "broken" }))
    assert.equal("The configuration is not valid: broken.", words.error("en", "config_invalid", { detail = "broken", object = "" }))
    assert.equal("x/link es un enlace simbólico. Escriba el archivo mismo. No se publicó nada.",
      words.error("es", "artifact_rejected", { reason = "symlink", object = "x/link" }))
    assert.equal("a.md no se puede leer: todavía se está escribiendo. No se publicó nada.",
      words.error("es", "artifact_rejected", { reason = "unreadable", object = "a.md", detail = "is still being written" }))
    assert.equal("outputs.json: el artefacto 1200 no tiene path. No se publicó nada.",
      words.error("es", "artifact_rejected", { reason = "bad_manifest", detail = "artifact 1200 has no path", say = "no_path", n = 1200 }))
    assert.equal("a.md no se puede leer: Input/output error. No se publicó nada.",
      words.error("es", "artifact_rejected", { reason = "unreadable", object = "a.md", detail = "Input/output error" }))
    assert.equal("what C said", words.error("en", "no_such_id", { detail = "what C said" }))
    assert.equal("no_such_id", words.error("en", "no_such_id"))
  end)

  it("writes shares as the locale does", function()
    assert.equal("38.1%", words.percent("en", 0.3806))
    assert.equal("38,1 %", words.percent("es", 0.3806))
    assert.equal("100.0%", words.percent("en", 1))
  end)

  it("names the key that raises a limit", function()
    assert.matches("^/a.csv has more than 5,000,000 rows in a table. Raise analysis.data.maxRows in config.json",
      words.error("en", "ingest_limit", { reason = "maxRows", limit = 5000000, file = "/a.csv", object = "analysis.data.maxRows" }))
    assert.matches("^/a.csv tiene más de 4 GiB, .*Suba analysis.data.maxFileBytes",
      words.error("es", "ingest_limit", { reason = "maxFileBytes", limit = 4 << 30, file = "/a.csv" }))
    assert.matches("^analysis.data.maxRows: more than 2 rows", -- where nobody knows the configuration
      words.error("en", "ingest_limit", { object = "analysis.data.maxRows", detail = "more than 2 rows" }))
  end)

  it("counts", function()
    assert.equal("1 row had too few fields (line 7); it was padded.", words.note("en", { id = "short_rows", count = 1, lines = { 7 } }))
    assert.equal("3 filas tenían menos campos (líneas 7, 12, 90); se completaron.",
      words.note("es", { id = "short_rows", count = 3, lines = { 7, 12, 90 } }))
    assert.equal("1 object had a key twice (line 2); the last value counts.",
      words.note("en", { id = "repeated_keys", count = 1, lines = { 2 } }))
    assert.equal("said already", words.note("es", "said already"))
    assert.equal("12 rows had too few fields (lines 7, 9, …); they were padded.",
      words.note("en", { id = "short_rows", count = 12, lines = { 7, 9 } }))
  end)

  it("writes numbers, sizes and spans as the locale does", function()
    assert.equal("4,812,044", words.number("en", 4812044))
    assert.equal("4.812.044", words.number("es", 4812044))
    assert.equal("4,812", words.number("en", 4812))
    assert.equal("4812", words.number("es", 4812))
    assert.equal("-123", words.number("en", -123))
    assert.equal("0,5", words.number("es", 0.5))
    assert.equal("1,234.25", words.number("en", 1234.25))
    assert.equal("200 MiB", words.bytes("en", 200 * 1024 * 1024))
    assert.equal("1,5 GiB", words.bytes("es", 3 * 512 * 1024 * 1024))
    assert.equal("12 bytes", words.bytes("en", 12))
    assert.equal("40 ms", words.duration("en", 40))
    assert.equal("5 s", words.duration("en", 5000))
    assert.equal("1.5 s", words.duration("en", 1500))
    assert.equal("90 s", words.duration("en", 90000))
    assert.equal("2 min", words.duration("en", 120000))
    assert.equal("1 h", words.duration("en", 3600000))
  end)

  it("speaks the language of the setting, else of the environment", function()
    local function env(values)
      return function(name) return values[name] end
    end
    assert.equal("es", words.locale("es", env { LANG = "en_US.UTF-8" }))
    assert.equal("es", words.locale("auto", env { LANG = "es_CO.UTF-8" }))
    assert.equal("en", words.locale(nil, env { LC_ALL = "C", LANG = "es_CO.UTF-8" }))
    assert.equal("es", words.locale(nil, env { LC_ALL = "", LC_MESSAGES = "ES", LANG = "en" }))
    assert.equal("en", words.locale(nil, env {}))
  end)

  it("raises for a key that does not exist", function()
    assert.error_matches(function() words.t("en", "no.such") end, "no words for no.such")
  end)
end)
