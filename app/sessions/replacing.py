"""Replaces a message, such as a turn being streamed, as long as it is not sealed (api.md, Messages).

One transaction under the session's lock. It takes no new lease epoch, or a turn that is streamed for long would undo
every step that runs meanwhile: a step compares what it read with what is stored when it records (docs/decisions/0014).
"""

import asyncio
from collections.abc import Sequence
from functools import partial

from app.kit.db import Database, Tx
from app.kit.errors import Invalid
from app.kit.json import canonical
from app.kit.offload import UNKNOWN, offloaded
from app.redaction.model import Redaction
from app.sessions import replacing_store
from app.sessions.errors import MessageSealed, SessionNotFound
from app.sessions.message_store import existing, find_message
from app.sessions.model import DerivedStore, Kind, MemoryPort, Message, NewMessage
from app.sessions.reading import read_message
from app.sessions.recognising import is_said_again
from app.sessions.replacing_store import LockedLog
from app.sessions.schemas import MessageIn
from app.sessions.store import session_id

PAIRED = frozenset({Kind.TOOL_CALL, Kind.TOOL_RESULT})
SAID = ("kind", "role", "name", "parts", "content_hash")  # of Message and NewMessage, as the next
KEPT = ("observe", "trust")


class Replacing:
    def __init__(
        self,
        *,
        database: Database,
        memory: MemoryPort,
        derived: Sequence[DerivedStore],
        bytes_max: int,
        redaction: Redaction,
    ) -> None:
        self._database = database
        self._memory = memory
        self._derived = derived
        self._bytes_max = bytes_max
        self._redaction = redaction

    async def replace(self, *, tenant: str, key: str, message_id: str, body: MessageIn, body_bytes: int) -> Message:
        """Replace a message; it keeps its seq, and its time if the body has none.

        What is stored already is answered, sealed or not; if sealed, also in another shape.

        Raises SessionNotFound, MessageNotFound, MessageErased, MessageSealed, Invalid, MessageTooLarge.
        """
        new = await self._read(tenant, message_id, body, body_bytes)
        async with self._database.tx(of=session_id(tenant, key)) as tx:
            log = await replacing_store.lock(tx, session_id(tenant, key))
            if log is None:
                raise SessionNotFound(key)
            old = await _replaceable(tx, log, key, message_id)
            if _is_stored(old, new):
                return old
            if old.sealed:
                if await _is_sent_again(old, new):  # e.g. the answer was lost, and it was sealed meanwhile
                    return old
                detail = f"message '{message_id}' is part of an observation: append the change as a new message"
                raise MessageSealed(detail)
            look = log.ended or _look(old, new)  # its new content has to be read for facts
            due = await replacing_store.recount(tx, log, pending_tokens=_weight(new) - _weight(old), look=look)
            for store in self._derived:
                await store.forget_from(tx, log.session_id, old.seq)
            replaced = await replacing_store.replace(tx, log, old, new)
        if due:
            self._memory.wake(log.memory_id)
        return replaced

    async def _read(self, tenant: str, message_id: str, body: MessageIn, body_bytes: int) -> NewMessage:
        if body.id not in {None, message_id}:
            raise Invalid.at("/id", "the id must be the one in the path, or be left out")
        named, redact = body.model_copy(update={"id": message_id}), self._redaction.of(tenant)
        read = partial(read_message, named, at="", bytes_max=self._bytes_max, redact=redact)
        return await offloaded(read, size=body_bytes if redact is None else UNKNOWN)


async def _replaceable(tx: Tx, log: LockedLog, key: str, message_id: str) -> Message:
    message = existing(await find_message(tx, log.session_id, message_id), key, message_id)
    if message.kind is Kind.SUMMARY:
        raise MessageSealed(f"message '{message_id}' is a summary: replace it by POST .../compact")
    return message


def _is_stored(old: Message, new: NewMessage) -> bool:
    """Whether replacing would change nothing."""
    return all(getattr(old, name) == getattr(new, name) for name in SAID) and _is_kept(old, new)


async def _is_sent_again(old: Message, new: NewMessage) -> bool:
    """Whether replacing would change nothing but the shape, as of another dump of the same message."""
    return _is_kept(old, new) and await asyncio.to_thread(is_said_again, new, old, None)


def _is_kept(old: Message, new: NewMessage) -> bool:
    """Whether what is stored beside the content would stay."""
    same = all(getattr(old, name) == getattr(new, name) for name in KEPT)
    described = canonical(old.metadata) == canonical(new.metadata or {})  # to Python 1 is True
    return same and described and new.created_at in {None, old.created_at}


def _weight(message: Message | NewMessage) -> int:
    """What a message adds to the pending tokens."""
    return message.tokens if message.observe else 0


def _look(old: Message, new: NewMessage) -> bool:
    """Whether the memory has to look again although no tokens were added: what can be observed may have changed."""
    return old.kind is not new.kind or new.kind in PAIRED or _weight(new) < _weight(old)
