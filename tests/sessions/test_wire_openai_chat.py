"""OpenAI's chat messages, by hand and from the SDK's own classes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessage
from openai.types.chat.chat_completion_message_function_tool_call import (
    ChatCompletionMessageFunctionToolCall,
    Function,
)

from app.kit.json import dumps
from app.sessions.model import Kind, Part, Role
from app.sessions.open_calls import OpenCalls
from app.sessions.wire import WireError, content_hash, normalise

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"))


def parts_of(raw: dict[str, Any]) -> list[Part]:
    return list(normalise(raw).parts)


def call_with(arguments: Any) -> Part:
    function = {"name": "search", "arguments": arguments}
    (part,) = parts_of({"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": function}]})
    return part


RESULT = {"type": "tool_result", "tool_call_id": "c1", "output": "sunny"}


@pytest.mark.parametrize("content", [{}, {"content": None}, {"content": ""}])
def test_calls_without_content_are_just_the_calls(content: dict[str, Any]) -> None:
    function = {"name": "search", "arguments": '{"q":"x"}'}
    raw = {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": function}], **content}

    message = normalise(raw)

    assert message.kind is Kind.TOOL_CALL
    assert message.parts == ({"type": "tool_call", "id": "c1", "name": "search", "arguments": {"q": "x"}},)


@pytest.mark.parametrize(
    ("sent", "fields"),
    [
        ('{"q":"x"}', {"arguments": {"q": "x"}}),
        ('{"q":"ключ"}', {"arguments": {"q": "ключ"}}),
        ('{"q": "x"}', {"arguments": {"q": "x"}, "arguments_json": '{"q": "x"}'}),
        ('{"a":1,"a":2}', {"arguments": {"a": 2}, "arguments_json": '{"a":1,"a":2}'}),
        ("", {"arguments": ""}),
        ('{"q": ', {"arguments": '{"q": '}),
        ("[1]", {"arguments": "[1]"}),
        ('{"q":"\\u0000"}', {"arguments": '{"q":"\\u0000"}'}),
        ('{"q":' + "[" * 70 + "]" * 70 + "}", {"arguments": '{"q":' + "[" * 70 + "]" * 70 + "}"}),
        ({"q": "x"}, {"arguments": {"q": "x"}}),
    ],
)
def test_arguments_are_an_object_where_they_can_be(sent: Any, fields: dict[str, Any]) -> None:
    part = call_with(sent)

    assert {key: part[key] for key in part if key.startswith("arguments")} == fields


@given(TEXT | st.dictionaries(TEXT, st.integers(0, 9) | st.text()).map(lambda value: dumps(value).decode()))
def test_the_string_of_the_arguments_can_always_be_had_back(sent: str) -> None:
    part = call_with(sent)

    arguments = part["arguments"]
    assert part.get("arguments_json", arguments if isinstance(arguments, str) else dumps(arguments).decode()) == sent


def test_a_tool_message_is_one_result() -> None:
    message = normalise({"role": "tool", "tool_call_id": "c1", "name": "search", "content": "sunny"})

    assert (message.role, message.kind, message.name) == (Role.TOOL, Kind.TOOL_RESULT, "search")
    assert message.parts == ({"type": "tool_result", "tool_call_id": "c1", "output": "sunny"},)


def test_a_tool_message_may_hold_a_list_of_parts() -> None:
    (part,) = parts_of({"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "sunny"}]})

    assert part["output"] == [{"type": "text", "text": "sunny"}]


def test_the_legacy_function_call_and_its_result_meet_by_name() -> None:
    call = {"role": "assistant", "content": None, "function_call": {"name": "search", "arguments": "{}"}}

    (called,) = parts_of(call)
    (answered,) = parts_of({"role": "function", "name": "search", "content": "sunny"})

    assert called["id"] == answered["tool_call_id"] == "function:search"


def test_a_custom_call_keeps_its_free_text() -> None:
    call = {"id": "c1", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}

    (part,) = parts_of({"role": "assistant", "tool_calls": [call]})

    assert (part["arguments"], part["native"]) == ("select 1", "custom")


@pytest.mark.parametrize(
    ("raw", "part"),
    [
        (
            {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}},
            {"type": "image", "url": "https://example.org/a.png", "image_url": {"detail": "low"}},
        ),
        (
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}},
            {"type": "image", "data": "iVBO", "media_type": "image/png"},
        ),
        (
            {"type": "image_url", "image_url": "data:image/svg+xml,<svg/>"},
            {"type": "image", "url": "data:image/svg+xml,<svg/>"},
        ),
        (
            {"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}},
            {
                "type": "file",
                "data": "UklG",
                "media_type": "audio/wav",
                "provider": "openai",
                "native": "input_audio",
            },
        ),
        (
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBE"}},
            {"type": "file", "data": "JVBE", "media_type": "application/pdf", "name": "a.pdf"},
        ),
        ({"type": "file", "file": {"file_id": "file-1"}}, {"type": "file", "file_id": "file-1"}),
    ],
)
def test_a_content_part_becomes_a_neutral_part(raw: dict[str, Any], part: Part) -> None:
    assert parts_of({"role": "user", "content": [raw]}) == [part]


def test_what_stands_beside_the_content_is_kept_in_order() -> None:
    raw = {
        "role": "assistant",
        "content": "Done.",
        "reasoning_content": "hm",
        "reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}],
        "annotations": [{"type": "url_citation"}],
        "refusal": "but not that",
        "audio": {"id": "audio_1", "transcript": "Done."},
    }

    parts = parts_of(raw)

    assert [(part["type"], part.get("native")) for part in parts] == [
        ("reasoning", "reasoning_content"),
        ("reasoning", "reasoning_details"),
        ("text", None),
        ("text", "refusal"),
        ("file", "audio"),
    ]
    assert parts[2]["annotations"] == [{"type": "url_citation"}]


@pytest.mark.parametrize(
    ("raw", "pointer"),
    [
        ({"role": "assistant", "tool_calls": "x"}, "/tool_calls"),
        ({"role": "user", "content": "x", "tool_calls": [{"id": "c1"}]}, "/tool_calls"),
        ({"role": "tool", "tool_call_id": "c1", "content": "x", "function_call": {"name": "n"}}, "/function_call"),
        ({"role": "system", "content": "x", "reasoning_content": "hm"}, "/reasoning_content"),
        ({"role": "assistant", "tool_calls": [5]}, "/tool_calls/0"),
        ({"role": "assistant", "tool_calls": [{"id": "c1", "type": "magic"}]}, "/tool_calls/0/type"),
        ({"role": "assistant", "tool_calls": [{"id": "c1"}]}, "/tool_calls/0/function"),
        ({"role": "assistant", "tool_calls": [{"function": {"name": "n", "arguments": ""}}]}, "/tool_calls/0/id"),
        ({"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": 5}}]}, "/tool_calls/0/function/name"),
        ({"role": "assistant", "function_call": {"name": "n"}}, "/function_call/arguments"),
        ({"role": "assistant", "function_call": {"arguments": "{}"}}, "/function_call/name"),
        ({"role": "assistant", "audio": {"id": "a", "type": "x"}}, "/audio/type"),
        ({"role": "tool", "tool_call_id": "", "content": "x"}, "/tool_call_id"),
        ({"role": "tool", "tool_call_id": "c2", "content": [RESULT]}, "/tool_call_id"),
        ({"role": "tool", "tool_call_id": "c1", "content": [RESULT, {"type": "text", "text": "x"}]}, "/tool_call_id"),
        ({"role": "tool", "tool_call_id": "c1", "content": None}, "/content"),
        ({"role": "function", "content": "x"}, "/name"),
        ({"role": "user", "content": [{"type": "image_url", "image_url": {}}]}, "/content/0/image_url/url"),
        ({"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}, "/content/0/input_audio/data"),
        ({"role": "user", "content": [{"type": "file", "file": {}}]}, "/content/0/file"),
        ({"role": "assistant", "content": "x", "refusal": 5}, "/refusal"),
    ],
)
def test_a_broken_message_is_refused_with_its_place(raw: dict[str, Any], pointer: str) -> None:
    with pytest.raises(WireError) as caught:
        normalise(raw)

    assert caught.value.pointer == pointer


def test_a_message_of_the_sdk_is_taken_as_it_is() -> None:
    function = Function(name="search", arguments='{"q":"x"}')
    sdk = ChatCompletionMessage(
        role="assistant",
        content=None,
        tool_calls=[ChatCompletionMessageFunctionToolCall(id="c1", type="function", function=function)],
    )
    expected = ({"type": "tool_call", "id": "c1", "name": "search", "arguments": {"q": "x"}},)

    assert normalise(sdk.to_dict()).parts == expected
    assert normalise(sdk.model_dump()).parts == expected
    assert normalise(sdk.model_dump(exclude_none=True)).parts == expected


def test_a_result_in_our_shape_may_be_named_by_the_field_of_a_tool_message_too() -> None:
    assert parts_of({"role": "tool", "tool_call_id": "c1", "content": [RESULT]}) == parts_of(
        {"role": "tool", "content": [RESULT]}
    )


CITY = {"city": "Porto"}
OLLAMA_S: list[dict[str, Any]] = [
    {"role": "user", "content": "And here?", "thinking": None, "images": ["iVBORw0KGgo="], "tool_name": None},
    {
        "role": "assistant",
        "content": "",
        "thinking": "Look twice.",
        "images": None,
        "tool_calls": [{"function": {"name": name, "arguments": CITY}} for name in ("weather", "weather")],
    },
    {"role": "tool", "content": "24", "tool_name": "weather", "tool_calls": None},
    {"role": "tool", "content": "25", "tool_name": "weather", "images": ["/9j/4AAQ"]},
]


def test_what_ollama_s_sdk_dumps_is_kept_whole() -> None:
    """Its calls have no ids, and its results but the tool's name: they meet as Gemini's do."""
    seen, called, *answered = [parts_of(raw) for raw in OLLAMA_S]
    beside = {"provider": "openai", "native": "images"}

    assert seen[1] == {"type": "image", "data": "iVBORw0KGgo=", **beside}
    assert [part["type"] for part in called] == ["reasoning", "tool_call", "tool_call"]
    assert called[0]["text"] == "Look twice."
    waiting: OpenCalls[int] = OpenCalls()
    for number, call in enumerate(called[1:]):
        waiting.called(call, number, message=1)
    assert [waiting.answered(parts[0]) for parts in answered] == [0, 1]
    assert answered[1][0]["output"][1] == {"type": "image", "data": "/9j/4AAQ", **beside}


@pytest.mark.parametrize(
    ("image", "fields"),
    [
        ("aGk=", {"data": "aGk="}),
        ("data:image/png;base64,aGk=", {"data": "aGk=", "media_type": "image/png"}),
        ("https://example.org/a.png", {"url": "https://example.org/a.png"}),
        ({"url": "https://example.org/a.png", "detail": "low"}, {"url": "https://example.org/a.png", "detail": "low"}),
    ],
)
def test_images_alone_are_a_message(image: Any, fields: dict[str, str]) -> None:
    beside = {"provider": "openai", "native": "images"}

    assert parts_of({"role": "user", "content": None, "images": [image]}) == [{"type": "image", **fields, **beside}]


def test_what_a_model_drew_stands_beside_its_words() -> None:
    drawn = {"type": "image_url", "index": 0, "image_url": {"url": "data:image/png;base64,aGk="}}

    said, image = parts_of({"role": "assistant", "content": "Here.", "images": [drawn]})

    assert said == {"type": "text", "text": "Here."}
    assert (image["type"], image["data"], image["media_type"]) == ("image", "aGk=", "image/png")


@pytest.mark.parametrize(
    ("images", "pointer"),
    [("aGk=", "/images"), ([5], "/images/0"), ([{}], "/images/0"), ([{"url": 5}], "/images/0/url")],
)
def test_images_of_another_kind_are_refused_and_not_dropped(images: Any, pointer: str) -> None:
    with pytest.raises(WireError) as refused:
        normalise({"role": "user", "content": "See.", "images": images})

    assert refused.value.pointer == pointer


def test_results_that_the_content_holds_stay_beside_the_name_of_their_tool() -> None:
    assert parts_of({"role": "tool", "tool_name": "search", "content": [RESULT]}) == [RESULT]


def test_what_mistral_thought_is_reasoning() -> None:
    thought = [
        {"type": "text", "text": "I "},
        {"type": "reference", "reference_ids": [0]},
        {"type": "text", "text": "see."},
    ]
    content = [
        {"type": "thinking", "thinking": thought, "signature": "sig", "closed": True},
        {"type": "text", "text": "Yes"},
    ]

    first, _ = parts_of({"role": "assistant", "content": content})

    assert first == {"type": "reasoning", "text": "I see.", "signature": "sig", "provider": "mistral", "closed": True}


@pytest.mark.parametrize("beside", [{"thinking": "hm"}, {"tool_plan": "hm"}, {"images": ["aGk="]}])
def test_what_former_versions_left_out_makes_no_other_message(beside: dict[str, Any]) -> None:
    said = {"role": "assistant", "content": "Yes."}

    now, then = (normalise(said | more) for more in (beside, {}))

    assert now.parts != then.parts
    assert content_hash(now.role, None, now.parts) == content_hash(then.role, None, then.parts)
