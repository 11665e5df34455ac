--- The text of a file for a reader: UTF-8, UTF-16 with its mark, else windows-1252, as tables are read.
local text = require "std.text"

local M = {}

-- What windows-1252 has where Latin-1 has control characters; five numbers mean nothing.
local HIGH = {
  [0x80] = 0x20AC, [0x82] = 0x201A, [0x83] = 0x0192, [0x84] = 0x201E, [0x85] = 0x2026, [0x86] = 0x2020, [0x87] = 0x2021,
  [0x88] = 0x02C6, [0x89] = 0x2030, [0x8A] = 0x0160, [0x8B] = 0x2039, [0x8C] = 0x0152, [0x8E] = 0x017D, [0x91] = 0x2018,
  [0x92] = 0x2019, [0x93] = 0x201C, [0x94] = 0x201D, [0x95] = 0x2022, [0x96] = 0x2013, [0x97] = 0x2014, [0x98] = 0x02DC,
  [0x99] = 0x2122, [0x9A] = 0x0161, [0x9B] = 0x203A, [0x9C] = 0x0153, [0x9E] = 0x017E, [0x9F] = 0x0178,
}

-- two: how two bytes make a number, for string.unpack
local function from_utf16(bytes, two)
  local out, high = {}, nil
  for at = 3, #bytes - 1, 2 do
    local unit = two:unpack(bytes, at)
    if high and unit & 0xFC00 == 0xDC00 then
      out[#out + 1] = utf8.char(0x10000 + ((high & 0x3FF) << 10) + (unit & 0x3FF))
      high = nil
    else
      out[#out + 1] = high and "\u{FFFD}" or nil
      high = unit & 0xFC00 == 0xD800 and unit or nil
      if not high then
        out[#out + 1] = unit & 0xFC00 == 0xDC00 and "\u{FFFD}" or utf8.char(unit)
      end
    end
  end
  return table.concat(out)
end

--- Decodes the beginning of a file.
---@param bytes string
---@param cut boolean  whether it goes on: a character may be cut at its end
---@return string utf8
function M.text(bytes, cut)
  local mark = bytes:sub(1, 2)
  if mark == "\xFF\xFE" or mark == "\xFE\xFF" then
    return from_utf16(bytes, mark == "\xFF\xFE" and "<I2" or ">I2")
  end
  local whole = cut and text.cut(bytes, math.max(#bytes - 3, 0)) or bytes
  if text.valid(whole) then
    return (whole:gsub("^\u{FEFF}", ""))
  end
  return (bytes:gsub("[\128-\255]", function(byte)
    return utf8.char(HIGH[byte:byte()] or byte:byte())
  end))
end

return M
