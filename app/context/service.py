"""From a request for a context to its answer: wait if asked to, read one snapshot, compile it."""

import asyncio
import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import date, datetime
from functools import partial
from uuid import UUID

from opentelemetry.trace import Tracer

from app.artifacts.service import ArtifactService
from app.context.answers import Answer, Answers, Asked, Kept, Names, asked, kept_of
from app.context.compile import compile_context
from app.context.diff import Diff, check, diff
from app.context.diff_store import DiffStore
from app.context.model import Ask, Compiled, Knowledge, Recalled, Snapshot
from app.context.recalled import within
from app.context.schemas import ContextIn, ContextQuery
from app.context.store import PRESENT, Budgets, ContextStore, Head, Moment, Read, Unchanged
from app.kit.clock import Clock
from app.kit.offload import offloaded
from app.kit.tracing import UNTRACED, traced
from app.memory.errors import VersionNotFound
from app.memory.rules import PRESETS, Rules
from app.memory.service import MemoryService
from app.recall.model import HitKind
from app.recall.service import Ask as Wanted
from app.recall.service import RecallService
from app.sessions.errors import MessageNotFound, SessionNotFound
from app.sessions.model import Message
from app.sessions.reading import read_message
from app.sessions.store import session_id
from app.state.reading import check_temp
from app.state.service import StateService
from app.state.templates import STORED, Scope, names_of, read

POLL_SECONDS = 0.02
MESSAGES = frozenset({HitKind.MESSAGE})
RECALLED_MAX = 50  # hits that are looked at for one context
WAITED = "the wait ended before the memory caught up with this session"


class ContextService:
    def __init__(  # noqa: PLR0913 - every part by its constructor
        self,
        *,
        store: ContextStore,
        diffs: DiffStore,
        memory: MemoryService,
        state: StateService,
        artifacts: ArtifactService,
        clock: Clock,
        answers: Answers,
        recall: RecallService,
        recall_tokens: int,
        profile_tokens: int,
        elsewhere_tokens: int,
        tracer: Tracer = UNTRACED,
    ) -> None:
        """What may be told of a search, of the resource, and of other sessions that share the memory, in tokens.

        All are of the issue "Remembering across conversations", points 3, 5 and 6.
        """
        self._recall = recall
        self._recall_tokens = recall_tokens
        self._profile_tokens = profile_tokens
        self._elsewhere_tokens = elsewhere_tokens
        self._tracer = tracer
        self._store = store
        self._diffs = diffs
        self._state = state
        self._artifacts = artifacts
        self._answers = answers
        self._memory = memory
        self._clock = clock
        service = memory.rules({})
        self._service = service
        self._preset_budgets = {name: values["message_budget"] for name, values in PRESETS.items()}

    async def context(self, *, tenant: str, key: str, query: ContextQuery, body: ContextIn) -> Answer:
        """The context of a session as it is now, or was; an empty one for a session never seen.

        Raises VersionNotFound and MessageNotFound for what the past has not.
        """
        of = {"daybook.session": key, "daybook.format": query.format}
        with traced(self._tracer, "context", attributes=of):
            return await self._context(tenant=tenant, key=key, query=query, body=body)

    async def _context(self, *, tenant: str, key: str, query: ContextQuery, body: ContextIn) -> Answer:
        check_temp(body.state)
        session = session_id(tenant, key)
        caught_up = await self._wait(session, query)
        question = asked(session, query, body) if caught_up else None
        kept = self._kept(question, query, body)
        names = await _names(body) if kept is None else kept.names
        looked = await self._looked(tenant, key, session, query, names, kept)
        if not isinstance(looked, Kept):
            snapshot, server = looked
            compiled, now = await self._compiled(tenant, query, body, snapshot, server)
            if not caught_up:
                compiled = replace(compiled, notices=(*compiled.notices, WAITED))
            looked = kept_of(snapshot, compiled, query, names=names, now=now)
            self._keep(question, looked)
        if _moment(query) != PRESENT:
            return looked.answer  # looking at the past is no call
        return self._answers.told(session, query.format, looked)

    def _kept(self, question: Asked | None, query: ContextQuery, body: ContextIn) -> Kept | None:
        """What was answered to this question, if it was today."""
        kept = None if question is None else self._answers.get(question)
        if kept is None:
            return None
        now = body.now or query.now or _now(self._clock.now(), kept.newest_created_at)
        return kept if kept.holds_at(now) else None

    def _keep(self, question: Asked | None, kept: Kept) -> None:
        if question is not None and kept.mark is not None and not kept.names[Scope.ARTIFACT]:
            self._answers.put(question, kept)

    async def _compiled(
        self, tenant: str, query: ContextQuery, body: ContextIn, snapshot: Snapshot, server: datetime
    ) -> tuple[Compiled, datetime]:
        """The context, and what time it is there; compiled once more where a search adds to it."""
        given, size = body.now or query.now, _size(body)
        ask = _ask(query, body, snapshot, now=given or _now(server, snapshot.newest_created_at), server=server)
        anchored = _anchored(snapshot, given)
        compiled = await offloaded(partial(compile_context, anchored, ask), size=size)
        if query.query is not None and snapshot.last_seq:
            before = compiled.first_seq or snapshot.last_seq + 1
            found = await self._recalled(tenant, snapshot.key, query.query, now=ask.now, before_seq=before)
            compiled = await offloaded(partial(compile_context, anchored, replace(ask, recalled=found)), size=size)
        return compiled, ask.now

    async def _recalled(
        self, tenant: str, key: str, query: str, *, now: datetime, before_seq: int
    ) -> tuple[Recalled, ...]:
        """What was said before the messages that are shown, within the budget for it."""
        wanted = Wanted(query=query, limit=RECALLED_MAX, kinds=MESSAGES, now=now, before_seq=before_seq)
        return within(await self._recall.session(tenant, key, wanted), tokens_max=self._recall_tokens)

    async def _looked(
        self, tenant: str, key: str, session: UUID, query: ContextQuery, names: Names, kept: Kept | None
    ) -> tuple[Snapshot, datetime] | Kept:
        """The session with the values that the templates use, and what time it is there; or ``kept``, if it holds.

        A session never seen sees what is its tenant's: its first prompt may need it.
        """
        stored = [name for scope in STORED for name in names[scope]]
        known = None if kept is None else kept.mark
        found = await self._read(key, session, query, stored, known=known)
        if isinstance(found, Unchanged):
            if kept is None:
                raise AssertionError  # nothing was known
            return kept
        if found is not None:
            server, snapshot = found[0].at or self._clock.now(), self._snapshot(key, *found)
        else:
            server = self._clock.now()
            values = await self._state.tenant_values(tenant, stored) if stored else {}
            snapshot = replace(_empty(key, self._memory.rules({}), server), values=values)
        texts = await self._artifact_texts(session, names[Scope.ARTIFACT])
        return replace(snapshot, values={**snapshot.values, **texts}), server

    async def diff(self, *, tenant: str, key: str, since: int | None, until: int | None) -> Diff:
        """What entered and what left between two versions. Raises SessionNotFound, VersionNotFound, Invalid."""
        found = await self._diffs.changes(session_id(tenant, key), since=since, until=until)
        if found is None:
            raise SessionNotFound(f"session '{key}' was never seen")
        span, changes = found
        check(key, span)
        return diff(span, changes)

    async def _wait(self, session: UUID, query: ContextQuery) -> bool:
        """Read your writes (api.md, ``min_seq`` and ``wait_ms``); False when the time ran out."""
        if not query.wait_ms and query.min_seq is None:
            return True
        end = time.monotonic() + query.wait_ms / 1000
        seq = query.min_seq or 0
        while (memory := await self._store.memory_with(session, seq)) is None and seq:
            if time.monotonic() >= end:
                return False
            await asyncio.sleep(POLL_SECONDS)
        left = max(0, round((end - time.monotonic()) * 1000))
        return memory is None or await self._memory.idle(memory, left)

    async def _read(
        self, key: str, session: UUID, query: ContextQuery, names: Collection[str], *, known: str | None
    ) -> Read | Unchanged | None:
        moment = _moment(query)
        if moment == PRESENT:
            return await self._store.snapshot(session, self._budgets(query), names, known=known)
        timezone = self._memory.defaults.timezone
        read = await self._store.past(session, self._budgets(query), moment, timezone=timezone, names=names)
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

    def _budgets(self, query: ContextQuery) -> Budgets:
        return Budgets(
            asked=query.message_budget,
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
            unobserved_omitted=max(0, first - 1 - head.observed_seq - passed_by),
            current_task=head.current_task,
            suggested_response=head.suggested_response,
            causes=head.causes,
            standing=head.standing,
            profile_tokens=self._profile_tokens,
            values=head.values,
            elsewhere=head.elsewhere if remembered else (),
            elsewhere_tokens=self._elsewhere_tokens,
            lagging=remembered and (head.attempts > 0 or head.pending_tokens >= rules.block_tokens),
        )


def _ask(query: ContextQuery, body: ContextIn, snapshot: Snapshot, *, now: datetime, server: datetime) -> Ask:
    return Ask(
        format=query.format,
        now=now,
        system=tuple(body.system),
        state=body.state,
        knowledge=tuple(Knowledge(title=k.title, text=k.text, placement=k.placement) for k in body.knowledge),
        channel=body.channel,
        incoming=_incoming(body, snapshot.last_seq, server),
        memory_budget=query.memory_budget,
        message_budget=query.message_budget,
        max_reflections=query.max_reflections,
        max_observations=query.max_observations,
        explain=query.explain,
    )


def _size(body: ContextIn) -> int:
    return sum(map(len, body.system))


async def _names(body: ContextIn) -> Names:
    return await offloaded(lambda: names_of(map(read, body.system)), size=_size(body))


def _now(server: datetime, newest: datetime | None) -> datetime:
    """Messages may come from clocks that are ahead (memory-rules.md section 3, Clocks)."""
    return server if newest is None else max(server, newest)


def _moment(query: ContextQuery) -> Moment:
    return Moment(version=query.as_of_version, seq=query.as_of_seq)


def _refuse(key: str, moment: Moment, *, newest_version: int, newest_seq: int) -> None:
    """Raise what of a moment is not there; nothing for the empty past of a session never seen."""
    if (moment.version or 0) > newest_version:
        raise VersionNotFound(f"the memory of session '{key}' is at version {newest_version}")
    if (moment.seq or 0) > newest_seq:
        raise MessageNotFound(f"the newest message of session '{key}' is {newest_seq}")
    if newest_seq:
        raise VersionNotFound(f"version {moment.version} was not the newest while message {moment.seq} was")


def _anchored(snapshot: Snapshot, now: datetime | None) -> Snapshot:
    """Relative dates are never told from a day that, for the caller who gives a ``now``, has not come."""
    if now is None:
        return snapshot
    today: date = now.astimezone(snapshot.rules.zone).date()
    return replace(snapshot, anchor_date=min(snapshot.anchor_date, today))


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


def _incoming(body: ContextIn, last_seq: int, now: datetime) -> tuple[Message, ...]:
    """The caller's messages to show behind the stored ones, numbered as if they were stored next."""
    read = [read_message(message, at=f"/incoming/{index}") for index, message in enumerate(body.incoming)]
    return tuple(
        Message(
            seq=last_seq + 1 + index,
            id=new.id,
            kind=new.kind,
            role=new.role,
            parts=new.parts,
            tokens=new.tokens,
            created_at=new.created_at or now,
            name=new.name,
            observe=new.observe,
            trust=new.trust,
        )
        for index, new in enumerate(read)
    )
