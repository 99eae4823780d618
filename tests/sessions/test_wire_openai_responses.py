"""Items of the Responses API, by hand and from the SDK's own classes."""

from typing import Any

import pytest
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseReasoningItem,
)
from openai.types.responses.response_reasoning_item import Summary

from app.sessions.model import Kind, Part, Role
from app.sessions.wire import WireError, normalise


@pytest.mark.parametrize(
    ("item", "role", "kind", "parts"),
    [
        (
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
            Role.USER,
            Kind.USER,
            [{"type": "text", "text": "hi"}],
        ),
        (
            {
                "type": "message",
                "role": "assistant",
                "phase": "commentary",
                "content": [{"type": "output_text", "text": "hi", "annotations": []}],
            },
            Role.ASSISTANT,
            Kind.ASSISTANT,
            [{"type": "text", "text": "hi", "annotations": [], "phase": "commentary"}],
        ),
        (
            {"type": "function_call", "call_id": "c1", "name": "search", "arguments": "{}", "id": "fc_1"},
            Role.ASSISTANT,
            Kind.TOOL_CALL,
            [{"type": "tool_call", "id": "c1", "name": "search", "arguments": {}, "item_id": "fc_1"}],
        ),
        (
            {"type": "function_call_output", "call_id": "c1", "output": "sunny"},
            Role.TOOL,
            Kind.TOOL_RESULT,
            [{"type": "tool_result", "tool_call_id": "c1", "output": "sunny"}],
        ),
        (
            {
                "type": "function_call_output",
                "call_id": "c1",
                "output": [{"type": "input_image", "image_url": "data:image/png;base64,iVBO"}, {"other": 1}],
            },
            Role.TOOL,
            Kind.TOOL_RESULT,
            [
                {
                    "type": "tool_result",
                    "tool_call_id": "c1",
                    "output": [{"type": "image", "data": "iVBO", "media_type": "image/png"}, {"other": 1}],
                }
            ],
        ),
        (
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}],
                "encrypted_content": "gAAA",
            },
            Role.ASSISTANT,
            Kind.ASSISTANT,
            [
                {
                    "type": "reasoning",
                    "text": "a\nb",
                    "provider": "openai-responses",
                    "native": "reasoning",
                    "item_id": "rs_1",
                    "summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}],
                    "encrypted_content": "gAAA",
                }
            ],
        ),
        (
            {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"},
            Role.ASSISTANT,
            Kind.ASSISTANT,
            [
                {
                    "type": "reasoning",
                    "text": "",
                    "provider": "openai-responses",
                    "native": "compaction",
                    "item_id": "cmp_1",
                    "encrypted_content": "gAAA",
                }
            ],
        ),
        (
            {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}},
            Role.ASSISTANT,
            Kind.TOOL_CALL,
            [
                {
                    "type": "tool_call",
                    "id": "c1",
                    "name": "shell",
                    "arguments": {"action": {"commands": ["ls"]}},
                    "provider": "openai-responses",
                    "native": "shell_call",
                }
            ],
        ),
        (
            {"type": "apply_patch_call_output", "call_id": "c1", "status": "failed", "output": "no such file"},
            Role.TOOL,
            Kind.TOOL_RESULT,
            [
                {
                    "type": "tool_result",
                    "tool_call_id": "c1",
                    "output": "no such file",
                    "is_error": True,
                    "provider": "openai-responses",
                    "native": "apply_patch_call_output",
                    "status": "failed",
                }
            ],
        ),
    ],
)
def test_an_item_becomes_a_message(item: dict[str, Any], role: Role, kind: Kind, parts: list[Part]) -> None:
    message = normalise(item)

    assert (message.role, message.kind, list(message.parts)) == (role, kind, parts)


@pytest.mark.parametrize(
    "item",
    [
        {"type": "function_call", "call_id": "c1", "arguments": "{}"},
        {"type": "custom_tool_call", "call_id": "c1", "input": "Lisbon"},
        {"type": "mcp_call", "id": "i1", "arguments": "{}"},
    ],
)
def test_the_name_of_a_tool_is_no_speakers(item: dict[str, Any]) -> None:
    found = normalise({**item, "name": "search"})
    assert (found.parts[0]["name"], found.name) == ("search", None)
    assert normalise({"type": "message", "role": "assistant", "content": "Hi", "name": "Ana"}).name == "Ana"
    assert normalise({"role": "function", "content": "4", "name": "search"}).name == "search"


@pytest.mark.parametrize(
    ("item", "name", "output"),
    [
        ({"type": "web_search_call", "action": {"type": "search", "query": "x"}}, "web_search", ""),
        ({"type": "file_search_call", "queries": ["x"], "results": [{"text": "y"}]}, "file_search", [{"text": "y"}]),
        ({"type": "code_interpreter_call", "code": "1", "outputs": None}, "code_interpreter", ""),
        ({"type": "mcp_call", "name": "roll", "arguments": "{}", "server_label": "d", "output": "4"}, "roll", "4"),
        ({"type": "mcp_call", "name": "roll", "arguments": "{}", "server_label": "d", "error": "no"}, "roll", "no"),
        ({"type": "mcp_list_tools", "server_label": "d", "tools": [{"name": "a"}]}, "mcp_list_tools", [{"name": "a"}]),
        ({"type": "mcp_list_tools", "server_label": "d", "tools": [], "error": "no"}, "mcp_list_tools", "no"),
        (
            {"type": "image_generation_call", "result": "iVBO"},
            "image_generation",
            [{"type": "image", "data": "iVBO", "media_type": "image/png"}],
        ),
    ],
)
def test_a_tool_that_openai_runs_is_call_and_result_in_one(item: dict[str, Any], name: str, output: Any) -> None:
    message = normalise({**item, "id": "item_1", "status": "completed"})

    call, result = message.parts
    assert message.kind is Kind.TOOL_CALL
    assert (call["id"], call["name"], result["tool_call_id"], result["output"]) == ("item_1", name, "item_1", output)
    assert result.get("is_error", False) == ("error" in item)


def test_what_mcp_asks_leave_for_is_a_call_and_the_answer_its_result() -> None:
    """Not a call of the tool itself: that comes as an item of its own, once it was allowed."""
    asked = {"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "dice", "name": "roll", "arguments": "{}"}
    answered = {"type": "mcp_approval_response", "id": "x", "approval_request_id": "mcpr_1", "approve": True}
    native = {"provider": "openai-responses"}

    request, response = normalise(asked), normalise(answered)

    assert (request.kind, request.role, request.name) == (Kind.TOOL_CALL, Role.ASSISTANT, None)
    [call] = request.parts
    assert call == {
        "type": "tool_call",
        "id": "mcpr_1",
        "name": "mcp_approval_request",
        "arguments": {"server_label": "dice", "name": "roll", "arguments": "{}"},
        "item_id": "mcpr_1",
        **native,
        "native": "mcp_approval_request",
    }
    assert (response.kind, response.role) == (Kind.TOOL_RESULT, Role.TOOL)
    [result] = response.parts
    assert result == {
        "type": "tool_result",
        "tool_call_id": "mcpr_1",
        "output": {"approve": True},
        "item_id": "x",
        **native,
        "native": "mcp_approval_response",
    }


def test_tools_that_were_added_are_kept_and_say_nothing() -> None:
    added = {"type": "additional_tools", "id": "at_1", "role": "developer", "tools": [{"type": "web_search"}]}

    [part] = normalise(added).parts

    assert (part["type"], part["text"], part["native"]) == ("text", "", "additional_tools")
    assert part["tools"] == added["tools"]


@pytest.mark.parametrize(
    ("item", "pointer"),
    [
        ({"type": 5}, "/type"),
        ({"type": "item_reference", "id": "x"}, "/type"),
        ({"type": "mcp_approval_request", "server_label": "d", "name": "roll", "arguments": "{}"}, "/id"),
        ({"type": "mcp_approval_response", "approve": True}, "/approval_request_id"),
        ({"type": "mcp_approval_response", "approval_request_id": "mcpr_1"}, "/approve"),
        ({"type": "function_call", "name": "n", "arguments": "{}"}, "/call_id"),
        ({"type": "function_call", "call_id": "c1", "arguments": "{}"}, "/name"),
        ({"type": "function_call", "call_id": "c1", "name": "n"}, "/arguments"),
        ({"type": "custom_tool_call", "call_id": "c1", "name": "n"}, "/input"),
        ({"type": "function_call_output", "output": "x"}, "/call_id"),
        ({"type": "function_call_output", "call_id": "c1", "output": 5}, "/output"),
        ({"type": "reasoning", "summary": "x"}, "/summary"),
        ({"type": "reasoning", "summary": [{}]}, "/summary/0/text"),
        ({"type": "reasoning", "summary": ["x"]}, "/summary/0"),
        ({"role": "user", "content": [{"type": "input_image"}]}, "/content/0"),
        ({"role": "user", "content": [{"type": "input_file", "filename": "a"}]}, "/content/0"),
        ({"role": "assistant", "phase": 5, "content": "x"}, "/phase"),
    ],
)
def test_a_broken_item_is_refused_with_its_place(item: dict[str, Any], pointer: str) -> None:
    with pytest.raises(WireError) as caught:
        normalise(item)

    assert caught.value.pointer == pointer


def test_the_output_of_the_sdk_is_taken_item_by_item() -> None:
    output = [
        ResponseReasoningItem(id="rs_1", type="reasoning", summary=[Summary(type="summary_text", text="hm")]),
        ResponseFunctionToolCall(id="fc_1", type="function_call", call_id="c1", name="search", arguments="{}"),
        ResponseOutputMessage(
            id="msg_1",
            type="message",
            role="assistant",
            status="completed",
            content=[ResponseOutputText(type="output_text", text="Done.", annotations=[])],
        ),
    ]

    for dumped in (
        [item.to_dict() for item in output],
        [item.model_dump(mode="json") for item in output],
    ):
        messages = [normalise(item) for item in dumped]
        parts = [(part["type"], part["item_id"]) for message in messages for part in message.parts]
        assert parts == [("reasoning", "rs_1"), ("tool_call", "fc_1"), ("text", "msg_1")]


def test_items_stand_in_the_content_of_a_message_as_langchain_has_them() -> None:
    """What its ``convert_to_openai_messages`` makes of an answer: a call is in the content and beside it."""
    thought = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]}
    called = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": '{"at":1}'}
    searched = {"type": "web_search_call", "id": "ws_1", "action": {"query": "q"}, "status": "completed"}
    said = {"type": "text", "text": "Let me look."}
    beside = {"type": "function", "id": "c1", "function": {"name": "look", "arguments": '{"at": 1}'}}
    raw = {"role": "assistant", "content": [thought, searched, said, called], "tool_calls": [beside]}

    parts = normalise(raw).parts

    items = [part for item in (thought, searched) for part in normalise(item).parts]
    assert parts == (*items, said, *normalise(called).parts)


def test_what_is_wrong_of_an_item_is_told_with_its_place_in_the_content() -> None:
    with pytest.raises(WireError) as refused:
        normalise({"role": "assistant", "content": [{"type": "reasoning", "summary": [{"text": 5}]}]})

    assert refused.value.pointer == "/content/0/summary/0/text"
