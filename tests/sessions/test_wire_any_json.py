"""Laws of every message: nothing but WireError is raised, and the neutral form is a fixed point."""

import copy
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.kit.json import canonical
from app.sessions.model import Kind
from app.sessions.wire import Normalised, WireError, content_hash, normalise

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=()))
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))

SAMPLES: list[dict[str, Any]] = [
    {"role": "user", "content": "hi", "name": "ana", "kind": "user_message"},
    {"role": "system", "kind": "boundary", "content": "done"},
    {
        "role": "assistant",
        "content": [
            {"type": "reasoning", "text": "hm", "signature": "s"},
            {"type": "tool_call", "id": "c1", "name": "n", "arguments": {"q": 1}},
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "redacted_thinking", "data": "x"},
            {"type": "server_tool_use", "id": "t1", "name": "n", "input": {"q": 1}},
            {"type": "web_search_tool_result", "tool_use_id": "t1", "content": {"type": "x_error"}},
            {"type": "compaction", "content": "x"},
            {"type": "refusal", "refusal": "no"},
            {"type": "output_text", "text": "x", "annotations": []},
        ],
        "phase": "final_answer",
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_call_id": "c1", "output": [{"type": "text", "text": "x"}], "is_error": False},
            {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "x"}], "is_error": True},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "x"}},
            {
                "type": "document",
                "title": "t",
                "source": {"type": "content", "content": [{"type": "text", "text": "x"}]},
            },
            {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "x"}]},
            {"type": "image", "url": "x", "width": 5, "height": 5},
            {"type": "file", "file": {"file_data": "data:a/b;base64,x", "filename": "f"}},
            {"type": "image_url", "image_url": {"url": "data:a/b;base64,x", "detail": "low"}},
            {"type": "input_audio", "input_audio": {"data": "x", "format": "wav"}},
            {"type": "input_image", "image_url": "https://example.org", "detail": "low"},
            {"type": "input_file", "file_url": "https://example.org", "filename": "f"},
            "plain",
        ],
    },
    {
        "role": "assistant",
        "content": "x",
        "reasoning_content": "hm",
        "reasoning_details": [1],
        "refusal": "no",
        "annotations": [1],
        "audio": {"id": "a"},
        "function_call": {"name": "n", "arguments": "{}"},
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "n", "arguments": '{"q": 1}'}},
            {"id": "c2", "type": "custom", "custom": {"name": "n", "input": "x"}},
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "x"}]},
    {"role": "function", "name": "n", "content": "x"},
    {"type": "function_call", "call_id": "c1", "name": "n", "arguments": "{}", "id": "fc_1"},
    {"type": "mcp_call", "id": "m1", "name": "n", "arguments": "{}", "output": None, "error": "x"},
    {"type": "image_generation_call", "id": "i1", "result": "x", "output_format": "png", "status": "completed"},
    {"type": "computer_call_output", "call_id": "c1", "output": {"type": "computer_screenshot", "file_id": "x"}},
    {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "x"}], "id": "x"},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "x"}], "content": None},
    {
        "role": "model",
        "parts": [
            {"text": "x", "thought": True},
            {"inlineData": {"mimeType": "image/png", "data": "x"}},
            {"fileData": {"fileUri": "x"}},
            {"functionCall": {"name": "n", "args": {"q": 1}}},
            {"functionResponse": {"name": "n", "response": {"q": 1}}},
            {"executableCode": {"code": "x"}},
            {"codeExecutionResult": {"outcome": "x"}},
        ],
    },
]


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) inside a JSON value."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, item in entries for place in [(value, key), *places(item)]]


@st.composite
def damaged(draw: st.DrawFn) -> Any:
    """A message as it may come, with up to two fields replaced by anything, taken away or added."""
    raw = copy.deepcopy(draw(st.sampled_from(SAMPLES)))
    for _ in range(draw(st.integers(0, 2))):
        container, key = draw(st.sampled_from(places(raw) or [(raw, "role")]))
        match draw(st.sampled_from(["replace", "remove", "add"])):
            case "remove":
                container.pop(key)
            case "add" if isinstance(container, dict):
                container[draw(st.sampled_from(["text", "url", "id", "type", "content", "native", "extra"]))] = draw(
                    JSON
                )
            case _:
                container[key] = draw(JSON)
    return raw


def understood(raw: Any) -> Normalised | None:
    answer = normalised_or_refused(raw)
    if isinstance(answer, Normalised):
        return answer
    assert canonical([answer.pointer, answer.detail])  # the refusal itself can be written as JSON
    assert answer.pointer == "" or answer.pointer.startswith("/")
    return None


def normalised_or_refused(raw: Any) -> Normalised | WireError:
    try:
        return normalise(raw)
    except WireError as error:
        return error


@given(JSON)
@example([])
@example({"role": "user", "content": [[[]]]})
def test_any_json_is_understood_or_refused(raw: Any) -> None:
    understood(raw)


@given(damaged())
@settings(max_examples=500, deadline=None)
def test_a_damaged_message_is_refused_or_has_a_form_that_stands(raw: Any) -> None:
    before = copy.deepcopy(raw)

    message = understood(raw)

    assert repr(raw) == repr(before)
    if message is None:
        return
    again = normalise({"role": message.role.value, "content": list(message.parts), "name": message.name})
    assert (again.role, again.parts, again.name) == (message.role, message.parts, message.name)
    assert again.kind is message.kind or message.kind is Kind.BOUNDARY
    assert len(content_hash(message.role, message.name, message.parts)) == 16


def test_every_sample_is_understood() -> None:
    assert all(understood(raw) for raw in SAMPLES)
