"""What the service tells about its memories, and the steps an operator asks for (api.md, Memory)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from functools import partial
from typing import Any
from uuid import UUID

from app.context.blocks import observation_blocks, reflection_blocks
from app.diagnostics.coverage import REBUILDING, SKIP, Covered, coverage
from app.diagnostics.errors import TooManyStreams
from app.diagnostics.events import Event, Place, changes, events
from app.diagnostics.schemas import LogTextOut, MemoryOut
from app.diagnostics.store import DiagnosticsStore
from app.kit.db import Row
from app.kit.offload import offloaded
from app.kit.tokens import text_tokens
from app.memory.charging import Charging
from app.memory.errors import VersionNotFound
from app.memory.model import Observation, Reflection, Status
from app.memory.rows import ranges_of
from app.memory.rules import Rules
from app.memory.service import MemoryService
from app.memory.spending import Account, Accounts, Cap, Caps, allowance
from app.memory.status import MemoryStatus, memory_status
from app.memory.steps import Request
from app.sessions.errors import SessionNotFound
from app.sessions.store import session_id

STREAMS_RETRY_SECONDS = 5.0
ROLES = ("observer", "reflector")
RETRIES = frozenset({MemoryStatus.BACKING_OFF, MemoryStatus.STALLED, MemoryStatus.PAUSED})


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsConfig:
    """How often a listener's memory is looked at, and how many may listen to one process."""

    poll_seconds: float = 0.5
    streams_max: int = 100


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
        self._streams = 0
        self._leaving = False

    async def memory(self, tenant: str, key: str) -> MemoryOut:
        row = await self._store.memory(session_id(tenant, key))
        if row is None:
            raise SessionNotFound(key)
        answer = _memory(row, self._memory.rules(row["config"]))
        accounts = await self._charging.accounts(row["memory_id"], tenant)
        spending = None if accounts is None else spending_of(self._charging.caps, accounts)
        return MemoryOut.model_validate(
            answer | {"observer": self._observer, "reflector": self._reflector, "spending": spending}
        )

    async def ask(self, tenant: str, key: str, request: Request, wait_ms: int) -> MemoryOut | None:
        """Have a step done now. Answers what the memory is after it if ``wait_ms`` was given."""
        memory = await self._memory_of(tenant, key)
        await self._memory.request(memory, request)
        if not wait_ms:
            return None
        await self._memory.idle(memory, wait_ms)
        return await self.memory(tenant, key)

    async def events(
        self, tenant: str, key: str, place: Place | None, *, is_let_in: Callable[[], Awaitable[bool]]
    ) -> AsyncIterator[Event]:
        """What happens to the memory from ``place`` on, as long as the listener ``is_let_in``.

        Raises SessionNotFound and TooManyStreams before the first event.
        """
        session = session_id(tenant, key)
        begun = await self._store.events(session, place)  # before the answer: what comes after it is told
        if begun is None:
            raise SessionNotFound(key)
        if self._streams >= self._events.streams_max:
            limit = self._events.streams_max
            detail = f"{limit} event streams are open (DAYBOOK_EVENTS__STREAMS_MAX)"
            raise TooManyStreams(detail, retry_after=STREAMS_RETRY_SECONDS)
        return self._listening(session, begun, is_let_in)

    async def _listening(
        self, session: UUID, found: tuple[Place, Row] | None, is_let_in: Callable[[], Awaitable[bool]]
    ) -> AsyncIterator[Event]:
        self._streams += 1
        before: Row | None = None
        try:
            while not self._leaving and found is not None and await is_let_in():
                place, row = found
                for event in events(place, row):
                    place = event.place
                    yield event
                for event in changes(place, row, before):
                    yield event
                before = row
                await asyncio.sleep(self._events.poll_seconds)
                found = await self._store.events(session, place)
        finally:
            self._streams -= 1

    def leave(self) -> None:
        """The process is about to end: event streams, which never end by themselves, do so at their next look."""
        self._leaving = True

    async def log(self, tenant: str, key: str, version: int | None) -> LogTextOut:
        """The log as the model sees it, now or at a past version. Raises VersionNotFound."""
        found = await self._store.log(session_id(tenant, key), version)
        if found is None:
            raise SessionNotFound(key)
        row, observations, reflections = found
        wanted = row["log_version"] if version is None else version
        if wanted > row["log_version"]:
            raise VersionNotFound(f"the memory of session '{key}' is at version {row['log_version']}")
        anchor = row["anchor_now"] if version is None else row["anchor_date"]
        size = sum(len(note.text) for note in reflections) + sum(len(note.text) for note in observations)
        return await offloaded(partial(_log_text, key, wanted, reflections, observations, anchor), size=size)

    async def versions(self, tenant: str, key: str, *, before: int, limit: int) -> list[dict[str, Any]]:
        memory = await self._memory_of(tenant, key)
        return await self._store.versions(session_id(tenant, key), memory, before=before, limit=limit)

    async def observations(
        self, tenant: str, key: str, *, after: int, status: str | None, limit: int
    ) -> list[Observation]:
        memory = await self._memory_of(tenant, key)
        return await self._store.observations(memory, after=after, status=status, limit=limit)

    async def reflections(
        self, tenant: str, key: str, *, after: int, status: str | None, limit: int
    ) -> list[Reflection]:
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


def _memory(row: Row, rules: Rules) -> dict[str, Any]:
    status = memory_status(
        enabled=rules.enabled,
        due=row["due"],
        due_at=row["due_at"],
        lease_owner=row["lease_owner"],
        lease_step=row["lease_step"],
        attempts=row["attempts"] or 0,
        paused=bool(row["paused"]),
    )
    live = [found for found in row["observations"] if found["status"] == "active"]
    buffered = [found for found in row["observations"] if found["status"] == "buffered"]
    condensed = [found for found in row["reflections"] if found["status"] == "active"]
    chunks = [*live, *condensed]
    log_tokens = sum(found["tokens"] for found in chunks)
    source_tokens = sum(found["message_tokens"] for found in chunks)
    return {
        "session": row["key"],
        "scope": row["scope"] or rules.scope,
        "enabled": rules.enabled,
        "status": status,
        "cursor": {name: row[name] for name in ("observed_seq", "buffered_seq", "last_seq", "tail_from_seq")},
        "pending": {
            "messages": row["last_seq"] - row["observed_seq"] - (row["pending_summaries"] or 0),
            "tokens": row["pending_tokens"] or 0,
            "seconds": int(row["pending_seconds"]),
        },
        "thresholds": {
            "observe_at": rules.message_tokens,
            "buffer_every": rules.buffer_tokens,
            "reflect_at": rules.observation_tokens,
            "consolidate_at": rules.consolidate_at,
        },
        "log": {
            "version": row["log_version"] or 0,
            "tokens": log_tokens,
            "chars": sum(found["chars"] for found in chunks),
            "observations": len(live),
            "reflections": len(condensed),
            "generation": row["generation"] or 0,
        },
        "buffered": {
            "observations": len(buffered),
            "tokens": sum(found["tokens"] for found in buffered),
            "message_tokens": sum(found["message_tokens"] for found in buffered),
        },
        "coverage": _coverage(row),
        "current_task": row["current_task"],
        "suggested_response": row["suggested_response"],
        "lease": _lease(row),
        "attempts": row["attempts"] or 0,
        "next_attempt_at": row["due_at"] if status in RETRIES else None,
        "last_error": row["last_error"],
        "last_observer_run": row["observer_run"],
        "last_reflector_run": row["reflector_run"],
        "usage": _usage(row),
        "compression": {
            "source_tokens": source_tokens,
            "log_tokens": log_tokens,
            "ratio": round(source_tokens / log_tokens, 1) if log_tokens else None,
        },
        "retention": None
        if rules.retention is None
        else rules.retention.model_dump() | {"expired_seq": row["expired_seq"]},
    }


def _coverage(row: Row) -> dict[str, Any]:
    chunks = [
        _covered(kind, found, shared=row["memory_id"] != row["id"])
        for kind in ("reflection", "observation")
        for found in row[f"{kind}s"]
        if found["own"]
    ]
    chunks += [Covered(first=first, last=last, by=SKIP, covers=()) for first, last in row["condensed"] or ()]
    chunks += [
        Covered(first=first, last=last, by=f"summary:{row['summary']['seq']}", covers=((first, last),))
        for first, last in (row["summary"] or {"covers": ()})["covers"]
    ]
    chunks += [
        Covered(first=first, last=last, by=REBUILDING, covers=((first, last),))
        for first, last, *of in row["rebuilding"]
        if of in ([], [str(row["id"])])
    ]
    derived = max(row["observed_seq"], row["buffered_seq"])
    found = coverage(
        chunks, derived_seq=derived, last_seq=row["last_seq"], erased=row["erased"], blanked=bool(row["blanked"])
    )
    return {
        "intervals": [asdict(interval) for interval in found.intervals],
        "gaps": [{"first": first, "last": last} for first, last in found.gaps],
    }


def _covered(kind: str, found: dict[str, Any], *, shared: bool) -> Covered:
    """In a shared log a reflection's place is not this session's: what it spans follows from what it condenses."""
    covers = ranges_of(found["covers"])
    first, last = found["from"], found["to"]
    if shared and kind == "reflection":
        first, last = covers[0][0], covers[-1][1]
    return Covered(first=first, last=last, by=_by(kind, found), covers=covers)


def _by(kind: str, found: dict[str, Any]) -> str:
    match Status(found["status"]):
        case Status.ACTIVE:
            return f"{kind}:{found['id']}"
        case Status.BUFFERED:
            return f"buffered:{found['id']}"
        case Status.RETIRED:
            return "deleted"


def _lease(row: Row) -> dict[str, Any] | None:
    if row["lease_owner"] is None or row["due"]:
        return None
    return {
        "owner": row["lease_owner"],
        "epoch": row["lease_epoch"],
        "expires_at": row["due_at"],
        "step": row["lease_step"],
    }


def _usage(row: Row) -> dict[str, Any]:
    spent, cached = row["actor_input_tokens"], row["actor_cached_tokens"]
    actor = {
        "turns": row["actor_turns"],
        "input_tokens": spent,
        "cached_input_tokens": cached,
        "cache_write_tokens": row["actor_written_tokens"],
        "output_tokens": row["actor_output_tokens"],
        "cost_usd": row["actor_cost_usd"],
        "cache_hit_ratio": round(cached / spent, 3) if spent else None,
    }
    usage = row["usage"] or {}
    return {role: usage.get(role, {}) for role in ROLES} | {"actor": actor}


def spending_of(caps: Caps, accounts: Accounts) -> dict[str, Any]:
    """As a ``SpendingOut``, and so as a ``TenantSpendingOut``."""
    return {
        "day": accounts.day,
        "rung": allowance(caps, accounts).rung,
        "session": _account(caps.session, accounts.session),
        "tenant": _account(caps.tenant, accounts.tenant),
    }


def _account(cap: Cap, account: Account) -> dict[str, Any]:
    return {
        "tokens": account.spent.tokens,
        "cost_usd": round(account.spent.cost_usd, 6),
        "unpriced_tokens": account.unpriced_tokens,
        "reserved": asdict(account.reserved),
        "cap": asdict(cap),
    }
