"""Redacts what a message says. Pure.

Ids, names and types stay as they are, and so do the bytes of images and files, and what a provider signed or encrypted.
"""

from collections.abc import Collection, Sequence
from typing import Any

from app.redaction.model import MARK, Redact, redacted_json, redacted_object
from app.sessions.model import Part, PartType, is_part

KEPT = frozenset(
    {
        *("type", "id", "name", "role", "tool_call_id", "item_id", "provider", "native", "media_type", "file_id"),
        *("data", "signature", "thoughtSignature", "encrypted_content", "encrypted_index"),
    }
)
# And in the objects of compatible servers: of a thought, which may be encrypted, and of a call.
SIGNED = {
    (PartType.REASONING, "details"): frozenset({"data", "signature"}),
    (PartType.TOOL_CALL, "extra_content"): frozenset({"thought_signature"}),
    (PartType.TOOL_CALL, "provider_specific_fields"): frozenset({"thought_signature"}),
}
JSON_FIELDS = frozenset({"arguments", "output", "content"})
SIGNATURES = ("signature", "details")  # of thinking that was redacted; it has none of them any more
DATA_URL = "data:"


def redacted_parts(parts: Sequence[Part], redact: Redact) -> tuple[Part, ...]:
    return tuple(_part(part, redact) for part in parts)


def _part(part: Part, redact: Redact) -> Part:
    said = {key: value for key, value in part.items() if key not in KEPT and not _is_data(value)}
    changed = {
        key: _unsigned(value, _field(key, value, redact), SIGNED.get((part["type"], key), frozenset()))
        for key, value in said.items()
    }
    redacted = {key: changed.get(key, value) for key, value in part.items()}
    if part["type"] == PartType.REASONING and changed != said:
        # A provider refuses thinking that is not what it signed; without the signature it is not sent back.
        for name in SIGNATURES:  # ``details``: where compatible servers have it, with others that led to it
            redacted.pop(name, None)
    return redacted


def is_marked(parts: Sequence[Part]) -> bool:
    """Whether something of them was redacted."""
    return MARK.search(str(parts)) is not None


def says_again(stored: Any, sent: Any) -> bool:
    """Whether it is what was stored but for the marks in it, as of what is redacted by other rules today."""
    match stored, sent:
        case str(), str():
            return stored == sent or (MARK.search(stored) is not None and _fits(MARK.split(stored), sent))
        case dict(), dict():
            gone = _signatures_gone(stored) & sent.keys()
            kept = stored.keys() - gone
            return kept == sent.keys() - gone and all(says_again(stored[name], sent[name]) for name in kept)
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
    """Which of thinking are not there, or were themselves redacted, as by an older Daybook."""
    if part.get("type") != PartType.REASONING:
        return set()
    return {name for name in SIGNATURES if name not in part or MARK.search(str(part[name]))}


def _field(key: str, value: Any, redact: Redact) -> Any:
    if key in JSON_FIELDS and isinstance(value, list):
        return [_part(item, redact) if is_part(item) else redacted_json(item, redact) for item in value]
    if isinstance(value, str):
        return redact(value)
    return redacted_object(value, redact) if isinstance(value, dict) else redacted_json(value, redact)


def _unsigned(value: Any, redacted: Any, signed: Collection[str]) -> Any:
    """What was redacted of a value, with the texts of such fields in it as they were."""
    match value:
        case dict() if signed:
            return {
                key: one if key in signed and isinstance(one, str) else _unsigned(one, redacted[key], signed)
                for key, one in value.items()
            }
        case list() if signed:
            return [_unsigned(one, other, signed) for one, other in zip(value, redacted, strict=True)]
    return redacted


def _is_data(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(DATA_URL)
