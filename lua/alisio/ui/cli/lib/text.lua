--- Words of the command line: a text is a string, or a table with one string a language.
local M = {}

--- Picks the language of a text and fills its `{name}` places.
---@param text string|table  a string, or { en = …, es = … }
---@param locale string      "en" or "es"
---@param fields? table      what stands for `{name}`; a place without a field stays as it is
---@return string
function M.pick(text, locale, fields)
  local words = type(text) == "table" and (text[locale] or text.en) or text
  if not fields then
    return words
  end
  return (words:gsub("{([%a_]+)}", function(name)
    local value = fields[name]
    return value ~= nil and tostring(value) or nil
  end))
end

return M
