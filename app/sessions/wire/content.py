"""``content`` of a message as neutral parts: a string, or a list of parts of any shape, told apart by their type."""

from collections.abc import Mapping
from typing import Any

from app.sessions.model import Part
from app.sessions.wire import anthropic, neutral, openai_chat, openai_responses
from app.sessions.wire.fields import Wire, WireError, refuse, shown
from app.sessions.wire.neutral import Reader

PARTS: Mapping[str, Reader] = {**anthropic.PARTS, **openai_chat.PARTS, **openai_responses.PARTS, **neutral.PARTS}
# Types that a provider shares with us: its own part is the one that has the first field, and none of ours.
SHARED: Mapping[str, tuple[str, frozenset[str], Reader]] = {
    "tool_result": ("tool_use_id", frozenset({"tool_call_id"}), anthropic.tool_result),
    "image": ("source", frozenset(neutral.IMAGE_SOURCES), anthropic.image),
    "file": ("file", frozenset(neutral.FILE_SOURCES), openai_chat.file),
}


def content_parts(raw: Wire) -> list[Part]:
    """No parts for an empty string or list: agents do send empty messages, and nothing was said in them."""
    content = raw.get("content")
    if isinstance(content, str):
        return [neutral.text_part(content)] if content else []
    if not isinstance(content, list):
        refuse(raw, "content", "", "a string or a list of parts")
    return [_part(item, f"/content/{index}") for index, item in enumerate(content)]


def _part(raw: Any, at: str) -> Part:
    if isinstance(raw, str):
        return neutral.text_part(raw)
    if not isinstance(raw, dict):
        raise WireError(at, f"an object with a type is expected, not {shown(raw)}")
    return _reader(raw, at)(raw, at)


def _reader(raw: Wire, at: str) -> Reader:
    kind = raw.get("type")
    if not isinstance(kind, str):
        raise WireError(f"{at}/type", "the type of the part is expected, a string")
    if kind in SHARED:
        tells, ours, shared = SHARED[kind]
        if tells in raw and ours.isdisjoint(raw):
            return shared
    return PARTS.get(kind) or anthropic.by_suffix(kind) or _unknown(kind, at)


def _unknown(kind: str, at: str) -> Reader:
    raise WireError(f"{at}/type", f"{shown(kind)} is not known; expected is one of {', '.join(sorted(PARTS))}")
