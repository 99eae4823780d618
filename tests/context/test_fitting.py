import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.context.draft import Tail
from app.context.fitting import (
    NoteLimits,
    Notes,
    TailStarts,
    effective,
    fitting_summary,
    fitting_tail,
    least_budgets,
    newest_within,
    tail_cut,
)
from app.sessions.model import Message, Role
from tests.context.building import assistant, call, log_of, message, result, text, tool, user

SIZES = st.lists(st.integers(0, 50), max_size=20)


@pytest.mark.parametrize(("budget", "left"), [(None, None), (301, 151), (300, 150), (10_000, 9_806)])
def test_a_summary_takes_half_the_budget_at_most(budget: int | None, left: int | None) -> None:
    [summary] = log_of(user("word " * 200))
    assert summary.tokens == 194
    fitted, rest = fitting_summary(summary, key="s1", budget=budget)
    assert rest == left
    assert (fitted == summary) is (budget in {None, 10_000})


@pytest.mark.parametrize(
    ("asked", "rule", "limit"),
    [(None, 10, 10), (None, None, None), (0, 10, None), (5, 10, 5), (20, 10, 20), (5, None, 5)],
)
def test_what_the_caller_asks_for_wins_and_0_is_no_limit(
    asked: int | None, rule: int | None, limit: int | None
) -> None:
    assert effective(asked, rule) == limit


@pytest.mark.parametrize(
    ("sizes", "tokens_max", "count_max", "kept"),
    [
        ([], 10, None, []),
        ([3, 3, 3], None, None, [0, 1, 2]),
        ([3, 3, 3], 9, None, [0, 1, 2]),
        ([3, 3, 3], 8, None, [1, 2]),
        ([3, 3, 3], 2, None, []),
        ([3, 3, 3], 0, None, []),
        ([3, 3, 3], None, 2, [1, 2]),
        ([3, 3, 3], 3, 2, [2]),
        ([1, 5, 2], 6, None, [2]),  # the first that does not fit ends it, though an older one would
        ([1, 99, 2], 6, None, [0, 2]),  # one that could never fit hides nothing
    ],
)
def test_the_newest_are_kept(sizes: list[int], tokens_max: int | None, count_max: int | None, kept: list[int]) -> None:
    assert newest_within(sizes, tokens_max=tokens_max, count_max=count_max) == kept


def test_the_newest_are_kept_of_what_others_leave_of_a_budget() -> None:
    """One that fits the budget and not what is left of it is no larger than any: it hides the older ones."""
    assert newest_within([300, 500], tokens_max=1_000, count_max=None, beside=600) == []
    assert newest_within([300, 500], tokens_max=1_000, count_max=None, beside=500) == [1]
    assert newest_within([300, 1_001], tokens_max=1_000, count_max=None, beside=600) == [0]


@pytest.mark.parametrize("budget", [None, 10_000])
def test_a_tail_of_which_only_the_newest_messages_were_read_begins_with_a_whole_group(budget: int | None) -> None:
    read = log_of(tool(result("c1")), tool(result("c2")), user("Hi"), assistant("Hello"))
    assert TailStarts.of(read, skipped_tokens=500).within(budget) == 2
    assert TailStarts.of(read[2:], skipped_tokens=0).within(budget) == 0


NOTES = Notes(reflections={"r1": 10, "r2": 20}, observations={"o1": 5, "o2": 30, "o3": 5})


@pytest.mark.parametrize(
    ("limits", "kept", "budgets"),
    [
        (NoteLimits(), "r1 r2 o1 o2 o3", {}),
        (NoteLimits(tokens=70), "r1 r2 o1 o2 o3", {}),
        (NoteLimits(reflections=1, observations=2), "r2 o2 o3", {"r1": None, "o1": None}),
        (NoteLimits(tokens=69), "r1 r2 o2 o3", {"o1": 70}),
        (NoteLimits(tokens=35), "r1 r2 o3", {"o2": 65, "o1": 70}),
        (NoteLimits(tokens=35, reflections=1), "r2 o3", {"r1": None, "o2": 55, "o1": 60}),
        (NoteLimits(tokens=35, reflections=3, observations=2), "r1 r2 o3", {"o2": 65, "o1": None}),
        (NoteLimits(tokens=30), "r1 r2", {"o3": 35, "o2": 65, "o1": 70}),
        (NoteLimits(tokens=25), "r2 o3", {"r1": 30, "o2": 65, "o1": 70}),
    ],
)
def test_observations_have_what_reflections_leave_of_the_budget(
    limits: NoteLimits, kept: str, budgets: dict[str, int | None]
) -> None:
    assert NOTES.within(limits) == {*kept.split()}
    assert NOTES.budgets(limits) == budgets


@given(sizes=SIZES, count_max=st.sampled_from([None, 0, 1, 2, 5]), above=st.integers(0, 80), beside=st.integers(0, 60))
def test_the_smallest_budget_that_keeps_an_item_is_found(
    sizes: list[int], count_max: int | None, above: int, beside: int
) -> None:
    budgets = range(above + 1, max(sum(sizes) + beside, above) + 2)
    kept = {budget: newest_within(sizes, tokens_max=budget, count_max=count_max, beside=beside) for budget in budgets}
    assert least_budgets(sizes, count_max=count_max, above=above, beside=beside) == [
        next((budget for budget in budgets if index in kept[budget]), None) for index in range(len(sizes))
    ]


@given(sizes=SIZES, tokens_max=st.integers(0, 200), count_max=st.integers(1, 10))
def test_what_is_kept_never_exceeds_its_limits(sizes: list[int], tokens_max: int, count_max: int) -> None:
    kept = newest_within(sizes, tokens_max=tokens_max, count_max=count_max)
    assert sum(sizes[index] for index in kept) <= tokens_max
    assert len(kept) <= count_max
    assert kept == sorted(set(kept))


@given(sizes=SIZES, tokens_max=st.integers(0, 200), more=st.integers(1, 50))
def test_a_larger_budget_never_shows_less(sizes: list[int], tokens_max: int, more: int) -> None:
    fitting = [size for size in sizes if size <= tokens_max]
    small = newest_within(fitting, tokens_max=tokens_max, count_max=None)
    large = newest_within(fitting, tokens_max=tokens_max + more, count_max=None)
    assert set(small) <= set(large)


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


def fitting(
    stored: tuple[Message, ...], incoming: tuple[Message, ...] = (), *, skipped_tokens: int = 0, budget: int | None
) -> Tail:
    tail = Tail(stored=stored, incoming=incoming)
    return fitting_tail(tail, TailStarts.of(tail.messages, skipped_tokens=skipped_tokens), key="s1", budget=budget)


def seqs(log: tuple[Message, ...]) -> list[int]:
    return [stored.seq for stored in log]


def test_a_tail_within_its_budget_is_shown_whole() -> None:
    log = log_of(user("a"), assistant("b"))
    assert fitting(log, budget=1_000).stored == log


def test_no_budget_shows_everything() -> None:
    log = log_of(*(user("word " * 500) for _ in range(50)))
    assert fitting(log, budget=None).stored == log


def test_the_start_moves_on_to_the_next_group() -> None:
    log = (
        message(1, Role.USER, text("old"), tokens=50),
        message(2, Role.ASSISTANT, call("c1"), tokens=10),
        message(3, Role.TOOL, result("c1"), tokens=40),
        message(4, Role.USER, text("new"), tokens=50),
    )
    tail = fitting(log, budget=100)  # 50 too many: at 50 tokens group 2 starts
    assert seqs(tail.stored) == [2, 3, 4]
    tail = fitting(log, budget=96)  # 54 too many, so 72: within the group
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
    assert seqs(fitting(log, budget=100).stored) == [5]


def test_results_whose_call_was_left_out_before_do_not_begin_a_cut_tail() -> None:
    log = (
        message(8, Role.TOOL, result("c1"), tokens=10),
        message(9, Role.TOOL, result("c2"), tokens=10),
        message(10, Role.USER, text("new"), tokens=10),
    )
    assert seqs(fitting(log, skipped_tokens=100, budget=100).stored) == [10]
    assert seqs(fitting(log[:2], skipped_tokens=100, budget=100).stored) == [8, 9]  # there is nothing else to show


def test_a_call_that_was_never_answered_does_not_hold_back_the_start() -> None:
    steps = (turn for n in range(20) for turn in (assistant(call(f"c{n}")), tool(result(f"c{n}", "y " * 100))))
    log = log_of(user("Go"), assistant(call("lost")), *steps)
    tail = fitting(log, budget=300)
    assert tail.stored[0].seq > 30
    assert not tail.cut


def test_the_newest_group_is_shown_even_alone_over_the_budget_with_its_messages_cut_evenly() -> None:
    log = log_of(
        user("old"),
        assistant(call("c1"), call("c2")),
        tool(result("c1", "first " * 2_000)),
        tool(result("c2", "second " * 2_000)),
    )
    tail = fitting(log, budget=500)
    assert seqs(tail.stored) == [2, 3, 4]
    assert tail.cut == {3, 4}
    assert tail.stored[0] == log[1]
    sizes = [stored.tokens for stored in tail.stored[1:]]
    assert max(sizes) - min(sizes) < 20
    assert 400 < sum(stored.tokens for stored in tail.stored) <= 500


def test_incoming_messages_count_like_stored_ones_and_are_told_apart() -> None:
    log = log_of(*(user("word " * 50) for _ in range(6)))
    tail = fitting(log[:4], log[4:], budget=200)
    whole = fitting(log, budget=200)
    assert (*tail.stored, *tail.incoming) == whole.stored
    assert tail.incoming == log[4:][-len(tail.incoming) :]


def test_an_incoming_group_over_the_budget_leaves_no_stored_message() -> None:
    log = log_of(user("old"), user("new"), assistant(call("c1")), tool(result("c1", "word " * 5_000)))
    tail = fitting(log[:1], log[1:], budget=100)
    assert (tail.stored, seqs(tail.incoming)) == ((), [3, 4])


def test_no_messages_make_no_tail() -> None:
    assert fitting((), budget=100).stored == ()
