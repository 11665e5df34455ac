--- Writes a Python script, runs it in a folder of its own and publishes what it leaves.
local words = require "alisio.kernel.words"
local place = require "alisio.agent.place"

-- Paths of the model, relative to the workspace or refused.
local function plan(input, call)
  local inputs = {}
  for i, given in ipairs(input.inputs or {}) do
    inputs[i] = given
    if type(given) == "string" then
      local message, id
      inputs[i], message, id = place.relative(call, given)
      if not inputs[i] then
        return nil, message, id
      end
    end
  end
  return require("alisio.analysis.jobs").plan(call.session, {
    code = input.code, title = input.title, inputs = inputs, timeoutMs = input.timeoutMs,
    publishOnError = input.publishOnError, extras = input.extras,
  })
end

return {
  name = "python_run",
  description = "Runs a Python script (3.10 or newer, standard library and alisio_runtime) in a folder of its own and "
    .. "publishes every file it leaves in alisio_runtime.output_dir(). Inputs are copied to alisio_runtime.input_dir(). "
    .. "Nothing of an earlier run is there. HTML is shown offline: embed everything. "
    .. "`from alisio_runtime import output_dir, input_dir, datasets, html, svg, outputs`: "
    .. "svg.bar(labels, values, title=...) gives a chart as text for an .svg file or a page, "
    .. "html.write(name, title, body) writes a page, datasets.open(name) is a sqlite3 connection.",
  effect = "process",
  capability = "analysis.run",
  input = {
    code = { "string", "the script, run as main.py", minLength = 1 },
    title = { "string?", "what it makes, in a few words", maxLength = 200 },
    inputs = {
      "array?", "files of the workspace by path, or datasets of the session, that it reads", maxItems = 50,
      items = { anyOf = {
        { type = "string", minLength = 1 },
        {
          type = "object", properties = { datasetId = { type = "string" } }, required = { "datasetId" },
          additionalProperties = false,
        },
      } },
    },
    timeoutMs = { "integer?", "end it after this long", minimum = 100 },
    publishOnError = { "boolean?", "publish what is there even if it fails, marked Partial" },
    extras = {
      "array?", "packages beyond the standard library: analysis (pandas, numpy, matplotlib, openpyxl, python-docx, reportlab, "
        .. "plotly, jinja2), science (those, scipy, statsmodels, scikit-learn). Where they are missing, the user is asked to "
        .. "install them: ask for them only where the standard library will not do", maxItems = 2,
      items = { type = "string", enum = { "analysis", "science" } },
    },
  },
  approval = function(input, call)
    local job, message, id, fields = plan(input, call)
    if not job then
      return nil, message, id, fields
    end
    local locale = call.session.locale
    local shown = {
      title = job.title and words.t(locale, "python.ask_titled", { title = job.title }) or words.t(locale, "python.ask"),
      script = job.code, language = "python", sha256 = job.sha256, runtime = job.runtime.name,
      guarantees = require("alisio.analysis.jobs").guarantees(job),
    }
    if job.install then
      local command = require("alisio.analysis.extras").command(job.install.name)
      shown.title, shown.capability = words.t(locale, "python.ask_install"), "analysis.install"
      shown.otherwise = words.t(locale, "python.install_by_hand", { command = command })
    end
    return shown
  end,
  run = function(input, call)
    local job, message, id, fields = plan(input, call)
    if not job then
      return nil, message, id, fields
    end
    return require("alisio.analysis.jobs").run(job, call, call.granted)
  end,
}
