"""Checks of the providers' requirements for payloads, independent of the code that renders them."""

import json
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import urlsplit

from anthropic.types import MessageParam, TextBlockParam
from anthropic.types.beta import BetaMessageParam
from google.genai.types import Content, GenerateContentConfig
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import ResponseInputParam
from pydantic import TypeAdapter, ValidationError

from app.context.model import Format

ANTHROPIC_MESSAGES: TypeAdapter[Any] = TypeAdapter(list[MessageParam])
ANTHROPIC_BETA_MESSAGES: TypeAdapter[Any] = TypeAdapter(list[BetaMessageParam])
ANTHROPIC_SYSTEM: TypeAdapter[Any] = TypeAdapter(list[TextBlockParam])
OPENAI_MESSAGES: TypeAdapter[Any] = TypeAdapter(list[ChatCompletionMessageParam])
OPENAI_INPUT: TypeAdapter[Any] = TypeAdapter(ResponseInputParam)
MARKS = ("cache_control", "prompt_cache_breakpoint")
GEMINI_IMAGES = tuple(f"image/{kind}" for kind in ("png", "jpeg", "webp", "heic", "heif"))
BEGINNINGS = {"image/gif": "R0lGOD", "image/png": "iVBORw", "image/jpeg": "/9j/"}  # of the bytes, in base64


def check_anthropic(payload: dict[str, Any]) -> None:
    """The SDK's types, and: turns alternate, results come first and answer the calls of the message before."""
    try:
        _exhaust(ANTHROPIC_MESSAGES.validate_python(payload["messages"]))
    except ValidationError:  # blocks of beta tools are sent back through the beta client
        _exhaust(ANTHROPIC_BETA_MESSAGES.validate_python(payload["messages"]))
    _exhaust(ANTHROPIC_SYSTEM.validate_python(payload.get("system", [])))
    messages = payload["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant"] * (len(messages) // 2) + ["user"] * (
        len(messages) % 2
    )
    called: list[str] = []
    running: list[str] = []
    for index, message in enumerate(messages):
        for block in message["content"]:
            if block["type"] in {"server_tool_use", "mcp_tool_use"}:
                running.append(block["id"])
            elif block["type"].endswith("_tool_result"):
                running.remove(block["tool_use_id"])
            else:
                assert not running or block["type"] == "tool_result" or message["role"] == "assistant"
        types = [block["type"] for block in message["content"]]
        results = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        assert types
        assert types[-1] not in {"thinking", "redacted_thinking"}
        assert message["role"] == "user" or not message["content"][-1].get("text", "")[-1:].isspace()
        assert all(_is_worded(block["content"]) for block in message["content"] if block.get("is_error"))
        assert not any(map(_is_misnamed, _found(message, "source")))
        assert types[: len(results)] == ["tool_result"] * len(results)
        calls = _calls_of(messages[index - 1]) if index else []
        assert sorted(results) == sorted(calls) or (index == len(messages) - 1 and set(results) <= set(calls))
        called.extend(block["id"] for block in message["content"] if block["type"].endswith("tool_use"))
    assert len(called) == len(set(called))
    assert all(text.strip() for text in _texts(payload))
    assert all(urlsplit(url).scheme == "https" for url in _found(payload, "url"))
    assert count_marks(payload) <= 4


def _is_worded(content: Any) -> bool:
    """Whether it is something, and nothing but texts: Anthropic refuses an image in an error."""
    return bool(content) and (isinstance(content, str) or {block["type"] for block in content} == {"text"})


def _is_misnamed(source: Any) -> bool:
    """Whether the bytes of an image are of another type than the one named, which Anthropic refuses."""
    begins = BEGINNINGS.get(str(source.get("media_type"))) if isinstance(source, dict) else None
    others = [other for other in BEGINNINGS.values() if other != begins]
    return begins is not None and source["data"].startswith(tuple(others))


def check_openai(payload: dict[str, Any]) -> None:
    """The SDK's types, and: each run of results answers all calls right before it; at the end some may be missing."""
    _exhaust(OPENAI_MESSAGES.validate_python([_without_thinking(message) for message in payload["messages"]]))
    waiting: list[str] = []
    for message in payload["messages"]:
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
        else:
            assert not waiting
            assert message["content"] or message["tool_calls"]
            waiting = [call["id"] for call in message.get("tool_calls", [])]
    assert all(text.strip() for text in _texts(payload))
    assert all(_is_seen(image["url"]) for image in _found(payload, "image_url"))
    files = [file["file_data"] for file in _found(payload, "file") if "file_data" in file]
    assert all(data.startswith("data:application/pdf;") for data in files)
    assert all(isinstance(json.loads(function["arguments"]), dict) for function in _found(payload, "function"))
    assert count_marks(payload) <= 4


def _without_thinking(message: dict[str, Any]) -> dict[str, Any]:
    """The message without thinking parts, which only Mistral knows."""
    said = [part for part in message["content"] or () if part["type"] != "thinking"]
    return {**message, "content": said or None}


def check_responses(payload: dict[str, Any]) -> None:
    """The SDK's types, and: outputs answer calls before them, with only the assistant's messages in between.

    And reasoning is followed by an item.
    """
    _exhaust(OPENAI_INPUT.validate_python(payload["input"]))
    waiting: list[str] = []
    called: list[str] = []
    before = ""
    for item in payload["input"]:
        kind = item["type"]
        if kind == "mcp_approval_request":
            waiting.append(item["id"])
        elif kind == "mcp_approval_response":
            waiting.remove(item["approval_request_id"])
        elif kind.endswith("_output"):
            waiting.remove(item["call_id"])
            assert item["output"]
        elif kind.endswith("_call") and "call_id" in item:  # a call that OpenAI runs contains its result
            assert kind != "function_call" or isinstance(json.loads(item["arguments"]), dict)
            called.append(item["call_id"])
            waiting.append(item["call_id"])
        elif kind == "message":
            assert not waiting or item["role"] == "assistant"
            assert item["content"]
        assert before != "reasoning" or kind.endswith("_call") or item.get("role") == "assistant" or kind == before
        before = kind
    assert before != "reasoning"
    assert len(called) == len(set(called))
    assert all(text.strip() for text in _texts(payload["input"]))
    assert all(map(_is_seen, _found(payload, "image_url")))
    assert all(map(_is_seen, _found(payload, "file_url")))
    assert not any(
        data.startswith(("data:image/", "data:audio/", "data:video/")) for data in _found(payload, "file_data")
    )
    ids = [item["id"] for item in payload["input"] if "id" in item]
    assert len(ids) == len(set(ids))
    assert all(item.get("id", "fc").startswith("fc") for item in payload["input"] if item["type"] == "function_call")
    assert count_marks(payload) <= 4


def check_gemini(payload: dict[str, Any]) -> None:
    """The SDK's types, and: turns alternate, and a turn of the user answers all calls of the turn before."""
    for content in payload["contents"]:
        Content.model_validate(content)
    GenerateContentConfig.model_validate(payload.get("config", {}))
    told = list(_found(payload["contents"], "mime_type"))
    assert all(kind.startswith((*GEMINI_IMAGES, "audio/", "video/", "text/", "application/pdf")) for kind in told)
    contents = payload["contents"]
    assert [content["role"] for content in contents] == ["user", "model"] * (len(contents) // 2) + ["user"] * (
        len(contents) % 2
    )
    calls: list[Any] = []
    for index, content in enumerate(contents):
        assert content["parts"]
        answers = [part["function_response"] for part in content["parts"] if "function_response" in part]
        names = sorted(answer["name"] for answer in answers)
        assert names == sorted(call["name"] for call in calls) or index == len(contents) - 1
        assert {answer.get("id") for answer in answers} <= {call.get("id") for call in calls}
        calls = [part["function_call"] for part in content["parts"] if "function_call" in part]
        assert not calls or any("thought_signature" in part for part in content["parts"])
        assert all(
            part["text"].strip() or "thought_signature" in part or "thought" in part
            for part in content["parts"]
            if "text" in part
        )


CHECKS = {
    Format.ANTHROPIC: check_anthropic,
    Format.OPENAI: check_openai,
    Format.OPENAI_RESPONSES: check_responses,
    Format.GEMINI: check_gemini,
}


def count_marks(value: Any) -> int:
    if isinstance(value, dict):
        return sum(key in MARKS for key in value) + sum(map(count_marks, value.values()))
    return sum(map(count_marks, value)) if isinstance(value, list) else 0


def flat(payload: dict[str, Any], shape: Format) -> Any:
    """The payload in the order in which the provider reads it: a text, or a list of heads and parts without marks."""
    if shape is Format.TEXT:
        return payload["text"]
    found: list[Any] = [("system", _unmarked(block)) for block in payload.get("system", [])]
    for index, message in enumerate(_messages(payload)):
        parts = message.get("content") or message.get("parts") or []
        listed = parts if isinstance(parts, list) else [{"text": parts}]
        head = {key: value for key, value in message.items() if key not in {"content", "parts", "tool_calls"}}
        held = [*listed, *message.get("tool_calls", [])]
        found.extend([(index, _unmarked(head)), *((index, _unmarked(part)) for part in held)])
    return found


def _messages(payload: dict[str, Any]) -> list[Any]:
    return list(payload.get("messages") or payload.get("input") or payload.get("contents") or [])


def _unmarked(part: dict[str, Any]) -> dict[str, Any]:
    """The part without marks, also nested ones: a Responses output holds a list of parts."""
    return {key: _without_marks(value) for key, value in part.items() if key not in MARKS}


def _without_marks(value: Any) -> Any:
    return (
        [_unmarked(item) for item in value]
        if isinstance(value, list) and value and isinstance(value[0], dict)
        else value
    )


def _calls_of(message: dict[str, Any]) -> list[str]:
    return [block["id"] for block in message["content"] if block["type"] == "tool_use"]


def _is_seen(url: str) -> bool:
    """Whether OpenAI can load this URL: one of the web, or a data URL with an image of a supported type."""
    return url.startswith(("https://", "http://", *(f"data:image/{kind};" for kind in ("png", "jpeg", "gif", "webp"))))


def _found(value: Any, key: str) -> Iterator[Any]:
    """The values of a key, at any depth."""
    if isinstance(value, dict):
        if key in value:
            yield value[key]
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _found(item, key)


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, dict):
        if value.get("type") in {"text", "input_text", "output_text"} and isinstance(value.get("text"), str):
            yield value["text"]
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _exhaust(value: Any) -> None:
    """Read all iterables, because pydantic validates an Iterable only as it is read."""
    if isinstance(value, dict):
        value = value.values()
    elif isinstance(value, str | bytes) or not isinstance(value, Iterable):
        return
    for item in value:
        _exhaust(item)
