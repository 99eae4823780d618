"""The service of sessions: append and read messages, configure and list sessions."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import UUID

from opentelemetry.trace import Tracer

from app.kit.errors import Invalid
from app.kit.offload import UNKNOWN, offloaded
from app.kit.tracing import traced
from app.llm.prices import priced
from app.redaction.model import Redact, Redaction
from app.sessions.append_store import AppendResult, AppendStore
from app.sessions.errors import MessageConflict, MessageErased, ResourceConflict, SessionMoved, SessionNotFound
from app.sessions.merging import read_given
from app.sessions.message_store import MessageStore, existing
from app.sessions.metrics import SessionMetrics
from app.sessions.model import ActorUsage, MemoryPort, Message, MessageFilter, NewMessage
from app.sessions.reading import read_messages
from app.sessions.recognising import hashes_said_again
from app.sessions.schemas import AppendIn, UsageIn
from app.sessions.sharing import RESOURCE, shared_memory_id, sharer_of
from app.sessions.sharing_store import MOVES_MAX, scoping
from app.sessions.store import (
    LOOKED_AT_ONCE,
    ConfigChange,
    ListedSession,
    SessionRecord,
    SessionStore,
    session_id,
)
from app.sessions.usage import actor_usage

READ_AT_ONCE = 10  # messages, each of up to a megabyte
UNSCHEDULED = ("idle", "disabled")  # statuses in which ``due_at`` may be null; in all others it is set


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionConfig:
    """Limits (api.md): messages per append, bytes of one message as JSON, and of a session's metadata.

    At most ``looked_max`` sessions, or messages of one, are examined for one page of a list, however few match. A page
    of messages ends with the one whose parts and metadata, as JSON, bring it to ``page_bytes_max``.
    """

    messages_max: int = 100
    message_bytes_max: int = 1024 * 1024
    metadata_bytes_max: int = 16 * 1024
    looked_max: int = 10_000
    page_bytes_max: int = 8 * 1024 * 1024


class SessionService:
    """``on_append`` gets each session with new messages and their number: it tells the search index."""

    def __init__(  # noqa: PLR0913 - every part by its constructor
        self,
        *,
        store: SessionStore,
        messages: MessageStore,
        appends: AppendStore,
        memory: MemoryPort,
        config: SessionConfig,
        metrics: SessionMetrics,
        on_append: Callable[[UUID, int], None],
        redaction: Redaction,
        tracer: Tracer,
    ) -> None:
        self._store = store
        self._messages = messages
        self._appends = appends
        self._memory = memory
        self._config = config
        self._metrics = metrics
        self._on_append = on_append
        self._redaction = redaction
        self._tracer = tracer

    async def append(
        self, *, tenant: str, key: str, body: AppendIn, idempotency_key: str | None, wait_ms: int, body_bytes: int
    ) -> tuple[AppendResult, dict[str, Any]]:
        """Store the messages, once each, all or none. Answers what is stored and the memory's summary.

        Raises Invalid, MessageTooLarge, MessageConflict, MessageErased, ResourceConflict.
        """
        redact = self._redaction.of(tenant)
        messages = await self._read(body, idempotency_key, body_bytes, redact)
        usage = None if body.usage is None else await _priced(body.usage)
        join = partial(self._join_resource, tenant, key, body.resource_id)
        store = partial(
            self._appends.append,
            tenant=tenant,
            key=key,
            resource_id=body.resource_id,
            usage=usage,
            defaults=self._memory.defaults,
            prepare=join if self._memory.defaults.scope == RESOURCE else None,
            body_bytes=body_bytes,
        )
        with traced(self._tracer, "append", attributes={"daybook.session": key, "daybook.messages": len(messages)}):
            result = await store(messages=messages)
            if result.messages[0].seq is None and await join():
                result = await store(messages=messages)
            if any(stored.differs for stored in result.messages):
                result = await store(messages=await self._recognised(session_id(tenant, key), messages, result, redact))
        _refuse(result, body.resource_id, idempotency_key)
        fresh = sum(not stored.replayed for stored in result.messages)
        self._metrics.appended(messages=fresh, usage=usage if fresh else None)
        if fresh:
            self._on_append(session_id(tenant, key), fresh)
        if result.memory.queue.due:
            self._memory.wake(result.memory.memory_id)
        if wait_ms:
            return result, await self._summary_after(result, wait_ms)
        return result, self._memory.summary(result.memory)

    async def _recognised(
        self, session: UUID, messages: list[NewMessage], result: AppendResult, redact: Redact | None
    ) -> list[NewMessage]:
        """The messages, with the stored hash for each that differs from its stored one only in shape or redaction."""
        differing = [new for new, stored in zip(messages, result.messages, strict=True) if stored.differs]
        hashes: dict[str, bytes] = {}
        for at in range(0, len(differing), READ_AT_ONCE):
            some = differing[at : at + READ_AT_ONCE]
            old = await self._messages.by_id(session, [new.id for new in some])
            hashes |= await asyncio.to_thread(hashes_said_again, some, old, redact)
        return [replace(new, content_hash=hashes.get(new.id, new.content_hash)) for new in messages]

    async def _summary_after(self, result: AppendResult, wait_ms: int) -> dict[str, Any]:
        await self._memory.idle(result.memory.memory_id, wait_ms)
        counters = await self._store.counters(result.memory.memory_id)
        return self._memory.summary(counters or result.memory)  # none: deleted meanwhile

    async def _read(
        self, body: AppendIn, idempotency_key: str | None, body_bytes: int, redact: Redact | None
    ) -> list[NewMessage]:
        """The messages of a request, normalised, counted and hashed. Raises Invalid, MessageTooLarge."""
        if len(body.messages) > self._config.messages_max:
            limit = self._config.messages_max
            detail = f"a request may have at most {limit} messages (DAYBOOK_SESSIONS__MESSAGES_MAX)"
            raise Invalid.at("/messages", detail)
        limit = self._config.message_bytes_max
        read = partial(read_messages, body.messages, idempotency_key, bytes_max=limit, redact=redact)
        # Redaction may call an operator's hook, which may be slow.
        return await offloaded(read, size=body_bytes if redact is None else UNKNOWN)

    async def get(self, tenant: str, key: str) -> SessionRecord:
        found = await self._store.get(tenant, key)
        if found is None:
            raise SessionNotFound(key)
        return found

    async def put(
        self, *, tenant: str, key: str, resource_id: str | None, config: dict[str, Any], metadata: dict[str, Any]
    ) -> tuple[SessionRecord, bool]:
        """Create the session or merge into it; answers it and whether it is new.

        Raises Invalid, ResourceConflict, ScopeConflict, MetadataTooLarge.
        """
        redact = self._redaction.of(tenant)
        config, metadata = await read_given(
            config, metadata, memory=self._memory, metadata_bytes_max=self._config.metadata_bytes_max, redact=redact
        )
        session, created = await self._put(tenant, key, resource_id, config=config, metadata=metadata)
        if config:
            self._memory.wake(session.memory_id)
        return session, created

    async def _join_resource(self, tenant: str, key: str, resource_id: str | None) -> bool:
        """Make a session without messages belong to the resource, and share its memory if the rules say so.

        Answers whether the session belongs to the resource now.
        """
        if resource_id is None:
            return False
        found = await self._store.get(tenant, key)
        if found is not None and found.last_seq:
            return found.resource_id == resource_id
        if found is None or found.memory_id != shared_memory_id(tenant, resource_id):
            await self._put(tenant, key, resource_id, config={}, metadata={})
        return True

    async def _put(
        self, tenant: str, key: str, resource_id: str | None, *, config: dict[str, Any], metadata: dict[str, Any]
    ) -> tuple[SessionRecord, bool]:
        """Create the session or merge into it; decide anew if it has moved to another memory since it was read."""
        timezone, scope = self._memory.defaults.timezone, self._memory.defaults.scope
        for left in reversed(range(MOVES_MAX)):
            found = await self._store.get(tenant, key)
            if found is not None and found.last_seq and resource_id not in {None, found.resource_id}:
                break
            sharer = sharer_of(tenant, key, found, resource_id, config, service_scope=scope)
            try:
                return await self._store.put(
                    tenant=tenant,
                    key=key,
                    resource_id=resource_id,
                    config=config if sharer is None else {},
                    metadata=metadata,
                    metadata_bytes_max=self._config.metadata_bytes_max,
                    timezone=timezone,
                    first=scoping(tenant, sharer, found, config, timezone=timezone),
                )
            except SessionMoved:
                if not left:
                    raise
        raise _resource_conflict(resource_id)

    async def page(
        self, tenant: str, *, resource_id: str | None, search: str | None, status: str | None, after: str, limit: int
    ) -> tuple[list[tuple[ListedSession, dict[str, Any]]], str | None]:
        """Sessions by key with their memory's summary, only those of ``status`` if it is given.

        The database filters out what cannot have the status; the memory's summary decides. Also answers the key after
        which more may be found, or None. ``looked_max`` bounds the search, so a page may hold few sessions or none.
        """
        scheduled = status not in {None, *UNSCHEDULED}
        look = partial(self._store.page, tenant, resource_id=resource_id, search=search, scheduled=scheduled)
        found: list[tuple[ListedSession, dict[str, Any]]] = []
        for _ in range(0, self._config.looked_max, LOOKED_AT_ONCE):
            most = limit + 1 - len(found) if status is None else LOOKED_AT_ONCE
            looked = await look(after=after, limit=most)
            told = [(listed, self._memory.summary(listed.memory)) for listed in looked.found]
            found += [(listed, summary) for listed, summary in told if status in {None, summary["status"]}]
            if len(found) > limit:
                return found[:limit], found[limit - 1][0].session.key
            if looked.last is None:
                return found, None
            after = looked.last
        return found, after

    async def configs(self, *, tenant: str, key: str, after: int, limit: int) -> list[ConfigChange]:
        session = await self.get(tenant, key)
        return await self._store.configs(session.id, after=after, limit=limit)

    async def messages(
        self, *, tenant: str, key: str, conversation: str | None = None, wanted: MessageFilter, limit: int
    ) -> tuple[list[Message], int | None]:
        """Messages in the filter's order, and the seq after which more may be found, or None.

        ``conversation``: read this session instead, which shares the memory. ``looked_max`` bounds the
        search and ``page_bytes_max`` the page, so it may hold few messages or none. Raises SessionNotFound.
        """
        session = await self._read_from(tenant, key, conversation)
        looked = wanted.bounded(last_seq=session.last_seq, looked_max=self._config.looked_max)
        limits = {"limit": limit + 1, "bytes_max": self._config.page_bytes_max}
        found, is_full = await self._messages.messages(session, looked, **limits)
        if len(found) > limit:
            found, is_full = found[:limit], True
        last = found[-1].seq if is_full else looked.last
        return found, last if wanted.goes_on(last, last_seq=session.last_seq) else None

    async def _read_from(self, tenant: str, key: str, conversation: str | None) -> SessionRecord:
        session = await self.get(tenant, key)
        if conversation is None or conversation == key:
            return session
        other = await self._store.get(tenant, conversation)
        if other is None or other.memory_id != session.memory_id:
            raise SessionNotFound(conversation, beside=key)
        return other

    async def message(self, tenant: str, key: str, message_id: str) -> Message:
        """Raises SessionNotFound, MessageNotFound, MessageErased."""
        found = await self._messages.message(session_id(tenant, key), message_id)
        if found is None:
            await self.get(tenant, key)
        return existing(found, key, message_id)


async def _priced(told: UsageIn) -> ActorUsage:
    """The usage of the agent's own model call, with its price."""
    usage = actor_usage(told.model_dump(exclude_none=True))
    return usage if usage.model is None else await priced(None, usage.model, usage)


def _refuse(result: AppendResult, resource_id: str | None, idempotency_key: str | None) -> None:
    """Raise the conflict for which the append stored nothing."""
    for index, message in enumerate(result.messages):
        at = f"/messages/{index}/id"
        if message.erased:
            raise MessageErased.at(at, f"message '{message.id}' was erased; nothing of this request was stored")
        if message.differs:
            detail = f"message '{message.id}' exists with other content; nothing of this request was stored"
            if idempotency_key is not None and message.id == f"{idempotency_key}:{index}":
                detail += "; the id is the Idempotency-Key and the message's place in the request: use a new key"
            raise MessageConflict.at(at, detail)
    # A retry of stored messages writes nothing, so the statement has not compared the resource.
    if any(message.seq is None for message in result.messages) or resource_id not in {None, result.resource_id}:
        raise _resource_conflict(resource_id)


def _resource_conflict(resource_id: str | None) -> ResourceConflict:
    detail = f"the session has messages and does not belong to resource '{resource_id}'; nothing was stored"
    return ResourceConflict.at("/resource_id", detail)
