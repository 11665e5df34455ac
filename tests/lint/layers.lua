--- Checks which room uses which: C includes, the libraries behind them, what the programs link, Lua
--- requires, Python imports. Run in the repository's root: lua5.4 tests/lint/layers.lua
-- The tables below are the house; the rest of the file reads the sources against them.

local C_ROOMS = {
  include = { uses = {}, libs = {} },
  base = { uses = { "base" }, libs = { "crypto", "xxhash", "utf8proc" } },
  data = { uses = { "base", "data" }, libs = { "sqlite3", "archive", "expat", "z" } },
  jail = { uses = { "base", "jail" }, libs = { "seccomp" } },
  prim = { uses = { "base", "prim" }, libs = { "uv", "curl", "sqlite3", "archive", "md4c", "termkey", "microhttpd", "utf8proc" } },
  core = { uses = { "base", "include", "core" }, libs = { "lua", "uv" } },
  bind = { uses = { "base", "prim", "core", "bind" }, libs = { "lua", "uv" } },
  ["app/alisio.c"] = { uses = { "base", "include", "core", "bind" }, libs = {} },
  ["app/engine.c"] = { uses = { "base", "data", "jail" }, libs = {} },
  ["app/jail.c"] = { uses = { "base", "jail" }, libs = {} },
}

-- The library a header belongs to; what is in neither list is an unknown library.
local HEADERS = {
  { "^openssl/", "crypto" }, { "^xxhash%.h$", "xxhash" }, { "^utf8proc%.h$", "utf8proc" },
  { "^sqlite3", "sqlite3" }, { "^archive", "archive" }, { "^expat", "expat" }, { "^zlib%.h$", "z" }, { "^seccomp%.h$", "seccomp" },
  { "^uv%.h$", "uv" }, { "^curl/", "curl" }, { "^md4c", "md4c" }, { "^termkey%.h$", "termkey" },
  { "^microhttpd%.h$", "microhttpd" }, { "^lua%.h$", "lua" }, { "^lauxlib%.h$", "lua" }, { "^lualib%.h$", "lua" },
}
local SYSTEM = {}
for name in ([[
  assert ctype errno fenv float inttypes limits locale math setjmp signal stdalign stdarg stdatomic stdbool stddef
  stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype
  dirent dlfcn fcntl fnmatch getopt grp langinfo libgen malloc netdb poll pthread pwd regex sched semaphore spawn
  strings termios unistd syscall endian features elf fts link
  emmintrin immintrin arm_neon
]]):gmatch "%S+" do
  SYSTEM[name .. ".h"] = true
end

-- pkg-config modules and the shared libraries a program may name, by the room's short name.
local MODULES = {
  libcrypto = "crypto", libxxhash = "xxhash", libutf8proc = "utf8proc", sqlite3 = "sqlite3", libarchive = "archive",
  expat = "expat", zlib = "z", libseccomp = "seccomp", libuv = "uv", libcurl = "curl", md4c = "md4c", termkey = "termkey",
  libmicrohttpd = "microhttpd", ["$(LUA)"] = "lua",
}
local PROGRAMS = {
  ["libexec/alisio/engine"] = { "base", "data", "jail" },
  ["libexec/alisio/jail"] = { "base", "jail" },
}

local LUA_ROOMS = {
  { "stdlib/lua/std/", "std", { "host", "std" } },
  { "lua/alisio/kernel/", "alisio.kernel", { "std", "alisio.kernel" } },
  { "lua/alisio/data/", "alisio.data", { "std", "alisio.kernel", "alisio.data", "alisio.artifacts", "alisio.charts" } },
  { "lua/alisio/artifacts/", "alisio.artifacts", { "=alisio.data" } },
  { "lua/alisio/charts/", "alisio.charts", { "=alisio.data" } },
  { "lua/alisio/analysis/", "alisio.analysis", { "=alisio.data", "alisio.analysis" } },
  { "lua/alisio/dashboard/", "alisio.dashboard", { "=alisio.data", "alisio.dashboard" } },
  { "lua/alisio/agent/", "alisio.agent", { "=alisio.data", "alisio.analysis", "alisio.dashboard", "alisio.agent" } },
  { "lua/alisio/ui/cli/", "alisio.ui.cli", { "=alisio.agent", "alisio.ui.cli" } },
  { "lua/alisio/ui/tui/", "alisio.ui.tui", { "=alisio.agent", "alisio.ui.tui" } },
  { "lua/alisio/ui/web/", "alisio.ui.web", { "=alisio.agent", "alisio.ui.web" } },
  { "lua/alisio/ui/acp", "alisio.ui.acp", { "=alisio.agent", "alisio.ui.acp" } },
  { "lua/alisio/ui/embed.lua", "alisio.ui.embed", { "=alisio.agent" } },
  { "lua/alisio/ui/mcp", "alisio.ui.mcp", { "=alisio.agent", "alisio.ui.mcp" } },
  { "lua/alisio/init.lua", "alisio", { "=alisio.agent" } },
  { "lua/alisio/defaults/", "a user's file", { "alisio", "std" }, exact = { alisio = true } },
  { "lua/types/", "stubs", {} },
}

local problems, checked = 0, 0

local function problem(path, line, text)
  problems = problems + 1
  print(("%s:%d: %s"):format(path, line, text))
end

local function set(list)
  local out = {}
  for _, name in ipairs(list) do
    out[name] = true
  end
  return out
end

local function lines_of(command)
  local pipe = assert(io.popen(command))
  local out = {}
  for line in pipe:lines() do
    out[#out + 1] = line
  end
  pipe:close()
  return out
end

local function files(where, pattern)
  return lines_of(("find %s -type f -name '%s' 2>/dev/null | LC_ALL=C sort"):format(where, pattern))
end

local function each_line(path, fn)
  local n = 0
  for line in io.lines(path) do
    n = n + 1
    fn(line, n)
  end
  checked = checked + 1
end

local function library_of(header)
  for _, rule in ipairs(HEADERS) do
    if header:find(rule[1]) then
      return rule[2]
    end
  end
  if SYSTEM[header] or header:find "^sys/" or header:find "^linux/" or header:find "^netinet/"
    or header:find "^arpa/" or header:find "^%a+intrin%.h$" then
    return nil
  end
  return "unknown to tests/lint/layers.lua"
end

local function check_c(path)
  local where = path:match "^host/(.*)"
  local name = C_ROOMS[where] and where or where:match "^[^/]+"
  local room = C_ROOMS[name]
  if not room then
    return problem(path, 1, "there is no room host/" .. name)
  end
  local uses, libs, own = set(room.uses), set(room.libs), nil
  each_line(path, function(line, n)
    local ours = line:match '^%s*#%s*include%s*"([^"]+)"'
    local theirs = line:match "^%s*#%s*include%s*<([^>]+)>"
    if ours then
      local other = ours == "alisio.h" and "include" or ours:match "^([^/]+)/"
      if not other or not C_ROOMS[other] then
        problem(path, n, ('"%s" is not written from host/'):format(ours))
      elseif not uses[other] then
        problem(path, n, ("%s may not use %s (%s)"):format(name, other, ours))
      end
    elseif theirs then
      local lib = library_of(theirs)
      if lib and not libs[lib] then
        problem(path, n, ("%s may not use the library %s (<%s>)"):format(name, lib, theirs))
      elseif lib and name == "prim" and lib ~= "uv" then
        if own and own ~= lib then
          problem(path, n, ("a primitive is about one library: %s and %s"):format(own, lib))
        end
        own = lib
      end
    end
  end)
end

local function check_makefile()
  each_line("Makefile", function(line, n)
    local name, value = line:match "^PKGS_(%w+) := (.*)"
    local room = name and C_ROOMS[name]
    if not room then
      return
    end
    local libs = set(room.libs)
    for module in value:gsub("%$%(if .-,,(%S+)%)", "%1"):gmatch "%S+" do
      if not libs[MODULES[module] or module] then
        problem("Makefile", n, ("%s may not link %s"):format(name, module))
      end
    end
  end)
end

-- What the built helpers name as libraries, where they and readelf are at hand.
local function check_programs(build)
  for program, rooms in pairs(PROGRAMS) do
    local path, allowed = build .. "/" .. program, {}
    for _, room in ipairs(rooms) do
      for _, lib in ipairs(C_ROOMS[room].libs) do
        allowed[lib] = true
      end
    end
    for _, line in ipairs(lines_of("readelf -d '" .. path .. "' 2>/dev/null")) do
      local lib = line:match "NEEDED.-%[lib([%w_]+)"
      local short = lib and lib:gsub("^lua.*", "lua")
      for _, known in pairs(MODULES) do
        if short == known and not allowed[known] then
          problem(path, 1, "is linked with " .. known)
        end
      end
    end
  end
end

local function allowed_of(room)
  local out = {}
  for _, name in ipairs(room[3]) do
    local same = name:match "^=(.*)"
    if same then
      for _, other in ipairs(LUA_ROOMS) do
        if other[2] == same then
          for k in pairs(allowed_of(other)) do
            out[k] = true
          end
        end
      end
    else
      out[name] = true
    end
  end
  return out
end

-- "alisio.agent" covers "alisio.agent" and "alisio.agent.loop".
local function covered(allowed, module, exact)
  for name in pairs(allowed) do
    if module == name or (not (exact and exact[name]) and module:sub(1, #name + 1) == name .. ".") then
      return true
    end
  end
  return false
end

local function check_lua(path)
  local room
  for _, candidate in ipairs(LUA_ROOMS) do
    if path:sub(1, #candidate[1]) == candidate[1] then
      room = candidate
    end
  end
  if not room then
    return problem(path, 1, "belongs to no room")
  end
  local allowed = allowed_of(room)
  each_line(path, function(line, n)
    local code = line:gsub("%-%-.*", "")
    for _, pattern in ipairs { "require%s*%(?%s*[\"']([%w_.]+)", "require%s*,%s*[\"']([%w_.]+)" } do
      for module in code:gmatch(pattern) do
        if not covered(allowed, module, room.exact) then
          problem(path, n, ("%s may not require %s"):format(room[2], module))
        end
      end
    end
  end)
end

local function check_python()
  local known = set(lines_of "python3 -c 'import sys; print(*sys.stdlib_module_names, sep=\"\\n\")' 2>/dev/null")
  if not next(known) then
    return
  end
  known.alisio_runtime = true
  for _, path in ipairs(files("stdlib/python", "*.py")) do
    each_line(path, function(line, n)
      local list = line:match "^%s*import%s+(.*)" or line:match "^%s*from%s+([%w_]+)%S*%s+import"
      for module in (list or ""):gsub("%s+as%s+[%w_]+", ""):gmatch "[^,%s]+" do
        if not known[module:match "^[%w_]+"] then
          problem(path, n, "alisio_runtime may not import " .. module)
        end
      end
    end)
  end
end

for _, pattern in ipairs { "*.c", "*.h" } do
  for _, path in ipairs(files("host", pattern)) do
    check_c(path)
  end
end
check_makefile()
check_programs(os.getenv "B" or "build")
for _, path in ipairs(files("lua stdlib/lua", "*.lua")) do
  check_lua(path)
end
check_python()

print(("layers: %d files, %d problems"):format(checked, problems))
os.exit(problems == 0)
