---@meta alisio
-- What `require "alisio"` gives, for lua-language-server: add this folder to the libraries of its workspace.

---@class alisio
local alisio = {}

---@alias alisio.Effect "read"|"internal"|"write"|"process"|"external"
---@alias alisio.EventName "*"|"session_opened"|"run_started"|"message_delta"|"message_completed"|"tool_started"|"tool_progress"|"tool_completed"|"permission_requested"|"permission_resolved"|"dataset_ready"|"artifact_published"|"turn_completed"|"log"|"run_completed"
---@alias alisio.Point "prompt"|"model"|"tool"|"permission"|"python"|"publish"|"reply"

---@class alisio.Event
---@field v 1
---@field type string
---@field time integer    milliseconds
---@field session string
---@field run string?
---@field seq integer?    on durable events
---@field text string?    of messages, progress and log
---@field name string?    of a tool
---@field callId string?
---@field input table?    of tool_started
---@field status string?  of tool_completed and run_completed
---@field output table[]? of tool_completed: blocks of text, table or artifact
---@field artifact alisio.Artifact?  of artifact_published
---@field dataset table?  of dataset_ready

---@class alisio.Artifact
---@field id string
---@field title string
---@field fileName string
---@field kind "dashboard"|"document"|"spreadsheet"|"image"|"data"|"code"|"archive"|"file"
---@field mimeType string
---@field bytes integer
---@field fileCount integer
---@field status string
---@field path string
---@field sha256 string
---@field entry string?    of a dashboard of several files: its page
---@field preview "page"|"table"|"image"|"pdf"|"markdown"|"text"|nil  how it may be shown; nil: only downloaded

--- Sets keys of the configuration, nested as in config.json; an unknown key raises and names the nearest.
---@param values table
function alisio.setup(values) end

---@class alisio.Call  what a tool is handed beside its input
---@field id string
---@field name string
---@field cwd string          the folder of the session
---@field workspace table     std.fs root of that folder
---@field session table
---@field config table
---@field progress fun(self: alisio.Call, line: string)

---@class alisio.ToolResult
---@field text string
---@field table { columns: string[], types: string[]?, rows: any[][], truncated: boolean? }?
---@field artifacts string[]?  ids
---@field isError boolean?

---@class alisio.Approval
---@field title string         the question
---@field script string        all that would run
---@field sha256 string?       an answer holds for exactly what has this hash
---@field guarantees string[]  what holds on this machine

---@class alisio.Tool
---@field name string          lower-case letters, digits and _
---@field description string   for the model
---@field effect alisio.Effect
---@field capability string?   what a permission for it is called; its own name when left out
---@field input table          shorthand (`{ sku = "string", count = "integer?" }`) or JSON Schema
---@field run fun(args: table, call: alisio.Call): string|alisio.ToolResult|nil, string?, string?
---@field approval (fun(input: table, call: alisio.Call): alisio.Approval?, string?, string?)?

--- Adds a tool.
---@param tool alisio.Tool
---@return fun() remove
function alisio.tool(tool) end

---@class alisio.Piece
---@field type "text"|"reasoning"|"tool_call"
---@field text string?
---@field id string?        of a tool call
---@field name string?
---@field input table?
---@field badInput string?  arguments that are no JSON, as they came

---@class alisio.Reply
---@field stop "end"|"tools"|"length"
---@field usage { inputTokens: integer, outputTokens: integer, cachedTokens: integer? }?
---@field extra table?      kept with the message and sent back

--- Adds a model; its name works like a profile's.
---@param model { name: string, stream: fun(request: table, emit: fun(piece: alisio.Piece)): alisio.Reply?, string?, string? }
---@return fun() remove
function alisio.model(model) end

---@class alisio.Rule
---@field tool string?
---@field capability string?
---@field effect alisio.Effect?
---@field where (fun(input: table): any)?  the rule holds where this is true
---@field decide "allow"|"deny"
---@field reason string?

--- Adds a rule of permission. A denial comes before any allowance.
---@param rule alisio.Rule
---@return fun() remove
function alisio.permission(rule) end

--- Listens to events. A listener that raises is reported once and the run goes on.
---@param name alisio.EventName
---@param fn fun(event: alisio.Event)
---@return fun() remove
function alisio.on(name, fn) end

--- Stands in front of a step: the function may change the step's table, or return `alisio.deny(reason)`.
--- When it raises, the step is refused.
---@param point alisio.Point
---@param fn fun(step: table): table?
---@return fun() remove
function alisio.before(point, fn) end

--- What a hook returns to refuse its step.
---@param reason string
---@return table
function alisio.deny(reason) end

--- The hooks and listeners there are.
---@return { kind: "on"|"before", name: string, owner: string, where: string }[]
function alisio.hooks() end

---@class alisio.Session
---@field id string
---@field cwd string
local Session = {}

--- Sends a prompt and waits for its end.
---@async
---@param prompt string
---@param options? { on: fun(event: alisio.Event)? }
---@return alisio.Run? run
---@return string? message
---@return string? id
function Session:prompt(prompt, options) end

--- Adds a command: `alisio NAME [WORD]…` opens a session and hands it over.
---@param command { name: string, help: string?, run: fun(session: alisio.Session, words: string[]) }
---@return fun() remove
function alisio.command(command) end

---@class alisio.Run
---@field status "completed"|"failed"|"cancelled"|"limit_reached"
---@field limit string?
---@field text string?   the last answer
---@field usage { inputTokens: integer, outputTokens: integer }
---@field error { code: string, message: string }?

---@class alisio.Limits
---@field turns integer?
---@field timeMs integer?
---@field outputTokens integer?
---@field contextCharacters integer?
---@field totalTokens integer?

---@class alisio.Agent
local Agent = {}

--- Runs a prompt in a session of its own.
---@async
---@param prompt string
---@param options? { on: fun(event: alisio.Event)? }
---@return alisio.Run? run
---@return string? message
---@return string? id
function Agent:run(prompt, options) end

--- Makes an agent with its own instructions, tools, model and limits.
---@param options { name: string, system: string?, tools: string[]?, model: string?, limits: alisio.Limits? }
---@return alisio.Agent
function alisio.agent(options) end

--- Runs a prompt with the default agent.
---@async
---@param prompt string
---@param options? { on: fun(event: alisio.Event)?, model: string?, tools: string[]?, system: string?, limits: alisio.Limits? }
---@return alisio.Run? run
---@return string? message
---@return string? id
function alisio.run(prompt, options) end

--- Runs Python as the model's python_run does: the same job, the same permission.
---@async
---@param input string|{ code: string, title: string?, inputs: any[]?, timeoutMs: integer?, extras: ("analysis"|"science")[]? }
---@return alisio.ToolResult? result
---@return string? message
---@return string? id
function alisio.python(input) end

---@class alisio.Dataset
---@field id string
---@field name string
---@field rows integer
---@field sheets table[]
local Dataset = {}

--- Runs one SELECT: `for row in set:query "SELECT region, sum(total) AS total FROM data GROUP BY 1" do`.
---@async
---@param sql string
---@param options? { maxRows: integer?, timeoutMs: integer? }
---@return fun(): table?
function Dataset:query(sql, options) end

alisio.dataset = {}

--- Makes a dataset of a table file, or finds the one made before from the same content.
---@async
---@param path string
---@return alisio.Dataset? dataset
---@return string? message
---@return string? id
function alisio.dataset.open(path) end

return alisio
