"""An agent of Pydantic AI with a memory and a tool.

Each run begins with what Daybook remembers as its history, and is stored when it ends. What the model thought stays
within the run.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import httpx2
from pydantic_ai import Agent
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryFeedbackPart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models.openai import OpenAIChatModel

SYSTEM = "You are a travel assistant. Use your tools; keep answers short."
APPENDED_MOST = 100  # messages of one request


def sent(messages: Sequence[ModelMessage]) -> Iterator[dict[str, Any]]:
    """The messages of a run as OpenAI's chat has them; of a request each part is one."""
    for message in messages:
        if isinstance(message, ModelResponse):
            calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
            yield {"role": "assistant", "content": message.text, "tool_calls": [_sent_call(call) for call in calls]}
            continue
        for part in message.parts:
            match part:
                case UserPromptPart(content=str()):
                    yield {"role": "user", "content": part.content}
                case UserPromptPart():
                    yield {"role": "user", "content": [_sent_content(item) for item in part.content]}
                case ToolReturnPart():
                    yield {"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response_str()}
                case RetryFeedbackPart():
                    yield {"role": "user", "content": part.model_response()}


def _sent_call(part: ToolCallPart) -> dict[str, Any]:
    function = {"name": part.tool_name, "arguments": part.args_as_json_str()}
    return {"id": part.tool_call_id, "type": "function", "function": function}


def _sent_content(item: UserContent) -> str | dict[str, Any]:
    match item:
        case str():
            return item
        case BinaryContent(is_image=True):
            return {"type": "image_url", "image_url": {"url": item.data_uri}}
        case ImageUrl():
            return {"type": "image_url", "image_url": {"url": item.url}}
    raise TypeError(f"neither text nor an image: {item}")


def taken(messages: Sequence[dict[str, Any]]) -> list[ModelMessage]:
    """The messages of a context in format openai as the history of a run."""
    history: list[ModelMessage] = []
    names: dict[str, str] = {}  # of the tools by the ids of their calls
    for message in messages:
        content = message["content"] or []
        text = "\n\n".join(part["text"] for part in content if part["type"] == "text")
        calls = [_taken_call(call) for call in message.get("tool_calls", [])]
        names |= {call.tool_call_id: call.tool_name for call in calls}
        match message["role"]:
            case "system":
                history.append(ModelRequest([SystemPromptPart(text)]))
            case "user":
                history.append(ModelRequest([UserPromptPart([_taken_content(part) for part in content])]))
            case "tool":
                call_id = message["tool_call_id"]
                history.append(ModelRequest([ToolReturnPart(names[call_id], text, tool_call_id=call_id)]))
            case _:
                history.append(ModelResponse([*([TextPart(text)] if text else []), *calls]))
    return history


def _taken_call(call: dict[str, Any]) -> ToolCallPart:
    return ToolCallPart(call["function"]["name"], call["function"]["arguments"], tool_call_id=call["id"])


def _taken_content(part: dict[str, Any]) -> UserContent:
    if part["type"] == "text":
        return str(part["text"])
    url = part["image_url"]["url"]
    return BinaryContent.from_data_uri(url) if url.startswith("data:") else ImageUrl(url)


def weather(city: str) -> str:
    """The weather in a city, now."""
    return f"31 degrees and sunny in {city}"


def main() -> None:
    key = os.environ.get("MEMORY_KEY")
    with httpx2.Client(
        base_url=os.environ.get("MEMORY_URL", "http://127.0.0.1:8000") + "/sessions/pydantic-ai-agent",
        headers={"Authorization": f"Bearer {key}"} if key else {},
        timeout=60,
    ) as session:
        agent = Agent(OpenAIChatModel(os.environ.get("MODEL", "gpt-6.1-terra")), tools=[weather])
        for line in sys.stdin:
            if not line.strip():
                break
            context = session.post("/context", params={"format": "openai"}, json={"system": SYSTEM})
            history = taken(context.raise_for_status().json()["payload"]["messages"])
            run = agent.run_sync(line.strip(), message_history=history)
            said = list(sent(run.new_messages()))
            for start in range(0, len(said), APPENDED_MOST):
                again = {"Idempotency-Key": f"{run.run_id}-{start}"}  # a request that is tried again is stored once
                messages = said[start : start + APPENDED_MOST]
                session.post("/messages", json={"messages": messages}, headers=again).raise_for_status()
            print(run.output, flush=True)


if __name__ == "__main__":
    main()
