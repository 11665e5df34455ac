-- Calls the tool once with each argument, by a model that only passes on the path and repeats the answer.
local alisio = require "alisio"

alisio.model {
  name = "parrot",
  stream = function(request, emit)
    local last = request.messages[#request.messages]
    if last.role == "tool" then
      emit { type = "text", text = last.text }
      return { stop = "end" }
    end
    emit { type = "tool_call", id = "1", name = "word_count", input = { path = last.text } }
    return { stop = "tools" }
  end,
}

for _, path in ipairs { ... } do
  local run = assert(alisio.run(path, { model = "parrot" }))
  print(run.text)
end
