import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.context.tail import fitting_tail, tail_cut
from app.sessions.model import Role
from tests.context.building import assistant, call, log_of, message, result, text, tool, user


@pytest.mark.parametrize(
    ("tail_tokens", "budget", "cut"),
    [
        (0, 100, 0),
        (100, 100, 0),
        (101, 100, 25),
        (125, 100, 25),
        (126, 100, 50),
        (1_000, 100, 900),
        (1_000, None, 0),
        (5, 3, 2),  # a budget too small for quarters is cut by single tokens
    ],
)
def test_the_start_moves_by_quarters_of_the_budget(tail_tokens: int, budget: int | None, cut: int) -> None:
    assert tail_cut(tail_tokens, budget) == cut


@given(tail_tokens=st.integers(0, 100_000), budget=st.integers(1, 50_000))
def test_the_cut_is_the_smallest_that_makes_the_tail_fit(tail_tokens: int, budget: int) -> None:
    cut, quarter = tail_cut(tail_tokens, budget), max(budget // 4, 1)
    assert cut % quarter == 0
    assert tail_tokens - cut <= budget
    assert cut == 0 or tail_tokens - (cut - quarter) > budget


def seqs(log: tuple[object, ...]) -> list[int]:
    return [stored.seq for stored in log]  # type: ignore[attr-defined]  # messages, of any tail


def test_a_tail_within_its_budget_is_shown_whole() -> None:
    log = log_of(user("a"), assistant("b"))
    assert fitting_tail(log, (), skipped_tokens=0, budget=1_000).stored == log


def test_no_budget_shows_everything() -> None:
    log = log_of(*(user("word " * 500) for _ in range(50)))
    assert fitting_tail(log, (), skipped_tokens=0, budget=None).stored == log


def test_the_start_moves_on_to_the_next_group() -> None:
    log = (
        message(1, Role.USER, text("old"), tokens=50),
        message(2, Role.ASSISTANT, call("c1"), tokens=10),
        message(3, Role.TOOL, result("c1"), tokens=40),
        message(4, Role.USER, text("new"), tokens=50),
    )
    tail = fitting_tail(log, (), skipped_tokens=0, budget=100)  # 50 too many: at 50 tokens group 2 starts
    assert seqs(tail.stored) == [2, 3, 4]
    tail = fitting_tail(log, (), skipped_tokens=0, budget=96)  # 54 too many, so 72: within the group
    assert seqs(tail.stored) == [4]
    assert seqs(tail.dropped) == [1, 2, 3]


def test_calls_sent_apart_and_answered_together_are_one_group() -> None:
    log = (
        message(1, Role.ASSISTANT, call("c1"), tokens=30),
        message(2, Role.ASSISTANT, call("c2"), tokens=30),
        message(3, Role.TOOL, result("c1"), tokens=20),
        message(4, Role.TOOL, result("c2"), tokens=20),
        message(5, Role.USER, text("new"), tokens=10),
    )
    assert seqs(fitting_tail(log, (), skipped_tokens=0, budget=100).stored) == [5]


def test_results_whose_call_was_left_out_before_do_not_begin_a_cut_tail() -> None:
    log = (
        message(8, Role.TOOL, result("c1"), tokens=10),
        message(9, Role.TOOL, result("c2"), tokens=10),
        message(10, Role.USER, text("new"), tokens=10),
    )
    assert seqs(fitting_tail(log, (), skipped_tokens=100, budget=100).stored) == [10]


def test_a_call_that_was_never_answered_does_not_hold_back_the_start() -> None:
    steps = (turn for n in range(20) for turn in (assistant(call(f"c{n}")), tool(result(f"c{n}", "y " * 100))))
    log = log_of(user("Go"), assistant(call("lost")), *steps)
    tail = fitting_tail(log, (), skipped_tokens=0, budget=300)
    assert tail.stored[0].seq > 30
    assert not tail.cut


def test_the_newest_group_is_shown_even_alone_over_the_budget_with_its_messages_cut_evenly() -> None:
    log = log_of(
        user("old"),
        assistant(call("c1"), call("c2")),
        tool(result("c1", "first " * 2_000)),
        tool(result("c2", "second " * 2_000)),
    )
    tail = fitting_tail(log, (), skipped_tokens=0, budget=500)
    assert seqs(tail.stored) == [2, 3, 4]
    assert tail.cut == {3, 4}
    assert tail.stored[0] == log[1]
    sizes = [stored.tokens for stored in tail.stored[1:]]
    assert max(sizes) - min(sizes) < 20
    assert 400 < sum(stored.tokens for stored in tail.stored) <= 500


def test_incoming_messages_count_like_stored_ones_and_are_told_apart() -> None:
    log = log_of(*(user("word " * 50) for _ in range(6)))
    tail = fitting_tail(log[:4], log[4:], skipped_tokens=0, budget=200)
    whole = fitting_tail(log, (), skipped_tokens=0, budget=200)
    assert (*tail.stored, *tail.incoming) == whole.stored
    assert tail.incoming == log[4:][-len(tail.incoming) :]


def test_an_incoming_group_over_the_budget_leaves_no_stored_message() -> None:
    log = log_of(user("old"), user("word " * 5_000))
    tail = fitting_tail(log[:1], log[1:], skipped_tokens=0, budget=100)
    assert tail.stored == ()
    assert [stored.seq for stored in tail.incoming] == [2]


def test_no_messages_make_no_tail() -> None:
    assert fitting_tail((), (), skipped_tokens=0, budget=100).stored == ()
