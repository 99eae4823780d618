"""The Observe and Buffer steps: find a safe span, have it observed and judged, record it (architecture.md 1.4)."""

import asyncio
from dataclasses import replace
from functools import partial

import structlog

from app.kit.db import Tx
from app.kit.offload import aside
from app.kit.tracing import traced
from app.memory import locking_store
from app.memory.boundaries import span_of
from app.memory.calling import Calling, add_usage
from app.memory.cursor import advance
from app.memory.gates import Verdict, tokens_of
from app.memory.judging import observation_verdict
from app.memory.means import Means
from app.memory.model import Item, Observer, ObserverInput, Priority
from app.memory.narrowing import OBSERVED, Narrowing, passed_over
from app.memory.outcomes import Outcome, StepFailed
from app.memory.records import Attempt, Loaded, NewObservation, Standing
from app.memory.redacting import redacted_messages
from app.memory.rules import Rules
from app.memory.shared_citations import named
from app.memory.spans import Span
from app.memory.steps import Buffer, Observe

KIND = Observe.name  # also of what is observed ahead

log = structlog.get_logger("daybook.engine")


class Observing:
    def __init__(self, means: Means, observer: Observer) -> None:
        self._means, self._store = means, means.store
        self._calling = Calling(name="observer", role=observer, means=means)

    async def find(self, standing: Standing, rules: Rules, step: Observe | Buffer) -> Span | Outcome:
        """The oldest safe span, or why there is none."""
        limit = rules.observer_input_tokens
        pending = await self._store.pending_messages(standing.session_id, standing.buffered_seq, limit_tokens=limit)
        messages = pending.messages
        wanted, step = step, Narrowing.of(standing, OBSERVED).step(step, limit_tokens=limit)
        span = await aside(span_of, step, messages, rules)
        if span is not None and step is not wanted:
            whole = await aside(span_of, wanted, messages, rules)
            span = replace(span, limited=whole is not None and (whole.limited or span.to_seq < whole.to_seq))
        at_boundary = isinstance(step, Buffer) and step.at_boundary
        if span is None and standing.is_shared and isinstance(step, Buffer) and not at_boundary:
            # Several conversations together have half a step of messages, but this one alone has not.
            span = await aside(span_of, replace(step, least_tokens=0), messages, rules)
        if span is None and not at_boundary and pending.full:
            # The result of a call may be behind all that one look reads.
            forced = Observe(want_tokens=step.want_tokens, force_closed=True)
            span = await aside(span_of, forced, messages, rules)
        if span is None:
            return Outcome.NO_BOUNDARY if at_boundary else Outcome.NOTHING_SAFE
        return span

    async def run(self, attempt: Attempt, *, span: Span, ahead: bool) -> Outcome:
        """Observe the span that was found, ``ahead`` of its time or not. Raises StepFailed, which is recorded."""
        verdict = await self.think(attempt, span)
        if verdict is None:
            return Outcome.UNAFFORDABLE
        new = new_observation(attempt.loaded, span, verdict)
        with traced(self._means.tracer, "record"):
            async with self._means.database.tx() as tx:
                return await self._record(tx, attempt, span, new, ahead=ahead)

    async def think(self, attempt: Attempt, span: Span) -> Verdict | None:
        """The verdict on the span, as ``Calling.accepted``; of a group that the model refuses, one line saying so."""
        loaded, rules = attempt.loaded, attempt.rules
        redact = self._means.redaction.of(loaded.tenant)
        of = {"daybook.messages": len(span.messages), "daybook.tokens": span.tokens}
        with traced(self._means.tracer, "think", attributes=of):
            span = replace(span, messages=await asyncio.to_thread(redacted_messages, span.messages, redact))
            source = _observer_input(loaded, rules, span)
            judge = partial(observation_verdict, source=source, tokens=span.tokens, task=_task(loaded))
            seqs = {"from_seq": loaded.buffered_seq + 1, "to_seq": span.to_seq}
            try:
                return await self._calling.accepted(attempt, source, judge, kind=KIND, **seqs)
            except StepFailed as failed:
                await self._calling.give_up(attempt, source, failed, Narrowing.of(loaded, OBSERVED))
            log.warning("messages_passed_over", messages=len(span.messages))
            return passed_over(span, rules.zone)

    async def _record(self, tx: Tx, attempt: Attempt, span: Span, new: NewObservation, *, ahead: bool) -> Outcome:
        """Record the observation and move the cursor, if the messages are still as they were read."""
        loaded = attempt.loaded
        fenced = await locking_store.fence(tx, attempt.lease, loaded.session_id)
        if fenced is None or fenced.buffered_seq != loaded.buffered_seq:
            return Outcome.STALE
        if not await locking_store.unchanged(
            tx, loaded.session_id, span.messages, from_seq=new.from_seq, to_seq=new.to_seq
        ):
            return Outcome.STALE
        usage = add_usage(fenced.usage, attempt.runs)
        if ahead:
            await self._store.buffer_observation(tx, loaded, new, usage=usage)
        else:
            await self._store.record_observation(tx, loaded, fenced, new, usage=usage, unfinished=span.limited)
            await advance(tx, loaded.session_id, attempt.rules, fenced, to_seq=span.to_seq)
            await self._store.add_version(tx, loaded.memory_id, "observed", [loaded.session_id])
        await self._store.add_runs(tx, attempt.lease, attempt.runs, shown=loaded.conversation_id)
        return Outcome.PART if span.limited and not ahead else Outcome.RECORDED


def _observer_input(loaded: Loaded, rules: Rules, span: Span) -> ObserverInput:
    narrowing = Narrowing.of(loaded, OBSERVED)
    return ObserverInput(
        messages=tuple(span.messages),
        earlier=earlier_lines(loaded, narrowing.earlier_tokens(rules.previous_observation_tokens)),
        current_task=None if narrowing.alone else _task(loaded),
        timezone=rules.zone,
        instruction=rules.instruction,
        input_tokens=narrowing.input_tokens(rules.observer_input_tokens),
        tools=rules.tools,
        output_tokens=rules.observer_output_tokens,
    )


def earlier_lines(loaded: Loaded, budget: int | None) -> tuple[Item, ...]:
    """The log for the observer, oldest first: the newest lines within ``budget``, and the important ones (section 4).

    These may fill twice the budget; beyond that the oldest are left out.
    """
    log = [item for chunk in (*loaded.chunks, *loaded.buffered) for item in chunk.items]
    if budget is None:
        return tuple(log)
    kept: list[Item] = []
    used = 0
    for item in reversed(log):
        limit = 2 * budget if item.priority is Priority.HIGH else budget
        if used >= limit:
            continue
        size = tokens_of([replace(item, day="")])
        if used + size <= limit:
            kept.append(item)
            used += size
    return tuple(reversed(kept))


def new_observation(loaded: Loaded, span: Span, verdict: Verdict) -> NewObservation:
    """The observation to record; it begins where the last observed or buffered one ends."""
    items, tokens = verdict.items, verdict.tokens
    if loaded.is_shared:
        items = named(items, loaded.session_key)
        tokens = tokens_of(items)
    return NewObservation(
        ordinal=loaded.next_ordinal,
        items=items,
        tokens=tokens,
        message_tokens=span.tokens,
        from_seq=loaded.buffered_seq + 1,
        to_seq=span.to_seq,
        covers=span.covers,
        current_task=(_task(loaded) if verdict.current_task is None else verdict.current_task) or None,
        suggested_response=verdict.suggested_response or None,
    )


def _task(loaded: Loaded) -> str | None:
    """The current task as the newest chunk tells it, live or buffered."""
    return loaded.buffered[-1].current_task if loaded.buffered else loaded.current_task
