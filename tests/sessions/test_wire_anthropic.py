"""Anthropic's blocks, by hand and from the SDK's own response classes."""

from typing import Any

import pytest
from anthropic.types import Message, TextBlock, ThinkingBlock, ToolUseBlock, Usage

from app.sessions.model import Kind, Part, Role
from app.sessions.wire import WireError, normalise


def block(raw: dict[str, Any], role: str = "assistant") -> Part:
    (part,) = normalise({"role": role, "content": [raw]}).parts
    return part


@pytest.mark.parametrize(
    ("raw", "part"),
    [
        (
            {"type": "tool_use", "id": "t1", "name": "search", "input": {"q": "x"}, "cache_control": None},
            {"type": "tool_call", "id": "t1", "name": "search", "arguments": {"q": "x"}, "cache_control": None},
        ),
        (
            {"type": "mcp_tool_use", "id": "t1", "name": "n", "input": {}, "server_name": "s"},
            {
                "type": "tool_call",
                "id": "t1",
                "name": "n",
                "arguments": {},
                "provider": "anthropic",
                "native": "mcp_tool_use",
                "server_name": "s",
            },
        ),
        (
            {"type": "tool_result", "tool_use_id": "t1", "content": "42", "is_error": True},
            {"type": "tool_result", "tool_call_id": "t1", "output": "42", "is_error": True},
        ),
        (
            {"type": "tool_result", "tool_use_id": "t1"},
            {"type": "tool_result", "tool_call_id": "t1", "output": ""},
        ),
        (
            {
                "type": "tool_result",
                "tool_use_id": "t1",
                "content": [
                    {"type": "text", "text": "a"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}},
                    {"type": "tool_reference", "tool_name": "x"},
                ],
            },
            {
                "type": "tool_result",
                "tool_call_id": "t1",
                "output": [
                    {"type": "text", "text": "a"},
                    {"type": "image", "data": "iVBO", "media_type": "image/png"},
                    {"type": "tool_reference", "tool_name": "x"},
                ],
            },
        ),
        (
            {
                "type": "web_search_tool_result",
                "tool_use_id": "t1",
                "content": {"type": "web_search_tool_result_error", "error_code": "too_many_requests"},
            },
            {
                "type": "tool_result",
                "tool_call_id": "t1",
                "output": {"type": "web_search_tool_result_error", "error_code": "too_many_requests"},
                "is_error": True,
                "provider": "anthropic",
                "native": "web_search_tool_result",
            },
        ),
        (
            {"type": "thinking", "thinking": "hm", "signature": "Ev=="},
            {"type": "reasoning", "text": "hm", "signature": "Ev==", "provider": "anthropic"},
        ),
        (
            {"type": "redacted_thinking", "data": "Ev=="},
            {
                "type": "reasoning",
                "text": "",
                "provider": "anthropic",
                "native": "redacted_thinking",
                "data": "Ev==",
            },
        ),
        (
            {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
            {"type": "image", "url": "https://example.org/a.png"},
        ),
        (
            {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
            {"type": "image", "file_id": "file_1"},
        ),
        (
            {
                "type": "document",
                "title": "a.txt",
                "context": "from mail",
                "source": {"type": "text", "media_type": "text/plain", "data": "hello"},
            },
            {"type": "file", "name": "a.txt", "content": "hello", "media_type": "text/plain", "context": "from mail"},
        ),
        (
            {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "x"}]}},
            {"type": "file", "content": [{"type": "text", "text": "x"}]},
        ),
        (
            {
                "type": "search_result",
                "source": "https://example.org",
                "title": "T",
                "content": [{"type": "text", "text": "x"}],
            },
            {
                "type": "file",
                "url": "https://example.org",
                "name": "T",
                "content": [{"type": "text", "text": "x"}],
                "provider": "anthropic",
                "native": "search_result",
            },
        ),
        (
            {"type": "compaction", "content": "They said hello."},
            {"type": "text", "text": "They said hello.", "provider": "anthropic", "native": "compaction"},
        ),
    ],
)
def test_a_block_becomes_a_neutral_part(raw: dict[str, Any], part: Part) -> None:
    assert block(raw) == part


def test_a_user_message_of_tool_results_is_the_tools() -> None:
    raw = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "42"}]}

    message = normalise(raw)

    assert (message.role, message.kind) == (Role.TOOL, Kind.TOOL_RESULT)


def test_a_control_block_says_nothing_and_loses_nothing() -> None:
    tool = {"name": "lookup", "type": "tool_reference"}

    part = block({"type": "tool_addition", "tool": tool}, role="system")

    assert part == {"type": "text", "text": "", "provider": "anthropic", "native": "tool_addition", "tool": tool}


@pytest.mark.parametrize(
    ("raw", "pointer"),
    [
        ({"type": "tool_use", "id": "t1", "name": "n", "input": "{}"}, "/content/0/input"),
        ({"type": "tool_use", "id": "t1", "name": "n", "input": {}, "arguments": {}}, "/content/0/arguments"),
        ({"type": "tool_use", "id": "t1", "name": "n", "input": {}, "native": "x"}, "/content/0/native"),
        ({"type": "tool_result", "tool_use_id": None, "content": "x"}, "/content/0/tool_use_id"),
        ({"type": "tool_result", "tool_use_id": "t1", "content": 5}, "/content/0/content"),
        ({"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text"}]}, "/content/0/content/0/text"),
        ({"type": "thinking", "signature": "s"}, "/content/0/thinking"),
        ({"type": "redacted_thinking"}, "/content/0/data"),
        ({"type": "image", "source": "x"}, "/content/0/source"),
        ({"type": "image", "source": {"type": "text", "data": "x"}}, "/content/0/source/type"),
        ({"type": "image", "source": {"type": "base64", "data": "x"}}, "/content/0/source/media_type"),
        ({"type": "document", "source": {"type": "content", "content": 5}}, "/content/0/source/content"),
        ({"type": "search_result", "source": "s", "title": "t", "content": "x"}, "/content/0/content"),
    ],
)
def test_a_broken_block_is_refused_with_its_place(raw: dict[str, Any], pointer: str) -> None:
    with pytest.raises(WireError) as caught:
        block(raw)

    assert caught.value.pointer == pointer


@pytest.mark.parametrize("exclude_none", [True, False])
def test_a_response_of_the_sdk_is_a_message_as_it_is(exclude_none: bool) -> None:
    response = Message(
        id="msg_1",
        type="message",
        role="assistant",
        model="claude-test",
        content=[
            ThinkingBlock(type="thinking", thinking="hm", signature="s"),
            TextBlock(type="text", text="Let me look.", citations=None),
            ToolUseBlock(type="tool_use", id="t1", name="search", input={"q": "x"}),
        ],
        stop_reason="tool_use",
        stop_sequence=None,
        usage=Usage(input_tokens=1, output_tokens=1),
    )

    message = normalise(response.model_dump(mode="json", exclude_none=exclude_none))

    assert message.kind is Kind.TOOL_CALL
    assert [part["type"] for part in message.parts] == ["reasoning", "text", "tool_call"]
    assert all("item_id" not in part for part in message.parts)  # OpenAI's items have ids of the same form
