"""What is condensed into what, and what the result covers."""

import pytest

from app.memory.model import Item, Observation, Reflection
from app.memory.policy import Consolidate, Reflect
from app.memory.reflecting import Sources, consolidate_sources, reflect_sources
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
