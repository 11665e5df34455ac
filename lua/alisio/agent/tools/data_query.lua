--- Asks a dataset of the session one SELECT.
local json = require "std.json"

local MAX_TEXT = 48 * 1024 -- of an answer that the model reads

return {
  name = "data_query",
  description = "Runs one read-only SELECT (SQLite; WITH is fine) on a dataset. Quote column names with double "
    .. "quotes. Beside SQLite's functions: median(x), percentile(x, 0..100), stddev(x), variance(x), mode(x), "
    .. "x REGEXP 'pattern'. Bounded in rows and time; long cells are cut and end in ….",
  effect = "read",
  input = {
    datasetId = { "string", "id that data_inspect gave, ds_…" },
    sql = { "string", "the statement" },
    maxRows = { "integer?", "rows to return, 200 when left out", minimum = 1, maximum = 1000 },
  },
  run = function(args, call)
    -- The engine's own JSON: big integers, blobs and infinities are texts in it, as every face shows them.
    local answer, message, id, fields = call.session.data:query(args.datasetId, args.sql,
      { maxRows = args.maxRows, raw = true })
    if not answer then
      return nil, message, id, fields
    end
    local shown = {
      columns = json.array(answer.columns), rows = json.decode(answer.rowsJson), truncated = answer.truncated,
    }
    return { text = require("alisio.data.text").answer(shown, MAX_TEXT), table = shown }
  end,
}
