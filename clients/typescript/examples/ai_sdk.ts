/**
 * An agent of the AI SDK (npm `ai`) with a memory and a tool: read a line, answer it, until an empty one.
 *
 * Texts, reasoning and tools go in and come back; an image goes in as `{ type: "image", data, media_type }`.
 */

import { createInterface } from "node:readline";

import { createOpenAI } from "@ai-sdk/openai";
import { generateText, jsonSchema, type ModelMessage, stepCountIs, tool } from "ai";

import { body, daybook, type Schemas } from "../src/index.js";

const memory = daybook({
  url: process.env["MEMORY_URL"] ?? "http://127.0.0.1:8000",
  key: process.env["MEMORY_KEY"],
});
const session = { path: { key: "ai-sdk-agent" } };
const openai = createOpenAI(); // OPENAI_API_KEY and OPENAI_BASE_URL; any other provider's model will do
const model = openai.chat(process.env["MODEL"] ?? "gpt-6.1-terra");
const weather = tool({
  description: "The weather in a city, now",
  inputSchema: jsonSchema<{ city: string }>({ type: "object", properties: { city: { type: "string" } } }),
  execute: async ({ city }) => ({ city, degrees: 31, sky: "sunny" }),
});

type Part = { [field: string]: any };
type Neutral = { role: string; content: Part[] };

/** The neutral shape of what was said; what else of a part there is stays as it is. */
function toDaybook(message: ModelMessage): Schemas["MessageIn"] {
  if (typeof message.content === "string") return { role: message.role, content: message.content };
  return { role: message.role, content: message.content.map(toPart) };
}

function toPart(part: Part): Part {
  if (part.type === "tool-call") {
    return { type: "tool_call", id: part.toolCallId, name: part.toolName, arguments: part.input };
  }
  if (part.type === "tool-result") {
    const { type, value, reason } = part.output;
    const failed = { is_error: /^(error|execution)/.test(type) };
    return { type: "tool_result", tool_call_id: part.toolCallId, output: value ?? reason ?? "", ...failed };
  }
  return part;
}

function fromDaybook(messages: Neutral[]): ModelMessage[] {
  const called = new Map<string, string>();
  return messages.map(({ role, content }) => ({
    role,
    content: content.map((part) => {
      if (part.type === "tool_call") {
        called.set(part.id, part.name);
        return { type: "tool-call", toolCallId: part.id, toolName: part.name, input: part.arguments };
      }
      if (part.type === "tool_result") {
        const output = { type: part.is_error ? "error-json" : "json", value: part.output };
        return { type: "tool-result", toolCallId: part.tool_call_id, toolName: called.get(part.tool_call_id), output };
      }
      return part;
    }),
  })) as ModelMessage[];
}

async function turn(text: string): Promise<string> {
  const said: ModelMessage = { role: "user", content: text };
  const asked = { system: "You are a travel assistant.", incoming: [toDaybook(said)] };
  const { payload } = body(await memory.POST("/sessions/{key}/context", { params: session, body: asked }));
  const system = (payload["system"] as Part[]).map((block) => block.text).join("\n\n");
  const messages = fromDaybook(payload["messages"] as Neutral[]);
  const reply = await generateText({ model, system, messages, tools: { weather }, stopWhen: stepCountIs(10) });
  const made = [said, ...reply.response.messages].map(toDaybook);
  body(await memory.POST("/sessions/{key}/messages", { params: session, body: { messages: made } }));
  return reply.text;
}

for await (const line of createInterface({ input: process.stdin })) {
  if (!line.trim()) break;
  console.log(await turn(line.trim()));
}
