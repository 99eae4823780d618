"""What is observed again is observed with the memory as it was before it."""

from dataclasses import replace

import pytest

from app.memory.changing.rebuilding import as_before, left_of
from app.memory.ranges import Ranges
from app.memory.spans import safe_span
from tests.memory.building import loaded, observation, reflection, said


def test_no_later_note_and_no_later_task_is_in_view() -> None:
    early, late = (replace(observation(number), current_task=f"task {number}") for number in (2, 4))
    memory = replace(loaded(reflection(1), early, late, reflection(5)), current_task="task 4")
    before = as_before(memory, 25)
    assert (before.observations, before.reflections, before.buffered) == ((early,), (reflection(1),), ())
    assert (before.current_task, before.buffered_seq) == ("task 2", 24)


def test_a_task_that_only_a_later_note_told_is_not_in_view() -> None:
    memory = replace(loaded(reflection(1), observation(4)), current_task="task 4")
    assert as_before(memory, 25).current_task is None


@pytest.mark.parametrize(
    ("skipped", "limit", "left"),
    [
        pytest.param(set(), None, (), id="all of it"),
        pytest.param(set(), 20, ((3, 6),), id="as much as a call takes"),
        pytest.param({3, 4}, 20, ((5, 6),), id="from what can be observed on"),
        pytest.param({3, 4, 5, 6}, 20, (), id="nothing can be observed"),
    ],
)
def test_what_a_span_leaves_is_observed_next(skipped: set[int], limit: int | None, left: Ranges) -> None:
    messages = [said(seq, observe=seq not in skipped) for seq in range(1, 7)]
    span = safe_span(messages, want_tokens=1_000, limit_tokens=limit, force_closed=True)
    assert span is not None
    assert left_of(6, span, messages) == left


@pytest.mark.parametrize(("last", "left"), [(9, ((7, 9),)), (6, ())])
def test_what_one_look_does_not_read_is_observed_next(last: int, left: Ranges) -> None:
    messages = [said(seq) for seq in range(1, 7)]
    span = safe_span(messages, want_tokens=1_000, force_closed=True)
    assert span is not None
    assert left_of(last, span, messages) == left
