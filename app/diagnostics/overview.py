"""The overview of the service for an operator (docs/operations.md, docs/decisions/0053).

A key sees its tenant's queue, over ``OWN_MAX`` memories that are due and as many that are not yet. The state of the
process is for an admin, as ``/metrics`` is.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from app.diagnostics.backlog_store import OWN_MAX, Backlog, BacklogStore, Failing
from app.diagnostics.memory import spending_of
from app.diagnostics.metrics import AGES
from app.diagnostics.operation_schemas import OverviewOut
from app.kit.clock import Clock
from app.kit.db import EVERY_TENANT, Database, acting_for
from app.llm.guard import Condition, Guard
from app.memory.charging import Charging
from app.memory.status import MemoryStatus
from app.recall.indexer import Indexer
from app.recall.vectorizing import Vectorizing


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRole:
    """The provider and models of a role of the memory's work. Without a ``guard`` it is built in, and calls nobody."""

    role: str
    provider: str
    model: str
    small_model: str | None = None
    guard: Guard | None = None


class Overview:
    """``name`` is that of this process; ``vectorizing`` is None if recall is by words alone."""

    def __init__(
        self,
        *,
        database: Database,
        store: BacklogStore,
        charging: Charging,
        roles: Sequence[NamedRole],
        indexer: Indexer,
        vectorizing: Vectorizing | None,
        name: str,
        clock: Clock,
    ) -> None:
        self._database = database
        self._store = store
        self._charging = charging
        self._roles = roles
        self._indexer = indexer
        self._vectorizing = vectorizing
        self._name = name
        self._clock = clock

    async def read(self, tenant: str, *, of_process: bool) -> OverviewOut:
        accounts = await self._charging.accounts(None, tenant)
        return OverviewOut.model_validate(
            {
                "at": self._clock.now(),
                "queue": _queue(await self._store.own_backlog(tenant, ages=list(AGES))),
                "failing": [_failing(cause) for cause in await self._store.failing(tenant)],
                "spending": None if accounts is None else spending_of(self._charging.caps, accounts),
                "process": await self._process() if of_process else None,
            }
        )

    async def _process(self) -> dict[str, Any]:
        with acting_for(EVERY_TENANT):
            indexing = await self._indexer.backlog()
        return {
            "name": self._name,
            "roles": [_role(role) for role in self._roles],
            "connections": self._database.pool_state(),
            "indexing": asdict(indexing),
            "vectors": None if self._vectorizing is None else asdict(self._vectorizing.backlog()),
        }


def _queue(backlog: Backlog) -> dict[str, Any]:
    later = sum(backlog.memories.values()) - backlog.due
    bounds = (*AGES, None)
    return {
        "complete": max(backlog.due, later) < OWN_MAX,
        "memories": [
            {"status": status} | asdict(backlog.by_status[status])
            for status in MemoryStatus
            if status in backlog.by_status
        ],
        "ages": [
            {"below_seconds": bound, "pending_tokens": tokens}
            for bound, tokens in zip(bounds, backlog.pending_tokens, strict=True)
        ],
        "late_seconds": backlog.late_seconds,
    }


def _failing(cause: Failing) -> dict[str, Any]:
    told = {name: cause.error[name] for name in ("step", "kind", "message")}
    return told | {
        "memories": cause.memories,
        "attempts": cause.attempts,
        "last_at": cause.last_at,
        "next_at": cause.next_at,
        "sessions": list(cause.sessions),
    }


def _role(role: NamedRole) -> dict[str, Any]:
    told = {"role": role.role, "provider": role.provider, "model": role.model, "small_model": role.small_model}
    if role.guard is None:
        return told | asdict(Condition()) | {"circuit": None}
    return told | asdict(role.guard.condition())
