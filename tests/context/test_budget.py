import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.context.budget import effective, newest_within

SIZES = st.lists(st.integers(0, 50), max_size=20)


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
