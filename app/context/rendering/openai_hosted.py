"""Restores calls of the tools that OpenAI runs itself: one item of the Responses API holds call and result."""

from typing import Any

from app.context.rendering.openai_shapes import HOSTED
from app.context.rendering.own import rest
from app.context.rendering.parts import arguments_object, arguments_text, media, output_parts
from app.context.rendering.shape import fitting
from app.context.rendering.thread import Item
from app.sessions.model import Part
from app.sessions.wire.openai_responses import HOSTED_CALLS

MCP_CALL, MCP_TOOLS, IMAGE_CALL = "mcp_call", "mcp_list_tools", "image_generation_call"
NEEDS_RESULT = frozenset({"code_interpreter_call", IMAGE_CALL})


def hosted(call: Part, result: Part) -> list[Item]:
    """The item (``web_search_call``, ``code_interpreter_call`` ...); none if it cannot go back as it came."""
    kind = call["native"]
    if result["native"] != kind or kind not in HOSTED_CALLS:
        return []
    fields, held = HOSTED_CALLS[kind]
    error = call.get("error")  # null if there was none
    if error is None and not _is_whole(kind, result["output"]):
        return []
    if kind == MCP_CALL:
        asked: Item = {"name": call["name"], "arguments": arguments_text(call)}
    else:
        asked = {key: value for key, value in arguments_object(call).items() if key in fields}
    answered = _held(kind, held, result["output"]) if error is None else _beside(error, kind, held, result["output"])
    more = rest(call, "id", "name", "arguments", "arguments_json", *asked, *answered)
    item = fitting(HOSTED[kind], {"type": kind, "id": call["id"], **asked, **answered, **more})
    return [item] if item else []


def _is_whole(kind: str, output: Any) -> bool:
    """Whether the output is as it came: a cut or previewed one is a text, which of these only MCP's may be."""
    return kind == MCP_CALL or output == "" or isinstance(output, list)


def _beside(error: Any, kind: str, held: str, output: Any) -> Item:
    """The result's field beside an error, which has its own. MCP's takes no text: an error in words is the output."""
    if kind == MCP_TOOLS:
        return {held: output if isinstance(output, list) else []}
    return {held: output} if kind == MCP_CALL and isinstance(error, str) else {}


def _held(kind: str, held: str, output: Any) -> Item:
    """The result under the item's own field; a null of OpenAI's was stored as an empty text."""
    if output == "":
        return {held: None} if kind in NEEDS_RESULT else {}
    if kind == IMAGE_CALL:
        return {held: "".join(media(part).data or "" for part in output_parts(output))}
    return {held: output}
