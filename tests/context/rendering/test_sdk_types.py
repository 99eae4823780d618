"""Every block, item and part that the installed SDKs know goes in, and comes out as it was or for a reason told here.

A newer SDK that knows more fails the first test, and the table or the reasons get a line.
"""

from collections.abc import Iterator, Mapping
from typing import Any, get_args, get_origin

import pytest
from anthropic.types.beta import BetaContentBlockParam
from google.genai import types as gemini
from openai.types.responses.response_input_item_param import ResponseInputItemParam
from typing_extensions import get_type_hints, is_typeddict

from app.context.model import Format
from app.sessions.wire import WireError
from tests.context.rendering.test_round_trip import given_back, without_marks

BLOCK = {"role": "user", "content": [{"type": "text", "text": "Go on."}]}
ITEM = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go on."}]}
CONTENT = {"role": "user", "parts": [{"text": "Go on."}]}
ASKED = {Format.ANTHROPIC: BLOCK, Format.OPENAI_RESPONSES: ITEM, Format.GEMINI: CONTENT}
DIRECT = {"type": "direct"}
TEXTS = [{"type": "text", "text": "20"}]
WORDS = {"role": "assistant", "content": TEXTS}


def said(*blocks: dict[str, Any]) -> list[Any]:
    return [{"role": "assistant", "content": list(blocks)}, BLOCK]


def shown(*blocks: dict[str, Any]) -> list[Any]:
    return [WORDS, {"role": "user", "content": list(blocks)}, WORDS, BLOCK]


def ran(tool: str, content: Any, **more: Any) -> list[Any]:
    """A tool that Anthropic runs itself."""
    name = "tool_search_tool_bm25" if tool == "tool_search" else tool
    use = {"type": "server_tool_use", "id": "srvtoolu_1", "name": name, "input": {"q": "x"}, **more}
    answer = {"type": f"{tool}_tool_result", "tool_use_id": "srvtoolu_1", "content": content, **more}
    return said(use, answer)


def outcome(kind: str, **stdout: str) -> dict[str, Any]:
    files = [{"type": f"{kind}_output", "file_id": "file_1"}]
    return {"type": f"{kind}_result", "content": files, "return_code": 0, "stderr": "", **(stdout or {"stdout": "x"})}


FOUND = {"type": "web_search_result", "url": "https://a.example", "title": "A", "encrypted_content": "gA"}
PAGE = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}, "title": "A"}
PDF = {"type": "base64", "media_type": "application/pdf", "data": "aGk="}
FETCHED = {"type": "web_fetch_result", "url": "https://a.example", "content": PAGE, "retrieved_at": "2026-11-23"}
USE = {"type": "tool_use", "id": "c1", "name": "f", "input": {"q": "x"}}
MCP_USE = {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "f", "server_name": "s", "input": {}}
BLOCKS: Mapping[str, list[Any]] = {
    "text": said(*TEXTS),
    "image": shown(
        {
            "type": "image",
            "source": {"type": "url", "url": "https://a.example/a.png"},
            "transformations": {"oversized_image": "error"},
        }
    ),
    "document": shown(
        {"type": "document", "source": PDF, "title": "A", "context": "B", "citations": {"enabled": True}}
    ),
    "search_result": shown({"type": "search_result", "source": "https://a.example", "title": "A", "content": TEXTS}),
    "thinking": said({"type": "thinking", "thinking": "hm", "signature": "c2ln"}, *TEXTS),
    "redacted_thinking": said({"type": "redacted_thinking", "data": "gA"}, *TEXTS),
    "tool_use": [{"role": "assistant", "content": [USE]}, shown({"type": "tool_result", "tool_use_id": "c1"})[1]],
    "tool_result": [
        {"role": "assistant", "content": [USE]},
        shown({"type": "tool_result", "tool_use_id": "c1", "content": TEXTS, "is_error": True})[1],
    ],
    "server_tool_use": ran("web_search", [FOUND], caller=DIRECT),
    "web_search_tool_result": ran("web_search", {"type": "web_search_tool_result_error", "error_code": "unavailable"}),
    "web_fetch_tool_result": ran("web_fetch", FETCHED, caller=DIRECT),
    "advisor_tool_result": ran("advisor", {"type": "advisor_result", "text": "Wait."}),
    "code_execution_tool_result": ran("code_execution", outcome("code_execution")),
    "bash_code_execution_tool_result": ran("bash_code_execution", outcome("bash_code_execution")),
    "text_editor_code_execution_tool_result": ran(
        "text_editor_code_execution",
        {"type": "text_editor_code_execution_str_replace_result", "lines": ["a"], "new_start": 1},
    ),
    "tool_search_tool_result": ran(
        "tool_search",
        {
            "type": "tool_search_tool_search_result",
            "tool_references": [{"type": "tool_reference", "tool_name": "weather"}],
        },
    ),
    "mcp_tool_use": said(MCP_USE, {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "content": "4"}),
    "mcp_tool_result": said(
        MCP_USE, {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "content": TEXTS, "is_error": False}
    ),
    "container_upload": shown({"type": "container_upload", "file_id": "file_1"}),
}
# Why a block does not come back as it was.
OTHER_BLOCKS: Mapping[str, tuple[str, list[Any]]] = {
    "tool_use": (
        "who called it names a use that is shown otherwise, or says the usual; the toolset is the agent's own matter",
        [{"role": "assistant", "content": [{**USE, "caller": DIRECT, "toolset_name": "t"}]}, BLOCK],
    ),
    "compaction": (
        "it would hide the messages before it, which are shown: its text says what it says",
        said({"type": "compaction", "content": "They met.", "encrypted_content": "gA"}, *TEXTS),
    ),
    "mcp_tool_listing": (
        "it says nothing, and stands for tools of the request it came with",
        said({"type": "mcp_tool_listing", "mcp_server_name": "s", "tools": []}, *TEXTS),
    ),
    "fallback": (
        "it tells of the request it came with",
        said({"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}}, *TEXTS),
    ),
    "tool_addition": (
        "it changes the tools of the request it came with",
        shown({"type": "tool_addition", "tool": {"type": "tool_reference", "tool_name": "weather"}}, *TEXTS),
    ),
    "tool_removal": (
        "it changes the tools of the request it came with",
        shown({"type": "tool_removal", "tool": {"type": "tool_reference", "tool_name": "weather"}}, *TEXTS),
    ),
}

CALL = {"call_id": "c1", "name": "f", "namespace": "n", "caller": DIRECT, "async": True}
QUOTED = {"type": "url_citation", "url": "https://a.example", "title": "A", "start_index": 0, "end_index": 1}
SPOKEN: dict[str, Any] = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
SHELL = {"type": "shell_call", "id": "sh_1", "call_id": "c1", "status": "completed", "action": {"commands": ["ls"]}}
LISTED = [{"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]
PATCH = {"type": "apply_patch_call", "id": "apc_1", "call_id": "c1", "status": "completed"}
ASKED_LEAVE = {"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "s", "name": "f", "arguments": "{}"}
FUNCTION = {"type": "function", "name": "w", "parameters": {}, "strict": True}
HOSTED = {"id": "h_1", "status": "completed"}
ITEMS: Mapping[str, list[Any]] = {
    "message": [
        {**SPOKEN, "phase": "commentary", "content": [{"type": "output_text", "text": "x", "annotations": [QUOTED]}]}
    ],
    "reasoning": [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "hm"}],
            "content": [{"type": "reasoning_text", "text": "hm"}],
            "encrypted_content": "gA",
        },
        {**SPOKEN, "content": [{"type": "refusal", "refusal": "No."}]},
    ],
    "function_call": [
        {"type": "function_call", "id": "fc_1", "arguments": "{}", "status": "completed", **CALL},
        {"type": "function_call_output", "call_id": "c1", "output": "20"},
    ],
    "custom_tool_call": [
        {"type": "custom_tool_call", "id": "ctc_1", "input": "ls", **CALL},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "a"},
    ],
    "shell_call": [
        {**SHELL, "caller": DIRECT, "environment": {"type": "local"}},
        {"type": "shell_call_output", "call_id": "c1", "output": LISTED, "max_output_length": 100},
    ],
    "apply_patch_call": [
        {**PATCH, "operation": {"type": "update_file", "path": "a", "diff": "+b"}, "caller": DIRECT},
        {"type": "apply_patch_call_output", "call_id": "c1", "status": "completed", "output": "done"},
    ],
    "file_search_call": [
        {
            "type": "file_search_call",
            "queries": ["x"],
            "results": [{"file_id": "file-1", "filename": "a", "score": 0.5, "text": "y", "attributes": {"a": 1.0}}],
            **HOSTED,
        }
    ],
    "web_search_call": [
        {"type": "web_search_call", "action": {"type": "search", "query": "x", "queries": ["x"]}, **HOSTED}
    ],
    "code_interpreter_call": [
        {
            "type": "code_interpreter_call",
            "container_id": "cntr_1",
            "code": "6 * 7",
            "outputs": [{"type": "logs", "logs": "42"}, {"type": "image", "url": "https://a.example/a.png"}],
            **HOSTED,
        }
    ],
    "image_generation_call": [
        {"type": "image_generation_call", "result": "iVBO", "quality": "low", "output_format": "png", **HOSTED}
    ],
    "mcp_call": [{"type": "mcp_call", "name": "f", "arguments": "{}", "server_label": "s", "output": "4", **HOSTED}],
    "mcp_list_tools": [
        {"type": "mcp_list_tools", "id": "h_1", "server_label": "s", "tools": [{"name": "f", "input_schema": {}}]}
    ],
    "mcp_approval_request": [
        ASKED_LEAVE,
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True, "reason": "Go."},
    ],
    "compaction": [{"type": "compaction", "encrypted_content": "gA"}],
}
OUTPUT = {"status": "completed", "caller": DIRECT}
OTHER_ITEMS: Mapping[str, tuple[str, list[Any]]] = {
    "function_call_output": (
        "its caller and status are those of the call",
        [ITEMS["function_call"][0], {**ITEMS["function_call"][1], **OUTPUT, "id": "fco_1"}],
    ),
    "custom_tool_call_output": (
        "its caller is that of the call",
        [ITEMS["custom_tool_call"][0], {**ITEMS["custom_tool_call"][1], "caller": DIRECT}],
    ),
    "shell_call_output": (
        "its caller and status are those of the call",
        [SHELL, {**ITEMS["shell_call"][1], **OUTPUT}],
    ),
    "apply_patch_call_output": (
        "its caller is that of the call",
        [ITEMS["apply_patch_call"][0], {**ITEMS["apply_patch_call"][1], "caller": DIRECT}],
    ),
    "mcp_approval_response": (
        "its own id is nobody's reference",
        [ASKED_LEAVE, {**ITEMS["mcp_approval_request"][1], "id": "mcpa_1"}],
    ),
    "computer_call": (
        "the one answer it takes is a screenshot: a call that gets none could not be closed",
        [{"type": "computer_call", "call_id": "c1", "action": {"type": "screenshot"}, **HOSTED}],
    ),
    "computer_call_output": (
        "as the call",
        [
            {"type": "computer_call", "call_id": "c1", "action": {"type": "screenshot"}, **HOSTED},
            {
                "type": "computer_call_output",
                "call_id": "c1",
                "output": {"type": "computer_screenshot", "image_url": "https://a.example/a.png"},
            },
        ],
    ),
    "local_shell_call": (
        "its answer names it by an id that it is not told by elsewhere; models that call it are gone",
        [{"type": "local_shell_call", "call_id": "c1", "action": {"type": "exec", "command": ["ls"]}, **HOSTED}],
    ),
    "local_shell_call_output": (
        "as the call",
        [
            {"type": "local_shell_call", "call_id": "c1", "action": {"type": "exec", "command": ["ls"]}, **HOSTED},
            {"type": "local_shell_call_output", "id": "c1", "output": "a"},
        ],
    ),
    "program": (
        "its answer has an id of OpenAI's: a program that gets none could not be closed",
        [{"type": "program", "id": "p_1", "call_id": "c1", "code": "f()", "fingerprint": "x"}],
    ),
    "program_output": (
        "as the program",
        [
            {"type": "program", "id": "p_1", "call_id": "c1", "code": "f()", "fingerprint": "x"},
            {"type": "program_output", "id": "po_1", "call_id": "c1", "result": "4", "status": "completed"},
        ],
    ),
    "tool_search_call": (
        "the one answer it takes are tools: a call that gets none could not be closed",
        [{"type": "tool_search_call", "call_id": "c1", "arguments": {"q": "x"}, "execution": "client"}],
    ),
    "tool_search_output": (
        "as the call",
        [
            {"type": "tool_search_call", "call_id": "c1", "arguments": {"q": "x"}, "execution": "client"},
            {"type": "tool_search_output", "call_id": "c1", "execution": "client", "tools": [FUNCTION]},
        ],
    ),
    "additional_tools": (
        "it changes the tools of the request it came with",
        [{"type": "additional_tools", "role": "developer", "tools": [FUNCTION]}],
    ),
}
REFUSED_ITEMS = {
    "configuration_update": "it says nothing, and changes the request it came with",
    "compaction_trigger": "it asks for something",
    "item_reference": "what it stands for is in OpenAI's store alone",
}

SIGNED = {"thought_signature": "c2ln"}
CODE: dict[str, Any] = {"executable_code": {"language": "PYTHON", "code": "6 * 7"}, **SIGNED}
CODED: dict[str, Any] = {"code_execution_result": {"outcome": "OUTCOME_OK", "output": "42"}}
SEARCH = {"id": "t1", "tool_type": "GOOGLE_SEARCH_WEB"}
SEARCHED = {"tool_response": {**SEARCH, "response": {"found": 1}}}
FILM = {"file_data": {"file_uri": "gs://a/b.mp4", "mime_type": "video/mp4"}, "video_metadata": {"fps": 1.0}}
SHARP = {"media_resolution": {"level": "MEDIA_RESOLUTION_LOW"}}
CALLED = {"function_call": {"id": "c1", "name": "f", "args": {"q": "x"}}, **SIGNED}
ANSWERED = {"id": "c1", "name": "f", "response": {"x": 1}, "will_continue": False, "scheduling": "SILENT"}
PARTS: Mapping[str, list[Any]] = {
    "text": [{"role": "model", "parts": [{"text": "x", **SIGNED}]}, CONTENT],
    "thought": [{"role": "model", "parts": [{"text": "hm", "thought": True, **SIGNED}]}, CONTENT],
    "thought_signature": [{"role": "model", "parts": [{"text": "", **SIGNED}]}, CONTENT],
    "executable_code": [{"role": "model", "parts": [CODE, CODED]}, CONTENT],
    "code_execution_result": [{"role": "model", "parts": [CODE, CODED]}, CONTENT],
    "tool_call": [{"role": "model", "parts": [{"tool_call": {**SEARCH, "args": {}}}, SEARCHED]}, CONTENT],
    "tool_response": [{"role": "model", "parts": [{"tool_call": {**SEARCH, "args": {}}}, SEARCHED]}, CONTENT],
    "function_call": [
        {"role": "model", "parts": [CALLED]},
        {"role": "user", "parts": [{"function_response": {"id": "c1", "name": "f", "response": {}}}]},
    ],
    "function_response": [
        {"role": "model", "parts": [CALLED]},
        {"role": "user", "parts": [{"function_response": ANSWERED}]},
    ],
    "inline_data": [CONTENT | {"parts": [{"inline_data": {"mime_type": "image/png", "data": "aGk="}, **SHARP}]}],
    "media_resolution": [CONTENT | {"parts": [{"inline_data": {"mime_type": "image/png", "data": "aGk="}, **SHARP}]}],
    "file_data": [CONTENT | {"parts": [FILM]}],
    "video_metadata": [CONTENT | {"parts": [FILM]}],
}
OTHER_PARTS: Mapping[str, str] = dict.fromkeys(
    (
        *("part_metadata", "audio_transcription", "media_processing", "speech_metadata", "document_metadata"),
        *("spreadsheet_metadata", "audio_metadata"),
    ),
    "it stays on the stored part; how Gemini wants it back is not documented",
)


def members(union: Any) -> Iterator[Any]:
    for one in get_args(union):
        yield from members(one) if get_origin(one) and not is_typeddict(one) else (one,)


def kinds(union: Any) -> set[str]:
    """The ``type`` of each that can be sent."""
    hints = (get_type_hints(one)["type"] for one in members(union) if is_typeddict(one))
    return {kind for hint in hints for kind in _literals(hint)}


def _literals(hint: Any) -> Iterator[str]:
    for one in get_args(hint):
        yield from (one,) if isinstance(one, str) else _literals(one)


def test_every_type_of_the_sdks_is_in_a_table() -> None:
    assert kinds(BetaContentBlockParam) == {*BLOCKS, *OTHER_BLOCKS}
    outputs = {item["type"] for items in ITEMS.values() for item in items}
    assert kinds(ResponseInputItemParam) == {*ITEMS, *outputs, *OTHER_ITEMS, *REFUSED_ITEMS}
    assert set(gemini.Part.model_fields) == {*PARTS, *OTHER_PARTS}


def told(shape: Format, messages: list[Any]) -> list[Any]:
    """Of Gemini's contents as they are; of the others front to back without what marks the cache."""
    return messages if shape is Format.GEMINI else without_marks(messages)


@pytest.mark.parametrize(
    ("shape", "messages"),
    [
        *(pytest.param(Format.ANTHROPIC, messages, id=kind) for kind, messages in BLOCKS.items()),
        *(pytest.param(Format.OPENAI_RESPONSES, messages, id=kind) for kind, messages in ITEMS.items()),
        *(pytest.param(Format.GEMINI, messages, id=kind) for kind, messages in PARTS.items() if len(messages) > 1),
    ],
)
def test_what_the_provider_sends_or_takes_comes_back_as_it_was(shape: Format, messages: list[Any]) -> None:
    back = given_back(shape, ASKED[shape], *messages)
    assert told(shape, back) == told(shape, [ASKED[shape], *messages])


@pytest.mark.parametrize("messages", [messages for messages in PARTS.values() if len(messages) == 1])
def test_what_gemini_s_user_shows_comes_back_as_it_was(messages: list[Any]) -> None:
    assert given_back(Format.GEMINI, *messages) == messages


@pytest.mark.parametrize(
    ("shape", "messages"),
    [
        *(pytest.param(Format.ANTHROPIC, found, id=kind) for kind, (_, found) in OTHER_BLOCKS.items()),
        *(pytest.param(Format.OPENAI_RESPONSES, [*found, ITEM], id=kind) for kind, (_, found) in OTHER_ITEMS.items()),
    ],
)
def test_what_cannot_come_back_as_it_was_is_told_otherwise(shape: Format, messages: list[Any]) -> None:
    """And the reason given for it is still one: none of these is in the wrong table."""
    back = given_back(shape, ASKED[shape], *messages)
    assert told(shape, back) != told(shape, [ASKED[shape], *messages])


@pytest.mark.parametrize("kind", REFUSED_ITEMS)
def test_what_says_nothing_by_itself_is_refused(kind: str) -> None:
    with pytest.raises(WireError, match="unknown type"):
        given_back(Format.OPENAI_RESPONSES, {"type": kind, "id": "x"})
