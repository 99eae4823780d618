"""Recognises a message sent again that differs from the stored one only in its shape or in what was redacted. Pure.

An agent that sends all its messages again may send one as it is listed; or redaction was switched on, off or changed.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from app.redaction.model import MARK, Redact
from app.sessions.files import file_content, without_bytes
from app.sessions.model import Message, NewMessage, Part, PartType, is_part
from app.sessions.redacting import SIGNATURES, redacted_parts
from app.sessions.wire import content_hash

INTEGER_END = 2.0**63  # below it, a float that is whole is compared as an integer
VALUES = ("arguments", "output")
BASE64 = ("data", "signature", "thought_signature")  # by their plain names
HUMP = re.compile(r"[A-Z]")
URL_SAFE = str.maketrans("+/", "-_", "=")


def hashes_said_again(
    messages: Sequence[NewMessage], stored: Mapping[str, Message], redact: Redact | None
) -> dict[str, bytes]:
    """The stored hashes of the messages that repeat a stored one, by id."""
    pairs = ((new, stored[new.id]) for new in messages if new.id in stored)
    return {new.id: old.content_hash for new, old in pairs if is_said_again(new, old, redact)}


def is_said_again(new: NewMessage, old: Message, redact: Redact | None) -> bool:
    """Whether both are the same once the old message, too, is redacted by today's rules.

    They may differ in what was redacted of the old one: a hook may take out less today, or redaction is switched off.

    They may differ in shape too, e.g. if the new one is sent as it is listed. A call of the Responses API is hashed
    with the tool's name, which the stored message has only in its parts, and a message of that API has its id in its
    parts too. JSON has one kind of number: whoever kept the message may write 1.0 as 1. An SDK dumps each field that it
    knows: another version, or other options, give other fields that are null, or name them otherwise: ``willContinue``
    for ``will_continue``, ``async_`` for ``async``. Gemini's dumps bytes in the URL-safe base64, and its API answers in
    the standard one.
    """
    parts = tuple(old.parts) if redact is None else redacted_parts(old.parts, redact)
    if content_hash(old.role, old.name, parts) == new.content_hash:
        return True
    if (old.role, old.name) != (new.role, new.name):
        return False
    before, now = (_numbered([_plain(part) for part in _without_id(of, new.id)]) for of in (parts, new.parts))
    if content_hash(old.role, old.name, before) == content_hash(new.role, new.name, now):
        return True
    return _is_marked(before) and says_again(before, now)


def _without_id(parts: Sequence[Part], message_id: str) -> tuple[Part, ...]:
    return tuple({k: v for k, v in part.items() if (k, v) != ("item_id", message_id)} for part in parts)


def _plain(part: Part) -> Part:
    """The part without nulls and empty objects, its fields by their plain names, its bytes in URL-safe base64.

    The bytes of a text are read, as a mark may stand in them. What an agent's own tool takes and gives stays as it is,
    but for parts in it. What a hosted tool takes and gives has the provider's types, as all else.
    """
    if part["type"] == PartType.FILE and part.get("content") is None:
        content = file_content(part)
        part = part if content is None else {**without_bytes(part), "content": content}
    own = [] if "native" in part else [name for name in VALUES if name in part]
    plain = _plain_object({name: value for name, value in part.items() if name not in own})
    return plain | {name: _plain_parts(part[name]) for name in own}


def _plain_parts(value: Any) -> Any:
    return [_plain(item) if is_part(item) else item for item in value] if isinstance(value, list) else value


def _plain_object(found: Mapping[str, Any]) -> dict[str, Any]:
    named = ((_plain_name(name), value) for name, value in found.items())
    plain = ((name, _plain_field(name, value)) for name, value in named)
    return {name: value for name, value in plain if value is not None and value != {}}


def _plain_name(name: str) -> str:
    """The name of a field as Python code has it, without the underscore that parts it from a keyword."""
    return HUMP.sub(lambda hump: f"_{hump[0].lower()}", name).rstrip("_")


def _plain_field(name: str, value: Any) -> Any:
    match value:
        case str() if name in BASE64:
            return value.translate(URL_SAFE)
        case dict():
            return _plain_object(value)
        case list():
            return [_plain_field(name, item) for item in value]
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
    """Whether a redaction mark stands in the parts."""
    return MARK.search(str(parts)) is not None


def says_again(stored: Any, sent: Any) -> bool:
    """Whether ``sent`` is ``stored``, in which each redaction mark stands for any text."""
    match stored, sent:
        case str(), str():
            return stored == sent or (MARK.search(stored) is not None and _fits(MARK.split(stored), sent))
        case dict(), dict():
            kept = sent.keys() - _signatures_gone(stored)
            return kept == stored.keys() and all(says_again(stored[name], sent[name]) for name in kept)
        case ((list() | tuple()), (list() | tuple())):
            return len(stored) == len(sent) and all(map(says_again, stored, sent))
    return type(stored) is type(sent) and bool(stored == sent)  # True == 1


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
    """The signatures that a reasoning part lacks, as redaction removes them."""
    return set(SIGNATURES) - part.keys() if part.get("type") == PartType.REASONING else set()
