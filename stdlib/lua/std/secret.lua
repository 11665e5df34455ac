--- Secrets: keys and tokens as a type of their own. What prints, encodes or joins one shows `***`;
--- only std.http, which sends it, asks for the text. `redact` takes known secrets out of any text,
--- such as a server's error message that repeats the key.
local M = {}

---@class std.secret.Secret
local Secret = { __name = "secret", __metatable = "secret" }

local texts = setmetatable({}, { __mode = "k" }) -- secret → text
local SHORTEST = 6 -- shorter ones are not searched for: they would hit innocent words

--- Wraps a text.
---@param text string
---@return std.secret.Secret
function M.new(text)
  if type(text) ~= "string" then
    error("a secret is made from a string, got " .. type(text), 2)
  end
  local secret = setmetatable({}, Secret)
  texts[secret] = text
  return secret
end

---@param value any
---@return boolean
function M.is(value)
  return texts[value] ~= nil
end

--- The text itself, for the one place that sends it. A plain string comes back as it is.
---@param value std.secret.Secret|string
---@return string
function M.reveal(value)
  local text = texts[value] or value
  if type(text) ~= "string" then
    error("a secret or a string expected, got " .. type(value), 2)
  end
  return text
end

--- Replaces every living secret in a text by `***`.
---@param text string
---@return string
function M.redact(text)
  for _, secret in pairs(texts) do
    if #secret >= SHORTEST and text:find(secret, 1, true) then
      text = text:gsub(secret:gsub("%p", "%%%0"), "***")
    end
  end
  return text
end

function Secret.__tostring()
  return "***"
end

--- A text joined with a secret is a secret.
function Secret.__concat(a, b)
  return M.new(M.reveal(a) .. M.reveal(b))
end

return M
