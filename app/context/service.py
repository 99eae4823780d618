"""From a request for a context to its answer: wait if asked to, read one snapshot, compile it."""

import time
from dataclasses import replace
from datetime import date, datetime
from functools import partial
from uuid import UUID

from opentelemetry.trace import Tracer

from app.context.answers import NOTHING, Answer, Answers, Asked, Kept, Names, asked, kept_of
from app.context.compile import compile_context
from app.context.diff import Diff, check, diff
from app.context.diff_store import DiffStore
from app.context.limits import check_counts, check_knowledge, check_templates
from app.context.model import Ask, Compiled, ContextLimits, Knowledge, Recalled, Snapshot
from app.context.reading import SnapshotReader
from app.context.recalled import within
from app.context.schemas import ContextIn, ContextQuery
from app.context.store import PRESENT, ContextStore, Moment
from app.kit.clock import Clock
from app.kit.offload import UNKNOWN, offloaded
from app.kit.repeating import polled
from app.kit.tracing import traced
from app.memory.service import MemoryService
from app.recall.model import HitKind, Search
from app.recall.service import RecallService
from app.sessions.errors import SessionNotFound
from app.sessions.model import Message
from app.sessions.reading import read_message
from app.sessions.store import session_id
from app.state.reading import check_temp
from app.state.templates import Scope, names_of

MESSAGES = frozenset({HitKind.MESSAGE})
RECALLED_MAX = 100  # hits considered for one context
PART_BYTES = 64  # compiling one part of a message takes as long as reading so many bytes: some 25 ms for a thousand
FACT_BYTES = 256  # and to place one fact among the others
CHARACTERS_PER_TOKEN = 4
WAITED = "the wait ended before the memory caught up with this session"


class ContextService:
    def __init__(  # noqa: PLR0913 - every part by its constructor
        self,
        *,
        reader: SnapshotReader,
        store: ContextStore,
        diffs: DiffStore,
        memory: MemoryService,
        clock: Clock,
        answers: Answers,
        recall: RecallService,
        limits: ContextLimits,
        tracer: Tracer,
    ) -> None:
        self._reader = reader
        self._store = store
        self._diffs = diffs
        self._memory = memory
        self._clock = clock
        self._answers = answers
        self._recall = recall
        self._limits = limits
        self._tracer = tracer

    async def context(
        self, *, tenant: str, key: str, query: ContextQuery, body: ContextIn = NOTHING, body_bytes: int = 0
    ) -> Answer:
        """The context of a session as it is now, or was in the past; an empty one for a session never seen.

        Large bodies, large sessions and ``explain`` are worked on in a thread. Raises VersionNotFound and
        MessageNotFound for a version or a message that the session never had; Invalid and TooLarge for what is added.
        """
        of = {"daybook.session": key, "daybook.format": query.format}
        with traced(self._tracer, "context", attributes=of):
            return await self._context(tenant, key, query, body, body_bytes)

    async def _context(self, tenant: str, key: str, query: ContextQuery, body: ContextIn, body_bytes: int) -> Answer:
        check_counts(body, self._limits)
        await offloaded(partial(check_temp, body.state), size=body_bytes)
        session, moment = session_id(tenant, key), Moment(version=query.as_of_version, seq=query.as_of_seq)
        lacking = await self._wait(session, query)
        question = await offloaded(partial(asked, session, query, body), size=body_bytes) if lacking is None else None
        kept = self._kept(question, query, body)
        names = await offloaded(partial(_names, body, self._limits), size=body_bytes) if kept is None else kept.names
        known, likely = (None, False) if kept is None else (kept.mark, kept.held)
        budget = query.message_budget
        read = await self._reader.read(tenant, key, moment, names, message_budget=budget, known=known, likely=likely)
        if read is not None:
            snapshot, server = read
            size = UNKNOWN if query.explain else body_bytes + work_bytes(snapshot)  # explaining is always slow
            compiled, now = await self._compiled(tenant, query, body, size, snapshot, server)
            if lacking is not None:
                compiled = replace(compiled, notices=(*compiled.notices, lacking))
            kept = await offloaded(partial(kept_of, snapshot, compiled, query, names=names, now=now), size=size)
            self._keep(question, kept)
        elif kept is not None and not kept.held:
            kept = replace(kept, held=True)
            self._keep(question, kept)
        if kept is None:
            raise AssertionError  # without a known mark the read answers a snapshot
        if moment != PRESENT:
            return kept.answer  # a request for the past is no call
        return self._answers.with_comparison(session, query.format, kept)

    def _kept(self, question: Asked | None, query: ContextQuery, body: ContextIn) -> Kept | None:
        """The cached answer to this question, if it is of today."""
        kept = None if question is None else self._answers.get(question)
        if kept is None:
            return None
        now = body.now or query.now or _now(self._clock.now(), kept.newest_created_at)
        return kept if kept.holds_at(now) else None

    def _keep(self, question: Asked | None, kept: Kept) -> None:
        if question is not None and kept.mark is not None and not kept.names[Scope.ARTIFACT]:
            self._answers.put(question, kept)

    async def _compiled(
        self,
        tenant: str,
        query: ContextQuery,
        body: ContextIn,
        size: int,
        snapshot: Snapshot,
        server: datetime,
    ) -> tuple[Compiled, datetime]:
        """The context, and its "now". With ``query=`` it is compiled a second time, with what the search found."""
        given = body.now or query.now
        now = given or _now(server, snapshot.newest_created_at)
        ask = await offloaded(
            partial(_ask, query, body, snapshot, limits=self._limits, now=now, server=server), size=size
        )
        anchored = _anchored(snapshot, given)
        compiled = await offloaded(partial(compile_context, anchored, ask), size=size)
        if query.query is not None and snapshot.last_seq:
            before = compiled.first_seq or snapshot.last_seq + 1
            found = await self._recalled(tenant, snapshot, query.query, now=now, before_seq=before)
            ask = replace(ask, recalled=found)
            compiled = await offloaded(partial(compile_context, anchored, ask), size=size)
        return compiled, now

    async def _recalled(
        self, tenant: str, snapshot: Snapshot, query: str, *, now: datetime, before_seq: int
    ) -> tuple[Recalled, ...]:
        """What a search finds among the messages before the shown ones."""
        zone = snapshot.rules.zone
        search = Search(
            query=query, limit=RECALLED_MAX, kinds=MESSAGES, now=now.astimezone(zone), before_seq=before_seq
        )
        found = await self._recall.session(tenant, snapshot.key, search)
        return within(found, tokens_max=self._limits.recall_tokens, zone=zone)

    async def diff(self, *, tenant: str, key: str, since: int | None, until: int | None) -> Diff:
        """What entered and what left between two versions. Raises SessionNotFound, VersionNotFound, Invalid."""
        found = await self._diffs.changes(session_id(tenant, key), since=since, until=until)
        if found is None:
            raise SessionNotFound(key)
        span, changes = found
        check(key, span)
        return diff(span, changes)

    async def _wait(self, session: UUID, query: ContextQuery) -> str | None:
        """Wait for ``min_seq`` and the memory (api.md, read your writes). Answers a notice if the time ran out."""
        if not query.wait_ms and query.min_seq is None:
            return None
        end = time.monotonic() + query.wait_ms / 1000
        seq = query.min_seq or 0
        stored = partial(self._store.memory_with, session, seq)
        memory = await polled(stored, seconds=query.wait_ms / 1000) if seq else await stored()
        if seq and memory is None:
            return f"the wait ended before message #{seq} was stored"
        left = max(0, round((end - time.monotonic()) * 1000))
        return None if memory is None or await self._memory.idle(memory, left) else WAITED


def _ask(
    query: ContextQuery, body: ContextIn, snapshot: Snapshot, *, limits: ContextLimits, now: datetime, server: datetime
) -> Ask:
    check_knowledge(body, limits)
    return Ask(
        format=query.format,
        now=now,
        system=tuple(body.system),
        state=body.state,
        knowledge=tuple(Knowledge(title=k.title, text=k.text, placement=k.placement) for k in body.knowledge),
        channel=body.channel,
        incoming=_incoming(body, snapshot, server),
        memory_budget=query.memory_budget,
        message_budget=query.message_budget,
        max_reflections=query.max_reflections,
        max_observations=query.max_observations,
        breakpoints=query.breakpoints,
        explain=query.explain,
        limits=limits,
    )


def work_bytes(snapshot: Snapshot) -> int:
    """The cost of compiling, in bytes of a request body that take as long to read.

    Media and reasoning have more characters than their tokens tell, which may be none.
    """
    notes = sum(chunk.tokens for chunk in snapshot.reflections) + sum(chunk.tokens for chunk in snapshot.observations)
    said = sum(
        max(message.tokens, _characters(message) // CHARACTERS_PER_TOKEN) + PART_BYTES * max(1, len(message.parts))
        for message in snapshot.tail
    )
    facts = () if snapshot.standing is None else snapshot.standing.facts
    known = sum(len(fact.text) + FACT_BYTES for fact in facts)
    return notes + said + known


def _characters(message: Message) -> int:
    return sum(len(value) for part in message.parts for value in part.values() if isinstance(value, str))


def _names(body: ContextIn, limits: ContextLimits) -> Names:
    """The names that the templates use. Raises TooLarge for a template over the limit."""
    check_templates(body, limits)
    return names_of(body.system)


def _now(server: datetime, newest: datetime | None) -> datetime:
    """The time of the context: messages may come from clocks that are ahead (memory-rules.md section 3, Clocks)."""
    return server if newest is None else max(server, newest)


def _anchored(snapshot: Snapshot, now: datetime | None) -> Snapshot:
    """The snapshot with an anchor date that is not after the caller's own ``now``, if one is given."""
    if now is None:
        return snapshot
    today: date = now.astimezone(snapshot.rules.zone).date()
    return replace(snapshot, anchor_date=min(snapshot.anchor_date, today))


def _incoming(body: ContextIn, snapshot: Snapshot, now: datetime) -> tuple[Message, ...]:
    """The caller's messages to show behind the stored ones, numbered as if they were stored next.

    One whose id is that of a stored message of the tail is left out: a turn that is retried may have been stored.
    """
    read = [read_message(message, at=f"/incoming/{index}") for index, message in enumerate(body.incoming)]
    stored = {message.id for message in snapshot.tail if message.parts} if read else set()
    return tuple(
        Message(
            seq=snapshot.last_seq + 1 + index,
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
        for index, new in enumerate(new for new in read if new.id not in stored)
    )
