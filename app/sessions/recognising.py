"""Whether a message that is sent again is the one that is stored: in another shape, or but for what was redacted. Pure.

An agent that sends all of its messages again may send one as it is listed; or redaction was switched on, off or changed
since.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from app.redaction.model import MARK, Redact
from app.sessions.model import Message, NewMessage, Part, PartType
from app.sessions.redacting import SIGNATURES, redacted_parts
from app.sessions.wire import content_hash

INTEGER_END = 2.0**63  # that JSON is written of here
VALUES = ("arguments", "output")


def hashes_said_again(
    messages: Sequence[NewMessage], stored: Mapping[str, Message], redact: Redact | None
) -> dict[str, bytes]:
    """The stored hashes of those that are said again, by their ids."""
    pairs = ((new, stored[new.id]) for new in messages if new.id in stored)
    return {new.id: old.content_hash for new, old in pairs if _is_said_again(new, old, redact)}


def _is_said_again(new: NewMessage, old: Message, redact: Redact | None) -> bool:
    """Whether both are stored alike after the old message, too, is redacted by today's rules.

    Or but for what was redacted of the old one, by a hook for instance that takes out less today, or before redaction
    was switched off.

    A message may come in another shape than the first time: as it is listed, for instance. A call of the Responses API
    is hashed with the tool's name, which its stored message has only in its parts, and a message of that API has its id
    in its parts too. JSON has one kind of number: what kept the message meanwhile may write 1.0 as 1. And an SDK dumps
    each field that it knows: a newer one, or the same told otherwise, has other fields that are null.
    """
    parts = tuple(old.parts) if redact is None else redacted_parts(old.parts, redact)
    if content_hash(old.role, old.name, parts) == new.content_hash:
        return True
    before, now = (_numbered([_set(part) for part in _without_id(of, new.id)]) for of in (parts, new.parts))
    if content_hash(old.role, old.name, before) == content_hash(new.role, new.name, now):
        return True
    return (old.role, old.name) == (new.role, new.name) and _is_marked(parts) and says_again(parts, new.parts)


def _without_id(parts: Sequence[Part], message_id: str) -> tuple[Part, ...]:
    return tuple({k: v for k, v in part.items() if (k, v) != ("item_id", message_id)} for part in parts)


def _set(part: Part) -> Part:
    """Without what is null in it, and without an object in which all is. What a tool is told, or tells, stays."""
    found = {name: value if name in VALUES else _set_within(value) for name, value in part.items() if value is not None}
    return {name: value for name, value in found.items() if value != {} or name in VALUES}


def _set_within(value: Any) -> Any:
    match value:
        case dict():
            return _set(value)
        case list():
            return [_set_within(item) for item in value]
    return value


def _numbered(value: Any) -> Any:
    """The value with its whole numbers as integers, however they were written."""
    match value:
        case dict():
            return {key: _numbered(item) for key, item in value.items()}
        case list() | tuple():
            return [_numbered(item) for item in value]
        case float() if value.is_integer() and abs(value) < INTEGER_END:
            return int(value)
    return value


def _is_marked(parts: Sequence[Part]) -> bool:
    """Whether something of them was redacted."""
    return MARK.search(str(parts)) is not None


def says_again(stored: Any, sent: Any) -> bool:
    """Whether it is what was stored but for the marks in it, as of what is redacted by other rules today."""
    match stored, sent:
        case str(), str():
            return stored == sent or (MARK.search(stored) is not None and _fits(MARK.split(stored), sent))
        case dict(), dict():
            kept = sent.keys() - _signatures_gone(stored)
            return kept == stored.keys() and all(says_again(stored[name], sent[name]) for name in kept)
        case ((list() | tuple()), (list() | tuple())):
            return len(stored) == len(sent) and all(map(says_again, stored, sent))
    return type(stored) is type(sent) and bool(stored == sent)  # 1 is no true


def _fits(pieces: Sequence[str], text: str) -> bool:
    """Whether the text is these pieces in their order, with anything between them."""
    first, *middle, last = pieces
    if not text.startswith(first) or len(text) < len(first) + len(last) or not text.endswith(last):
        return False
    at, end = len(first), len(text) - len(last)
    for piece in middle:
        found = text.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True


def _signatures_gone(part: Part) -> set[str]:
    """Which of thinking are not there."""
    return set(SIGNATURES) - part.keys() if part.get("type") == PartType.REASONING else set()
