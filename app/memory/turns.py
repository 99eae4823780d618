"""Which session of a shared memory has its turn, and a loaded memory as the ``State`` that policy takes.

A session in which a look found nothing to observe is not looked at again until a message has come: that may have
closed a group, or a topic.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias
from uuid import UUID

from app.memory.outcomes import Outcome
from app.memory.records import Loaded
from app.memory.rules import Rules
from app.memory.steps import LiveReflection, NoteFacts, Rebuild, Request, State, Step

Seen: TypeAlias = tuple[int, datetime | None]
"""A session at a look: its newest message, and when something was asked for."""
Looked: TypeAlias = Mapping[tuple[UUID, Outcome], Seen]
"""What a worker has seen of each session when a step came to that."""


def seen(loaded: Loaded) -> Seen:
    return loaded.last_seq, loaded.requested_at


def tried(loaded: Loaded, looked: Looked) -> frozenset[Outcome]:
    """The outcomes of the steps that were tried on the session as it is now."""
    now = seen(loaded)
    return frozenset(
        outcome for (session, outcome), then in looked.items() if session == loaded.session_id and then == now
    )


def in_turn(loaded: Loaded, looked: Looked) -> Loaded:
    """A shared memory, about the session that has waited longest and may have a safe span; others as they are."""
    waiting = [found for found in loaded.conversations if found.waits]
    for found in waiting:
        one = loaded.about(found)
        if Outcome.NOTHING_SAFE not in tried(one, looked):
            return one
    return loaded.about(waiting[0]) if waiting else loaded


def about(step: Step, loaded: Loaded) -> Loaded:
    """The memory, about the session that this step is for, which may not be the one whose turn it is."""
    match step:
        case NoteFacts() if loaded.is_shared:
            return loaded.about(next(found for found in loaded.conversations if found.to_note))
        case Rebuild():
            gap = loaded.rebuilding[0]
            return replace(loaded, session_id=gap.session_id, session_key=gap.session_key)
        case _:
            return loaded


def state_of(
    loaded: Loaded, rules: Rules, *, tried: frozenset[Outcome] = frozenset(), activated: bool = False
) -> State:
    """``tried``: outcomes of steps on these messages. ``activated``: this run has done what a cold cache asks for."""
    return State(
        rules=rules,
        now=loaded.now,
        pending_tokens=loaded.pending_tokens,
        observation_tokens=sum(chunk.tokens for chunk in loaded.observations),
        observations=len(loaded.observations),
        reflections=tuple(LiveReflection(level=found.level, tokens=found.tokens) for found in loaded.reflections),
        buffered=tuple(chunk.message_tokens for chunk in loaded.buffered),
        requested=None if activated and loaded.requested is Request.ACTIVATE else loaded.requested,
        reflected_at=loaded.reflected_at,
        unhelped_tokens=loaded.unhelped_tokens,
        ahead=loaded.ahead is not None,
        rebuilding=bool(loaded.rebuilding),
        to_note=loaded.to_note,
        failed=loaded.attempts > 0,
        nothing_safe=Outcome.NOTHING_SAFE in tried,
        no_boundary=Outcome.NO_BOUNDARY in tried,
        unfinished=loaded.unfinished,
    )
