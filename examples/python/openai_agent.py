"""An agent with a memory and a tool, on OpenAI's SDK (chat completions, so any server that speaks them).

Everything is appended as the SDK has it, and each call is made with the context of that moment: the agent itself keeps
no messages, so it may be stopped and started anywhere.
"""

import os
import sys
from typing import Any

import httpx2
import openai

SYSTEM = "You are a travel assistant. Use your tools; keep answers short."
TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "The weather in a city, now.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]
STEPS_MAX = 10  # calls of the model for one question


def main() -> None:
    key = os.environ.get("MEMORY_KEY")
    with httpx2.Client(
        base_url=os.environ.get("MEMORY_URL", "http://127.0.0.1:8000") + "/sessions/openai-agent",
        headers={"Authorization": f"Bearer {key}"} if key else {},
        timeout=60,
    ) as session:
        agent = Agent(session, openai.OpenAI(), os.environ.get("MODEL", "gpt-6.1-terra"))
        for line in sys.stdin:
            if not line.strip():
                break
            print(agent.turn(line.strip()), flush=True)


class Agent:
    def __init__(self, session: httpx2.Client, model: openai.OpenAI, name: str) -> None:
        self._session = session
        self._model = model
        self._name = name

    def turn(self, text: str) -> str:
        """The answer to what the user says, after as many calls of tools as the model wants."""
        self._append([{"role": "user", "content": text}])
        for _ in range(STEPS_MAX):
            reply = self._model.chat.completions.create(model=self._name, tools=TOOLS, **self._context())
            message = reply.choices[0].message
            # What the SDK returned goes in as it is; the usage tells the memory how well the prompt cache worked.
            used = reply.usage.model_dump(exclude_none=True) if reply.usage else {}
            self._append([message.model_dump(exclude_none=True)], usage={"model": reply.model, **used})
            if not message.tool_calls:
                return message.content or ""
            self._append(
                [
                    {"role": "tool", "tool_call_id": call.id, "content": run(call.function.name)}
                    for call in message.tool_calls
                    if call.type == "function"
                ]
            )
        return "I could not find that out."

    def _context(self) -> dict[str, Any]:
        """Ready to be splatted into the call: ``messages``, with the marks and the key of the prompt cache."""
        answer = self._session.post("/context", params={"format": "openai"}, json={"system": SYSTEM})
        payload: dict[str, Any] = answer.raise_for_status().json()["payload"]
        return payload

    def _append(self, messages: list[dict[str, Any]], usage: dict[str, Any] | None = None) -> None:
        self._session.post("/messages", json={"messages": messages, "usage": usage}).raise_for_status()


def run(name: str) -> str:
    return "31 degrees and sunny" if name == "weather" else f"there is no tool {name}"


main()
