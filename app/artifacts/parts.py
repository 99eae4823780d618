"""Parts of messages as artifacts: the message is the store, and the handle a view of it. Pure.

Nothing is copied at append, so nothing can differ from the message, outlive its erasure, or be missed when it is
replaced (docs/decisions/0015-large-parts-are-artifacts-by-name.md).
"""

from typing import Any, NamedTuple

from app.artifacts.model import PartAt, handle
from app.kit.json import as_text
from app.kit.patterns import lazy_pattern
from app.sessions.model import SEQ_MAX, Part, PartType

VERSION = 1  # of a part, which never has another
TEXT_TYPE, JSON_TYPE = "text/plain; charset=utf-8", "application/json"
UTF8_BYTES_MAX = 4  # of one character

_CONTENT: dict[str, str] = {
    PartType.TEXT: "text",
    PartType.TOOL_CALL: "arguments",
    PartType.TOOL_RESULT: "output",
    PartType.FILE: "content",
}
_NAME = lazy_pattern(r"message:([1-9][0-9]{0,18}):(0|[1-9][0-9]{0,5})")


class PartContent(NamedTuple):
    text: str
    media_type: str


def part_name(at: PartAt) -> str:
    return f"message:{at.seq}:{at.place}"


def part_at(name: str) -> PartAt | None:
    """The part that a name refers to; None for the names that callers choose."""
    found = _NAME.fullmatch(name)
    at = found and PartAt(int(found[1]), int(found[2]))
    return at if at and at.seq <= SEQ_MAX else None


def part_handle(key: str, at: PartAt) -> str:
    return handle(key, part_name(at), VERSION)


def part_content(part: Part) -> PartContent | None:
    """The content of a part, as text or as JSON; None if it has none in words (an image, data, reasoning)."""
    value: Any = part.get(_CONTENT.get(part["type"], ""))
    if value is None:
        return None
    return PartContent(as_text(value), TEXT_TYPE if isinstance(value, str) else JSON_TYPE)


def is_large(part: Part, *, bytes_max: int) -> bool:
    """Whether the part's content has more than ``bytes_max`` bytes in UTF-8."""
    content = part_content(part)
    if content is None or len(content.text) * UTF8_BYTES_MAX <= bytes_max:
        return False
    return len(content.text.encode()) > bytes_max
