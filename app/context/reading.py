"""A session as one snapshot, of now or of the past, with the values that the caller's templates use."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from app.artifacts.service import ArtifactService
from app.context.answers import Names
from app.context.model import Snapshot, count_before
from app.context.rows import Head, Read
from app.context.store import PRESENT, UNCHANGED, Budgets, ContextStore, Moment, Unchanged
from app.kit.clock import Clock
from app.memory.errors import VersionNotFound
from app.memory.rules import PRESETS, Rules
from app.memory.service import MemoryService
from app.sessions.errors import MessageNotFound
from app.sessions.model import Message
from app.sessions.store import session_id
from app.state.store import StateStore
from app.state.templates import STORED, Scope


class SnapshotReader:
    def __init__(
        self,
        *,
        store: ContextStore,
        memory: MemoryService,
        state: StateStore,
        artifacts: ArtifactService,
        clock: Clock,
        profile_tokens: int,
        elsewhere_tokens: int,
    ) -> None:
        """How many tokens may be told of the resource, and of other sessions that share the memory."""
        self._store = store
        self._memory = memory
        self._state = state
        self._artifacts = artifacts
        self._clock = clock
        self._profile_tokens = profile_tokens
        self._elsewhere_tokens = elsewhere_tokens
        self._service = memory.rules({})
        self._preset_budgets = {name: values["message_budget"] for name, values in PRESETS.items()}

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
    ) -> tuple[Snapshot, datetime] | Unchanged:
        """The session with the values that the templates use, and what time it is there.

        ``known`` is the mark of what was read before; ``likely``: it is expected to hold. A session never seen sees
        what is its tenant's: its first prompt may need it. Raises VersionNotFound and MessageNotFound for what the past
        has not.
        """
        session = session_id(tenant, key)
        stored = [name for scope in STORED for name in names[scope]]
        if likely and known is not None and await self._store.holds(session, known, stored):
            return UNCHANGED
        found = await self._found(key, session, moment, self._budgets(message_budget), stored, known=known)
        if isinstance(found, Unchanged):
            return found
        if found is not None:
            server, snapshot = found[0].at or self._clock.now(), self._snapshot(key, *found)
        else:
            server = self._clock.now()
            values = await self._state.tenant_values(tenant, stored) if stored else {}
            snapshot = replace(_empty(key, self._memory.rules({}), server), values=values)
        texts = await self._artifact_texts(session, names[Scope.ARTIFACT])
        return replace(snapshot, values={**snapshot.values, **texts}), server

    async def _found(
        self,
        key: str,
        session: UUID,
        moment: Moment,
        budgets: Budgets,
        names: Collection[str],
        *,
        known: str | None,
    ) -> Read | Unchanged | None:
        if moment == PRESENT:
            return await self._store.snapshot(session, budgets, names, known=known)
        timezone = self._memory.defaults.timezone
        read = await self._store.past(session, budgets, moment, timezone=timezone, names=names)
        if read is None:
            newest_version, newest_seq = await self._store.newest(session)
            _refuse(key, moment, newest_version=newest_version, newest_seq=newest_seq)
        return read

    async def _artifact_texts(self, session: UUID, names: Sequence[str]) -> dict[str, str]:
        if not names:
            return {}
        prefix = f"{Scope.ARTIFACT}."
        texts = await self._artifacts.texts(session, [name.removeprefix(prefix) for name in names])
        return {prefix + name: text for name, text in texts.items()}

    def _budgets(self, asked: int | None) -> Budgets:
        return Budgets(
            asked=asked,
            presets=self._preset_budgets,
            service=self._service.message_budget or 0,
            enabled=self._service.enabled,
            elsewhere=self._elsewhere_tokens,
        )

    def _snapshot(self, key: str, head: Head, tail: tuple[Message, ...]) -> Snapshot:
        rules = self._memory.rules(head.config)
        remembered = rules.enabled
        first = tail[0].seq if tail else head.last_seq + 1
        passed_by = sum(head.observed_seq < seq < first for seq in head.summaries)
        rebuilding = head.rebuilding if remembered else ()
        return Snapshot(
            key=key,
            version=head.version,
            mark=head.mark,
            last_seq=head.last_seq,
            observed_seq=head.observed_seq,
            activated_seq=head.activated_seq,
            part_bytes_inline_max=self._artifacts.part_bytes_inline_max,
            tail_from_seq=head.tail_from_seq,
            anchor_date=head.anchor_date,
            newest_created_at=max((message.created_at for message in tail), default=None),
            rules=rules,
            reflections=head.reflections if remembered else (),
            observations=head.observations if remembered else (),
            tail=tail,
            tail_skipped_tokens=head.tail_skipped_tokens,
            summary=head.summary,
            summaries=head.summaries,
            unobserved_omitted=max(0, first - 1 - head.observed_seq - passed_by - head.erased)
            + count_before(first, rebuilding),
            rebuilding=rebuilding,
            current_task=head.current_task,
            suggested_response=head.suggested_response,
            causes=head.causes,
            standing=head.standing,
            profile_tokens=self._profile_tokens,
            values=head.values,
            elsewhere=head.elsewhere if remembered else (),
            elsewhere_tokens=self._elsewhere_tokens,
            lagging=remembered and (head.attempts > 0 or head.pending_tokens >= rules.block_tokens),
            paused=remembered and head.paused,
        )


def _refuse(key: str, moment: Moment, *, newest_version: int, newest_seq: int) -> None:
    """Raise what of a moment is not there; nothing for the empty past of a session never seen."""
    if (moment.version or 0) > newest_version:
        raise VersionNotFound(f"the memory of session '{key}' is at version {newest_version}")
    if (moment.seq or 0) > newest_seq:
        raise MessageNotFound(f"the newest message of session '{key}' is {newest_seq}")
    if newest_seq:
        raise VersionNotFound(f"version {moment.version} was not the newest while message {moment.seq} was")


def _empty(key: str, rules: Rules, now: datetime) -> Snapshot:
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
    )
