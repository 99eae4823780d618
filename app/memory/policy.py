"""Scheduling: ``next_step`` decides what a memory does next, and when (memory-rules.md section 3). Pure.

It maps counters, rules and the time to a step or to ``Wait``; the engine executes steps until it answers ``Wait``.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import accumulate
from typing import TypeAlias

from app.memory.rules import (
    BACKOFF_FIRST,
    BACKOFF_MAX,
    BOUNDARY_LOOKS,
    EARLY_TOKENS_MIN,
    LEFT_TOKENS_MIN,
    NEAR_STEPS,
    OVERSHOOT_SHARE,
    SHOWN_SHARE,
    STALLED_EVERY,
    TITLE_TOKENS,
    Rules,
)
from app.memory.steps import (
    Activate,
    ActivateReflection,
    Buffer,
    Consolidate,
    NoteFacts,
    Observe,
    Rebuild,
    Reflect,
    Request,
    State,
    Step,
    Wait,
)

Rule: TypeAlias = Callable[[State], Step | None]


def next_step(state: State) -> Step | Wait:
    """The step of the first rule that answers one, else ``Wait``. Each rule is a function below."""
    if not state.rules.enabled:
        # Not for ever: the service may be restarted with the memory on, which no waiting memory is told.
        return Wait(at_tokens=state.pending_tokens + state.rules.message_tokens)
    if state.rebuilding and state.may_observe:
        return Rebuild()  # first of all: what comes later is written with the earlier notes in view
    for rule in _in_order(state):
        step = rule(state)
        if step is not None:
            return step
    if state.to_note and state.may_observe:
        return NoteFacts()  # last of all: from the log as it will stay
    at_tokens = _wake_tokens(state.rules, pending_tokens=state.pending_tokens, buffered_tokens=sum(state.buffered))
    return Wait(until=_look_again_at(state), at_tokens=at_tokens)


def _in_order(state: State) -> tuple[Rule, ...]:
    """The rules in order of precedence: condensing before observing, which keeps the log small (section 3.6).

    Observing goes first after a failed step, so that it continues while the reflector is down. It also does after a
    reflection that did not shrink the log, until ``observation_tokens`` more are there: else each observation would
    trigger another attempt.
    """
    observing: tuple[Rule, ...] = (observe, buffer) if state.may_observe else ()
    whole = state.may_reflect and not state.rebuilding
    condensing: tuple[Rule, ...] = (activate_reflection, *((reflect, consolidate) if whole else ()))
    ahead: tuple[Rule, ...] = (reflect_ahead,) if whole else ()
    helped = state.unhelped_tokens is None or state.log_tokens >= state.unhelped_tokens + state.rules.observation_tokens
    if state.failed or not helped:
        return (activate, *observing, *condensing, *ahead)
    return (activate, *condensing, *observing, *ahead)


def activate(state: State) -> Activate | None:
    """Section 3.2: at P >= message_tokens the buffered chunks up to about P - retain become live.

    Section 3.4: earlier, if the provider's cache is cold anyway and they cover at least 1,000 tokens.
    """
    if not state.buffered:
        return None
    if state.requested is Request.OBSERVE:
        return Activate(count=len(state.buffered))
    count = chunks_to_activate(state.buffered, pending_tokens=state.pending_tokens, rules=state.rules)
    early = state.requested is Request.ACTIVATE and sum(state.buffered[:count]) >= EARLY_TOKENS_MIN
    return Activate(count=count) if early or state.pending_tokens >= state.rules.message_tokens else None


def chunks_to_activate(chunks: Sequence[int], *, pending_tokens: int, rules: Rules) -> int:
    """How many of the oldest chunks (message tokens each) to activate: the boundary nearest to P - retain.

    One at or over the target, if it overshoots by at most 0.95 x retain and leaves min(1,000, retain) tokens; else
    the one under it that leaves as much; else the one over; else the first chunk. At P >= block_after any overshoot
    will do.
    """
    ends = list(accumulate(chunks))
    target = pending_tokens - rules.retain_tokens
    left_min = min(LEFT_TOKENS_MIN, rules.retain_tokens)
    under = bisect_left(ends, target)  # so many stay under it
    if under < len(ends):
        blocked = pending_tokens >= rules.block_tokens
        near = blocked or ends[under] - target <= OVERSHOOT_SHARE * rules.retain_tokens
        if near and pending_tokens - ends[under] >= left_min:
            return under + 1
    # One under the target leaves more than retain_tokens, so enough; where there is none, the first is the one over.
    return max(1, under)


def observe(state: State) -> Observe | None:
    """Section 3.3: at P >= message_tokens, with nothing buffered, observe the oldest safe span up to P - retain.

    A span longer than one call may be shown takes several: the next of them come below the threshold too.
    """
    rules = state.rules
    if state.nothing_safe or state.buffered or state.pending_tokens <= 0:
        return None
    if state.requested is Request.OBSERVE:
        blocked = state.pending_tokens >= rules.block_tokens
        return Observe(want_tokens=state.pending_tokens, force_closed=blocked, whole=True)
    want = state.pending_tokens - rules.retain_tokens
    if state.pending_tokens < rules.message_tokens and not (state.unfinished and want > 0):
        return None
    return Observe(
        want_tokens=max(1, want),
        force_closed=state.pending_tokens >= rules.block_tokens,
    )


def buffer(state: State) -> Buffer | None:
    """Section 3.1: at B >= a step (half of one near the threshold) observe the oldest step in the background.

    Section 3.5: from half a step on, too, if a topic ends there.
    """
    step = state.rules.buffer_tokens
    if step is None or state.nothing_safe or state.unbuffered_tokens < _half(step):
        return None
    near = state.pending_tokens >= _near_threshold(state.rules, step)
    early = state.unbuffered_tokens < step and not near
    if early and state.no_boundary:
        return None
    return Buffer(want_tokens=step, least_tokens=_half(step), at_boundary=early)


def _half(step: int) -> int:
    return max(1, (step + 1) // 2)


def _near_threshold(rules: Rules, step: int) -> int:
    return rules.message_tokens - int(NEAR_STEPS * step)


def activate_reflection(state: State) -> ActivateReflection | None:
    """Section 3.6: at O >= observation_tokens what was condensed ahead replaces its sources."""
    due = state.condensable_tokens >= state.rules.observation_tokens
    return ActivateReflection() if state.ahead and due and _interval_end(state) is None else None


def reflect(state: State) -> Reflect | None:
    """Section 3.6: at O >= observation_tokens condense the oldest observations, leaving the newest reflect_keep.

    In ``rewrite`` O is the whole live log, and all of it is condensed. Below the threshold the older half is condensed
    once there are more than ``max_observations``, which no context would show (docs/decisions/0067).
    """
    rules = state.rules
    whole = rules.strategy == "rewrite"
    if state.requested is Request.REFLECT and state.observations and state.unhelped_tokens != state.log_tokens:
        return Reflect(keep_tokens=0, whole=whole)
    size = state.condensable_tokens
    if not _may_condense(state):
        return None
    if size < rules.observation_tokens:
        crowded = rules.max_observations is not None and state.observations > rules.max_observations
        return Reflect(keep_tokens=state.observation_tokens // 2, whole=whole) if crowded else None
    return Reflect(keep_tokens=min(rules.reflect_keep, size - 1), whole=whole)


def reflect_ahead(state: State) -> Reflect | None:
    """Section 3.6: in the background the oldest observation_tokens - reflect_keep are condensed as soon as they exist.

    Only with buffering on, one at a time, and not after a reflection that did not shrink the log.
    """
    rules = state.rules
    least = rules.observation_tokens - rules.reflect_keep
    if rules.buffer_tokens is None or state.ahead or state.unhelped_tokens is not None or not state.observations:
        return None
    if not 0 < least <= state.condensable_tokens:
        return None
    keep = state.condensable_tokens - least
    return Reflect(keep_tokens=keep, whole=rules.strategy == "rewrite", ahead=True)


def consolidate(state: State) -> Consolidate | None:
    """Section 3.6: a full level is condensed into one reflection of the next; over the memory budget the two lowest.

    These also are with more than ``max_reflections`` reflections (docs/decisions/0067). Of a full level only
    ``consolidate_at`` are condensed: the result has the size of one, so more would lose more (docs/decisions/0064).
    """
    if state.rules.strategy == "rewrite" or not state.reflections or not _may_condense(state):
        return None
    full = _full_level(state)
    if full is not None:
        return Consolidate(levels=(full,), into_level=full + 1, most=state.rules.consolidate_at)
    budget, most = state.rules.memory_budget, state.rules.max_reflections
    crowded = most is not None and len(state.reflections) > most
    shown = SHOWN_SHARE * (state.reflection_tokens + state.rules.observation_tokens) + TITLE_TOKENS * state.observations
    if not crowded and (budget is None or shown <= budget):
        return None
    levels = tuple(sorted({reflection.level for reflection in state.reflections}))[:2]
    return Consolidate(levels=levels, into_level=levels[-1] + (len(levels) == 1))


def _full_level(state: State) -> int | None:
    levels = [reflection.level for reflection in state.reflections]
    full = [level for level in set(levels) if levels.count(level) >= state.rules.consolidate_at]
    return min(full, default=None)


def _may_condense(state: State) -> bool:
    """Section 3.7: min_interval has passed, and the log is not the one that a reflection failed to shrink."""
    return _interval_end(state) is None and state.unhelped_tokens != state.log_tokens


def _interval_end(state: State) -> datetime | None:
    """When min_interval ends; None if it has ended."""
    if state.reflected_at is None or not state.rules.min_interval:
        return None
    end = state.reflected_at + timedelta(seconds=state.rules.min_interval)
    return end if end > state.now else None


def _look_again_at(state: State) -> datetime | None:
    """The end of min_interval, if nothing else holds back a reflection or consolidation."""
    end = _interval_end(state)
    if end is None:
        return None
    later = replace(state, now=end)
    return end if activate_reflection(later) or reflect(later) or consolidate(later) else None


def _wake_tokens(rules: Rules, *, pending_tokens: int, buffered_tokens: int) -> int:
    """The P at which to look again: the next threshold, or with the next message if P is past it already.

    Between half a buffering step and a whole one ``BOUNDARY_LOOKS`` looks per step search for a topic boundary.
    """
    at, step = rules.message_tokens, rules.buffer_tokens
    if step is not None:
        half = buffered_tokens + _half(step)
        look = half if pending_tokens < half else pending_tokens + step // BOUNDARY_LOOKS
        at = min(at, buffered_tokens + step, max(half, _near_threshold(rules, step)), look)
    return max(at, pending_tokens + 1)


def first_wake_tokens(rules: Rules) -> int:
    """``_wake_tokens`` of an empty memory."""
    if not rules.enabled:
        return rules.message_tokens
    return _wake_tokens(rules, pending_tokens=0, buffered_tokens=0)


def has_stalled(attempts: int, *, attempts_max: int) -> bool:
    """Section 3.8: whether so many failures in a row, of any kind, stall a memory."""
    return attempts >= attempts_max


def backoff(attempts: int, *, attempts_max: int, retry_after: float | None, jitter: float) -> float:
    """Section 3.8: after the ``attempts``-th failure wait 1 s, 2 s, 4 s ... 2 min; stalled, once every 10 min. Seconds.

    ``jitter`` in 0..1 spreads the wait over its upper half; Retry-After is honoured where it is longer.
    """
    if has_stalled(attempts, attempts_max=attempts_max):
        return max(STALLED_EVERY, retry_after or 0)
    full: float = min(BACKOFF_MAX, BACKOFF_FIRST * 2 ** (attempts - 1))
    return max(full * (0.5 + jitter / 2), retry_after or 0)


def oldest_to_condense(tokens: Sequence[int], keep_tokens: int) -> int:
    """How many of the oldest chunks to condense so that about the newest ``keep_tokens`` stay; at least one."""
    kept = 0
    for count in range(len(tokens), 0, -1):
        if kept + tokens[count - 1] > keep_tokens:
            return count
        kept += tokens[count - 1]
    return min(1, len(tokens))
