"""Gemini's contents, in the names of the REST API and of the Python SDK."""

from typing import Any

import pytest

from app.sessions.model import Kind, Part, Role
from app.sessions.wire import WireError, normalise


def part_of(raw: dict[str, Any], role: str = "model") -> Part:
    (part,) = normalise({"role": role, "parts": [raw]}).parts
    return part


@pytest.mark.parametrize(
    ("raw", "part"),
    [
        ({"text": "hi", "thoughtSignature": "s"}, {"type": "text", "text": "hi", "thoughtSignature": "s"}),
        ({"text": "hm", "thought": True}, {"type": "reasoning", "text": "hm", "provider": "gemini"}),
        (
            {"inlineData": {"mimeType": "image/png", "data": "iVBO"}},
            {"type": "image", "data": "iVBO", "media_type": "image/png"},
        ),
        (
            {"inline_data": {"mime_type": "image/png", "data": "iVBO"}, "text": None},
            {"type": "image", "data": "iVBO", "media_type": "image/png"},
        ),
        (
            {"fileData": {"fileUri": "gs://a", "displayName": "a"}, "videoMetadata": {"fps": 1}},
            {"type": "file", "url": "gs://a", "fileData": {"displayName": "a"}, "videoMetadata": {"fps": 1}},
        ),
        (
            {"functionCall": {"name": "search", "args": {"q": "x"}, "id": "c1"}},
            {"type": "tool_call", "id": "c1", "name": "search", "arguments": {"q": "x"}},
        ),
    ],
)
def test_a_part_becomes_a_neutral_part(raw: dict[str, Any], part: Part) -> None:
    assert part_of(raw) == part


@pytest.mark.parametrize("role", [{}, {"role": None}])
def test_parts_without_a_role_are_whose_the_sdk_takes_them_to_be(role: dict[str, Any]) -> None:
    asked = normalise(role | {"parts": [{"text": "hi", "function_call": None}]})
    called = normalise(role | {"parts": [{"text": "Let me look."}, {"function_call": {"name": "search"}}]})
    answered = normalise(role | {"parts": [{"function_response": {"name": "search", "response": {}}}]})
    assert [message.role for message in (asked, called, answered)] == [Role.USER, Role.ASSISTANT, Role.TOOL]


def test_calls_without_ids_meet_their_results_by_name_and_place() -> None:
    names = ["search", "fetch", "search"]
    calls = [{"functionCall": {"name": name}} for name in names]
    responses = [
        {"functionResponse": {"name": name, "response": {"result": index}}} for index, name in enumerate(names)
    ]

    called = normalise({"role": "model", "parts": [{"text": "Let me look."}, *calls]})
    answered = normalise({"role": "user", "parts": responses})

    ids = [part["id"] for part in called.parts[1:]]
    assert ids == ["gemini:search:1", "gemini:fetch:1", "gemini:search:2"]
    assert [part["tool_call_id"] for part in answered.parts] == ids
    assert (called.kind, answered.role, answered.kind) == (Kind.TOOL_CALL, Role.TOOL, Kind.TOOL_RESULT)


def test_code_that_gemini_runs_is_a_call_with_its_result() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1/0"}}
    result = {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "ZeroDivisionError"}}

    call, answer = normalise({"role": "model", "parts": [code, result]}).parts

    assert call["id"] == answer["tool_call_id"]
    assert answer["is_error"] is True


def test_a_tool_that_gemini_runs_is_a_call_with_its_result() -> None:
    """As the SDK dumps it: every field it knows, the enum as its value."""
    call = {"id": "t1", "tool_type": "GOOGLE_SEARCH_WEB", "args": {"queries": ["x"]}}
    response = {"id": "t1", "tool_type": "GOOGLE_SEARCH_WEB", "response": {"found": 1}}
    parts = [{"tool_call": call, "text": None}, {"tool_response": response, "text": None}]

    message = normalise({"role": "model", "parts": parts})

    called, answer = message.parts
    assert message.kind is Kind.TOOL_CALL
    assert (called["id"], called["name"], called["arguments"]) == ("t1", "google_search_web", {"queries": ["x"]})
    assert (answer["tool_call_id"], answer["output"]) == ("t1", {"found": 1})


def test_a_tool_that_gemini_runs_meets_its_result_without_ids_and_types() -> None:
    call, answer = normalise({"role": "model", "parts": [{"toolCall": {}}, {"toolResponse": {}}]}).parts

    assert call["id"] == answer["tool_call_id"]
    assert (call["arguments"], answer["output"]) == ({}, {})


@pytest.mark.parametrize("raw", [{"role": "model"}, {"role": "model", "parts": None}, {"role": "model", "parts": []}])
def test_a_model_that_said_nothing_has_no_parts(raw: dict[str, Any]) -> None:
    """So an answer ends whose tokens all went into thinking: the API leaves the parts out, the SDK dumps null."""
    message = normalise(raw)
    assert (message.role, message.kind, message.parts) == (Role.ASSISTANT, Kind.ASSISTANT, ())


@pytest.mark.parametrize(
    ("raw", "pointer"),
    [
        ({"role": "user", "parts": None}, "/parts"),
        ({"role": "model", "content": "x"}, "/role"),
        ({"role": "model", "parts": [{"toolCall": {"args": "x"}}]}, "/parts/0/toolCall/args"),
        ({"role": "model", "parts": [{"toolResponse": {"response": "x"}}]}, "/parts/0/toolResponse/response"),
        ({"role": "assistant", "parts": []}, "/role"),
        ({"role": 5, "parts": []}, "/role"),
        ({"role": "user", "parts": "x"}, "/parts"),
        ({"role": "user", "parts": [{"text": "x"}], "content": "y"}, "/content"),
        ({"role": "user", "parts": ["x"]}, "/parts/0"),
        ({"role": "user", "parts": [{}]}, "/parts/0"),
        ({"role": "user", "parts": [{"text": 5}]}, "/parts/0/text"),
        ({"role": "user", "parts": [{"type": "text", "text": "x"}]}, "/parts/0/type"),
        ({"role": "user", "parts": [{"inlineData": {"mimeType": "image/png"}}]}, "/parts/0/inlineData/data"),
        ({"role": "model", "parts": [{"functionCall": {}}]}, "/parts/0/functionCall/name"),
        ({"role": "model", "parts": [{"functionCall": {"name": "n", "args": "x"}}]}, "/parts/0/functionCall/args"),
        ({"role": "user", "parts": [{"functionResponse": {"name": "n"}}]}, "/parts/0/functionResponse/response"),
        ({"role": "user", "parts": [{"functionCall": {"name": "n"}}]}, "/role"),
    ],
)
def test_a_broken_content_is_refused_with_its_place(raw: dict[str, Any], pointer: str) -> None:
    with pytest.raises(WireError) as caught:
        normalise(raw)

    assert caught.value.pointer == pointer
