from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.memory.ranges import merged, ranges


def test_seqs_are_told_as_ranges() -> None:
    assert ranges([1, 2, 3, 7, 9, 10]) == ((1, 3), (7, 7), (9, 10))


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([], ()),
        ([(5, 6), (1, 2)], ((1, 2), (5, 6))),
        ([(1, 2), (3, 4)], ((1, 4),)),
        ([(1, 2), (4, 5)], ((1, 2), (4, 5))),
        ([(1, 5), (2, 3)], ((1, 5),)),
        ([(1, 3), (3, 7), (9, 9)], ((1, 7), (9, 9))),
    ],
)
def test_ranges_are_told_in_order_and_neighbours_as_one(
    pairs: list[tuple[int, int]], expected: tuple[tuple[int, int], ...]
) -> None:
    assert merged(pairs) == expected


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(0, 8)).map(lambda pair: (pair[0], sum(pair))), max_size=12))
def test_merged_ranges_cover_the_same_seqs_and_never_touch(pairs: list[tuple[int, int]]) -> None:
    found = merged(pairs)
    covered = [seq for first, last in found for seq in range(first, last + 1)]
    assert covered == sorted({seq for first, last in pairs for seq in range(first, last + 1)})
    assert all(one[1] + 1 < two[0] for one, two in pairwise(found))
