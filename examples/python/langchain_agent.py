"""An agent of LangChain, and so of LangGraph, with a memory and a tool.

Its middleware puts what Daybook remembers before the messages of a run, and stores these when the run ends. The agent
has no checkpointer, so that a run's messages are its own.
"""

import os
import sys
from collections.abc import Callable
from typing import Any

import httpx2
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain_core.messages import convert_to_messages, convert_to_openai_messages
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

SYSTEM = "You are a travel assistant. Use your tools; keep answers short."
APPENDED_MOST = 100  # messages of one request


class Daybook(AgentMiddleware):
    def __init__(self, session: httpx2.Client) -> None:
        super().__init__()
        self._session = session

    def wrap_model_call(
        self, request: ModelRequest[None], handler: Callable[[ModelRequest[None]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """The system prompt goes in by the context, so that one prefix of it all is cached."""
        system = request.system_message.text if request.system_message else None
        answer = self._session.post("/context", params={"format": "openai"}, json={"system": system})
        past: list[Any] = list(convert_to_messages(answer.raise_for_status().json()["payload"]["messages"]))
        return handler(request.override(messages=past + request.messages, system_message=None))

    def after_agent(self, state: AgentState[Any], runtime: Any) -> None:  # noqa: ARG002  (LangChain's)
        """The messages have LangChain's ids, under which each is stored once."""
        said = convert_to_openai_messages(state["messages"], include_id=True)
        for start in range(0, len(said), APPENDED_MOST):
            messages = said[start : start + APPENDED_MOST]
            self._session.post("/messages", json={"messages": messages}).raise_for_status()


@tool
def weather(city: str) -> str:
    """The weather in a city, now."""
    return f"31 degrees and sunny in {city}"


def main() -> None:
    key = os.environ.get("MEMORY_KEY")
    with httpx2.Client(
        base_url=os.environ.get("MEMORY_URL", "http://127.0.0.1:8000") + "/sessions/langchain-agent",
        headers={"Authorization": f"Bearer {key}"} if key else {},
        timeout=60,
    ) as session:
        # Chat completions, so any server that speaks them; the middleware is the same with every model of LangChain's.
        model = ChatOpenAI(model=os.environ.get("MODEL", "gpt-6.1-terra"), use_responses_api=False)
        agent = create_agent(model, [weather], system_prompt=SYSTEM, middleware=[Daybook(session)])
        for line in sys.stdin:
            if not line.strip():
                break
            run = agent.invoke({"messages": [{"role": "user", "content": line.strip()}]})
            print(run["messages"][-1].text, flush=True)


if __name__ == "__main__":
    main()
