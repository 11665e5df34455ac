--- The state of the table view and what each key does to it. Whatever waits runs in tasks beside it and
--- rings for a new picture.
local clock = require "std.clock"
local task = require "std.task"
local term = require "std.term"
local text = require "std.text"
local distribution = require "alisio.data.distribution"
local words = require "alisio.kernel.words"
local cells = require "alisio.ui.cli.lib.cells"
local filters_text = require "alisio.ui.cli.lib.pager.filter"
local frame = require "alisio.ui.cli.lib.pager.frame"
local line = require "alisio.ui.cli.lib.line"
local pages = require "alisio.ui.cli.lib.pager.pages"
local pick = require("alisio.ui.cli.lib.text").pick
local said = require "alisio.ui.cli.lib.pager.words"

local M = {}

local LONG = 200 -- bytes of a cell up to which a filter begins with its value

local Pager = {}
Pager.__index = Pager

local function new_view(p, sheet)
  local view = {
    sheet = sheet, columns = {}, spread = {}, filters = {}, row = 1, column = 1, top = 1, left = 1,
  }
  local names = {}
  for c, column in ipairs(sheet.columns) do
    local label = cells.text(column.label)
    label = label ~= "" and label or cells.text(column.name)
    names[c] = column.name
    view.columns[c] = {
      name = column.name, label = label, type = cells.text(column.type), width = frame.first_width(column, label),
      right = column.type == "integer" or column.type == "real",
    }
    view.spread[c] = distribution.shares(column, sheet.rows)
  end
  view.pages = pages.new {
    rows = sheet.rows, columns = names, changed = p.ring,
    fetch = function(want)
      return p.source:rows(sheet, want)
    end,
  }
  return view
end

--- Makes the table view of a dataset. `spawn` starts a task and gives it, `ring` is called when the
--- picture has changed.
---@param options { source: table, described: table, locale: string, color: boolean, utf8: boolean, spawn: (fun(fn: function, ...): table), ring: fun(), now: (fun(): number)? }
---@return table
function M.new(options)
  local p = setmetatable({
    source = options.source, locale = options.locale, color = options.color, utf8 = options.utf8,
    spawn = options.spawn, ring = options.ring, now = options.now or clock.monotonic,
    title = cells.text(options.described.file), columns = 80, rows = 24, height = 1, views = {}, at = 1,
  }, Pager)
  for i, sheet in ipairs(options.described.sheets) do
    p.views[i] = new_view(p, sheet)
  end
  p.view = p.views[1]
  return p
end

--- A text of the view in its language.
function Pager:t(key, fields)
  return pick(said[key], self.locale, fields)
end

--- A text with a number in it, one or many.
function Pager:count(key, n)
  local entry = said[key]
  return pick(n == 1 and entry.one or entry.other, self.locale, { count = words.number(self.locale, n) })
end

--- Text in the colour of a role. The chosen cell is reverse without colours, too: that is none.
function Pager:paint(s, role)
  return (self.color or role == "selected") and term.style(s, role) or s
end

--- The words of an error, on one line.
function Pager:failure(message, id, fields)
  return cells.text(words.failure(self.locale, message, id, fields))
end

function Pager:say(words_said, role)
  self.message = { text = words_said, role = role or "quiet" }
end

--- Runs what may take long beside the screen; there is one such work at a time, and Escape stops it.
local function work(p, about, fn)
  p:stop()
  local mine = { text = about, done = 0, total = 0, since = p.now() }
  p.busy, p.message = mine, nil
  mine.task = p.spawn(function()
    fn(function(done, total)
      mine.done, mine.total = done, total
      p.ring()
    end)
    if p.busy == mine then
      p.busy = nil
    end
    p.ring()
  end)
  p.spawn(function() -- what says nothing of its progress is seen to go on, too
    task.sleep(frame.SLOW_MS)
    p.ring()
  end)
end

--- Stops the work that is on.
---@return boolean? stopped  whether there was one
function Pager:stop()
  local busy = self.busy
  self.busy = nil
  if busy and busy.task then
    busy.task:cancel()
    return true
  end
end

--- Shows the rows as they are, or a view that is made first: sorted, and only those that pass.
local function arrange(p, sort, filters)
  local view = p.view
  local about = sort and sort ~= view.sort and p:t("sorting", { column = view.columns[sort.column].label }) or p:t "filtering"
  work(p, about, function(progress)
    local plain = not sort and not next(filters)
    local made, ok, message, id, fields
    if not plain then
      made, message, id, fields = p.source:view(view.sheet, sort, filters, progress)
    end
    if plain or made then
      ok, message, id, fields = view.pages:show(made)
    end
    if ok then
      view.sort, view.filters = sort, filters
      view.row, view.top = 1, 1
      return
    end
    if made then
      made:release()
    end
    p:say("✗ " .. p:failure(message, id, fields), "failed")
  end)
  p.busy.asked = { sort = sort, filters = filters }
end

--- How the rows are arranged, or will be: keys may come faster than views are made.
local function arranged(p)
  return p.busy and p.busy.asked or p.view
end

local function sort(p)
  local now, column = arranged(p), p.view.column
  local following
  if not now.sort or now.sort.column ~= column then
    following = { column = column, descending = false }
  elseif not now.sort.descending then
    following = { column = column, descending = true }
  end
  arrange(p, following, now.filters)
end

local function ask(p, prompt, begin, keys, done)
  p.message = nil
  p.input = { prompt = prompt, text = begin, keys = keys, done = done }
end

local function filter(p)
  local view, c = p.view, p.view.column
  local column, begin = view.columns[c], ""
  if view.filters[c] then
    begin = filters_text.typed(view.filters[c])
  else
    local there, value = view.pages:cell(view.row, c)
    if there and value == nil then
      begin = "="
    elseif there then
      local shown = type(value) == "string" and value or cells.show(value)
      begin = #shown <= LONG and "=" .. shown or ""
    end
  end
  local hints = { "is", "compare", "part", "no_filter", "clear", "apply", "leave" }
  ask(p, column.label, begin, hints, function(typed)
    local now, filters = arranged(p), {}
    for at, kept in pairs(now.filters) do
      filters[at] = kept
    end
    filters[c] = filters_text.parse(typed, column.right)
    arrange(p, now.sort, filters)
  end)
end

local function column_of_row(p, view, position, wanted, from, step)
  for c = from, step > 0 and #view.columns or 1, step do
    local there, value = view.pages:cell(position, c)
    if there and p.source.holds(value, wanted) then
      return c
    end
  end
end

--- Goes to the next cell that holds what is looked for, and from the other end when there is none.
local function find(p, step)
  local view, wanted = p.view, p.wanted
  if not wanted then
    p:say(p:t "nothing_wanted")
    return
  end
  local same = column_of_row(p, view, view.row, wanted, view.column + step, step)
  if same then
    view.column, p.message = same, nil
    return
  end
  local rows, here = view.pages.rows, view.row
  work(p, p:t("finding", { text = cells.text(p.shown_wanted) }), function(progress)
    local function search(from, to, before)
      if from < 1 or from > rows or (to - from) * step < 0 then
        return false
      end
      return p.source:search(view.sheet, { view = view.pages.view, sort = view.sort }, from, to, wanted, function(done, total)
        progress(before + done * (math.abs(to - from) + 1) // total, rows)
      end)
    end
    local last = step > 0 and rows or 1
    local found, message, id, fields = search(here + step, last, 0)
    local around = false
    if found == false then
      around = true
      found, message, id, fields = search(step > 0 and 1 or rows, here, math.abs(last - here))
    end
    if found == nil then
      p:say("✗ " .. p:failure(message, id, fields), "failed")
      return
    elseif not found then
      p:say(p:t("not_found", { text = cells.text(p.shown_wanted) }), "waiting")
      return
    end
    view.row = found
    if around then
      p:say(p:t(step > 0 and "around" or "around_end"))
    end
    local row, why, code, about = p.source:rows(view.sheet, { -- its column: the cells may not be in sight yet
      first = found, count = 1, columns = view.pages.names, view = view.pages.view, cellBytes = 1 << 16,
    })
    if not row then
      p:say("✗ " .. p:failure(why, code, about), "failed")
      return
    end
    for c = step > 0 and 1 or #view.columns, step > 0 and #view.columns or 1, step do
      if row.rows[1] and p.source.holds(row.rows[1][c], wanted) then
        view.column = c
        return
      end
    end
  end)
end

local function go(p, typed)
  local view = p.view
  local plain = typed:gsub("[.,  ]", "")
  local row = math.tointeger(tonumber(plain))
  if row then
    view.row = math.max(1, math.min(row, view.pages.rows))
    return
  end
  local wanted = text.fold(typed) or typed:lower()
  for _, exact in ipairs { true, false } do
    for c, column in ipairs(view.columns) do
      local label = text.fold(column.label) or column.name
      local same = label == wanted or column.name == wanted
      if same or not exact and (label:find(wanted, 1, true) or column.name:find(wanted, 1, true)) then
        view.column = c
        return
      end
    end
  end
  p:say(p:t("no_column", { text = cells.text(typed) }), "waiting")
end

local function open_page(p, title, about, whole)
  p.page = { title = title, about = about, whole = whole, first = 1 }
  p:fold()
end

--- Breaks the text of the page at the width of the window.
function Pager:fold()
  self.page.lines = text.wrap(self.page.whole, math.max(1, self.columns - 3))
end

local function cell(p)
  local view = p.view
  if view.pages.rows == 0 then
    return
  end
  local column, position = view.columns[view.column], view.row
  work(p, p:t "fetching", function()
    local got, message, id, fields = p.source:whole(view.sheet, view.pages.view, position, column.name)
    if not got then
      p:say("✗ " .. p:failure(message, id, fields), "failed")
      return
    end
    local value = got.value
    local shown = type(value) == "string" and text.visible(value, true):gsub("\t", "    ") or value == nil and p:t "empty"
      or cells.show(value)
    local _, _, number = view.pages:cell(position, view.column)
    local about = type(value) == "string" and p:count("characters", utf8.len(value) or #value) or column.type
    open_page(p, column.label, p:t("of_row", { row = words.number(p.locale, number or position) }) .. "   " .. about, shown)
  end)
end

local function sheet(p, step)
  p:stop()
  p.message = nil
  p.at = (p.at - 1 + step) % #p.views + 1
  p.view = p.views[p.at]
  if not p.view.started then
    p:start()
  end
end

--- Starts what fetches the rows of the sheet that is shown, and counts how they are spread.
function Pager:start()
  local view = self.view
  view.started = true
  self.spawn(function() view.pages:run() end)
  self.spawn(function()
    local spread = self.source:spread(view.sheet)
    for c, heights in pairs(spread and spread.heights or {}) do
      view.spread[c] = heights
    end
    self.ring()
  end)
end

local function move_column(p, step)
  local view = p.view
  view.column = math.max(1, math.min(#view.columns, view.column + step))
end

local keys = {
  Up = function(p) p.view.row = p.view.row - 1 end,
  Down = function(p) p.view.row = p.view.row + 1 end,
  PageUp = function(p) p.view.row, p.view.top = p.view.row - p.height, p.view.top - p.height end,
  PageDown = function(p) p.view.row, p.view.top = p.view.row + p.height, p.view.top + p.height end,
  Home = function(p) p.view.row = 1 end,
  End = function(p) p.view.row = p.view.pages.rows end,
  Left = function(p, key) move_column(p, (key.ctrl or key.shift) and -10 or -1) end,
  Right = function(p, key) move_column(p, (key.ctrl or key.shift) and 10 or 1) end,
  Enter = cell,
  s = sort,
  f = filter,
  F = function(p) arrange(p, arranged(p).sort, {}) end,
  g = function(p)
    ask(p, p:t "go", "", { "row_or_column", "apply", "leave" }, function(typed)
      if typed ~= "" then
        go(p, typed)
      end
    end)
  end,
  ["/"] = function(p)
    ask(p, p:t "find", "", { "next", "apply", "leave" }, function(typed)
      if typed ~= "" then
        p.wanted, p.shown_wanted = typed:lower(), typed
      end
      find(p, 1)
    end)
  end,
  n = function(p) find(p, 1) end,
  N = function(p) find(p, -1) end,
  ["?"] = function(p) open_page(p, p:t "help_title", "", p:t "help") end,
  Tab = function(p, key) sheet(p, key.shift and -1 or 1) end,
  Escape = function(p)
    if p:stop() then
      p:say(p:t "stopped")
    end
  end,
  q = function(p) p.done = true end,
}
local also = { h = "Left", j = "Down", k = "Up", l = "Right", [" "] = "PageDown", Space = "PageDown", b = "PageUp", G = "End" }

local scrolls = {
  Up = function() return -1 end,
  Down = function() return 1 end,
  PageUp = function(p) return -p.height end,
  PageDown = function(p) return p.height end,
  Home = function(p) return -#p.page.lines end,
  End = function(p) return #p.page.lines end,
}

local function page_key(p, name)
  local scroll = scrolls[also[name] or name]
  if scroll then
    p.page.first = p.page.first + scroll(p)
  elseif name == "q" or name == "Escape" or name == "Enter" or name == "?" then
    p.page = nil
  end
end

local function input_key(p, key)
  local input = p.input
  if key.key == "Escape" then
    p.input = nil
  elseif key.key == "Enter" then
    p.input = nil
    input.done(input.text)
  else
    input.text = line.typed(input.text, key)
  end
end

--- Does what a key means.
---@param key { key: string, ctrl: boolean, alt: boolean, shift: boolean }
function Pager:key(key)
  if key.ctrl and key.key:lower() == "c" then
    error("cancelled", 0)
  elseif key.ctrl and key.key:lower() == "l" then
    self.resized = true
  elseif self.input then
    input_key(self, key)
  elseif self.page then
    page_key(self, key.key)
  else
    local does = keys[also[key.key] or key.key]
    if does and not key.alt and not (key.ctrl and #key.key == 1) then
      if not self.busy then
        self.message = nil
      end
      does(self, key)
    end
  end
end

--- Takes the size of the window.
function Pager:resize(columns, rows)
  self.columns, self.rows = math.max(20, columns), math.max(6, rows)
  if self.page then
    self:fold()
  end
end

--- The lines of the screen.
---@return string[]
function Pager:lines()
  return frame.draw(self)
end

return M
