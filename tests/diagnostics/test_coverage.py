"""The coverage map: every seq in exactly one interval, and gaps exactly where nothing stands for it."""

import sys
from itertools import pairwise
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.diagnostics.coverage import Coverage, Covered, coverage

Piece: TypeAlias = tuple[int, int, str]


def chunk(by: str, first: int, last: int, *covers: tuple[int, int]) -> Covered:
    return Covered(first=first, last=last, by=by, covers=covers or ((first, last),))


def pieces(found: Coverage) -> list[Piece]:
    return [(interval.first, interval.last, interval.by) for interval in found.intervals]


@pytest.mark.parametrize(
    ("chunks", "derived_seq", "last_seq", "expected"),
    [
        pytest.param([], 0, 0, [], id="nothing said"),
        pytest.param([], 0, 3, [(1, 3, "tail")], id="nothing derived"),
        pytest.param([chunk("observation:1", 1, 3)], 3, 3, [(1, 3, "observation:1")], id="no tail"),
        pytest.param(
            [chunk("observation:1", 1, 3)], 3, 4, [(1, 3, "observation:1"), (4, 4, "tail")], id="one in the tail"
        ),
        pytest.param(
            [chunk("observation:2", 3, 4), chunk("reflection:1", 1, 2), chunk("buffered:3", 5, 6)],
            6,
            9,
            [(1, 2, "reflection:1"), (3, 4, "observation:2"), (5, 6, "buffered:3"), (7, 9, "tail")],
            id="in the order of the log",
        ),
        pytest.param(
            [chunk("observation:1", 1, 6, (2, 3), (5, 5))],
            6,
            6,
            [(1, 1, "skip"), (2, 3, "observation:1"), (4, 4, "skip"), (5, 5, "observation:1"), (6, 6, "skip")],
            id="what was skipped",
        ),
        pytest.param(
            [chunk("observation:1", 1, 2, (1, 1)), chunk("observation:2", 3, 4, (4, 4))],
            4,
            4,
            [(1, 1, "observation:1"), (2, 3, "skip"), (4, 4, "observation:2")],
            id="neighbouring skips as one",
        ),
        pytest.param(
            [chunk("reflection:1", 1, 4, (1, 2), (3, 4))], 4, 4, [(1, 4, "reflection:1")], id="joined where it goes on"
        ),
        pytest.param(
            [chunk("reflection:1", 1, 6, (1, 2), (5, 6)), chunk("deleted", 3, 4)],
            6,
            6,
            [(1, 2, "reflection:1"), (3, 4, "deleted"), (5, 6, "reflection:1")],
            id="what was deleted before its neighbours were condensed",
        ),
        pytest.param(
            [chunk("deleted", 3, 4, (3, 3)), chunk("reflection:1", 1, 6, (1, 1), (6, 6)), chunk("deleted", 7, 7)],
            7,
            7,
            [
                (1, 1, "reflection:1"),
                (2, 2, "skip"),
                (3, 3, "deleted"),
                (4, 5, "skip"),
                (6, 6, "reflection:1"),
                (7, 7, "deleted"),
            ],
            id="what was skipped beside what was deleted",
        ),
    ],
)
def test_each_message_stands_under_what_remembers_it(
    chunks: list[Covered], derived_seq: int, last_seq: int, expected: list[Piece]
) -> None:
    found = coverage(chunks, derived_seq=derived_seq, last_seq=last_seq)
    assert pieces(found) == expected
    assert found.gaps == ()


@pytest.mark.parametrize(
    ("chunks", "derived_seq", "last_seq", "gaps"),
    [
        pytest.param([], 3, 3, ((1, 3),), id="nothing stands for what was derived"),
        pytest.param([], 3, 5, ((1, 3),), id="before the tail"),
        pytest.param([chunk("observation:1", 2, 3)], 3, 3, ((1, 1),), id="at the start"),
        pytest.param([chunk("observation:1", 1, 2)], 4, 4, ((3, 4),), id="at the end"),
        pytest.param(
            [chunk("observation:1", 1, 2), chunk("observation:2", 5, 6)], 6, 6, ((3, 4),), id="between two chunks"
        ),
        pytest.param(
            [chunk("observation:1", 2, 2), chunk("observation:2", 4, 4)], 5, 6, ((1, 1), (3, 3), (5, 5)), id="several"
        ),
    ],
)
def test_what_nothing_stands_for_is_a_gap(
    chunks: list[Covered], derived_seq: int, last_seq: int, gaps: tuple[tuple[int, int], ...]
) -> None:
    assert coverage(chunks, derived_seq=derived_seq, last_seq=last_seq).gaps == gaps


MARKS = "oOrs."  # two observations, a reflection, skipped, nothing


def chunks_of(marks: str) -> list[Covered]:
    """A derived log written as one mark a message; a run of one mark is one chunk, a skip belongs to a chunk alone."""
    found: list[Covered] = []
    for seq, mark in enumerate(marks, start=1):
        if mark == "s":
            found.append(Covered(first=seq, last=seq, by="none", covers=()))
        elif mark != ".":
            found.append(chunk(f"chunk:{mark}", seq, seq))
    return found


@given(st.text(MARKS, max_size=40), st.integers(0, 10), st.randoms(use_true_random=False))
def test_intervals_and_gaps_partition_the_log(marks: str, tail: int, order: object) -> None:
    chunks = chunks_of(marks)
    order.shuffle(chunks)  # type: ignore[attr-defined] # a random.Random
    derived, last = len(marks), len(marks) + tail
    found = coverage(chunks, derived_seq=derived, last_seq=last)

    owner = {seq: by for first, last_of, by in pieces(found) for seq in range(first, last_of + 1)}
    expected = {"s": "skip"} | {mark: f"chunk:{mark}" for mark in "oOr"}
    assert {seq: owner.get(seq) for seq in range(1, last + 1)} == {
        seq: expected.get(mark) for seq, mark in enumerate(marks, start=1)
    } | dict.fromkeys(range(derived + 1, last + 1), "tail")
    assert [seq for first, last_of in found.gaps for seq in range(first, last_of + 1)] == [
        seq for seq, mark in enumerate(marks, start=1) if mark == "."
    ]


@given(st.text(MARKS.replace(".", ""), max_size=40), st.integers(0, 10))
def test_intervals_of_a_sound_memory_are_contiguous_and_no_two_neighbours_are_alike(marks: str, tail: int) -> None:
    found = coverage(chunks_of(marks), derived_seq=len(marks), last_seq=len(marks) + tail)
    intervals = pieces(found)
    assert found.gaps == ()
    assert all(one[1] + 1 == next_one[0] for one, next_one in pairwise(intervals))
    assert all(one[2] != next_one[2] for one, next_one in pairwise(intervals))
    assert (intervals[0][0], intervals[-1][1]) == (1, len(marks) + tail) if intervals else not marks + "." * tail


@pytest.mark.parametrize(
    ("chunks", "erased", "expected"),
    [
        pytest.param(
            [chunk("observation:1", 1, 4)],
            [2],
            [(1, 1, "observation:1"), (2, 2, "erased"), (3, 4, "observation:1"), (5, 6, "tail")],
            id="within a note",
        ),
        pytest.param([chunk("deleted", 1, 4)], [1, 2, 3, 4], [(1, 4, "erased"), (5, 6, "tail")], id="all of a note"),
        pytest.param(
            [], [4, 5], [(1, 3, "skip"), (4, 5, "erased"), (6, 6, "tail")], id="over the end of what is noted"
        ),
        pytest.param(
            [chunk("rebuilding", 3, 4)],
            [2],
            [(1, 1, "skip"), (2, 2, "erased"), (3, 4, "rebuilding"), (5, 6, "tail")],
            id="where the notes went with their ranges",
        ),
    ],
)
def test_what_was_erased_is_told_whatever_covered_it(
    chunks: list[Covered], erased: list[int], expected: list[Piece]
) -> None:
    found = coverage(chunks, derived_seq=4, last_seq=6, erased=erased)
    assert pieces(found) == expected
    assert found.gaps == ()


@given(st.text(MARKS, max_size=40), st.integers(0, 10), st.sets(st.integers(1, 50), min_size=1))
def test_what_was_erased_is_cut_out_wherever_it_lay(marks: str, tail: int, erased: set[int]) -> None:
    derived, last = len(marks), len(marks) + tail
    gone = sorted(seq for seq in erased if seq <= last)
    found = coverage(chunks_of(marks), derived_seq=derived, last_seq=last, erased=gone, blanked=True)
    owner = {seq: by for first, last_of, by in pieces(found) for seq in range(first, last_of + 1)}
    expected = {mark: f"chunk:{mark}" for mark in "oOr"}
    assert owner == (
        {seq: expected.get(mark, "skip") for seq, mark in enumerate(marks, start=1)}
        | dict.fromkeys(range(derived + 1, last + 1), "tail")
        | dict.fromkeys(gone, "erased")
    )
    assert all(one[1] + 1 == next_one[0] and one[2] != next_one[2] for one, next_one in pairwise(pieces(found)))


def test_twice_as_many_erased_messages_are_twice_the_work() -> None:
    def calls(last_seq: int) -> int:
        made = 0

        def count(_frame: object, event: str, _argument: object) -> None:
            nonlocal made
            made += event == "call"

        sys.setprofile(count)
        coverage(
            [chunk("reflection:1", 1, last_seq)],
            derived_seq=last_seq,
            last_seq=last_seq,
            erased=range(1, last_seq, 2),
        )
        sys.setprofile(None)
        return made

    assert calls(800) < 2.2 * calls(400)
