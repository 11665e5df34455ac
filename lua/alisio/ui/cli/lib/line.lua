--- One line of words as it is typed.
local M = {}

--- The line after a key: characters are added, Backspace takes the last, Ctrl-U all, Ctrl-W a word.
---@param said string
---@param key { key: string, ctrl: boolean, alt: boolean }
---@return string
function M.typed(said, key)
  if key.key == "Backspace" then
    local at = utf8.offset(said, -1)
    return at and said:sub(1, at - 1) or said
  elseif key.ctrl and key.key:lower() == "u" then
    return ""
  elseif key.ctrl and key.key:lower() == "w" then
    return (said:gsub("%S*%s*$", ""))
  elseif utf8.len(key.key) == 1 and not key.ctrl and not key.alt then
    return said .. key.key
  elseif key.key == "Space" then
    return said .. " "
  end
  return said
end

return M
