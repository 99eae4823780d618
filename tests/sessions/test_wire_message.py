"""Roles, kinds and the refusals of a message, whatever its shape."""

from typing import Any

import pytest

from app.sessions.model import Kind, Role
from app.sessions.wire import Normalised, WireError, normalise

CALL = {"type": "tool_call", "id": "c1", "name": "search", "arguments": {"q": "Lisbon"}}
RESULT = {"type": "tool_result", "tool_call_id": "c1", "output": "sunny"}
TEXT = {"type": "text", "text": "Let me look."}


def refused(raw: Any) -> WireError:
    with pytest.raises(WireError) as caught:
        normalise(raw)
    return caught.value


def test_a_text_becomes_one_text_part() -> None:
    message = normalise({"role": "user", "content": "I moved to Lisbon", "name": "ana", "id": "m-1"})

    assert message == Normalised(Role.USER, Kind.USER, ({"type": "text", "text": "I moved to Lisbon"},), "ana")


@pytest.mark.parametrize(
    ("role", "content", "stored_role", "kind"),
    [
        ("user", "hi", Role.USER, Kind.USER),
        ("assistant", "hi", Role.ASSISTANT, Kind.ASSISTANT),
        ("system", "hi", Role.SYSTEM, Kind.SYSTEM),
        ("developer", "hi", Role.SYSTEM, Kind.SYSTEM),
        ("assistant", [TEXT, CALL], Role.ASSISTANT, Kind.TOOL_CALL),
        ("assistant", [CALL, RESULT], Role.ASSISTANT, Kind.TOOL_CALL),
        ("assistant", [RESULT], Role.ASSISTANT, Kind.TOOL_RESULT),
        ("tool", [RESULT], Role.TOOL, Kind.TOOL_RESULT),
        ("tool", [RESULT, TEXT], Role.TOOL, Kind.TOOL_RESULT),
        ("user", [RESULT], Role.TOOL, Kind.TOOL_RESULT),
        ("user", [RESULT, TEXT], Role.USER, Kind.TOOL_RESULT),
        ("user", ["plain", TEXT], Role.USER, Kind.USER),
    ],
)
def test_role_and_kind_follow_from_the_parts(role: str, content: Any, stored_role: Role, kind: Kind) -> None:
    message = normalise({"role": role, "content": content})

    assert (message.role, message.kind) == (stored_role, kind)


@pytest.mark.parametrize("content", ["", []])
@pytest.mark.parametrize("role", ["user", "assistant", "system"])
def test_an_empty_message_has_no_parts(role: str, content: Any) -> None:
    assert normalise({"role": role, "content": content}).parts == ()


def test_an_assistant_may_have_null_for_content() -> None:
    assert normalise({"role": "assistant", "content": None}).parts == ()


def test_neutral_parts_are_kept_exactly_as_they_came() -> None:
    parts = [
        {**TEXT, "cache_control": {"type": "ephemeral"}, "tokens": 3},
        {"type": "reasoning", "text": "hm", "signature": "s", "provider": "anthropic", "more": [1]},
        {"type": "image", "url": "https://example.org/a.png", "width": 10, "height": 20},
        {"type": "file", "data": "aGk=", "media_type": "text/plain", "name": "a.txt"},
        {**CALL, "arguments": "not json", "caller": None},
    ]

    assert list(normalise({"role": "assistant", "content": parts}).parts) == parts


@pytest.mark.parametrize(
    ("raw", "pointer"),
    [
        ([], ""),
        ("hello", ""),
        (None, ""),
        ({}, "/role"),
        ({"role": "robot", "content": "x"}, "/role"),
        ({"role": ["user"], "content": "x"}, "/role"),
        ({"role": "user"}, "/content"),
        ({"role": "user", "content": None}, "/content"),
        ({"role": "user", "content": 5}, "/content"),
        ({"role": "user", "content": {"type": "text", "text": "x"}}, "/content"),
        ({"role": "assistant"}, "/content"),
        ({"role": "user", "content": [5]}, "/content/0"),
        ({"role": "user", "content": [{}]}, "/content/0/type"),
        ({"role": "user", "content": [{"type": []}]}, "/content/0/type"),
        ({"role": "user", "content": [TEXT, {"type": "hologram"}]}, "/content/1/type"),
        ({"role": "user", "content": [{"type": "text"}]}, "/content/0/text"),
        ({"role": "user", "content": [{"type": "text", "text": None}]}, "/content/0/text"),
        ({"role": "assistant", "content": [{**CALL, "id": ""}]}, "/content/0/id"),
        ({"role": "assistant", "content": [{**CALL, "name": 5}]}, "/content/0/name"),
        ({"role": "assistant", "content": [{**CALL, "arguments": None}]}, "/content/0/arguments"),
        ({"role": "tool", "content": [{"type": "tool_result", "tool_call_id": "c1"}]}, "/content/0/output"),
        ({"role": "tool", "content": [{"type": "tool_result", "output": "x"}]}, "/content/0/tool_call_id"),
        ({"role": "tool", "content": [{**RESULT, "is_error": "no"}]}, "/content/0/is_error"),
        ({"role": "user", "content": [{"type": "image"}]}, "/content/0"),
        ({"role": "user", "content": [{"type": "image", "url": 5}]}, "/content/0/url"),
        ({"role": "user", "content": [{"type": "file", "content": 5}]}, "/content/0/content"),
        ({"role": "assistant", "content": [{"type": "reasoning"}]}, "/content/0/text"),
        ({"role": "user", "content": [CALL]}, "/role"),
        ({"role": "tool", "content": [RESULT, CALL]}, "/role"),
        ({"role": "system", "content": [RESULT]}, "/role"),
        ({"role": "tool", "content": "sunny"}, "/content"),
        ({"role": "tool", "content": []}, "/content"),
        ({"role": "user", "content": "x", "name": 5}, "/name"),
        ({"type": "human", "content": "x"}, "/type"),
        ({"role": "user", "content": "a\0b"}, "/content"),
        ({"role": "user", "content": "x", "metadata": {"deep": [1, "\ud800"]}}, "/metadata/deep/1"),
    ],
)
def test_what_is_not_understood_is_refused_with_its_place(raw: Any, pointer: str) -> None:
    assert refused(raw).pointer == pointer


def test_a_refusal_says_what_is_expected_and_what_came() -> None:
    error = refused({"role": "user", "content": [{"type": "text", "text": 7}]})

    assert str(error) == "/content/0/text: a string is expected, not 7"
    missing = refused({"role": "user"}).detail
    assert missing == "a string or a list of parts is expected, but the field is missing"


def test_a_refusal_never_repeats_a_long_value() -> None:
    assert len(refused({"role": "x" * 10_000, "content": ""}).detail) < 200


@pytest.mark.parametrize("content", [{}, {"content": None}, {"content": ""}, {"content": "done"}, {"content": [TEXT]}])
def test_a_boundary_has_no_content_or_a_short_text(content: dict[str, Any]) -> None:
    message = normalise({"role": "system", "kind": "boundary", **content})

    assert message.kind is Kind.BOUNDARY


@pytest.mark.parametrize("length", [1_000, 1_001])
def test_a_boundary_says_at_most_a_thousand_characters(length: int) -> None:
    raw = {"role": "system", "kind": "boundary", "content": "x" * length}

    if length <= 1_000:
        assert normalise(raw).kind is Kind.BOUNDARY
    else:
        assert refused(raw).pointer == "/content"


@pytest.mark.parametrize(
    ("raw", "pointer"),
    [
        ({"role": "user", "kind": "boundary", "content": "x"}, "/kind"),
        ({"role": "system", "kind": "summary", "content": "x"}, "/kind"),
        ({"role": "user", "kind": "assistant_message", "content": "x"}, "/kind"),
        ({"role": "user", "kind": ["user_message"], "content": "x"}, "/kind"),
        ({"role": "system", "kind": "boundary", "content": [{"type": "image", "url": "x", "text": 5}]}, "/content"),
    ],
)
def test_a_kind_that_does_not_fit_is_refused(raw: dict[str, Any], pointer: str) -> None:
    assert refused(raw).pointer == pointer


def test_the_kind_a_message_has_anyway_is_accepted() -> None:
    raw = {"role": "tool", "kind": "tool_result", "content": [RESULT]}

    assert normalise(raw).kind is Kind.TOOL_RESULT


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        ({"type": "function_call", "callId": "c1", "name": "search", "arguments": "{}"}, "call_id"),
        ({"type": "function_call_result", "callId": "c1", "name": "search", "output": "sunny"}, "Agents SDK"),
        ({"type": "hosted_tool_call", "name": "web_search_call", "providerData": {}}, "Agents SDK"),
        ({"role": "assistant", "content": [TEXT, {"type": "tool_call", "id": "c1", "name": "f", "args": {}}]}, "'v0'"),
        ({"role": "assistant", "content": [{"type": "reasoning", "reasoning": "So."}, TEXT]}, "responses/v1"),
        ({"role": "user", "content": [{"type": "image", "base64": "aGk=", "mime_type": "image/png"}]}, "LangChain"),
        ({"type": "human", "content": "hi"}, "convert_to_openai_messages"),
        ({"lc": 1, "type": "constructor", "kwargs": {"content": "hi"}}, "convert_to_openai_messages"),
        ({"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c1", "toolName": "f"}]}, "AI SDK"),
        ({"role": "assistant", "parts": [{"type": "tool-weather", "toolCallId": "c1", "input": {}}]}, "AI SDK"),
        ({"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "f", "input": {}}}]}, "Converse"),
        ({"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": "aGk="}}}]}, "Converse"),
        ({"role": "assistant", "content": [{"reasoningContent": {"reasoningText": {"text": "hm"}}}]}, "Converse"),
        ({"kind": "request", "parts": [{"content": "hi", "part_kind": "user-prompt"}]}, "Pydantic AI"),
        (
            {"kind": "response", "parts": [{"args": "{}", "part_kind": "tool-call"}], "finish_reason": "stop"},
            "pydantic_ai_agent",
        ),
        ({"role": "user", "additional_kwargs": {}, "blocks": [{"block_type": "text", "text": "hi"}]}, "LlamaIndex"),
        ({"role": "user", "meta": {}, "name": None, "content": [{"text": "hi"}]}, "to_openai_dict_format"),
        ({"role": "tool", "meta": {}, "content": [{"tool_call_result": {"result": "24"}}]}, "to_openai_dict_format"),
        ({"type": "UserMessage", "content": "hi", "source": "user"}, "AutoGen"),
        ({"type": "ToolCallRequestEvent", "content": [{"id": "c1", "name": "f", "arguments": "{}"}]}, "AutoGen"),
        ({"role": "tool-response", "content": [TEXT]}, "smolagents"),
        ({"author": "weather", "content": {"parts": [{"text": "hi"}], "role": "model"}}, "content of Gemini"),
        ({"content": [{"text": "hi"}], "model": "m", "parent_tool_use_id": None}, "Claude Agent SDK"),
        ({"type": "assistant", "message": {"role": "assistant", "content": [TEXT]}}, "Claude Agent SDK"),
        ({"type": "result", "subtype": "success", "result": "Done."}, "Claude Agent SDK"),
        ({"type": "system", "subtype": "init", "session_id": "s"}, "Claude Agent SDK"),
        ({"type": "tool", "content": "24", "tool_call_id": "c1"}, "convert_to_openai_messages"),
        ({"id": "r", "choices": [{"message": {"role": "assistant", "content": "hi"}}]}, "choices[0].message"),
        ({"candidates": [{"content": {"role": "model", "parts": [{"text": "hi"}]}}]}, "candidates[0].content"),
        ({"model": "m", "done": True, "message": {"role": "assistant", "content": "hi"}}, "whole response"),
        ({"object": "response", "incomplete_details": None, "output": []}, "output, ..."),
        (
            {"role": "tool", "tool_call_id": "c1", "content": [{"type": "document", "document": {"data": "x"}}]},
            "Cohere",
        ),
    ],
)
def test_of_a_framework_whose_own_shape_is_not_known_it_is_told_what_to_send(raw: Any, told: str) -> None:
    assert told in refused(raw).detail.rpartition(";")[2]


@pytest.mark.parametrize("raw", [{"role": "user"}, {"role": "user", "content": [{"type": "tool"}]}, {"type": ["a"]}])
def test_of_what_nobody_sends_no_framework_is_told(raw: Any) -> None:
    assert ";" not in refused(raw).detail.replace("; known types: ", "")
