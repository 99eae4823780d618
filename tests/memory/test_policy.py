"""When: every threshold of memory-rules.md section 3 at its number, one below and one above; and that it ends."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.memory.policy import backoff, first_wake_tokens, next_step, oldest_to_condense
from app.memory.rules import Rules
from app.memory.steps import (
    Activate,
    ActivateReflection,
    Buffer,
    Consolidate,
    LiveReflection,
    NoteFacts,
    Observe,
    Rebuild,
    Reflect,
    Request,
    State,
    Step,
    Wait,
)

NOW = datetime(2026, 8, 1, 10, 0, tzinfo=UTC)
CONFIG: dict[str, Any] = {
    "message_tokens": 1_000,
    "retain_tokens": 200,
    "block_after": 1_200,
    "observation_tokens": 2_000,
    "reflect_keep": 500,
    "memory_budget": 4_000,
    "consolidate_at": 3,
    "buffer_every": None,
}


def rules(**config: Any) -> Rules:
    return Rules.resolve({}, CONFIG | config)


def state(config: dict[str, Any] | None = None, /, **counters: Any) -> State:
    return State(
        rules=rules(**(config or {})),
        now=NOW,
        **({"pending_tokens": 0, "observation_tokens": 0, "observations": 0} | counters),
    )


def with_log(tokens: int, *levels: tuple[int, int], config: dict[str, Any] | None = None, **counters: Any) -> State:
    """A memory with observations of ``tokens`` in all, and reflections given as (level, tokens)."""
    reflections = tuple(LiveReflection(level=level, tokens=size) for level, size in levels)
    counted = {"observation_tokens": tokens, "observations": int(tokens > 0), "reflections": reflections}
    return state(config, **(counted | counters))


IDLE = Wait(at_tokens=1_000)


@pytest.mark.parametrize(
    ("pending", "step"),
    [
        (0, IDLE),
        (1, IDLE),
        (999, IDLE),
        (1_000, Observe(want_tokens=800, force_closed=False)),
        (1_001, Observe(want_tokens=801, force_closed=False)),
        (1_199, Observe(want_tokens=999, force_closed=False)),
        (1_200, Observe(want_tokens=1_000, force_closed=True)),
        (1_201, Observe(want_tokens=1_001, force_closed=True)),
    ],
)
def test_messages_are_observed_from_the_threshold_on_all_but_what_is_retained(pending: int, step: Step) -> None:
    assert next_step(state(pending_tokens=pending)) == step


@pytest.mark.parametrize(
    ("pending", "step"),
    [
        (200, IDLE),
        (201, Observe(want_tokens=1, force_closed=False)),
        (999, Observe(want_tokens=799, force_closed=False)),
        (1_000, Observe(want_tokens=800, force_closed=False)),
    ],
)
def test_a_span_of_which_a_part_is_observed_is_observed_below_the_threshold_too(pending: int, step: Step) -> None:
    assert next_step(state(pending_tokens=pending, unfinished=True)) == step


def test_what_follows_messages_that_are_buffered_is_not_observed_before_them() -> None:
    assert next_step(state(pending_tokens=999, unfinished=True, buffered=(500,))) == IDLE


@pytest.mark.parametrize(("retain", "want"), [(0, 1_000), (999, 1), (1_000, 1), (5_000, 1)])
def test_at_least_one_token_is_wanted_however_much_is_retained(retain: float, want: int) -> None:
    config = {"retain_tokens": retain}
    assert next_step(state(config, pending_tokens=1_000)) == Observe(want_tokens=want, force_closed=False)


@pytest.mark.parametrize(
    ("pending", "step"),
    [
        (-1, IDLE),
        (0, IDLE),
        (1, Observe(want_tokens=1, force_closed=False, whole=True)),
        (999, Observe(want_tokens=999, force_closed=False, whole=True)),
        (1_199, Observe(want_tokens=1_199, force_closed=False, whole=True)),
        (1_200, Observe(want_tokens=1_200, force_closed=True, whole=True)),
    ],
)
def test_who_asks_for_an_observation_gets_all_that_waits(pending: int, step: Step) -> None:
    assert next_step(state(pending_tokens=pending, requested=Request.OBSERVE)) == step


@pytest.mark.parametrize("requested", [None, Request.OBSERVE])
@pytest.mark.parametrize(("pending", "at_tokens"), [(5, 1_000), (999, 1_000), (1_000, 1_001), (1_500, 1_501)])
def test_where_nothing_is_safe_the_next_message_is_awaited(
    pending: int, at_tokens: int, requested: Request | None
) -> None:
    found = next_step(state(pending_tokens=pending, nothing_safe=True, requested=requested))
    assert found == Wait(at_tokens=at_tokens)


def test_a_log_is_condensed_although_nothing_is_safe_to_observe() -> None:
    assert next_step(with_log(2_000, pending_tokens=1_500, nothing_safe=True)) == Reflect(keep_tokens=500)


@pytest.mark.parametrize(
    ("tokens", "step"), [(1_999, IDLE), (2_000, Reflect(keep_tokens=500)), (2_001, Reflect(keep_tokens=500))]
)
def test_observations_are_condensed_from_the_threshold_on_all_but_the_newest(tokens: int, step: Step) -> None:
    assert next_step(with_log(tokens)) == step


@pytest.mark.parametrize(
    ("found", "step"),
    [
        ({}, Reflect),
        ({"failed": True}, Observe),
        ({"unhelped_tokens": 8_001}, Observe),
        ({"unhelped_tokens": 8_000}, Reflect),
        ({"may_reflect": False}, Observe),
        ({"reflected_at": NOW, "config": {"min_interval": 60}}, Observe),
    ],
    ids=["healthy", "failed", "unhelped", "unhelped-long-ago", "capped", "interval"],
)
def test_condensing_comes_before_observing_where_it_helps(found: dict[str, Any], step: type[Step]) -> None:
    assert isinstance(next_step(with_log(5_000, (1, 5_000), pending_tokens=1_000, **found)), step)


def test_buffering_waits_for_a_log_that_is_too_large_and_not_for_one_made_ahead_of_its_time() -> None:
    config = {"buffer_every": 200, "reflect_keep": 1_000}
    assert isinstance(next_step(with_log(2_000, pending_tokens=500, config=config)), Reflect)
    assert isinstance(next_step(with_log(1_500, pending_tokens=500, config=config)), Buffer)


def test_condensing_observations_comes_before_condensing_reflections() -> None:
    assert isinstance(next_step(with_log(2_000, (1, 100), (1, 100), (1, 100))), Reflect)


@pytest.mark.parametrize(("keep", "kept"), [(0, 0), (500, 500), (1_999, 1_999), (2_000, 1_999), (9_000, 1_999)])
def test_something_is_condensed_however_much_is_to_be_kept(keep: float, kept: int) -> None:
    assert next_step(with_log(2_000, config={"reflect_keep": keep})) == Reflect(keep_tokens=kept)


@pytest.mark.parametrize(
    ("tokens", "reflected", "step"),
    [
        (1_000, 999, IDLE),
        (1_000, 1_000, Reflect(keep_tokens=500, whole=True)),
        (0, 2_000, Reflect(keep_tokens=500, whole=True)),
        (1_999, 0, IDLE),
    ],
)
def test_a_rewrite_looks_at_the_whole_log(tokens: int, reflected: int, step: Step) -> None:
    assert next_step(with_log(tokens, (1, reflected), config={"strategy": "rewrite"})) == step


AHEAD = {"buffer_every": 0.2}  # of O, 1,500 are condensed ahead of the threshold at 2,000, so that 500 stay
REFLECT_AHEAD = Reflect(keep_tokens=0, ahead=True)


@pytest.mark.parametrize(
    ("tokens", "config", "counters", "step"),
    [
        (1_499, AHEAD, {}, None),
        (1_500, AHEAD, {}, REFLECT_AHEAD),
        (1_999, AHEAD, {}, replace(REFLECT_AHEAD, keep_tokens=499)),
        (1_999, {}, {}, None),  # with buffering off nothing is done ahead
        (1_999, AHEAD | {"reflect_keep": 0}, {}, None),  # then it would be done at the threshold
        (1_999, AHEAD | {"reflect_keep": 2_000}, {}, None),
        (1, AHEAD | {"reflect_keep": 1_999}, {}, REFLECT_AHEAD),
        (1_999, AHEAD, {"ahead": True}, None),  # one at a time
        (2_000, AHEAD, {"ahead": True}, ActivateReflection()),
        (2_000, AHEAD, {}, Reflect(keep_tokens=500)),
        (2_000, {}, {"ahead": True}, ActivateReflection()),  # it was made while buffering was on
        (1_999, AHEAD, {"unhelped_tokens": 1_600}, None),  # it did not help, and waits for the threshold
        (2_000, AHEAD, {"unhelped_tokens": 1_600}, Reflect(keep_tokens=500)),
        (1_999, AHEAD, {"ahead": True, "requested": Request.REFLECT}, Reflect(keep_tokens=0)),
        (1_999, AHEAD, {"may_reflect": False}, None),
        (2_000, AHEAD, {"may_reflect": False, "ahead": True}, ActivateReflection()),  # which costs nothing
    ],
)
def test_what_the_threshold_will_condense_is_condensed_ahead_and_then_activated(
    tokens: int, config: dict[str, Any], counters: dict[str, Any], step: Step | None
) -> None:
    found = next_step(with_log(tokens, config=config, **counters))
    assert isinstance(found, Wait) if step is None else found == step


@pytest.mark.parametrize("keep", [0, 500])
def test_an_interval_holds_back_the_activation_and_not_the_work_ahead(keep: int) -> None:
    config = AHEAD | {"min_interval": 60, "reflect_keep": keep}
    found = with_log(2_000, config=config, reflected_at=NOW - timedelta(seconds=20))
    assert next_step(found) == Reflect(keep_tokens=keep, ahead=True)
    for made in (replace(found, ahead=True), replace(found, ahead=True, unhelped_tokens=2_000)):
        waiting = next_step(made)
        assert isinstance(waiting, Wait)
        assert waiting.until == NOW + timedelta(seconds=40)
    assert next_step(replace(found, ahead=True, now=NOW + timedelta(seconds=40))) == ActivateReflection()


def test_a_rewrite_is_made_ahead_of_the_whole_log() -> None:
    found = with_log(1_000, (1, 600), config=AHEAD | {"strategy": "rewrite"})
    assert next_step(found) == Reflect(keep_tokens=100, whole=True, ahead=True)
    assert isinstance(next_step(with_log(0, (1, 1_600), config=AHEAD | {"strategy": "rewrite"})), Wait)


def test_a_rewrite_never_consolidates() -> None:
    full = [(1, 10)] * 9
    assert next_step(with_log(0, *full, config={"strategy": "rewrite"})) == IDLE


@pytest.mark.parametrize(
    ("found", "step"),
    [
        (with_log(1), Reflect(keep_tokens=0)),
        (with_log(1, config={"strategy": "rewrite"}), Reflect(keep_tokens=0, whole=True)),
        (with_log(0, (1, 100)), IDLE),
        (with_log(0), IDLE),
        (with_log(100, unhelped_tokens=100), IDLE),
        (with_log(100, unhelped_tokens=99), Reflect(keep_tokens=0)),
        (with_log(100, reflected_at=NOW, config={"min_interval": 60}), Reflect(keep_tokens=0)),
    ],
)
def test_who_asks_for_a_reflection_gets_one_of_all_observations(found: State, step: Step) -> None:
    assert next_step(replace(found, requested=Request.REFLECT)) == step


def test_a_changed_config_asks_for_nothing_but_a_decision() -> None:
    assert next_step(with_log(1_999, (1, 100), pending_tokens=999, requested=Request.LOOK)) == IDLE


@pytest.mark.parametrize(
    ("levels", "step"),
    [
        ([1, 1], IDLE),
        ([1, 1, 1], Consolidate(levels=(1,), into_level=2, most=3)),
        ([1, 1, 1, 1], Consolidate(levels=(1,), into_level=2, most=3)),
        ([2, 2, 2, 1, 1], Consolidate(levels=(2,), into_level=3, most=3)),
        ([2, 2, 2, 1, 1, 1], Consolidate(levels=(1,), into_level=2, most=3)),
        ([3, 3, 2, 2, 1, 1], IDLE),
    ],
)
def test_a_level_is_consolidated_when_it_is_full_the_lowest_first(levels: list[int], step: Step) -> None:
    assert next_step(with_log(0, *((level, 10) for level in levels))) == step


@pytest.mark.parametrize(
    ("number", "strategy", "step"),
    [
        (20, "leveled", IDLE),
        (21, "leveled", Reflect(keep_tokens=300)),
        (21, "rewrite", Reflect(keep_tokens=300, whole=True)),  # half of them, however much the reflection has
    ],
)
def test_the_older_half_is_condensed_where_a_context_shows_no_more_of_them(
    number: int, strategy: str, step: Step
) -> None:
    config = {"max_observations": 20, "strategy": strategy}
    assert next_step(with_log(600, (1, 900), observations=number, config=config)) == step


@pytest.mark.parametrize(
    ("levels", "step"),
    [
        ([3, 3, 2, 2, 1], IDLE),
        ([3, 3, 2, 2, 1, 1], Consolidate(levels=(1, 2), into_level=2)),
        ([6, 5, 4, 3, 2, 1], Consolidate(levels=(1, 2), into_level=2)),
    ],
)
@pytest.mark.parametrize("memory_budget", [0, 3_000])
def test_the_two_lowest_levels_are_consolidated_where_a_context_shows_no_more_reflections(
    levels: list[int], step: Step, memory_budget: int
) -> None:
    config = {"max_reflections": 5, "memory_budget": memory_budget}
    assert next_step(with_log(0, *((level, 10) for level in levels), config=config)) == step


@pytest.mark.parametrize(
    ("reflections", "step"),
    [
        ([(1, 1_636)], IDLE),
        ([(1, 1_637)], Consolidate(levels=(1,), into_level=2)),  # shown, with their titles, they have a tenth more
        ([(1, 1_001), (1, 1_000)], Consolidate(levels=(1,), into_level=2)),
        ([(2, 1_001), (1, 1_000)], Consolidate(levels=(1, 2), into_level=2)),
        ([(9, 700), (8, 701), (2, 600)], Consolidate(levels=(2, 8), into_level=8)),
    ],
)
def test_past_the_memory_budget_the_two_lowest_levels_are_consolidated(
    reflections: list[tuple[int, int]], step: Step
) -> None:
    assert next_step(with_log(0, *reflections)) == step


@pytest.mark.parametrize(("number", "step"), [(12, IDLE), (13, Consolidate(levels=(1,), into_level=2))])
def test_each_observation_has_a_title_within_the_memory_budget(number: int, step: Step) -> None:
    assert next_step(with_log(600, (1, 1_500), observations=number)) == step


@pytest.mark.parametrize(("tokens", "step"), [(600, IDLE), (601, Consolidate(levels=(1,), into_level=2))])
def test_a_memory_budget_that_is_reached_to_the_token_is_kept(tokens: int, step: Step) -> None:
    config = {"memory_budget": 1_100, "observation_tokens": 400}  # 1.1 x (600 + 400)
    assert next_step(with_log(0, (1, tokens), config=config)) == step


def test_without_a_memory_budget_only_a_full_level_is_consolidated() -> None:
    assert next_step(with_log(0, (1, 90_000), (2, 90_000), config={"memory_budget": 0})) == IDLE


@pytest.mark.parametrize("found", [with_log(2_000), with_log(0, (1, 10), (1, 10), (1, 10))], ids=["reflect", "level"])
@pytest.mark.parametrize(("ago", "waits"), [(0, True), (59.9, True), (60, False), (60.1, False)])
def test_condensing_waits_for_the_end_of_min_interval(found: State, ago: float, waits: bool) -> None:
    reflected_at = NOW - timedelta(seconds=ago)
    later = replace(found, rules=rules(min_interval=60), reflected_at=reflected_at)
    expected = Wait(until=reflected_at + timedelta(seconds=60), at_tokens=1_000) if waits else next_step(found)
    assert next_step(later) == expected


def test_without_min_interval_nothing_waits_for_a_clock_that_was_set_back() -> None:
    found = with_log(2_000, reflected_at=NOW + timedelta(seconds=1))
    assert next_step(found) == Reflect(keep_tokens=500)


@pytest.mark.parametrize("ago", [0, 61])
def test_min_interval_is_no_reason_to_look_again_where_nothing_is_to_be_condensed(ago: int) -> None:
    found = with_log(1_999, reflected_at=NOW - timedelta(seconds=ago), config={"min_interval": 60})
    assert next_step(found) == IDLE


def test_min_interval_holds_back_no_observation() -> None:
    found = with_log(2_000, pending_tokens=1_000, reflected_at=NOW, config={"min_interval": 60})
    assert isinstance(next_step(found), Observe)


@pytest.mark.parametrize("found", [with_log(2_000, (1, 2_500)), with_log(500, (1, 10), (1, 10), (1, 10))])
def test_condensing_is_not_repeated_at_a_size_at_which_it_did_not_help(found: State) -> None:
    assert next_step(replace(found, unhelped_tokens=found.log_tokens)) == IDLE
    assert next_step(replace(found, unhelped_tokens=found.log_tokens - 1)) == next_step(found)


@pytest.mark.parametrize("requested", [None, *Request])
def test_a_disabled_memory_does_nothing_but_look_whether_it_is_on_again(requested: Request | None) -> None:
    found = with_log(9_000, (1, 9_000), pending_tokens=9_000, requested=requested, config={"enabled": False})
    assert next_step(found) == Wait(until=None, at_tokens=9_000 + found.rules.message_tokens)


@pytest.mark.parametrize("config", [{}, {"message_tokens": 1}, AHEAD, AHEAD | {"enabled": False}])
def test_a_memory_that_has_nothing_yet_is_looked_at_when_a_look_at_it_would_say(config: dict[str, Any]) -> None:
    assert next_step(state(config)) == Wait(at_tokens=first_wake_tokens(rules(**config)))


@pytest.mark.parametrize(
    ("attempts", "seconds"), [(1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 32), (7, 64), (8, 600), (9, 600), (900, 600)]
)
def test_a_failing_step_waits_twice_as_long_each_time_and_stalls_at_the_eighth(attempts: int, seconds: int) -> None:
    assert backoff(attempts, attempts_max=8, retry_after=None, jitter=1.0) == seconds


@pytest.mark.parametrize(("attempts", "asked", "seconds"), [(1, 30.5, 30.5), (5, 9, 16), (8, 30, 600), (8, 900, 900)])
def test_a_provider_may_ask_for_a_longer_wait_but_not_for_a_shorter(
    attempts: int, asked: float, seconds: float
) -> None:
    assert backoff(attempts, attempts_max=8, retry_after=asked, jitter=1.0) == seconds


@pytest.mark.parametrize(("attempts", "attempts_max", "seconds"), [(2, 3, 2), (3, 3, 600), (8, 100, 120), (1, 1, 600)])
def test_how_many_tries_are_made_until_it_stalls_is_a_setting(attempts: int, attempts_max: int, seconds: int) -> None:
    assert backoff(attempts, attempts_max=attempts_max, retry_after=None, jitter=1.0) == seconds


def test_a_wait_is_half_as_long_at_least() -> None:
    assert backoff(1, attempts_max=8, retry_after=None, jitter=0.0) == 0.5


@given(st.integers(1, 7), st.floats(0, 1))
def test_jitter_spreads_a_wait_over_its_upper_half(attempts: int, jitter: float) -> None:
    seconds = backoff(attempts, attempts_max=8, retry_after=None, jitter=jitter)
    assert 2 ** (attempts - 1) / 2 <= seconds <= 2 ** (attempts - 1)


@pytest.mark.parametrize(
    ("tokens", "keep", "count"),
    [
        ([], 0, 0),
        ([10, 10, 10], 0, 3),
        ([10, 10, 10], 9, 3),
        ([10, 10, 10], 10, 2),
        ([10, 10, 10], 19, 2),
        ([10, 10, 10], 20, 1),
        ([10, 10, 10], 30, 1),
        ([10, 10, 10], 99, 1),
        ([99], 98, 1),
        ([5, 99, 5], 50, 2),
        ([60, 40, 10], 50, 1),
    ],
)
def test_the_oldest_chunks_are_condensed_and_at_least_one(tokens: list[int], keep: int, count: int) -> None:
    assert oldest_to_condense(tokens, keep) == count


sizes = st.integers(0, 20_000)
configs = st.fixed_dictionaries(
    {
        "enabled": st.sampled_from([True, True, True, False]),
        "message_tokens": st.integers(1, 5_000),
        "retain_tokens": st.sampled_from([0, 0.2, 1, 5_000]),
        "observation_tokens": st.integers(1, 5_000),
        "memory_budget": st.integers(0, 20_000),
        "reflect_keep": st.sampled_from([0, 0.5, 1, 9_999]),
        "consolidate_at": st.integers(2, 5),
        "strategy": st.sampled_from(["leveled", "rewrite"]),
        "min_interval": st.sampled_from([0, 60]),
    }
)
states = st.builds(
    State,
    rules=configs.map(lambda config: Rules.resolve({}, config)),
    now=st.just(NOW),
    pending_tokens=sizes,
    observation_tokens=sizes,
    observations=st.integers(0, 9),
    reflections=st.lists(st.builds(LiveReflection, level=st.integers(1, 4), tokens=sizes), max_size=9).map(tuple),
    requested=st.sampled_from([None, *Request]),
    reflected_at=st.none() | st.integers(0, 120).map(lambda seconds: NOW - timedelta(seconds=seconds)),
    unhelped_tokens=st.none() | sizes,
    nothing_safe=st.booleans(),
    no_boundary=st.booleans(),
    ahead=st.booleans(),
)


@given(states)
def test_every_state_has_one_step_and_no_wait_ends_at_once(found: State) -> None:
    step = next_step(found)
    assert step == next_step(found)
    if isinstance(step, Wait):
        assert step.at_tokens > found.pending_tokens
        assert step.until is None or step.until > NOW


@given(states)
def test_a_step_is_only_asked_for_where_there_is_something_to_do_it_on(found: State) -> None:
    match next_step(found):
        case Observe(want_tokens=want):
            assert 1 <= want <= found.pending_tokens
        case Reflect(keep_tokens=keep) as step:
            assert keep < max(found.log_tokens if step.whole else found.observation_tokens, 1)
        case Consolidate(levels=levels, into_level=into):
            live = {reflection.level for reflection in found.reflections}
            assert set(levels) <= live
            assert levels[-1] <= into <= levels[-1] + 1


class SimulatedMemory:
    """What the steps do to a memory: groups become chunks, chunks become reflections.

    A result is as big as the next of ``shares`` of what it is made of, and at least one token; what is condensed to
    no less than it was did not help.
    """

    def __init__(self, config: Rules, groups: list[int], shares: list[float], requested: Request | None) -> None:
        self.rules = config
        self.groups = groups
        self.shares = shares
        self.requested = requested
        self.chunks: list[int] = []
        self.reflections: list[LiveReflection] = []
        self.unhelped: int | None = None
        self.reflected_at: datetime | None = None
        self.results = 0
        self.ahead: list[tuple[int, int]] = []  # message tokens and size of what was buffered
        self.made_ahead: tuple[int, list[LiveReflection], int] | None = None  # chunks, what else of the log, result
        self.nothing_safe = self.no_boundary = False

    @property
    def state(self) -> State:
        return State(
            rules=self.rules,
            now=NOW,
            pending_tokens=sum(self.groups) + sum(tokens for tokens, _ in self.ahead),
            buffered=tuple(tokens for tokens, _ in self.ahead),
            nothing_safe=self.nothing_safe,
            no_boundary=self.no_boundary,
            observation_tokens=sum(self.chunks),
            observations=len(self.chunks),
            reflections=tuple(self.reflections),
            requested=self.requested,
            reflected_at=self.reflected_at,
            unhelped_tokens=self.unhelped,
            ahead=self.made_ahead is not None,
        )

    def apply(self, step: Step) -> None:
        match step:
            case Observe():
                want = min(step.want_tokens, self.rules.observer_input_tokens or step.want_tokens)
                self.chunks.append(self._share(self._take(want, 1)))
            case Buffer():
                self._buffer(step)
            case Activate():
                self.chunks += [size for _, size in self.ahead[: step.count]]
                del self.ahead[: step.count]
                self.requested = None if self.requested is Request.ACTIVATE else self.requested
            case Reflect():
                count = oldest_to_condense(self.chunks, step.keep_tokens)
                condensed = list(self.reflections) if step.whole else []
                result = self._result(count, condensed)
                if step.ahead:
                    self.made_ahead = (count, condensed, result) if result else None
                else:
                    self.made_ahead = None  # its sources are gone
                    self._replace(count, condensed, result, into_level=1)
            case ActivateReflection():
                assert self.made_ahead is not None
                self._replace(*self.made_ahead, into_level=1)
                self.made_ahead = None
            case Consolidate():
                condensed = [found for found in self.reflections if found.level in step.levels]
                self._replace(0, condensed, self._result(0, condensed), into_level=step.into_level)

    def _share(self, tokens: int) -> int:
        self.results += 1
        return max(1, int(tokens * self.shares[self.results % len(self.shares)]))

    def _buffer(self, step: Buffer) -> None:
        self.no_boundary = step.at_boundary and self.results % 2 == 0
        self.nothing_safe = sum(self.groups) < step.least_tokens
        if not (self.no_boundary or self.nothing_safe):
            taken = self._take(step.want_tokens, step.least_tokens)
            self.ahead.append((taken, self._share(taken)))

    def _take(self, want_tokens: int, least_tokens: int) -> int:
        count = taken = 0
        while self.groups[count:] and (taken < least_tokens or taken + self.groups[count] <= want_tokens):
            taken += self.groups[count]
            count += 1
        del self.groups[:count]
        return taken

    def _result(self, count: int, condensed: list[LiveReflection]) -> int:
        """The size of what comes of the oldest chunks and these reflections; 0 where that did not help."""
        tokens = sum(self.chunks[:count]) + sum(found.tokens for found in condensed)
        limit = max((found.tokens for found in condensed), default=tokens) if len(condensed) > 1 else tokens
        result = min(self._share(tokens), limit)
        if result >= tokens:
            self.unhelped, self.reflected_at = self.state.log_tokens, NOW
            return 0
        return result

    def _replace(self, count: int, condensed: list[LiveReflection], result: int, *, into_level: int) -> None:
        if result:
            self.unhelped, self.reflected_at = None, NOW
            del self.chunks[:count]
            self.reflections = [found for found in self.reflections if found not in condensed]
            self.reflections.append(LiveReflection(level=into_level, tokens=result))


def steps_of(memory: SimulatedMemory, steps_max: int) -> Iterator[Step | Wait]:
    for _ in range(steps_max):
        step = next_step(memory.state)
        yield step
        if isinstance(step, Wait):
            return
        memory.apply(step)


@given(
    configs.filter(lambda config: config["enabled"]),
    st.lists(st.integers(1, 3_000), max_size=30),
    st.lists(st.sampled_from([0.1, 0.3, 0.5, 0.8, 1.0]), min_size=1, max_size=4),
    st.sampled_from([None, *Request]),
)
def test_the_steps_of_a_memory_end_with_its_log_within_the_budget(
    config: dict[str, Any], groups: list[int], shares: list[float], requested: Request | None
) -> None:
    room = {"memory_budget": config["observation_tokens"] + config["memory_budget"]}
    resolved = Rules.resolve({}, config | room)
    memory = SimulatedMemory(resolved, list(groups), shares, requested)
    *_, last = steps_of(memory, steps_max=50 + 5 * len(groups))
    assert isinstance(last, Wait)
    assert memory.state.pending_tokens < resolved.message_tokens
    works = last.until is None and memory.unhelped != memory.state.log_tokens
    assert not works or memory.state.log_tokens <= room["memory_budget"]


@pytest.mark.parametrize("buffer_every", [None, 200])
def test_however_much_waits_the_log_fits_its_budget_at_every_step(buffer_every: int | None) -> None:
    found = rules(buffer_every=buffer_every, observer_input_tokens=1_000)
    memory = SimulatedMemory(found, [400] * 500, [0.3], None)
    sizes = [memory.state.log_tokens for _ in steps_of(memory, steps_max=5_000)]
    assert memory.state.pending_tokens < found.message_tokens
    chunk = 300  # that brings it over the threshold, and is condensed next
    assert max(sizes) <= CONFIG["memory_budget"] + chunk


def test_what_was_erased_from_the_notes_is_observed_again_before_anything_else() -> None:
    everything = with_log(9_000, (1, 500), pending_tokens=5_000, buffered=(1_000,), requested=Request.REFLECT)
    assert next_step(replace(everything, rebuilding=True)) == Rebuild()


def test_nothing_is_condensed_of_a_log_that_is_not_whole_yet() -> None:
    for tokens, config in ((9_000, {}), (1_999, AHEAD)):
        capped = with_log(tokens, config=config, rebuilding=True, may_observe=False)
        assert isinstance(next_step(replace(capped, rebuilding=False)), Reflect)
        assert isinstance(next_step(capped), Wait)


@pytest.mark.parametrize(
    ("found", "step"),
    [
        ({}, NoteFacts()),
        ({"pending_tokens": 1_000}, Observe(want_tokens=800, force_closed=False)),  # from the log as it will stay
        ({"observation_tokens": 2_000, "observations": 1}, Reflect(keep_tokens=500)),
        ({"may_observe": False}, IDLE),
        ({"may_observe": False, "rebuilding": True}, IDLE),
    ],
    ids=["nothing-else", "to-observe", "to-condense", "capped", "not-whole"],
)
def test_facts_are_noted_of_an_ended_session_last_of_all(found: dict[str, Any], step: Step) -> None:
    assert next_step(state(to_note=True, **found)) == step


def test_a_memory_that_is_switched_off_rebuilds_nothing() -> None:
    assert isinstance(next_step(state({"enabled": False}, rebuilding=True)), Wait)
