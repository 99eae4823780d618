"""Items of OpenAI's Responses API as neutral messages (openai SDK 3.54: types/responses/response_input_item_param.py).

| item | message |
|---|---|
| message | as any message; parts input_text, output_text, input_image, input_file; see ``of_message`` |
| function_call, custom_tool_call, and each ..._call that the caller runs | assistant, one tool_call |
| a ..._call that OpenAI runs (web_search_call, mcp_call ...) | assistant, a tool_call and its tool_result in one |
| function_call_output and the other outputs | tool, one tool_result |
| mcp_list_tools | assistant, as a call that OpenAI runs: its result are the tools |
| mcp_approval_request, mcp_approval_response | assistant, a tool_call; tool, its tool_result |
| reasoning, compaction | assistant, reasoning |
| additional_tools | assistant, an empty text |

``item_id`` of a part is the item's own id. Items that say nothing by themselves (item_reference ...) are refused.
"""

from collections.abc import Collection, Mapping
from typing import Any

from app.sessions.model import Part, PartType, Role
from app.sessions.wire.fields import (
    Wire,
    WireError,
    identifier,
    items,
    objects,
    optional_flag,
    optional_string,
    part,
    refuse,
    shown,
    string,
)
from app.sessions.wire.neutral import Reader, nested
from app.sessions.wire.openai_chat import FILE_FIELDS, arguments_fields, data_url, file_fields, refusal

PROVIDER = "openai-responses"
MESSAGE_ID = "msg_"


def text(raw: Wire, at: str) -> Part:
    return part(PartType.TEXT, raw, at, used={"type", "text"}, text=string(raw, "text", at))


def image(raw: Wire, at: str) -> Part:
    url, file_id = optional_string(raw, "image_url", at), optional_string(raw, "file_id", at)
    if url is None and file_id is None:
        raise WireError(at, "an image must have an image_url or a file_id")
    held = {} if url is None else data_url(url) or {"url": url}
    native = {} if raw["type"] == "input_image" else _native(raw)
    return part(PartType.IMAGE, raw, at, used={"type", "image_url", "file_id"}, **held, file_id=file_id, **native)


def file(raw: Wire, at: str) -> Part:
    return part(PartType.FILE, raw, at, used={"type", *FILE_FIELDS}, **file_fields(raw, at))


PARTS: Mapping[str, Reader] = {"input_text": text, "output_text": text, "input_image": image, "input_file": file}
NESTED: Mapping[str, Reader] = {**PARTS, "refusal": refusal}


def of_message(raw: Wire, parts: list[Part]) -> list[Part]:
    """The parts of an assistant's message, with what OpenAI wants back with them.

    The first keeps the ``phase`` (commentary, final_answer), and each the id of the message, which belongs to the
    reasoning before it. Ids of another form are the caller's.
    """
    phase, message_id = optional_string(raw, "phase", ""), raw.get("id")
    if _is_item(raw) and isinstance(message_id, str) and message_id.startswith(MESSAGE_ID):
        parts = [{**part, "item_id": message_id} for part in parts]
    return parts if phase is None or not parts else [{**parts[0], "phase": phase}, *parts[1:]]


def _is_item(raw: Wire) -> bool:
    """Whether the message is an item: a whole reply of Anthropic has the same type and such an id, but other blocks."""
    if raw.get("type") != "message":
        return False
    content = raw.get("content")
    return not isinstance(content, list) or any(isinstance(one, dict) and one["type"] in NESTED for one in content)


# The argument fields of the caller's own tools, and of OpenAI's, with the field that holds their result.
OWN_CALLS: Mapping[str, tuple[str, ...]] = {
    "apply_patch_call": ("operation",),
    "computer_call": ("action", "actions"),
    "local_shell_call": ("action",),
    "mcp_approval_request": ("server_label", "name", "arguments"),
    "program": ("code",),
    "shell_call": ("action",),
}
HOSTED_CALLS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "code_interpreter_call": (("code",), "outputs"),
    "file_search_call": (("queries",), "results"),
    "image_generation_call": (("revised_prompt",), "result"),
    "mcp_call": ((), "output"),
    "mcp_list_tools": ((), "tools"),
    "web_search_call": (("action",), "results"),
}
OUTPUTS: Mapping[str, str] = {
    "apply_patch_call_output": "output",
    "computer_call_output": "output",
    "custom_tool_call_output": "output",
    "function_call_output": "output",
    "local_shell_call_output": "output",
    "program_output": "result",
    "shell_call_output": "output",
    "tool_search_output": "tools",
}
APPROVAL, APPROVED = "mcp_approval_request", "mcp_approval_response"  # the response names the item's own id
SILENT: Mapping[str, PartType] = {"additional_tools": PartType.TEXT, "compaction": PartType.REASONING}
SEARCH_ITEMS = frozenset({"tool_search_call", "tool_search_output"})
SEARCH_ID = "tool_search"  # for a search's call and output that have none
NAMED_CALLS = frozenset({"function_call", "custom_tool_call", "mcp_call"})
CALLS_WITH_ARGUMENTS = frozenset({"function_call", "mcp_call", "tool_search_call"})
SAID = ("message", "reasoning", "custom_tool_call", APPROVED, *SILENT)
ITEMS = (*SAID, *CALLS_WITH_ARGUMENTS, *OWN_CALLS, *HOSTED_CALLS)
HELD = frozenset(ITEMS) - {"message"}  # items that the content of a message may hold


def item(raw: Wire) -> tuple[Role, list[Part]]:
    """Role and parts of any item but a message."""
    kind = raw["type"]
    if not isinstance(kind, str):
        raise WireError("/type", f"a string is expected, not {shown(kind)}")
    if kind in OUTPUTS:
        return Role.TOOL, [_output(raw, OUTPUTS[kind])]
    if kind == APPROVED:
        return Role.TOOL, [_answered(raw)]
    return Role.ASSISTANT, _assistant_parts(raw, kind)


def _assistant_parts(raw: Wire, kind: str) -> list[Part]:
    if kind == "reasoning":
        return [_reasoning(raw)]
    if kind in SILENT:
        return [part(SILENT[kind], raw, "", used={"type", "id"}, text="", **_native(raw), **_item_id(raw))]
    if kind in HOSTED_CALLS:
        return _hosted_call(raw, *HOSTED_CALLS[kind])
    if kind == "custom_tool_call":
        return [_call(raw, {"arguments": string(raw, "input", "")}, used={"input"})]
    if kind in CALLS_WITH_ARGUMENTS:
        return [_call(raw, arguments_fields(raw, ""), used={"arguments"})]
    if kind in OWN_CALLS:
        return [_call(raw, _called_with(raw, OWN_CALLS[kind]), used=OWN_CALLS[kind])]
    raise WireError("/type", f"unknown type {shown(kind)}; known types: {', '.join(sorted({*ITEMS, *OUTPUTS}))}")


def _reasoning(raw: Wire) -> Part:
    """The text is the reasoning if it is given, else its summary; both stay on the part as they are."""
    held = "content" if raw.get("content") else "summary"
    texts = [string(block, "text", at) for block, at in objects(raw, held, "")]
    return part(
        PartType.REASONING, raw, "", used={"type", "id"}, text="\n".join(texts), **_native(raw), **_item_id(raw)
    )


def _call(raw: Wire, called_with: Wire, *, used: Collection[str]) -> Part:
    """One call. OpenAI's own tools have the item's id only, and are named by their type."""
    kind = raw["type"]
    by_item = kind in HOSTED_CALLS
    own_id = "id" if by_item or kind == APPROVAL else "call_id"
    return part(
        PartType.TOOL_CALL,
        raw,
        "",
        used={"type", "id", "call_id", "name", *used},
        id=SEARCH_ID if _is_of_openai_s_search(raw) else identifier(raw, own_id, ""),
        name=identifier(raw, "name", "") if kind in NAMED_CALLS else kind.removesuffix("_call"),
        **called_with,
        **({} if by_item else _item_id(raw)),
        **({} if kind == "function_call" else _native(raw)),
    )


def _is_of_openai_s_search(raw: Wire) -> bool:
    """Whether the item is of a search for tools by OpenAI itself: neither its call nor its output has an id."""
    return raw["type"] in SEARCH_ITEMS and raw.get("call_id") is None


def _called_with(raw: Wire, fields: tuple[str, ...]) -> Wire:
    return {"arguments": {key: raw[key] for key in fields if raw.get(key) is not None}}


def _hosted_call(raw: Wire, fields: tuple[str, ...], result: str) -> list[Part]:
    has_arguments = raw["type"] in CALLS_WITH_ARGUMENTS
    called_with = arguments_fields(raw, "") if has_arguments else _called_with(raw, fields)
    call = _call(raw, called_with, used={*fields, result, *(["arguments"] if has_arguments else [])})
    failed = {"is_error": True} if _failed(raw) else {}
    answer = {"type": "tool_result", "tool_call_id": call["id"], "output": _hosted_output(raw, result)}
    return [call, {**answer, **failed, **_native(raw)}]


def _hosted_output(raw: Wire, held: str) -> Any:
    output = raw.get(held)
    if raw["type"] == "image_generation_call" and isinstance(output, str):
        return [{"type": "image", "data": output, "media_type": f"image/{raw.get('output_format') or 'png'}"}]
    if not output and raw.get("error") is not None:
        output = raw["error"]
    return "" if output is None else output


def _output(raw: Wire, held: str) -> Part:
    call_id = "id" if raw["type"] == "local_shell_call_output" else "call_id"
    native = {} if raw["type"] == "function_call_output" else _native(raw)
    return part(
        PartType.TOOL_RESULT,
        raw,
        "",
        used={"type", "id", "call_id", "name", held},
        tool_call_id=SEARCH_ID if _is_of_openai_s_search(raw) else identifier(raw, call_id, ""),
        output=_output_value(raw, held),
        is_error=True if _failed(raw) else None,
        **(_item_id(raw) if call_id != "id" else {}),
        **native,
    )


def _answered(raw: Wire) -> Part:
    """The approval of an MCP call, or its refusal and the reason. A person gave it, whatever passed it to the agent."""
    approve = optional_flag(raw, "approve", "")
    if approve is None:
        refuse(raw, "approve", "", "true or false")
    reason = optional_string(raw, "reason", "")
    return part(
        PartType.TOOL_RESULT,
        raw,
        "",
        used={"type", "id", "approval_request_id", "approve", "reason"},
        tool_call_id=identifier(raw, "approval_request_id", ""),
        output={"approve": approve} if reason is None else {"approve": approve, "reason": reason},
        **_item_id(raw),
        **_native(raw),
    )


def _output_value(raw: Wire, held: str) -> Any:
    """A list of input_text, input_image and input_file as parts; other JSON stays as it is."""
    value = raw.get(held)
    if isinstance(value, dict) and value.get("type") == "computer_screenshot":
        return [image(value, f"/{held}")]
    if value is None or isinstance(value, str):
        return value or ""
    return nested(items(raw, held, ""), NESTED, f"/{held}")


def _failed(raw: Wire) -> bool:
    return raw.get("status") == "failed" or bool(raw.get("error"))


def _item_id(raw: Wire) -> dict[str, Any]:
    return {"item_id": optional_string(raw, "id", "")}


def _native(raw: Wire) -> dict[str, Any]:
    return {"provider": PROVIDER, "native": raw["type"]}
