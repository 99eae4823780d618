"""Diagnostics of a memory: its state, log, notes, runs and events, and steps on request (api.md, Memory)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any
from uuid import UUID

from app.context.blocks import observation_blocks, reflection_blocks
from app.diagnostics.errors import TooManyStreams
from app.diagnostics.events import Event, Place, changes, events
from app.diagnostics.memory import memory_told, spending_of
from app.diagnostics.schemas import LogTextOut, MemoryOut
from app.diagnostics.store import DiagnosticsStore
from app.kit.db import Row
from app.kit.offload import offloaded
from app.kit.queueing import Shared
from app.kit.tokens import text_tokens
from app.memory.charging import Charging
from app.memory.errors import VersionNotFound
from app.memory.model import Observation, Reflection
from app.memory.service import MemoryService
from app.memory.steps import Request
from app.sessions.errors import SessionNotFound
from app.sessions.store import session_id

STREAMS_RETRY_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream of ``events``, and the ``place`` after which it begins."""

    place: Place
    events: AsyncIterator[Event]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsConfig:
    """The interval at which a listener's memory is polled, and the limit of event streams per process."""

    poll_seconds: float = 0.5
    streams_max: int = 200


class DiagnosticsService:
    """``observer`` and ``reflector`` are the names of the providers in use."""

    def __init__(
        self,
        *,
        store: DiagnosticsStore,
        memory: MemoryService,
        charging: Charging,
        observer: str,
        reflector: str,
        events: EventsConfig,
    ) -> None:
        self._store = store
        self._memory = memory
        self._charging = charging
        self._observer = observer
        self._reflector = reflector
        self._events = events
        self._streams = Shared(places=events.streams_max)
        self._leaving = False

    async def memory(self, tenant: str, key: str) -> MemoryOut:
        row = await self._store.memory(session_id(tenant, key))
        if row is None:
            raise SessionNotFound(key)
        answer = memory_told(row, self._memory.rules(row["config"]), attempts_max=self._memory.attempts_max)
        accounts = await self._charging.accounts(row["memory_id"], tenant)
        spending = None if accounts is None else spending_of(self._charging.caps, accounts)
        return MemoryOut.model_validate(
            answer | {"observer": self._observer, "reflector": self._reflector, "spending": spending}
        )

    async def ask(self, tenant: str, key: str, request: Request, wait_ms: int) -> MemoryOut | None:
        """Request a step now. With ``wait_ms``, waits until the memory is idle and answers its state."""
        memory = await self._memory_of(tenant, key)
        await self._memory.request(memory, request)
        if not wait_ms:
            return None
        await self._memory.idle(memory, wait_ms)
        return await self.memory(tenant, key)

    @asynccontextmanager
    async def events(
        self,
        tenant: str,
        key: str,
        place: Place | None,
        *,
        is_key_valid: Callable[[], Awaitable[bool]],
        sharer: Hashable,
    ) -> AsyncIterator[Stream]:
        """A stream of the memory's events after ``place``, until the exit or until the key is not ``is_key_valid``.

        ``sharer``: see ``sharer_of``. Raises SessionNotFound and TooManyStreams before the first event.
        """
        session = session_id(tenant, key)
        begun = await self._store.events(session, place)  # before the answer begins, so that no later event is missed
        if begun is None:
            raise SessionNotFound(key)
        detail = (
            f"at most {self._events.streams_max} event streams may be open at once, and half as many for one tenant"
            " (DAYBOOK_EVENTS__STREAMS_MAX)"
        )
        async with self._streams.place(sharer, refusal=TooManyStreams(detail, retry_after=STREAMS_RETRY_SECONDS)):
            yield Stream(begun[0], self._listening(session, begun, is_key_valid))

    async def _listening(
        self, session: UUID, found: tuple[Place, Row] | None, is_key_valid: Callable[[], Awaitable[bool]]
    ) -> AsyncIterator[Event]:
        before: Row | None = None
        while not self._leaving and found is not None and await is_key_valid():
            place, row = found
            for event in events(place, row):
                place = event.place
                yield event
            for event in changes(place, row, before):
                yield event
            before = row
            await asyncio.sleep(self._events.poll_seconds)
            found = await self._store.events(session, place)

    def leave(self) -> None:
        """End all event streams at their next poll, because the process is about to exit."""
        self._leaving = True

    async def log(self, tenant: str, key: str, version: int | None) -> LogTextOut:
        """The log as the model sees it, now or at a past version. Raises VersionNotFound."""
        found = await self._store.log(session_id(tenant, key), version)
        if found is None:
            raise SessionNotFound(key)
        row, observations, reflections = found
        wanted = row["log_version"] if version is None else version
        if wanted > row["log_version"]:
            raise VersionNotFound(f"the newest version of the memory of session '{key}' is {row['log_version']}")
        anchor = row["anchor_now"] if version is None else row["anchor_date"]
        size = sum(len(note.text) for note in reflections) + sum(len(note.text) for note in observations)
        return await offloaded(partial(_log_text, key, wanted, reflections, observations, anchor), size=size)

    async def versions(self, tenant: str, key: str, *, before: int, limit: int) -> list[dict[str, Any]]:
        memory = await self._memory_of(tenant, key)
        return await self._store.versions(session_id(tenant, key), memory, before=before, limit=limit)

    async def observations(
        self, tenant: str, key: str, *, after: int, status: str | None, limit: int
    ) -> tuple[list[Observation], bool]:
        memory = await self._memory_of(tenant, key)
        return await self._store.observations(memory, after=after, status=status, limit=limit)

    async def reflections(
        self, tenant: str, key: str, *, after: int, status: str | None, limit: int
    ) -> tuple[list[Reflection], bool]:
        memory = await self._memory_of(tenant, key)
        return await self._store.reflections(memory, after=after, status=status, limit=limit)

    async def runs(
        self, tenant: str, key: str, *, before: int, outcome: str | None, limit: int
    ) -> list[dict[str, Any]]:
        session, memory = session_id(tenant, key), await self._memory_of(tenant, key)
        own = {"session": key} if memory == session else {}
        found = await self._store.runs(memory, before=before, outcome=outcome, limit=limit)
        return [run | own for run in found]

    async def _memory_of(self, tenant: str, key: str) -> UUID:
        memory = await self._store.memory_of(session_id(tenant, key))
        if memory is None:
            raise SessionNotFound(key)
        return memory


def _log_text(
    key: str, version: int, reflections: Sequence[Reflection], observations: Sequence[Observation], anchor: date
) -> LogTextOut:
    blocks = (*reflection_blocks(reflections, anchor=anchor), *observation_blocks(observations, anchor=anchor))
    text = "\n\n".join(block.text for block in blocks)
    return LogTextOut(session=key, version=version, tokens=text_tokens(text), chars=len(text), text=text)
