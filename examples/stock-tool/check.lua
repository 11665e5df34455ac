-- Tries the tool without a model's wit: this one calls it with the last word of the request, then repeats what it said.
local alisio = require "alisio"

alisio.model {
  name = "parrot",
  stream = function(request, emit)
    local last = request.messages[#request.messages]
    if last.role == "tool" then
      emit { type = "text", text = last.text }
      return { stop = "end" }
    end
    emit { type = "tool_call", id = "1", name = "stock_level", input = { sku = last.text:match "(%S+)$" } }
    return { stop = "tools" }
  end,
}

for _, sku in ipairs { "A-100", "B-200", "C-300" } do
  local run = assert(alisio.run("How many are left of " .. sku, { model = "parrot" }))
  print(run.status, run.text)
end
