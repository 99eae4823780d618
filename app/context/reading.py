"""Reads a session as one snapshot, of now or of the past, with the values that the caller's templates use."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from app.artifacts.service import ArtifactService
from app.context.answers import Names
from app.context.model import Snapshot
from app.context.rows import snapshot_of
from app.context.store import PRESENT, Budgets, ContextStore, Moment
from app.kit.clock import Clock
from app.kit.db import Row
from app.kit.errors import json_pointer
from app.kit.offload import offloaded
from app.memory.errors import VersionNotFound
from app.memory.rules import PRESETS, Rules
from app.memory.service import MemoryService
from app.sessions.errors import MessageNotFound
from app.sessions.store import session_id
from app.state.store import StateStore
from app.state.templates import STORED, Scope

ROW_BYTES = 64  # making a message of a row costs as much as reading so many bytes of a body


class SnapshotReader:
    def __init__(
        self,
        *,
        store: ContextStore,
        memory: MemoryService,
        state: StateStore,
        artifacts: ArtifactService,
        clock: Clock,
        elsewhere_tokens: int,
    ) -> None:
        """``elsewhere_tokens``: the most tokens of a message that is read of another session that shares the memory."""
        self._store = store
        self._memory = memory
        self._state = state
        self._artifacts = artifacts
        self._clock = clock
        service = memory.rules({})
        self._budgets = Budgets(
            presets={name: values["message_budget"] for name, values in PRESETS.items()},
            service=service.message_budget or 0,
            enabled=service.enabled,
            elsewhere=elsewhere_tokens,
        )

    async def read(
        self,
        tenant: str,
        key: str,
        moment: Moment,
        names: Names,
        *,
        message_budget: int | None,
        known: str | None = None,
        likely: bool = False,
    ) -> tuple[Snapshot, datetime] | None:
        """The session with the values that the templates use, and the time of that moment.

        ``known`` is the mark of an earlier read; if it still holds, the answer is None. ``likely``: it is expected to
        hold. A session never seen has its tenant's values, which its first prompt may need. Raises VersionNotFound and
        MessageNotFound for a moment that is not in its past.
        """
        session = session_id(tenant, key)
        stored = [name for scope in STORED for name in names[scope]]
        if likely and known is not None and await self._store.holds(session, known, stored):
            return None
        budgets = replace(self._budgets, asked=message_budget)
        rows = await self._rows(key, session, moment, budgets, stored, known=known)
        if rows is None:
            return None
        server = self._clock.now()
        if rows:
            read = partial(snapshot_of, rows, key=key, rules_of=self._memory.rules)
            snapshot, then = await offloaded(read, size=ROW_BYTES * len(rows))
            server = then or server
        else:
            values = await self._state.tenant_values(tenant, stored) if stored else {}
            snapshot = _empty(key, self._memory.rules({}), server, values)
        texts = await self._artifact_texts(session, names[Scope.ARTIFACT])
        return replace(snapshot, values={**snapshot.values, **texts}), server

    async def _rows(
        self,
        key: str,
        session: UUID,
        moment: Moment,
        budgets: Budgets,
        names: Collection[str],
        *,
        known: str | None,
    ) -> list[Row] | None:
        if moment == PRESENT:
            return await self._store.snapshot(session, budgets, names, known=known)
        timezone = self._memory.defaults.timezone
        rows = await self._store.past(session, budgets, moment, timezone=timezone, names=names)
        if not rows:
            newest_version, newest_seq = await self._store.newest(session)
            _refuse(key, moment, newest_version=newest_version, newest_seq=newest_seq)
        return rows

    async def _artifact_texts(self, session: UUID, names: Mapping[str, int]) -> dict[str, str]:
        if not names:
            return {}
        prefix = f"{Scope.ARTIFACT}."
        pointers = {name.removeprefix(prefix): json_pointer("system", index) for name, index in names.items()}
        texts = await self._artifacts.texts(session, pointers)
        return {prefix + name: text for name, text in texts.items()}


def _refuse(key: str, moment: Moment, *, newest_version: int, newest_seq: int) -> None:
    """Raise for the version or message of a moment that is not there; not for the past of a session never seen."""
    if (moment.version or 0) > newest_version:
        raise VersionNotFound(f"the newest version of the memory of session '{key}' is {newest_version}")
    if (moment.seq or 0) > newest_seq:
        raise MessageNotFound(f"the newest message of session '{key}' is {newest_seq}")
    if newest_seq:
        raise VersionNotFound(f"version {moment.version} and message {moment.seq} were never the newest together")


def _empty(key: str, rules: Rules, now: datetime, values: dict[str, Any]) -> Snapshot:
    return Snapshot(
        key=key,
        version=0,
        last_seq=0,
        observed_seq=0,
        tail_from_seq=1,
        anchor_date=now.astimezone(rules.zone).date(),
        newest_created_at=None,
        rules=rules,
        reflections=(),
        observations=(),
        tail=(),
        values=values,
    )
