-- A model of one's own: anything that turns a conversation into text and tool calls.
local alisio = require "alisio"

alisio.model {
  name = "echo",
  stream = function(request, emit)
    local said = request.messages[#request.messages].text
    for word in said:gmatch "%S+%s*" do
      emit { type = "text", text = word }     -- each piece is shown as it comes
    end
    return { stop = "end", usage = { inputTokens = #said, outputTokens = #said } }
  end,
}

alisio.setup { model = "echo" }
