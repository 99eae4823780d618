"""Redacts the parts of a message. Pure.

Ids, names and types stay as they are, and so do the bytes of images and of files that are no text, and what a provider
signed or encrypted.
"""

from base64 import b64encode
from collections.abc import Collection, Sequence
from typing import Any

from app.redaction.model import Redact, redacted_json, redacted_object
from app.sessions.files import DATA_URL, IN_BASE64, encoded_text, is_data_url
from app.sessions.model import Part, PartType, is_part

KEPT = frozenset(
    {
        *("type", "id", "name", "role", "tool_call_id", "item_id", "provider", "native", "media_type", "file_id"),
        *("data", "signature", "thoughtSignature", "encrypted_content", "encrypted_index"),
    }
)
# Kept within the objects of compatible servers: the signatures of thoughts and calls, and encrypted thoughts.
SIGNED = {
    (PartType.REASONING, "details"): frozenset({"data", "signature"}),
    (PartType.TOOL_CALL, "extra_content"): frozenset({"thought_signature"}),
    (PartType.TOOL_CALL, "provider_specific_fields"): frozenset({"thought_signature"}),
}
JSON_FIELDS = frozenset({"arguments", "output", "content"})
SIGNATURES = ("signature", "details")  # removed from reasoning that was redacted


def redacted_parts(parts: Sequence[Part], redact: Redact) -> tuple[Part, ...]:
    return tuple(_part(part, redact) for part in parts)


def _part(part: Part, redact: Redact) -> Part:
    said = {key: value for key, value in part.items() if key not in KEPT and not _is_data(value)}
    changed = {
        key: _unsigned(value, _field(key, value, redact), SIGNED.get((part["type"], key), frozenset()))
        for key, value in said.items()
    }
    redacted = {key: changed.get(key, value) for key, value in part.items()}
    if part["type"] == PartType.FILE and part.get("content") is None and (encoded := encoded_text(part)):
        text, charset = encoded
        written = redact(text)
        if written != text:
            redacted |= _with_bytes(part, b64encode(written.encode(charset, errors="replace")).decode())
    if part["type"] == PartType.REASONING and changed != said:
        # A provider refuses thinking that is not what it signed; without the signature it is not sent back.
        for name in SIGNATURES:  # ``details``: where compatible servers put it
            redacted.pop(name, None)
    return redacted


def _with_bytes(part: Part, data: str) -> Part:
    """The field of the part that holds its bytes, with others."""
    if not is_data_url(part.get("url")):
        return {"data": data}
    head, mark, _ = part["url"].partition(IN_BASE64)
    return {"url": f"{head}{mark}{data}"}


def _field(key: str, value: Any, redact: Redact) -> Any:
    if key in JSON_FIELDS and isinstance(value, list):
        return [_part(item, redact) if is_part(item) else redacted_json(item, redact) for item in value]
    if isinstance(value, str):
        return redact(value)
    return redacted_object(value, redact) if isinstance(value, dict) else redacted_json(value, redact)


def _unsigned(value: Any, redacted: Any, signed: Collection[str]) -> Any:
    """The redacted value, in which the texts of ``signed`` fields are restored from ``value``."""
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
