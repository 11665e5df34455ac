--- Checks that what a Lua file exports is described for people and for LuaLS:
---   lua5.4 tests/lint/annotations.lua
-- An export is `function M.name(...)` or `function M:name(...)` where M is the table the file returns. It
-- needs a comment that begins with ---, a ---@param for each parameter and, where it returns values,
-- a ---@return. ---@type function signatures and ---@overload count for both.

local problems, checked = 0, 0

local function read(path)
  local file = assert(io.open(path))
  local text = file:read "a"
  file:close()
  return text
end

local function lines_of(text)
  local out = {}
  for line in (text .. "\n"):gmatch "(.-)\r?\n" do
    out[#out + 1] = line
  end
  return out
end

-- The comment block right above a line.
local function comment_above(lines, at)
  local from = at
  while from > 1 and lines[from - 1]:find "^%s*%-%-" do
    from = from - 1
  end
  return table.concat(lines, "\n", from, at - 1)
end

-- True when the function that begins at a line returns a value at its own level. Its end is the `end`
-- that is indented like its head.
local function returns_value(lines, at)
  local indent = lines[at]:match "^%s*"
  if lines[at]:find "%f[%w]end%s*$" then
    return lines[at]:find "return%s+[^%s]" and not lines[at]:find "return%s+end"
  end
  local inner
  for i = at + 1, #lines do
    local line = lines[i]
    if line:find("^" .. indent .. "end%f[%W]") then
      return false
    end
    -- Functions within have returns of their own.
    if inner then
      if line:find("^" .. inner .. "end%f[%W]") then
        inner = nil
      end
    elseif line:find "%f[%w]function%f[%W]" and not line:find "%f[%w]end%f[%W]" then
      inner = line:match "^%s*"
    elseif line:find "^%s*return%s+[^%s;]" or line:find "%f[%w]then%s+return%s+[^%s;]" then
      return not line:find "return%s+end%s*$"
    end
  end
  return false
end

local function check_function(path, lines, at, name, parameters)
  local comment = comment_above(lines, at)
  local function problem(text)
    problems = problems + 1
    print(("%s:%d: %s %s"):format(path, at, name, text))
  end
  checked = checked + 1
  if not comment:find "%-%-%-" then
    return problem "has no --- comment"
  end
  if comment:find "%-%-%-@type fun" or comment:find "%-%-%-@overload" or comment:find "%-%-%-@private" then
    return
  end
  for parameter in parameters:gmatch "[%w_.]+" do
    local plain = parameter:gsub("%.", "%%.")
    if parameter:sub(1, 1) ~= "_" and not comment:find("%-%-%-@param%s+" .. plain .. "%??%f[%s\0]") then
      problem("has no ---@param " .. parameter)
    end
  end
  if returns_value(lines, at) and not comment:find "%-%-%-@return" then
    problem "has no ---@return"
  end
end

local function check(path)
  local text = read(path)
  local exported = text:match "\nreturn%s+([%a_][%w_]*)%s*$"
  if not exported then
    return -- returns a table of data
  end
  local lines = lines_of(text)
  for at, line in ipairs(lines) do
    local owner, name, parameters = line:match "^function%s+([%w_]+)([.:][%w_]+)%s*%(([^)]*)%)"
    if not owner then
      owner, name, parameters = line:match "^([%w_]+)(%.[%w_]+)%s*=%s*function%s*%(([^)]*)%)"
    end
    if owner == exported and not name:find "^[.:]_" then
      check_function(path, lines, at, owner .. name, parameters)
    end
  end
end

local pipe = assert(io.popen "find lua/alisio stdlib/lua -name '*.lua' | LC_ALL=C sort")
for path in pipe:lines() do
  check(path)
end
pipe:close()
print(("annotations: %d exported functions, %d problems"):format(checked, problems))
os.exit(problems == 0)
