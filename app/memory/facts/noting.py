"""The NoteFacts step: reads an ended session for facts that are worth keeping of its resource.

load -> think -> record, as every step (architecture.md 1.4): how far the session is read moves in the transaction that
writes the facts, so that nothing is read twice. ``merging`` compares them with the known ones.
"""

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache, partial
from typing import Final
from uuid import UUID

import structlog

from app.facts import rereading_store, writing_store
from app.facts.forgetting import FactChanges
from app.facts.model import Fact, FactConfig, NewFact
from app.facts.rereading import apply_overrides
from app.facts.store import FactStore
from app.kit.db import Tx
from app.kit.patterns import lazy_pattern
from app.kit.tracing import traced
from app.memory import locking_store
from app.memory.calling import Calling, add_usage
from app.memory.extractive.roles import ExtractiveExtractor
from app.memory.facts import noting_store
from app.memory.facts.merging import Merge, Read, making_way, merge, said_again
from app.memory.facts.reading import Reading, first_unread, new_facts, unread_chunks, unread_messages
from app.memory.facts.saying import said
from app.memory.gates import Verdict
from app.memory.judging import facts_verdict
from app.memory.means import Means
from app.memory.model import Extractor, ExtractorInput, Item
from app.memory.narrowing import EXTRACTED, Narrowing
from app.memory.outcomes import Outcome, StepFailed
from app.memory.records import Attempt, Loaded
from app.memory.redacting import redacted_messages
from app.memory.rules import Rules
from app.memory.steps import NEVER, NoteFacts
from app.redaction.model import Redact
from app.redaction.patterns import pattern_redactor

KIND = NoteFacts.name
FACTS_MAX: Final = "DAYBOOK_FACTS__FACTS_MAX"
BUILT_IN: Final = ExtractiveExtractor()

_KEY: Final = lazy_pattern(r"(?<=\w) (?=(?:key|token)\b)", re.IGNORECASE)
_TOLD: Final = lazy_pattern(r" (?:is|was|ist|lautet|es|est|è|é)(?: now)? (?=\S)", re.IGNORECASE)

log = structlog.get_logger("daybook.engine")


class Noting:
    def __init__(self, means: Means, extractor: Extractor, *, facts: FactStore, config: FactConfig) -> None:
        self._means, self._store = means, means.store
        self._facts = facts
        self._calling = Calling(name="extractor", role=extractor, means=means)
        self._built_in = replace(self._calling, role=BUILT_IN)
        self._config = config

    async def run(self, attempt: Attempt) -> Outcome:
        """Read the next part of the session. Raises StepFailed, which the engine records."""
        loaded, rules = attempt.loaded, attempt.rules
        narrowing = Narrowing.of(loaded, EXTRACTED)
        reading = await self._reading(loaded, rules, narrowing)
        noted: list[NewFact] = []
        if reading.items or reading.messages:
            with traced(self._means.tracer, "think"):
                verdict = await self._think(attempt, reading, narrowing)
            if verdict is None:
                return Outcome.UNAFFORDABLE
            most = self._config.noted_max
            noted = await asyncio.to_thread(
                lambda: new_facts(_without_secrets(verdict.items), reading, loaded, timezone=rules.zone, facts_max=most)
            )
        with traced(self._means.tracer, "record"):
            read = await self._read_known(loaded, noted)
            async with self._means.database.tx() as tx:
                return await self._record(tx, attempt, reading, noted, read)

    async def _reading(self, loaded: Loaded, rules: Rules, narrowing: Narrowing) -> Reading:
        """The next notes or messages to read. Of a shared log, which is not one session's, the session's messages."""
        if loaded.is_shared:
            return await self._of_messages(loaded, rules, narrowing, after=loaded.facts_seq)
        async with self._means.database.connection() as connection:
            untold = first_unread(loaded, await noting_store.untold(connection, loaded.session_id))
        if chunks := unread_chunks(loaded, rules, narrowing, before=untold):
            return chunks
        if untold is not None:
            return await self._of_messages(loaded, rules, narrowing, after=untold[0] - 1, last=untold[1])
        return await self._of_messages(loaded, rules, narrowing, after=max(loaded.buffered_seq, loaded.facts_seq))

    async def _of_messages(
        self, loaded: Loaded, rules: Rules, narrowing: Narrowing, *, after: int, last: int | None = None
    ) -> Reading:
        """The reading of the messages after ``after``, to the newest, or to ``last`` if the others are read later."""
        limit = rules.observer_input_tokens
        found = (await self._store.pending_messages(loaded.session_id, after, limit_tokens=limit)).messages
        more = last is not None or (bool(found) and found[-1].seq < loaded.last_seq)
        end = NEVER if last is None else last
        left = [message for message in found if message.seq <= end and message.erased_at is None]
        if more and not left:
            return Reading(from_seq=loaded.facts_seq + 1, to_seq=min(end, found[-1].seq) if found else end)
        return await asyncio.to_thread(unread_messages, loaded, rules, narrowing, left, more=more)

    async def _think(self, attempt: Attempt, reading: Reading, narrowing: Narrowing) -> Verdict | None:
        """Judged lines, as ``Calling.accepted``. A part that the model fails at alone is read by the built-in one."""
        rules, redact = attempt.rules, self._means.redaction.of(attempt.loaded.tenant)
        messages = await asyncio.to_thread(redacted_messages, reading.messages, redact)
        source = ExtractorInput(
            items=reading.items,
            messages=messages,
            timezone=rules.zone,
            instruction=rules.instruction,
            input_tokens=narrowing.input_tokens(rules.observer_input_tokens),
            tools=rules.tools,
        )
        judge = partial(facts_verdict, source=source)
        seqs = {"from_seq": reading.from_seq, "to_seq": reading.to_seq}
        try:
            return await self._calling.accepted(attempt, source, judge, kind=KIND, **seqs)
        except StepFailed as failed:
            await self._calling.give_up(attempt, source, failed, narrowing)
        log.warning("read_without_model", **seqs)
        return await self._built_in.accepted(attempt, source, judge, kind=KIND, **seqs)

    async def _record(
        self, tx: Tx, attempt: Attempt, reading: Reading, noted: Sequence[NewFact], read: Read
    ) -> Outcome:
        loaded, runs = attempt.loaded, attempt.runs
        fenced = await locking_store.fence(tx, attempt.lease, loaded.session_id)
        if fenced is None or not await self._unchanged(tx, loaded.session_id, reading):
            return Outcome.STALE
        if without_room := await self._merge(tx, loaded, noted, read):
            told = f"no room for {without_room} of the facts: the resource has {self._config.facts_max} ({FACTS_MAX})"
            runs[-1] = replace(runs[-1], error=told)
            log.warning("facts_without_room", facts=without_room)
        usage = add_usage(fenced.usage, runs)
        await noting_store.record(tx, loaded, read_up_to=reading.to_seq, usage=usage)
        await self._store.add_runs(tx, attempt.lease, runs, shown=loaded.conversation_id)
        return Outcome.FULL if without_room else Outcome.RECORDED

    async def _unchanged(self, tx: Tx, session_id: UUID, reading: Reading) -> bool:
        """Whether the session is still to be read from there, and its messages are those that were read.

        A change of the log would have taken the lease.
        """
        if await noting_store.read_up_to(tx, session_id) != reading.from_seq - 1:
            return False
        return await locking_store.still_said(tx, session_id, reading.messages)

    async def _read_known(self, loaded: Loaded, noted: Sequence[NewFact]) -> Read:
        """Read the words of the known facts before any row is locked: of 1,000 facts they take seconds."""
        read = cache(said)
        if noted and loaded.resource_id is not None:
            known = await self._facts.all(loaded.tenant, loaded.resource_id)
            await asyncio.to_thread(lambda: [read(fact.text) for fact in known])
        return read

    async def _merge(self, tx: Tx, loaded: Loaded, noted: Sequence[NewFact], read: Read) -> int:
        """Write the facts. Answers for how many there was no room."""
        if not noted or loaded.resource_id is None:
            return 0
        tenant, resource, without_room = loaded.tenant, loaded.resource_id, 0
        known = {fact.id: fact for fact in await writing_store.locked(tx, tenant, resource)}
        overrides = await rereading_store.overrides_of(tx, tenant, resource, loaded.session_id)
        wanted, applied = apply_overrides(noted, overrides)
        await rereading_store.delete(tx, tenant, resource, applied)
        for new in wanted:
            found = await asyncio.to_thread(merge, list(known.values()), new, read=read)
            if found.same is not None:
                changed = [said_again(found.same, new)]
            elif await self._has_room(tx, tenant, resource, known, found, now=loaded.now):
                added = await writing_store.add(tx, tenant, resource, new)
                changed = [fact.ended(by=added) for fact in found.ended if fact.id in known]
                known[added.id] = added
                if found.ended_by is not None:
                    changed = [added.ended(by=found.ended_by)]
            else:
                without_room += 1
                continue
            for fact in changed:
                if fact != known[fact.id]:
                    known[fact.id] = await writing_store.change(tx, tenant, resource, fact)
        return without_room

    async def _has_room(
        self, tx: Tx, tenant: str, resource: str, known: dict[int, Fact], found: Merge, *, now: datetime
    ) -> bool:
        """Whether there is room for one more fact with the effect ``found``; another is deleted for it if need be."""
        if len(known) < self._config.facts_max:
            return True
        gone = making_way(known.values(), found, now=now)
        if gone is None:
            return False
        before = [replace(fact, replaced_by=None) for fact in known.values() if fact.replaced_by == gone.id]
        await writing_store.apply(tx, tenant, resource, FactChanges(deleted=(gone.id,), changed=tuple(before)))
        known |= {fact.id: fact for fact in before}
        del known[gone.id]
        return True


@cache
def _secrets() -> Redact:
    """The redactor by patterns, loaded when the first fact is noted."""
    return pattern_redactor()


def _without_secrets(items: Iterable[Item]) -> list[Item]:
    """The items without a secret: it stays in its conversation, whether or not it is redacted there."""
    return [item for item in items if _secrets()(told := _as_assigned(item.whole_text)) == told]


def _as_assigned(text: str) -> str:
    """``my API_key: 4f9a`` of "my API key is 4f9a", as the patterns read it."""
    return _TOLD.sub(": ", _KEY.sub("_", text))
