"""What is condensed into what, and what the result covers."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.memory.model import Item, Observation, Reflection
from app.memory.policy import Consolidate, Reflect
from app.memory.reflecting import Sources, consolidate_sources, merged, reflect_sources
from tests.memory.building import loaded, observation, reflection

LOG = loaded(reflection(1, level=2), reflection(2), observation(3), observation(4), observation(5))


def ids(chunks: tuple[Observation, ...] | tuple[Reflection, ...]) -> list[int]:
    return [chunk.id for chunk in chunks]


@pytest.mark.parametrize(
    ("keep", "condensed"), [(0, [3, 4, 5]), (99, [3, 4, 5]), (100, [3, 4]), (200, [3]), (300, [3])]
)
def test_the_oldest_observations_become_a_reflection_of_level_one(keep: int, condensed: list[int]) -> None:
    sources = reflect_sources(LOG, Reflect(keep_tokens=keep))
    assert (ids(sources.observations), ids(sources.reflections)) == (condensed, [])
    assert (sources.kind, sources.into_level, sources.limit_tokens) == ("reflect", 1, None)
    assert sources.tokens == 100 * len(condensed)


def test_a_rewrite_condenses_the_reflections_too() -> None:
    sources = reflect_sources(LOG, Reflect(keep_tokens=100, whole=True))
    assert (ids(sources.reflections), ids(sources.observations)) == ([1, 2], [3, 4])
    assert (sources.tokens, sources.into_level) == (400, 1)


@pytest.mark.parametrize(
    ("levels", "into", "condensed", "limit"),
    [
        ((1,), 2, [2, 3, 4], 300),
        ((1, 2), 2, [1, 2, 3, 4], 400),
        ((2,), 3, [1], None),  # one alone has only to become smaller
    ],
)
def test_reflections_become_one_no_larger_than_the_largest_of_them(
    levels: tuple[int, ...], into: int, condensed: list[int], limit: int | None
) -> None:
    memory = loaded(
        reflection(1, level=2, tokens=400),
        reflection(2, tokens=100),
        reflection(3, tokens=300),
        reflection(4, tokens=200),
        observation(5),
    )
    sources = consolidate_sources(memory, Consolidate(levels=levels, into_level=into))
    assert (ids(sources.reflections), ids(sources.observations)) == (condensed, [])
    assert (sources.kind, sources.into_level, sources.limit_tokens) == ("consolidate", into, limit)


def test_what_is_condensed_is_read_in_the_order_of_the_log() -> None:
    sources = Sources(
        kind="reflect",
        observations=(observation(2, Item(text="b")), observation(4, Item(text="d"), Item(text="e"))),
        reflections=(reflection(3, Item(text="c"), level=2), reflection(1, Item(text="a"))),
        into_level=1,
    )
    assert [item.text for item in sources.items] == list("abcde")
    assert sources.tokens == 400


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
