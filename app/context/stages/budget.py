"""Applies the budgets to notes and messages, and removes what is pointless without them (memory-rules.md section 6)."""

from dataclasses import replace
from itertools import chain

from app.context.blocks import age, reflection_id
from app.context.draft import Draft, Line, noting
from app.context.explain import BUDGET, TailBudgets, decision, of_notes, of_summary, of_tail
from app.context.fitting import NoteLimits, Notes, TailStarts, effective, fitting_summary, fitting_tail
from app.context.model import Ask, Block, Snapshot, Turn, Verdict, count_before
from app.context.stages.volatile import TODAY, of_caller
from app.context.wording import left_out
from app.memory.changing.summary import without_pointer


def budget(draft: Draft, snapshot: Snapshot, ask: Ask) -> Draft:
    """Apply the memory budget and the message budget; if no note is left, remove what only leads to notes."""
    return _without_notes(_messages(_log(draft, snapshot, ask), snapshot, ask), ask)


def _log(draft: Draft, snapshot: Snapshot, ask: Ask) -> Draft:
    rules = snapshot.rules
    limits = NoteLimits(
        tokens=effective(ask.memory_budget, rules.memory_budget),
        reflections=effective(ask.max_reflections, rules.max_reflections),
        observations=effective(ask.max_observations, rules.max_observations),
    )
    notes = _notes(draft, snapshot)
    kept = notes.within(limits)
    reflections = tuple(block for block in draft.reflections if block.id in kept)
    observations = tuple(block for block in draft.observations if block.id in kept)
    omitted = replace(
        draft.omitted,
        reflections=len(draft.reflections) - len(reflections),
        observations=len(draft.observations) - len(observations),
    )
    fitted = replace(draft, reflections=reflections, observations=observations, omitted=omitted)
    return noting(fitted, ask, of_notes((*draft.reflections, *draft.observations), notes, limits))


def _notes(draft: Draft, snapshot: Snapshot) -> Notes:
    """The sizes of the notes, both kinds oldest first; reflections are shown in another order."""
    tokens = {block.id: block.tokens for block in draft.reflections}
    by_age = (reflection_id(entry) for entry in sorted(snapshot.reflections, key=age))
    return Notes(
        {id_: tokens[id_] for id_ in by_age if id_ in tokens},
        {block.id: block.tokens for block in draft.observations},
    )


def _messages(draft: Draft, snapshot: Snapshot, ask: Ask) -> Draft:
    whole = effective(ask.message_budget, snapshot.rules.message_budget)
    summary, limit = fitting_summary(draft.tail.summary, key=snapshot.key, budget=whole)
    starts = TailStarts.of(draft.tail.messages, skipped_tokens=snapshot.tail_skipped_tokens)
    tail = fitting_tail(replace(draft.tail, summary=summary), starts, key=snapshot.key, budget=limit)
    first = tail.stored[0].seq if tail.stored else snapshot.last_seq + 1
    passed_by = sum(seq < first for seq in snapshot.summaries)
    omitted = replace(
        draft.omitted,
        messages=max(first - snapshot.tail_from_seq - passed_by, 0)  # the log covers the messages before tail_from_seq
        + count_before(snapshot.tail_from_seq, snapshot.rebuilding)
        + sum(message.seq > snapshot.last_seq for message in tail.dropped),  # incoming ones
        unobserved_messages=snapshot.unobserved_omitted
        + sum(message.erased_at is None and not snapshot.is_told(message.seq) for message in tail.dropped),
    )
    decisions = chain(
        of_summary(draft.tail.summary, shown=summary, budget=whole),
        of_tail(
            tail,
            starts,
            first_seq=snapshot.tail_from_seq,
            last_seq=snapshot.last_seq,
            budgets=TailBudgets.of(draft.tail.summary, asked=whole, left=limit),
        ),
    )
    fitted = noting(replace(draft, tail=tail, omitted=omitted), ask, decisions)
    return _telling(fitted, ask) if snapshot.rules.enabled else fitted  # else as if there were no memory (section 2)


def _telling(draft: Draft, ask: Ask) -> Draft:
    """Add the lag notice to the volatile part, if there is one: how many unobserved messages were left out."""
    unobserved = draft.omitted.unobserved_messages
    if not (unobserved and draft.volatile):
        return draft
    line = Line("left_out", left_out(unobserved))
    decisions = [decision(BUDGET, Verdict.KEPT, line, "no note stands for them yet")]
    return noting(replace(draft, volatile=(*draft.volatile[:1], line, *draft.volatile[1:])), ask, decisions)


def _without_notes(draft: Draft, ask: Ask) -> Draft:
    """Without notes remove what only leads to them: the guide, the continuation note, a lone date.

    The summary then does not point to notes either.
    """
    if draft.has_log:
        return draft
    lines = draft.volatile if draft.tail.messages or any(of_caller(ask)) else ()
    lines = () if [line.id for line in lines] == [TODAY] else lines
    gone: list[Block | Turn | Line] = [
        *draft.guide,
        *draft.continuation,
        *(line for line in draft.volatile if line not in lines),
    ]
    decisions = (decision(BUDGET, Verdict.DROPPED, piece, "no notes are shown") for piece in gone)
    summary = None if draft.tail.summary is None else without_pointer(draft.tail.summary)
    tail = replace(draft.tail, summary=summary)
    return noting(replace(draft, guide=(), continuation=(), tail=tail, volatile=lines), ask, decisions)
