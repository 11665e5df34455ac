// Reads streams with npm's openai package and prints what it makes of each, one JSON line a stream:
//   node openai_oracle.mjs BASE_URL NAME...      (the server knows a stream by the model's name)
import { createRequire } from "node:module";
const require = createRequire(new URL("../../vendor/package.json", import.meta.url));
const { OpenAI } = require("openai");

const [baseURL, ...names] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0, timeout: 10000 });

async function read(name) {
  const stream = client.chat.completions.stream({ model: name, messages: [{ role: "user", content: "hi" }] });
  const completion = await stream.finalChatCompletion();
  const { message, finish_reason } = completion.choices[0];
  return {
    text: message.content ?? "",
    calls: (message.tool_calls ?? []).map((call) => ({
      id: call.id, name: call.function.name, arguments: call.function.arguments,
    })),
    finish: finish_reason,
    usage: completion.usage ?? null,
  };
}

for (const name of names) {
  let seen;
  try {
    seen = await read(name);
  } catch (error) {
    seen = { error: String(error?.message ?? error) };
  }
  console.log(JSON.stringify({ name, ...seen }));
}
