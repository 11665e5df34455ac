--- Reads a table file of the workspace into a dataset and says what is in it.
local path = require "std.path"
local place = require "alisio.agent.place"

local function progress(call)
  return function(step)
    call:progress(("%d%%, %d rows"):format(step.total > 0 and 100 * step.bytes // step.total or 0, step.rows))
  end
end

--- The dataset of the input: by its id, or of a file that was opened beneath the workspace.
local function find(args, call)
  if args.path:find "^ds_%w+$" then
    return call.session.data:get(args.path)
  end
  local rel, message, id = place.relative(call, args.path)
  if not rel then
    return nil, message, id
  end
  local file <close>, why, code, fields = call.workspace:open(rel)
  if not file then
    return nil, why, code, fields
  end
  return call.session.data:open(path.join(call.cwd, rel), {
    delimiter = args.delimiter, encoding = args.encoding, header = args.header, skip = args.skip, format = args.format,
  }, progress(call), file)
end

return {
  name = "data_inspect",
  description = "Reads a table file of the folder (CSV, TSV, JSON, JSONL, XLSX, ODS; also packed) into a dataset "
    .. "(one SQLite file, the original is not changed) and describes it: tables (one a worksheet), columns, types, "
    .. "statistics, first rows. Gives the dataset's id, which data_query takes. Options only where the file was read wrongly.",
  effect = "read",
  input = {
    path = { "string", "the file, relative to the folder, or the id of a dataset" },
    delimiter = { "string?", "one character", minLength = 1, maxLength = 4 },
    encoding = { '"utf-8"|"utf-16le"|"utf-16be"|"windows-1252"?', "of the file" },
    format = { '"csv"|"tsv"|"json"|"jsonl"|"xlsx"|"ods"?', "whatever the name says" },
    header = { "boolean?", "whether the first row holds the names of the columns" },
    skip = { "integer?", "lines to leave out at the beginning", minimum = 0 },
  },
  run = function(args, call)
    -- Here and not above: every start reads the tables of all tools, few runs need what is behind them.
    local data, data_text = require "alisio.data", require "alisio.data.text"
    local described, message, id, fields = find(args, call)
    if not described then
      return nil, message, id, fields
    end
    if not described.reused then
      call.bus:emit("dataset_ready", { dataset = data.document(described, call.session.locale).dataset })
    end
    return { text = data_text.describe(described), table = data_text.columns(described) }
  end,
}
