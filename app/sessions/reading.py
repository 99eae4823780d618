"""Reads the messages of a request: checks, normalises, redacts, counts and hashes them."""

import secrets
from collections.abc import Sequence

from app.kit.errors import FieldError, Invalid
from app.kit.json import dumps
from app.redaction.model import Redact, redacted_json
from app.sessions.counting import message_tokens
from app.sessions.errors import MessageTooLarge
from app.sessions.model import NewMessage, Part, Trust
from app.sessions.redacting import redacted_parts
from app.sessions.schemas import MessageIn
from app.sessions.wire import WireError, content_hash, default_trust, first_flaw, normalise, observable

ID_BYTES = 16  # random bytes of a generated message id
# A part of three bytes, as ``""`` in a list, becomes one of up to 250 with its type and the id of its message. Of more
# parts than these a message may have this many times its bytes in neutral parts; of real ones none has twice as many.
GROWTH_MAX, GROWTH_FREE_PARTS = 4, 256


def read_messages(
    messages: Sequence[MessageIn], idempotency_key: str | None, *, bytes_max: int, redact: Redact | None
) -> list[NewMessage]:
    """The messages of a request, in their order. Raises Invalid and MessageTooLarge, naming the message at fault."""
    read = [
        read_message(message, at=f"/messages/{index}", fallback_id=fallback, bytes_max=bytes_max, redact=redact)
        for index, (message, fallback) in enumerate(zip(messages, _ids(idempotency_key, len(messages)), strict=True))
    ]
    _refuse_repeated_ids(read)
    return read


def _ids(idempotency_key: str | None, count: int) -> list[str]:
    """Fallback ids for messages without their own; the random ones are cut from one call for random bytes."""
    if idempotency_key is not None:
        return [f"{idempotency_key}:{index}" for index in range(count)]
    digits = secrets.token_hex(ID_BYTES * count)
    return [digits[start : start + 2 * ID_BYTES] for start in range(0, len(digits), 2 * ID_BYTES)]


def read_message(
    message: MessageIn,
    *,
    at: str,
    fallback_id: str | None = None,
    bytes_max: int | None = None,
    redact: Redact | None = None,
) -> NewMessage:
    """The message at the pointer ``at`` of a body. Without an id of its own it gets the fallback, or a new one.

    Its parts are counted and hashed after ``redact``; its name is hashed as it came (api.md, Messages).
    """
    raw: dict[str, object] = dict(message.model_extra or {})
    if message.id is not None:
        raw["id"] = message.id  # an item of OpenAI's Responses API has its own id there
    _check_metadata(message, at)
    try:
        seen = normalise(raw)
    except WireError as error:
        raise Invalid.naming(FieldError(at + error.pointer, error.detail)) from error
    _check_size(raw if message.metadata is None else {**raw, "metadata": message.metadata}, seen.parts, at, bytes_max)
    parts, metadata, name = seen.parts, message.metadata, raw.get("name")
    if redact is not None:
        parts, metadata = redacted_parts(parts, redact), redacted_json(metadata, redact)
    return NewMessage(
        id=message.id or fallback_id or secrets.token_hex(ID_BYTES),
        kind=seen.kind,
        role=seen.role,
        parts=parts,
        tokens=message_tokens(parts),
        observe=observable(seen.kind, message.observe),
        trust=Trust(message.trust) if message.trust else default_trust(seen.role),
        content_hash=content_hash(seen.role, name if isinstance(name, str) else None, parts),
        name=seen.name,
        created_at=message.created_at,
        metadata=metadata,
    )


def _check_metadata(message: MessageIn, at: str) -> None:
    if message.metadata is not None and (flaw := first_flaw(message.metadata)):
        raise Invalid.naming(FieldError(f"{at}/metadata{flaw.pointer}", flaw.detail))


def _check_size(raw: dict[str, object], parts: Sequence[Part], at: str, bytes_max: int | None) -> None:
    size = len(dumps(raw))
    if bytes_max is not None and size > bytes_max:
        detail = f"{at or 'the message'} has more than {bytes_max} bytes (DAYBOOK_SESSIONS__MESSAGE_BYTES_MAX)"
        raise MessageTooLarge.at(at, detail)
    if len(parts) > GROWTH_FREE_PARTS and len(dumps(parts)) > GROWTH_MAX * size:
        detail = f"{at or 'the message'} has so many small parts that it would be over {GROWTH_MAX} times as large"
        raise MessageTooLarge.at(at, f"{detail}: send fewer and larger ones")


def _refuse_repeated_ids(messages: Sequence[NewMessage]) -> None:
    first: dict[str, int] = {}
    for index, message in enumerate(messages):
        if message.id in first:
            detail = f"the id '{message.id}' is already used by message {first[message.id]} of this request"
            raise Invalid.naming(FieldError(f"/messages/{index}/id", detail))
        first[message.id] = index
