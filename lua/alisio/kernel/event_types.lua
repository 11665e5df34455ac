--- Every type of event with its fields: what events.lua checks before it stores one, and what
-- docs/events.md is made from. A field is { name, type in the shorthand of std.schema, help }.
-- Fields may be added by who emits; those listed are what readers may rely on.

---@class alisio.EventType
---@field type string
---@field help string
---@field ephemeral boolean?  not stored, no seq
---@field fields { [1]: string, [2]: string, [3]: string }[]

---@type alisio.EventType[]
return {
  { type = "session_opened", help = "A process opened the session.", fields = {
    { "title", "string", "what the session is called; may be empty" },
    { "resumed", "boolean", "whether it existed before" } } },
  { type = "run_started", help = "A prompt was accepted.", fields = {
    { "prompt", "string", "the text as it was given" },
    { "model", "string", "the profile that answers, `offline` for the built-in rules" },
    { "agent", "string", "name of the agent" } } },
  { type = "message_delta", ephemeral = true, help = "A piece of a message while it is written.", fields = {
    { "text", "string", "what came since the last piece" },
    { "channel", '"text"|"reasoning"', "what it belongs to" } } },
  { type = "message_completed", help = "A whole message, after a cancel too.", fields = {
    { "text", "string", "all of it" },
    { "role", '"user"|"assistant"', "who wrote it" } } },
  { type = "tool_started", help = "The model called a tool; it runs unless it is refused.", fields = {
    { "callId", "string", "names the call in all its events" },
    { "name", "string", "of the tool" },
    { "input", "any", "what the model passed" },
    { "effect", '"read"|"internal"|"write"|"process"|"external"', "what the tool does to the world" } } },
  { type = "tool_progress", ephemeral = true, help = "What a running tool is at.", fields = {
    { "callId", "string", "the call" },
    { "text", "string", "one line; a newer one replaces it" } } },
  { type = "tool_completed", help = "A tool call is over.", fields = {
    { "callId", "string", "the call" },
    { "name", "string", "of the tool" },
    { "status", '"ok"|"error"|"denied"|"cancelled"|"uncertain"',
      "uncertain: the program ended while it ran; it is not run again" },
    { "output", "object[]", "blocks `{type: text|table|artifact, …}`" },
    { "durationMs", "number", "how long it ran" } } },
  { type = "permission_requested", help = "A tool call waits for an answer.", fields = {
    { "requestId", "string", "what the answer names" },
    { "callId", "string", "the call that waits" },
    { "capability", "string", "what would be allowed" },
    { "title", "string", "the question's heading" },
    { "script", "string?", "all that would run" },
    { "sha256", "string", "of what is shown; an answer holds for exactly that" },
    { "options", "object[]", "`{id, label}` of each possible answer" },
    { "guarantees", "string[]", "what holds on this machine, in words" } } },
  { type = "permission_resolved", help = "A call was decided, asked or not.", fields = {
    { "requestId", "string", "the request" },
    { "decision", '"allow_once"|"allow_session"|"deny"', "the answer" },
    { "source", '"user"|"flag"|"rule"|"hook"|"project"|"saved"|"mode"|"headless"', "who or what decided" },
    { "reason", "string?", "why, in words" } } },
  { type = "dataset_ready", help = "A file became a dataset.", fields = {
    { "dataset", "object", "as `alisio data inspect --json` describes it" } } },
  { type = "artifact_published", help = "A file was published.", fields = {
    { "artifact", "object", "as `alisio artifact publish --json` describes it" } } },
  { type = "turn_completed", help = "One reply of the model is done.", fields = {
    { "usage", "object", "inputTokens, outputTokens, cachedTokens?" } } },
  { type = "log", help = "Something to know that is none of the above.", fields = {
    { "level", '"error"|"warn"|"info"|"debug"', "how much it matters" },
    { "text", "string", "one line" } } },
  { type = "run_completed", help = "The run is over; the last of its events.", fields = {
    { "status", '"completed"|"failed"|"cancelled"|"limit_reached"', "how it ended" },
    { "limit", '"turns"|"time"|"outputTokens"|"contextCharacters"|"totalTokens"?',
      "which limit, for limit_reached" },
    { "usage", "object", "of all turns together" },
    { "durationMs", "number", "from run_started" },
    { "error", "object?", "`{code, message}`" },
    { "notOffered", "string[]?", "tools left out because nobody could be asked" } } },
}
