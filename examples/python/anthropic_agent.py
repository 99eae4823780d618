"""An agent with a memory and a tool, on Anthropic's SDK.

Everything is appended as the SDK has it, and each call is made with the context of that moment: the agent itself keeps
no messages, so it may be stopped and started anywhere.
"""

import os
import sys
from typing import Any

import anthropic
import httpx2

SYSTEM = "You are a travel assistant. Use your tools; keep answers short."
TOOLS: list[Any] = [
    {
        "name": "weather",
        "description": "The weather in a city, now.",
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    }
]
STEPS_MAX = 10  # calls of the model for one question


def main() -> None:
    key = os.environ.get("MEMORY_KEY")
    with httpx2.Client(
        base_url=os.environ.get("MEMORY_URL", "http://127.0.0.1:8000") + "/sessions/anthropic-agent",
        headers={"Authorization": f"Bearer {key}"} if key else {},
        timeout=60,
    ) as session:
        agent = Agent(session, anthropic.Anthropic(), os.environ.get("MODEL", "claude-sonnet-5-5"))
        for line in sys.stdin:
            if not line.strip():
                break
            print(agent.turn(line.strip()), flush=True)


class Agent:
    def __init__(self, session: httpx2.Client, model: anthropic.Anthropic, name: str) -> None:
        self._session = session
        self._model = model
        self._name = name

    def turn(self, text: str) -> str:
        """The answer to what the user says, after as many calls of tools as the model wants."""
        self._append({"role": "user", "content": text})
        for _ in range(STEPS_MAX):
            reply = self._model.messages.create(model=self._name, max_tokens=1024, tools=TOOLS, **self._context())
            # What the SDK returned goes in as it is; the usage tells the memory how well the prompt cache worked.
            self._append(
                {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in reply.content]},
                usage={"model": reply.model, **reply.usage.model_dump(exclude_none=True)},
            )
            calls = [block for block in reply.content if block.type == "tool_use"]
            if not calls:
                return "".join(block.text for block in reply.content if block.type == "text")
            results = [{"type": "tool_result", "tool_use_id": call.id, "content": run(call.name)} for call in calls]
            self._append({"role": "user", "content": results})
        return "I could not find that out."

    def _context(self) -> dict[str, Any]:
        """Ready to be splatted into the call: ``system`` and ``messages``, with the marks of the prompt cache."""
        answer = self._session.post("/context", params={"format": "anthropic"}, json={"system": SYSTEM})
        payload: dict[str, Any] = answer.raise_for_status().json()["payload"]
        return payload

    def _append(self, message: dict[str, Any], usage: dict[str, Any] | None = None) -> None:
        self._session.post("/messages", json={"messages": [message], "usage": usage}).raise_for_status()


def run(name: str) -> str:
    return "31 degrees and sunny" if name == "weather" else f"there is no tool {name}"


main()
