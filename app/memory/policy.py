"""When: the one pure function that says what a memory does next (memory-rules.md section 3).

``next_step`` looks at counters, rules and the time and answers a step, or ``Wait``. The engine executes what it
answers until it answers ``Wait``; everything about *when* is decided, and tested, here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias

from app.memory.rules import ATTEMPTS_MAX, BACKOFF_FIRST, BACKOFF_MAX, STALLED_EVERY, Rules

NEVER = 2**62  # a number of pending tokens that no append reaches


class Request(StrEnum):
    """What somebody asked for, whatever the thresholds say."""

    OBSERVE = "observe"
    REFLECT = "reflect"
    LOOK = "look"  # the config changed: decide anew


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveReflection:
    level: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A memory's counters. ``pending_tokens`` is P, ``observation_tokens`` O of the rules.

    ``nothing_safe``: a look found no whole closed group among the pending messages. ``unhelped_tokens``: the size of
    the log at which condensing it last gave nothing better.
    """

    rules: Rules
    now: datetime
    pending_tokens: int
    observation_tokens: int
    observations: int
    reflections: tuple[LiveReflection, ...] = ()
    requested: Request | None = None
    reflected_at: datetime | None = None
    unhelped_tokens: int | None = None
    nothing_safe: bool = False

    @property
    def reflection_tokens(self) -> int:
        return sum(reflection.tokens for reflection in self.reflections)

    @property
    def log_tokens(self) -> int:
        return self.observation_tokens + self.reflection_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Observe:
    """Observe the oldest safe span of up to ``want_tokens``, at least one whole group."""

    want_tokens: int
    force_closed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflect:
    """Condense the oldest observations, all but the newest ``keep_tokens``; the whole log when ``whole``."""

    keep_tokens: int
    whole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidate:
    """Condense all live reflections of these levels into one of ``into_level``."""

    levels: tuple[int, ...]
    into_level: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Nothing to do until ``until`` (None: no time), or until an append brings P to ``at_tokens``."""

    until: datetime | None = None
    at_tokens: int = NEVER


Step: TypeAlias = Observe | Reflect | Consolidate | Wait


def next_step(state: State) -> Step:
    """What this memory does next. The first rule that speaks decides; each is a function below, by its name."""
    if not state.rules.enabled:
        return Wait()
    for rule in (observe, reflect, consolidate):
        step = rule(state)
        if step is not None:
            return step
    return Wait(until=_look_again_at(state), at_tokens=_wake_tokens(state))


def observe(state: State) -> Observe | None:
    """Section 3.3: at P >= message_tokens observe the oldest safe span up to P - retain."""
    rules = state.rules
    if state.nothing_safe or state.pending_tokens <= 0:
        return None
    if state.requested is Request.OBSERVE:
        return Observe(want_tokens=state.pending_tokens, force_closed=state.pending_tokens >= rules.block_tokens)
    if state.pending_tokens < rules.message_tokens:
        return None
    return Observe(
        want_tokens=max(1, state.pending_tokens - rules.retain_tokens),
        force_closed=state.pending_tokens >= rules.block_tokens,
    )


def reflect(state: State) -> Reflect | None:
    """Section 3.6: at O >= observation_tokens condense the oldest observations, leaving the newest reflect_keep.

    In ``rewrite`` O is the whole live log, and all of it is condensed.
    """
    rules = state.rules
    whole = rules.strategy == "rewrite"
    if state.requested is Request.REFLECT and state.observations and state.unhelped_tokens != state.log_tokens:
        return Reflect(keep_tokens=0, whole=whole)
    size = state.log_tokens if whole else state.observation_tokens
    if size < rules.observation_tokens or not _may_condense(state):
        return None
    return Reflect(keep_tokens=min(rules.reflect_keep, size - 1), whole=whole)


def consolidate(state: State) -> Consolidate | None:
    """Section 3.6: a full level becomes one of the next; past the memory budget the two lowest levels do."""
    if state.rules.strategy == "rewrite" or not state.reflections or not _may_condense(state):
        return None
    full = _full_level(state)
    if full is not None:
        return Consolidate(levels=(full,), into_level=full + 1)
    budget = state.rules.memory_budget
    if budget is None or state.reflection_tokens + state.rules.observation_tokens <= budget:
        return None
    levels = tuple(sorted({reflection.level for reflection in state.reflections}))[:2]
    return Consolidate(levels=levels, into_level=levels[-1] + (len(levels) == 1))


def _full_level(state: State) -> int | None:
    levels = [reflection.level for reflection in state.reflections]
    full = [level for level in set(levels) if levels.count(level) >= state.rules.consolidate_at]
    return min(full, default=None)


def _may_condense(state: State) -> bool:
    """Section 3.7: min_interval between reflections; not again at the same log after a result that did not help."""
    return _interval_end(state) is None and state.unhelped_tokens != state.log_tokens


def _interval_end(state: State) -> datetime | None:
    """When min_interval lets the log be condensed again; None where it does already."""
    if state.reflected_at is None or not state.rules.min_interval:
        return None
    end = state.reflected_at + timedelta(seconds=state.rules.min_interval)
    return end if end > state.now else None


def _look_again_at(state: State) -> datetime | None:
    """The end of min_interval, when it alone holds back a reflection or consolidation."""
    end = _interval_end(state)
    if end is None:
        return None
    later = replace(state, now=end)
    return end if reflect(later) or consolidate(later) else None


def _wake_tokens(state: State) -> int:
    """P at which to look again: the threshold, or at the next message when nothing safe was found above it."""
    if state.nothing_safe:
        return max(state.rules.message_tokens, state.pending_tokens + 1)
    return state.rules.message_tokens


def backoff(attempts: int, *, now: datetime, retry_after: float | None, jitter: float) -> Wait:
    """Section 3.8: after the ``attempts``-th failure wait 1 s, 2 s, 4 s ... 2 min; stalled, once every 10 min.

    ``jitter`` in 0..1 spreads the wait over its upper half; Retry-After is honoured where it is longer.
    """
    if attempts >= ATTEMPTS_MAX:
        return Wait(until=now + timedelta(seconds=max(STALLED_EVERY, retry_after or 0)))
    full = min(BACKOFF_MAX, BACKOFF_FIRST * 2 ** (attempts - 1))
    return Wait(until=now + timedelta(seconds=max(full * (0.5 + jitter / 2), retry_after or 0)))


def oldest_to_condense(tokens: Sequence[int], keep_tokens: int) -> int:
    """How many of the oldest chunks to condense so that about the newest ``keep_tokens`` stay; at least one."""
    kept = 0
    for count in range(len(tokens), 0, -1):
        if kept + tokens[count - 1] > keep_tokens:
            return count
        kept += tokens[count - 1]
    return min(1, len(tokens))
