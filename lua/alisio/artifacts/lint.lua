--- Signs of charts drawn by hand in a published page. They never refuse it: they make a warning that
--- names the helpers. Plain searches only, since the page is not ours.
local M = {}

M.MAX_BYTES = 1 << 20 -- of a page that is looked at

local MAX_TAGS = 2000

--- The text of each tag of a name, at most MAX_TAGS of them.
local function tags(page, name)
  local at, count = 1, 0
  return function()
    count = count + 1
    local from = count <= MAX_TAGS and page:find("<" .. name, at, true)
    local to = from and page:find(">", from, true)
    at = (to or 0) + 1
    return to and page:sub(from, math.min(to, from + 4096))
  end
end

local function loads_from_network(tag, attribute)
  local value = tag:match(attribute .. "%s*=%s*[\"']?%s*([^\"'%s>]+)")
  return value ~= nil and (value:find "^https?:" or value:find "^//") ~= nil
end

--- What is to be said of a page.
---@param page string
---@return string[] ids  network_resource, fixed_svg, svg_arcs
function M.page(page)
  local lower = page:lower()
  local found = {}
  for tag in tags(lower, "script") do
    found.network_resource = found.network_resource or loads_from_network(tag, "src")
  end
  for tag in tags(lower, "link") do
    found.network_resource = found.network_resource
      or tag:find("stylesheet", 1, true) and loads_from_network(tag, "href")
  end
  for tag in tags(lower, "svg") do
    found.fixed_svg = found.fixed_svg or not tag:find("viewbox", 1, true) and tag:find "width%s*=" ~= nil
  end
  for tag in tags(page, "path") do
    local d = tag:match "[%s\"']d%s*=%s*\"([^\"]*)\"" or tag:match "[%s\"']d%s*=%s*'([^']*)'"
    -- A wedge goes to the middle, out along a line, and back along an arc.
    found.svg_arcs = found.svg_arcs or d and d:find "^%s*M.*L.*A.*[Zz]%s*$" ~= nil
  end
  local ids = {}
  for _, id in ipairs { "network_resource", "fixed_svg", "svg_arcs" } do
    if found[id] then
      ids[#ids + 1] = id
    end
  end
  return ids
end

return M
