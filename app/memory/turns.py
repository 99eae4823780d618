"""Picks the session of a shared memory that has its turn, and makes the ``State`` that policy takes. Pure.

A session in which nothing was found to observe is skipped until its next message, which may close a group or a topic.
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import datetime
from typing import TypeAlias
from uuid import UUID

from app.memory.outcomes import Outcome
from app.memory.records import Standing
from app.memory.rules import Rules
from app.memory.steps import NoteFacts, Rebuild, Request, Sizes, State, Step

Seen: TypeAlias = tuple[int, datetime | None]
"""A session at a look: its newest message, and when something was asked for."""
Looked: TypeAlias = Mapping[tuple[UUID, Outcome], Seen]
"""By session and outcome: the session as it was when a step had that outcome."""


def seen(standing: Standing) -> Seen:
    return standing.last_seq, standing.requested_at


def tried(standing: Standing, looked: Looked) -> frozenset[Outcome]:
    """The outcomes of steps that were tried on the session as it is now."""
    now = seen(standing)
    return frozenset(
        outcome for (session, outcome), then in looked.items() if session == standing.session_id and then == now
    )


def in_turn(standing: Standing, looked: Looked) -> Standing:
    """The memory, if it is shared about the session that has waited longest and may have a safe span.

    A session in which no topic boundary was found comes after those that were not searched yet.
    """
    waiting = [found for found in standing.conversations if found.waits]
    for passed_over in ({Outcome.NOTHING_SAFE, Outcome.NO_BOUNDARY}, {Outcome.NOTHING_SAFE}):
        for found in waiting:
            one = standing.about(found)
            if not passed_over & tried(one, looked):
                return one
    return standing.about(waiting[0]) if waiting else standing


def about(step: Step, standing: Standing) -> Standing:
    """The memory, about the session that this step is for, which may not be the one whose turn it is."""
    match step:
        case NoteFacts() if standing.is_shared:
            return standing.about(next(found for found in standing.conversations if found.is_unread))
        case Rebuild():
            gap = standing.rebuilding[0]
            return replace(standing, session_id=gap.session_id, session_key=gap.session_key)
        case _:
            return standing


def state_of(
    standing: Standing, rules: Rules, *, tried: frozenset[Outcome] = frozenset(), activated: bool = False
) -> State:
    """``tried``: outcomes of steps on these messages. ``activated``: this run has served a requested activation."""
    return State(
        **{one.name: getattr(standing.sizes, one.name) for one in fields(Sizes)},
        rules=rules,
        now=standing.now,
        pending_tokens=standing.pending_tokens,
        requested=None if activated and standing.requested is Request.ACTIVATE else standing.requested,
        reflected_at=standing.reflected_at,
        unhelped_tokens=standing.unhelped_tokens,
        rebuilding=bool(standing.rebuilding),
        to_note=standing.to_note,
        failed=standing.attempts > 0,
        nothing_safe=Outcome.NOTHING_SAFE in tried,
        no_boundary=Outcome.NO_BOUNDARY in tried,
        unfinished=standing.unfinished,
    )
