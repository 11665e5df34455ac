--- Who answers on the command line: the person at the terminal, or nobody.
local term = require "std.term"

local M = {}

--- Whether a person can be asked: keys come in, and words are seen.
local function possible()
  return term.is_tty(0) and term.is_tty(2)
end

--- Asks a question that is answered with yes or no.
---@param text string
---@param unasked boolean  the answer where nobody can be asked
---@return boolean yes
function M.confirm(text, unasked)
  if not possible() then
    return unasked
  end
  term.werr(text)
  local answer = io.read "l"
  return answer ~= nil and answer:find "^%s*[yYsS]" ~= nil
end

--- The function a session asks with; nil where nobody can be asked.
---@param ctx table
---@param options? { screen: table?, call: (fun(id: string): table?)?, pause: fun(paused: boolean)?, cancel: fun()? }
---@return (fun(request: table): string, string?)?
function M.asker(ctx, options)
  if ctx.json or not possible() then
    return nil
  end
  options = options or {}
  local pause = options.pause or function() end
  return function(request)
    local approval = require "alisio.ui.cli.lib.approval"
    local call = options.call and options.call(request.callId) or {}
    pause(true)
    local _ <close> = setmetatable({}, { __close = function()
      pause(false)
    end })
    return approval.ask(request, {
      screen = options.screen or require("alisio.ui.cli.lib.screen").new {},
      locale = ctx.locale,
      name = call.name,
      detail = call.detail,
      cancel = options.cancel or function()
        error("cancelled", 0)
      end,
    })
  end
end

return M
