---@meta host.text
-- Text, as std.text uses it.

local M = {}

---@param text string
---@return string? text NFC; nil when it is not UTF-8
function M.normalize(text) end

---@param text string
---@return string? text without accents, lower case; nil when it is not UTF-8
function M.fold(text) end

---@param text string
---@return boolean
function M.valid(text) end

---@param text string
---@param max integer bytes
---@return string
function M.cut(text, max) end

---@param text string
---@return integer columns
function M.width(text) end

---@param text string
---@param columns integer
---@return string
function M.truncate(text, columns) end

---@param text string
---@param columns integer
---@return string[] lines
function M.wrap(text, columns) end

---@param text string
---@param keep_lines boolean?
---@return string
function M.visible(text, keep_lines) end

---@param text string
---@param options { width: integer?, color: boolean? }?
---@return string
function M.markdown(text, options) end

return M
