/** An agent with a memory, on any server of chat completions: read a line, answer it, until an empty one. */

import { createInterface } from "node:readline";

import { body, daybook } from "../src/index.js";

const memory = daybook({
  url: process.env["MEMORY_URL"] ?? "http://127.0.0.1:8000",
  key: process.env["MEMORY_KEY"],
});
const session = { path: { key: "typescript-agent" } };

type Completion = { model: string; choices: { message: { role: string; content: string } }[]; usage: object };

/** The context's payload is splatted into the request, as into an SDK's call. */
async function complete(payload: object): Promise<Completion> {
  const url = `${process.env["OPENAI_BASE_URL"] ?? "https://api.openai.com/v1"}/chat/completions`;
  const answer = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${process.env["OPENAI_API_KEY"]}` },
    body: JSON.stringify({ model: process.env["MODEL"] ?? "gpt-6.1-terra", ...payload }),
  });
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.json()) as Completion;
}

async function turn(text: string): Promise<string> {
  const said = { role: "user", content: text };
  const context = body(
    await memory.POST("/sessions/{key}/context", {
      params: { ...session, query: { format: "openai" } },
      body: {
        system: "You are a travel assistant.",
        knowledge: [{ title: "The desk", text: "It is open from 9 to 17." }],
        incoming: [said],
      },
    }),
  );
  const reply = await complete(context.payload);
  const message = reply.choices[0]!.message;
  body(
    await memory.POST("/sessions/{key}/messages", {
      params: session,
      body: { messages: [said, message], usage: { model: reply.model, ...reply.usage } },
    }),
  );
  return message.content;
}

for await (const line of createInterface({ input: process.stdin })) {
  if (!line.trim()) break;
  console.log(await turn(line.trim()));
}
const stored = body(await memory.GET("/sessions/{key}/messages", { params: { ...session, query: { order: "asc" } } }));
console.log(stored.items.map((item) => `${item.seq} ${item.kind}`).join(", "));
