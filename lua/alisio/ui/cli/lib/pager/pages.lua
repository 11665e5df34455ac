--- Rows of one sheet for a screen that moves over them. Blocks of rows and columns are fetched one at
--- a time, those in sight first, then their neighbours; the ones last seen are kept.
local task = require "std.task"

local M = {}

local ROWS, COLUMNS = 200, 24 -- of a block
local KEPT = 64               -- blocks
local CELL_BYTES = 512        -- of a cell that a screen can show

---@class alisio.Pages
---@field rows integer     of the sheet, or of the view
---@field failure table?   { message, id, fields } of the last fetch
local Pages = {}
Pages.__index = Pages

--- Makes the pages of a sheet. Nothing is fetched before `run`.
---@param options { fetch: function, changed: fun(), rows: integer, columns: string[] }
---   fetch({ first, count, columns = names, view, cellBytes }) gives { rows, numbers } or nil and an error;
---   changed is called when something came
---@return alisio.Pages
function M.new(options)
  return setmetatable({
    fetch = options.fetch, changed = options.changed, sheet_rows = options.rows, rows = options.rows,
    names = options.columns, blocks = {}, clock = 0, retired = {}, bell = task.channel(1),
  }, Pages)
end

local function key_of(block, group)
  return block * (1 << 16) + group
end

--- Whether a cell is there, its value, and the number of its row in the sheet.
---@param position integer  from 1, in the order of the view
---@param column integer
---@return boolean there
---@return any value
---@return integer? number
function Pages:cell(position, column)
  local block = self.blocks[key_of((position - 1) // ROWS, (column - 1) // COLUMNS)]
  local at = (position - 1) % ROWS + 1
  local row = block and block.rows[at]
  if not row then
    return false
  end
  return true, row[(column - 1) % COLUMNS + 1], block.numbers[at]
end

--- Says what is in sight; what of it is missing is fetched.
---@param first integer  positions
---@param last integer
---@param left integer   columns
---@param right integer
function Pages:look(first, last, left, right)
  self.sight = { (first - 1) // ROWS, (last - 1) // ROWS, (left - 1) // COLUMNS, (right - 1) // COLUMNS }
  self.bell:try_send(true)
end

local function missing_of(self, block, group)
  if block < 0 or block * ROWS >= self.rows then
    return false
  end
  local there = self.blocks[key_of(block, group)]
  if there then
    self.clock = self.clock + 1
    there.seen = self.clock
  end
  return not there
end

--- The block to fetch next: in sight, then above and below.
local function missing(self)
  if not self.sight then
    return
  end
  local top, bottom, left, right = table.unpack(self.sight)
  for _, around in ipairs { { top, bottom }, { bottom + 1, bottom + 1 }, { top - 1, top - 1 } } do
    for block = around[1], around[2] do
      for group = left, right do
        if missing_of(self, block, group) then
          return block, group
        end
      end
    end
  end
end

local function evict(self)
  local count, oldest = 0, nil
  for key, block in pairs(self.blocks) do
    count = count + 1
    if not oldest or block.seen < self.blocks[oldest].seen then
      oldest = key
    end
  end
  if count > KEPT then
    self.blocks[oldest] = nil
  end
end

local function retire(self)
  for i, view in ipairs(self.retired) do
    self.retired[i] = nil
    view:release()
  end
end

local function fetch(self, view, rows, block, group)
  local got, message, id, fields = self.fetch {
    first = block * ROWS + 1, count = math.min(ROWS, rows - block * ROWS), view = view, cellBytes = CELL_BYTES,
    columns = table.move(self.names, group * COLUMNS + 1, (group + 1) * COLUMNS, 1, {}),
  }
  if got then
    self.clock = self.clock + 1
    got.seen = self.clock
  end
  return got, message, id, fields
end

--- Fetches what is looked at, until its task is cancelled.
---@async
function Pages:run()
  while self.bell:receive() do
    local block, group = missing(self)
    while block do
      local blocks = self.blocks
      local got, message, id, fields = fetch(self, self.view, self.rows, block, group)
      if blocks == self.blocks and not got then -- else a view came in between
        self.failure = { message, id, fields }
        self.changed()
        break
      elseif blocks == self.blocks then
        self.failure = nil
        blocks[key_of(block, group)] = got
        evict(self)
        self.changed()
      end
      retire(self)
      block, group = missing(self)
    end
    retire(self)
  end
end

--- Fetches the first rows of a view in the columns that are in sight, and only then shows its rows, or
--- those of the sheet. A view is released when the next takes its place.
---@async
---@param view table?
---@return boolean? ok
---@return string? err
---@return string? id
---@return table? fields
function Pages:show(view)
  local rows, blocks = view and view.rows or self.sheet_rows, {}
  for group = self.sight and self.sight[3] or 0, rows > 0 and self.sight and self.sight[4] or -1 do
    local got, err, id, fields = fetch(self, view, rows, 0, group)
    if not got then
      return nil, err, id, fields
    end
    blocks[key_of(0, group)] = got
  end
  if self.view then
    self.retired[#self.retired + 1] = self.view
  end
  self.view, self.rows = view, rows
  self.blocks, self.sight, self.failure = blocks, nil, nil
  self.bell:try_send(true)
  return true
end

return M
