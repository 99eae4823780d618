"""Observing ahead and activating: every boundary of memory-rules.md 3.1, 3.2 and 3.4."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.memory.policy import chunks_to_activate, next_step
from app.memory.rules import Rules
from app.memory.steps import Activate, Buffer, Observe, Request, State, Wait

NOW = datetime(2026, 8, 1, 10, 0, tzinfo=UTC)
DEFAULT = Rules.resolve({}, {"message_tokens": 30_000})  # steps of 6,000, 6,000 retained


def state(pending: int, *buffered: int, rules: Rules = DEFAULT, **more: Any) -> State:
    return State(
        rules=rules, now=NOW, pending_tokens=pending, buffered=buffered, observation_tokens=0, observations=0, **more
    )


STEP = Buffer(want_tokens=6_000, least_tokens=3_000)
AT_BOUNDARY = replace(STEP, at_boundary=True)


@pytest.mark.parametrize(
    ("found", "step"),
    [
        (state(2_999), Wait(at_tokens=3_000)),
        # From half a step on up to the next boundary, which is looked for every quarter of a step.
        (state(3_000), AT_BOUNDARY),
        (state(3_000, no_boundary=True), Wait(at_tokens=4_500)),
        (state(4_499, no_boundary=True), Wait(at_tokens=5_999)),
        (state(4_500, no_boundary=True), Wait(at_tokens=6_000)),
        (state(5_999), AT_BOUNDARY),
        (state(5_999, no_boundary=True), Wait(at_tokens=6_000)),
        (state(6_000), STEP),
        (state(6_000, no_boundary=True), STEP),
        (state(8_999, 6_000), Wait(at_tokens=9_000)),
        (state(9_000, 6_000), AT_BOUNDARY),
        (state(9_000, 6_000, no_boundary=True), Wait(at_tokens=10_500)),
        (state(11_999, 6_000, no_boundary=True), Wait(at_tokens=12_000)),
        (state(12_000, 6_000), STEP),
        # From 30,000 - 1.1 x 6,000 = 23,400 on half a step is enough.
        (state(23_399, 6_000, 6_000, 6_000, no_boundary=True), Wait(at_tokens=23_400)),
        (state(23_400, 6_000, 6_000, 6_000), STEP),
        (state(26_000, 6_000, 6_000, 6_000, 6_000), Wait(at_tokens=27_000)),
        (state(26_999, 6_000, 6_000, 6_000, 6_000), Wait(at_tokens=27_000)),
        (state(27_000, 6_000, 6_000, 6_000, 6_000), STEP),
        (state(29_999, 27_000), Wait(at_tokens=30_000)),
        (state(29_000, 28_000), Wait(at_tokens=30_000)),
        (state(1, rules=replace(DEFAULT, buffer_tokens=1)), Buffer(want_tokens=1, least_tokens=1)),
        (state(12_000, 6_000, nothing_safe=True), Wait(at_tokens=12_001)),
    ],
)
def test_a_step_is_buffered_when_it_is_there_and_half_a_one_near_the_threshold(found: State, step: object) -> None:
    assert next_step(found) == step


@pytest.mark.parametrize(
    ("found", "step"),
    [
        # Of a step of 25, half is 12.5 tokens: there with 13.
        (state(12), Wait(at_tokens=13)),
        (state(13), Buffer(want_tokens=25, least_tokens=13, at_boundary=True)),
        # 1,000 - 1.1 x 25 = 972.5: reached with 973.
        (state(972, 950, no_boundary=True), Wait(at_tokens=973)),
        (state(973, 950, no_boundary=True), Buffer(want_tokens=25, least_tokens=13)),
    ],
)
def test_what_is_no_whole_number_of_tokens_is_reached_with_the_next(found: State, step: object) -> None:
    rules = replace(DEFAULT, message_tokens=1_000, buffer_tokens=25)
    assert next_step(replace(found, rules=rules)) == step


def test_without_buffering_nothing_is_observed_before_the_threshold() -> None:
    rules = Rules.resolve({}, {"message_tokens": 30_000, "buffer_every": None})
    assert next_step(state(29_999, rules=rules)) == Wait(at_tokens=30_000)
    assert isinstance(next_step(state(30_000, rules=rules)), Observe)


@pytest.mark.parametrize(
    ("pending", "chunks", "count"),
    [
        (30_000, (6_000, 6_000, 6_000, 6_000), 4),  # the target, 24,000, to the token
        (30_000, (6_000, 6_000, 6_000, 6_000, 3_000), 4),  # and no more than that
        (30_000, (6_000, 6_000, 6_000, 5_999), 3 + 1),  # one under it that leaves enough
        (30_000, (12_000, 17_000), 2),  # over by 5,000 <= 0.95 x 6,000, and 1,000 stay
        (30_000, (12_000, 17_001), 1),  # 999 would stay: the one under the target
        (34_000, (12_000, 21_700), 1),  # over by 5,700, 300 stay
        (35_999, (24_000, 11_000), 1),  # 5,001 over the target of 29,999 but 999 left
        (35_000, (20_000, 14_700), 1),  # over by 5,700, 300 left: under
        (40_000, (29_000, 10_000), 2),  # at block_after any overshoot will do
        (40_000, (29_000, 10_500), 1),  # but 1,000 are left
        (30_000, (29_500,), 1),  # none under: the one over
        (30_000, (3_000,), 1),  # none reaches the target
        (30_000, (3_000, 3_000, 3_000), 3),
    ],
)
def test_the_boundary_nearest_to_what_is_retained_is_activated(
    pending: int, chunks: tuple[int, ...], count: int
) -> None:
    assert chunks_to_activate(chunks, pending_tokens=pending, rules=DEFAULT) == count


def test_an_overshoot_of_more_than_0_95_of_retain_is_too_much_below_block_after() -> None:
    rules = replace(DEFAULT, retain_tokens=10_000, block_tokens=50_000)
    within = chunks_to_activate((15_000, 14_500), pending_tokens=30_000, rules=replace(rules, message_tokens=30_000))
    assert within == 1  # 9,500 over the target of 20,000 is allowed, but only 500 would stay
    assert chunks_to_activate((15_000, 14_000), pending_tokens=30_000, rules=rules) == 2  # 9,000 over, 1,000 stay
    assert chunks_to_activate((15_000, 24_501), pending_tokens=40_000, rules=rules) == 1  # 9,501 over
    assert chunks_to_activate((15_000, 24_500), pending_tokens=40_000, rules=rules) == 1  # 9,500 over, 500 stay


@pytest.mark.parametrize(
    ("pending", "end", "count"),
    [
        (110_000, 108_000, 2),  # over the target of 70,000 by 0.95 x 40,000
        (110_000, 108_001, 1),  # by more
        (119_999, 118_500, 1),
        (120_000, 118_500, 2),  # at block_after any overshoot will do
    ],
)
def test_much_retained_is_overshot_by_0_95_of_it_at_most_below_block_after(pending: int, end: int, count: int) -> None:
    rules = Rules.resolve({}, {"message_tokens": 100_000, "retain_tokens": 40_000})
    assert chunks_to_activate((50_000, end - 50_000), pending_tokens=pending, rules=rules) == count


@pytest.mark.parametrize(("last", "count"), [(100, 2), (101, 1)])
def test_where_little_is_retained_so_much_is_left_at_least(last: int, count: int) -> None:
    rules = Rules.resolve({}, {"message_tokens": 1_000, "retain_tokens": 200})
    assert chunks_to_activate((700, last), pending_tokens=1_000, rules=rules) == count


def test_at_the_threshold_the_chunks_are_activated_and_no_model_is_asked() -> None:
    assert next_step(state(29_999, 6_000, 6_000, 6_000, 6_000)) == STEP
    assert next_step(state(30_000, 6_000, 6_000, 6_000, 6_000)) == Activate(count=4)


def test_what_the_chunks_do_not_cover_is_observed_at_once() -> None:
    assert next_step(state(45_000, 6_000)) == Activate(count=1)
    assert next_step(state(39_000)) == Observe(want_tokens=33_000, force_closed=True)


@pytest.mark.parametrize(
    ("buffered", "step"),
    [
        ((999,), Wait(at_tokens=3_999)),
        ((1_000,), Activate(count=1)),
        ((6_000, 1_000), Activate(count=1)),
        ((999, 6_000), Wait(at_tokens=9_999)),  # the second one is to be retained
    ],
)
def test_a_cold_cache_activates_early_unless_it_covers_too_little(buffered: tuple[int, ...], step: object) -> None:
    found = state(sum(buffered) + 100, *buffered, requested=Request.ACTIVATE)
    assert next_step(found) == step


def test_who_asks_for_an_observation_gets_what_was_observed_ahead_too() -> None:
    assert next_step(state(8_000, 3_000, 3_000, requested=Request.OBSERVE)) == Activate(count=2)


@given(
    st.integers(0, 60_000),
    st.lists(st.integers(1, 9_000), max_size=8),
    st.sampled_from([None, *Request]),
    st.sampled_from([{}, {"nothing_safe": True}, {"no_boundary": True}]),
)
def test_a_wait_is_never_for_what_is_there_already(
    unbuffered: int, chunks: list[int], requested: Request | None, tried: dict[str, Any]
) -> None:
    found = state(unbuffered + sum(chunks), *chunks, requested=requested, **tried)
    step = next_step(found)
    if isinstance(step, Wait):
        assert step.at_tokens > found.pending_tokens
    if isinstance(step, Activate):
        assert 1 <= step.count <= len(chunks)
