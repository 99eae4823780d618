"""What of the log an observer is shown, and by which day relative dates are told."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kit.tokens import text_tokens
from app.memory.gates import judge_observation
from app.memory.log import render
from app.memory.model import Detail, Item, ObserverInput, Priority
from app.memory.observing import earlier_lines, new_observation
from app.memory.parsing import parse
from app.memory.spans import safe_span
from tests.memory.building import loaded, observation, reflection
from tests.memory.extractive.conversations import said

HIGH, LOW = Priority.HIGH, Priority.MEDIUM


def line(name: str, priority: Priority = LOW, *details: str) -> Item:
    return Item(text=f"Line {name} of the log.", priority=priority, details=tuple(Detail(text=d) for d in details))


def names(items: tuple[Item, ...]) -> str:
    return "".join(item.text.split()[1] for item in items)


LINE_TOKENS = text_tokens(render([line("A")]))


@pytest.mark.parametrize(
    ("marks", "lines", "kept"),
    [
        pytest.param("....", 4, "ABCD", id="all fit"),
        pytest.param("....", 3, "BCD", id="the newest"),
        pytest.param("....", 1, "D", id="one"),
        pytest.param("!...", 3, "ABCD", id="an important one beyond the budget"),
        pytest.param("!.!.", 1, "CD", id="the newest important ones up to twice the budget"),
        pytest.param("!!!!", 2, "ABCD", id="only important ones"),
        pytest.param("!!!!!", 2, "BCDE", id="important ones past twice the budget"),
        pytest.param("!!..", 0, "", id="no room"),
        pytest.param("", 9, "", id="no log"),
    ],
)
def test_an_observer_is_shown_the_newest_lines_and_the_important_ones(marks: str, lines: int, kept: str) -> None:
    items = [line(chr(65 + at), HIGH if mark == "!" else LOW) for at, mark in enumerate(marks)]
    assert names(earlier_lines(loaded(observation(1, *items)), lines * LINE_TOKENS)) == kept


def test_earlier_lines_stand_in_the_order_of_the_log_whatever_chunk_they_are_in() -> None:
    memory = loaded(observation(3, line("C"), line("D")), reflection(1, line("A"), level=2), reflection(2, line("B")))
    assert names(earlier_lines(memory, None)) == "ABCD"
    assert names(earlier_lines(memory, 2 * LINE_TOKENS)) == "CD"


def test_what_was_observed_ahead_is_shown_too_though_no_context_has_it() -> None:
    memory = replace(loaded(observation(1, line("A"))), buffered=(observation(2, line("B")), observation(3, line("C"))))
    assert names(earlier_lines(memory, None)) == "ABC"


def test_the_details_of_a_line_count_too() -> None:
    memory = loaded(observation(1, line("A", LOW, "more of it " * 40), line("B")))
    assert names(earlier_lines(memory, 4 * LINE_TOKENS)) == "B"


@given(
    st.lists(
        st.builds(
            Item,
            text=st.text("ab ", min_size=1, max_size=80),
            priority=st.sampled_from([HIGH, LOW]),
            details=st.lists(st.builds(Detail, text=st.text("ab ", max_size=40)), max_size=2).map(tuple),
        ),
        max_size=20,
    ),
    st.integers(1, 300),
)
def test_what_is_shown_is_bounded_and_a_selection_of_the_log(items: list[Item], budget: int) -> None:
    shown = earlier_lines(loaded(observation(1, *items)), budget)
    unimportant = [item for item in shown if item.priority is not HIGH]
    rest = iter(items)
    assert all(item in rest for item in shown)
    assert text_tokens(render(shown)) <= 2 * budget + len(shown)  # a line break counts once a line at most
    assert text_tokens(render(unimportant)) <= budget + len(unimportant)


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize(
    ("told", "task"),
    [
        pytest.param("", "Book a flight", id="nothing told: it stands"),
        pytest.param("<current-task>\nFind a hotel\n</current-task>", "Find a hotel", id="another one"),
        pytest.param("<current-task>\n(none)\n</current-task>", None, id="none any more"),
    ],
)
def test_a_task_stands_until_another_or_none_is_told(told: str, task: str | None, ahead: bool) -> None:
    span = safe_span([said("It is booked.")], want_tokens=100)
    assert span is not None
    parsed = parse(f"<observations>\n* The flight is booked.\n</observations>\n{told}")
    verdict = judge_observation(parsed, ObserverInput(messages=span.messages), tokens=span.tokens, cut_off=False)
    before = replace(loaded(), current_task="Book a flight")
    if ahead:
        newest = replace(observation(1), current_task="Book a flight")
        before = replace(before, current_task="Write a letter", buffered=(newest,))
    assert new_observation(before, span, verdict).current_task == task
