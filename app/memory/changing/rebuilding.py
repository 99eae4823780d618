"""The Rebuild step: observes again the messages whose notes were erased, without the erased one (decision 0028).

The observer is shown the memory as it was before those messages. So no note is ever written in view of a later one, and
an erasure has to remove only a note and those after it.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from app.kit.db import Tx
from app.kit.tracing import traced
from app.memory import locking_store
from app.memory.calling import add_usage
from app.memory.changing import mending_store
from app.memory.means import Means
from app.memory.narrowing import OBSERVED, Narrowing
from app.memory.observing import Observing, new_observation
from app.memory.outcomes import Outcome
from app.memory.ranges import Ranges
from app.memory.records import Attempt, Gap, Loaded, NewObservation
from app.memory.rules import Rules
from app.memory.spans import Span, safe_span
from app.memory.store import add_observation
from app.sessions.model import Message


class Rebuilding:
    def __init__(self, means: Means, observing: Observing) -> None:
        self._means, self._store = means, means.store
        self._observing = observing

    async def run(self, attempt: Attempt) -> Outcome:
        """Observe the oldest span of the first range. Raises StepFailed.

        A range begins with an observable message, unless an erasure has taken the lease meanwhile.
        """
        loaded, rules = attempt.loaded, attempt.rules
        gap, *later = loaded.rebuilding
        messages = await self._messages(gap, rules)
        want = Narrowing.of(loaded, OBSERVED).want_tokens(messages)
        span = await asyncio.to_thread(
            safe_span, messages, want_tokens=want, limit_tokens=rules.observer_input_tokens, force_closed=True
        )
        if span is None:
            if await self._store.look(attempt.lease) is None:
                return Outcome.STALE
            raise AssertionError
        before = as_before(loaded, gap.first)
        verdict = await self._observing.think(replace(attempt, loaded=before), span)
        if verdict is None:
            return Outcome.UNAFFORDABLE
        new = new_observation(before, span, verdict)
        left = left_of(gap.last, span, messages)
        rest = [replace(gap, first=first, last=last) for first, last in left]
        with traced(self._means.tracer, "record"):
            async with self._means.database.tx() as tx:
                return await self._record(tx, attempt, span, new, left=[*rest, *later])

    async def _messages(self, gap: Gap, rules: Rules) -> list[Message]:
        limit = rules.observer_input_tokens
        found = await self._store.pending_messages(gap.session_id, gap.first - 1, limit_tokens=limit)
        return [message for message in found.messages if message.seq <= gap.last]

    async def _record(
        self, tx: Tx, attempt: Attempt, span: Span, new: NewObservation, *, left: Sequence[Gap]
    ) -> Outcome:
        """Record the observation: live if the cursor has passed it, else buffered."""
        loaded = attempt.loaded
        fenced = await locking_store.fence(tx, attempt.lease, loaded.session_id)
        if fenced is None:
            return Outcome.STALE
        bounds = {"from_seq": new.from_seq, "to_seq": new.to_seq}
        if not await locking_store.unchanged(tx, loaded.session_id, span.messages, **bounds):
            return Outcome.STALE
        live = new.to_seq <= fenced.observed_seq
        version = fenced.version + live
        await add_observation(tx, loaded, new, born_version=version if live else None)
        await mending_store.rebuilt(
            tx,
            loaded.memory_id,
            new,
            left,
            version=version,
            live=live,
            newest=live and all(note.place[1] < new.ordinal for note in loaded.chunks),
            usage=add_usage(fenced.usage, attempt.runs),
        )
        if live:
            await self._store.add_version(tx, loaded.memory_id, "rebuilt", [loaded.session_id])
        await self._store.add_runs(tx, attempt.lease, attempt.runs, shown=loaded.conversation_id)
        return Outcome.RECORDED


def as_before(loaded: Loaded, seq: int) -> Loaded:
    """The memory as it was before message ``seq``: the earlier notes, and the task that the last of them told.

    In a shared log every note is earlier, because an erasure blanks all that come after the erased one.
    """
    before = replace(loaded, buffered_seq=seq - 1)
    place = before.next_ordinal
    observations = tuple(chunk for chunk in loaded.observations if chunk.place[1] < place)
    return replace(
        before,
        observations=observations,
        buffered=tuple(chunk for chunk in loaded.buffered if chunk.place[1] < place),
        reflections=tuple(note for note in loaded.reflections if note.place[1] < place),
        current_task=observations[-1].current_task if observations else None,
    )


def left_of(last: int, span: Span, messages: Sequence[Message]) -> Ranges:
    """The rest of a range that ends at ``last`` after the span: from the next observable message on."""
    following = [message.seq for message in messages if message.observe and message.seq > span.to_seq]
    unread = messages[-1].seq + 1 if messages[-1].seq < last else None
    first = following[0] if following else unread
    return () if first is None else ((first, last),)
