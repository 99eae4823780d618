"""Reads ``content`` of a message as neutral parts: a string, or a list of parts of any shape, told apart by type.

Items of OpenAI's Responses API may stand among them: LangChain keeps its answers that way.
"""

from collections.abc import Mapping
from typing import Any

from app.sessions.model import Part, text_part
from app.sessions.wire import anthropic, neutral, openai_chat, openai_responses
from app.sessions.wire.fields import Wire, WireError, refuse, shown
from app.sessions.wire.neutral import Reader

PARTS: Mapping[str, Reader] = {**anthropic.PARTS, **openai_chat.PARTS, **openai_responses.PARTS, **neutral.PARTS}
# Types that a provider shares with Daybook: the provider's part is the one with the first field and none of ours.
SHARED: Mapping[str, tuple[str, frozenset[str], Reader]] = {
    "tool_result": ("tool_use_id", frozenset({"tool_call_id"}), anthropic.tool_result),
    "image": ("source", frozenset(neutral.IMAGE_SOURCES), anthropic.image),
    "file": ("file", frozenset(neutral.FILE_SOURCES), openai_chat.file),
}
# The same for items of the Responses API, one of which may be several parts.
SHARED_ITEMS: Mapping[str, tuple[str, str]] = {
    "compaction": ("encrypted_content", "content"),
    "reasoning": ("summary", "text"),
}


def content_parts(raw: Wire) -> list[Part]:
    """The parts of ``content``; none if it is empty, as agents do send empty messages. Raises WireError."""
    content = raw.get("content")
    if isinstance(content, str):
        return [text_part(content)] if content else []
    if not isinstance(content, list):
        refuse(raw, "content", "", "a string or a list of parts")
    return [part for index, item in enumerate(content) for part in _parts(item, f"/content/{index}")]


def _parts(raw: Any, at: str) -> list[Part]:
    if isinstance(raw, str):
        return [text_part(raw)]
    if not isinstance(raw, dict):
        raise WireError(at, f"an object with a type is expected, not {shown(raw)}")
    return _item(raw, at) if _is_item(raw) else [_reader(raw, at)(raw, at)]


def _is_item(raw: Wire) -> bool:
    kind = raw.get("type")
    if not isinstance(kind, str) or kind not in openai_responses.HELD:
        return False
    theirs, ours = SHARED_ITEMS.get(kind, ("type", ""))
    return theirs in raw and ours not in raw


def _item(raw: Wire, at: str) -> list[Part]:
    try:
        _, parts = openai_responses.item(raw)
    except WireError as error:
        raise WireError(at + error.pointer, error.detail) from error
    return parts


def _reader(raw: Wire, at: str) -> Reader:
    kind = raw.get("type")
    if not isinstance(kind, str):
        raise WireError(f"{at}/type", "the type of the part is expected, a string")
    if kind == "thinking" and isinstance(raw.get("thinking"), list):
        return openai_chat.thinking
    if kind in SHARED:
        tells, ours, shared = SHARED[kind]
        if tells in raw and ours.isdisjoint(raw):
            return shared
    return PARTS.get(kind) or anthropic.by_suffix(kind) or _unknown(kind, at)


def _unknown(kind: str, at: str) -> Reader:
    raise WireError(f"{at}/type", f"unknown type {shown(kind)}; known types: {', '.join(sorted(PARTS))}")
