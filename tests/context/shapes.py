"""What the providers demand of a payload, told independently of how it was made."""

from collections.abc import Iterable
from typing import Any

from anthropic.types import MessageParam, TextBlockParam
from openai.types.chat import ChatCompletionMessageParam
from pydantic import TypeAdapter

from app.context.model import Format

ANTHROPIC_MESSAGES: TypeAdapter[Any] = TypeAdapter(list[MessageParam])
ANTHROPIC_SYSTEM: TypeAdapter[Any] = TypeAdapter(list[TextBlockParam])
OPENAI_MESSAGES: TypeAdapter[Any] = TypeAdapter(list[ChatCompletionMessageParam])
MARKS = ("cache_control", "prompt_cache_breakpoint")


def check_anthropic(payload: dict[str, Any]) -> None:
    """The SDK's types, and what they cannot say: turns alternate, results come first and answer the message before."""
    _exhaust(ANTHROPIC_MESSAGES.validate_python(payload["messages"]))
    _exhaust(ANTHROPIC_SYSTEM.validate_python(payload.get("system", [])))
    messages = payload["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant"] * (len(messages) // 2) + ["user"] * (
        len(messages) % 2
    )
    called: list[str] = []
    for index, message in enumerate(messages):
        types = [block["type"] for block in message["content"]]
        results = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        assert types
        assert types[: len(results)] == ["tool_result"] * len(results)
        calls = _calls_of(messages[index - 1]) if index else []
        assert sorted(results) == sorted(calls) or (index == len(messages) - 1 and set(results) <= set(calls))
        called.extend(_calls_of(message))
    assert len(called) == len(set(called))
    assert all(text.strip() for text in _texts(payload))
    assert count_marks(payload) <= 4


def check_openai(payload: dict[str, Any]) -> None:
    """The SDK's types, and: each run of results answers the calls right before it, all of them but at the end."""
    _exhaust(OPENAI_MESSAGES.validate_python(payload["messages"]))
    waiting: list[str] = []
    for message in payload["messages"]:
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
        else:
            assert not waiting
            assert message["content"] or message["tool_calls"]
            waiting = [call["id"] for call in message.get("tool_calls", [])]
    assert all(text.strip() for text in _texts(payload))
    assert count_marks(payload) <= 4


def count_marks(value: Any) -> int:
    if isinstance(value, dict):
        return sum(key in MARKS for key in value) + sum(map(count_marks, value.values()))
    return sum(map(count_marks, value)) if isinstance(value, list) else 0


def flat(payload: dict[str, Any], shape: Format) -> Any:
    """The payload as the provider reads it, front to back: a text, or a list of heads and parts without marks."""
    if shape is Format.TEXT:
        return payload["text"]
    found: list[Any] = [("system", _unmarked(block)) for block in payload.get("system", [])]
    for index, message in enumerate(payload["messages"]):
        head = {key: value for key, value in message.items() if key not in {"content", "tool_calls"}}
        parts = [*(message["content"] or []), *message.get("tool_calls", [])]
        found.extend([(index, head), *((index, _unmarked(part)) for part in parts)])
    return found


def _unmarked(part: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in part.items() if key not in MARKS}


def _calls_of(message: dict[str, Any]) -> list[str]:
    return [block["id"] for block in message["content"] if block["type"] == "tool_use"]


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, dict):
        if value.get("type") == "text" and isinstance(value.get("text"), str):
            yield value["text"]
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _exhaust(value: Any) -> None:
    """Pydantic validates an Iterable as it is read."""
    if isinstance(value, dict):
        value = value.values()
    elif isinstance(value, str | bytes) or not isinstance(value, Iterable):
        return
    for item in value:
        _exhaust(item)
