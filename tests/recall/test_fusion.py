from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.recall.fusion import FIRST, VECTORS_MAX, Likeness, Near, by_likeness, fused
from app.recall.model import Place
from app.recall.ranking import Ranked

SESSION = UUID(int=1)
RANKINGS = st.lists(st.integers(1, 30), unique=True, max_size=20).map(lambda seqs: [(SESSION, seq) for seq in seqs])


def scored(places: list[Place]) -> list[Ranked]:
    return [Ranked(place, 10.0 / (1 + rank)) for rank, place in enumerate(places)]


def order(by_words: list[Place], by_vectors: list[Place]) -> list[Place]:
    return [one.place for one in fused(scored(by_words), by_vectors)]


@given(RANKINGS, RANKINGS)
def test_what_either_has_found_is_there_once_best_first(by_words: list[Place], by_vectors: list[Place]) -> None:
    found = fused(scored(by_words), by_vectors)
    assert sorted(one.place for one in found) == sorted({*by_words, *by_vectors})
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


@given(RANKINGS, RANKINGS)
def test_the_scores_are_those_by_words_and_lower_ones_behind_them(
    by_words: list[Place], by_vectors: list[Place]
) -> None:
    words = scored(by_words)
    found = [one.score for one in fused(words, by_vectors)]
    assert found[: len(words)] == [one.score for one in words]
    assert all(0 < score < (found[len(words) - 1] if words else 1.0) for score in found[len(words) :])


@given(RANKINGS)
def test_one_ranking_alone_stays_as_it_is(ranking: list[Place]) -> None:
    assert order(ranking, []) == order([], ranking) == order(ranking, ranking) == ranking


@given(RANKINGS, RANKINGS)
def test_what_stands_first_in_both_comes_first(by_words: list[Place], by_vectors: list[Place]) -> None:
    best = SESSION, 99
    assert order([best, *by_words], [best, *by_vectors])[0] == best


@given(RANKINGS, RANKINGS)
def test_the_first_by_words_stay_the_first(by_words: list[Place], by_vectors: list[Place]) -> None:
    assert order(by_words, by_vectors)[: len(by_words[:FIRST])] == by_words[:FIRST]


def test_behind_them_what_both_have_stands_before_what_only_one_has() -> None:
    by_words = [(SESSION, seq) for seq in range(1, FIRST + 4)]
    both = by_words[-1]
    assert order(by_words, [both])[FIRST] == both
    assert order(by_words, [(SESSION, 99)])[FIRST] == by_words[FIRST]


def test_the_best_by_vectors_stands_before_what_is_far_behind_by_words() -> None:
    by_words = [(SESSION, seq) for seq in range(1, 60)]
    assert order(by_words, [(SESSION, 99)])[-1] == by_words[-1]


def test_a_place_by_words_counts_more_than_the_same_by_vectors() -> None:
    assert order([(SESSION, 1)], [(SESSION, 2)]) == [(SESSION, 1), (SESSION, 2)]


def test_a_message_is_as_like_as_its_neighbours_make_it_unless_a_pause_lies_between() -> None:
    cosines = {1: 0.9, 2: 0.5, 9: 0.55, 20: 0.1}
    together = {(SESSION, seq): Likeness(cosine, 1) for seq, cosine in cosines.items()}
    assert [seq for _, seq in by_likeness(together).places] == [1, 2, 9, 20]

    apart = together | {(SESSION, 2): Likeness(0.5, 2)}
    assert [seq for _, seq in by_likeness(apart).places] == [1, 9, 2, 20]
    assert by_likeness({}) == Near([])


@pytest.mark.parametrize(("distance", "order"), [(-3, [9, 50, 1]), (-2, [50, 9, 1]), (2, [50, 9, 1]), (3, [9, 50, 1])])
def test_two_messages_on_either_side_count_as_neighbours(distance: int, order: list[int]) -> None:
    cosines = {50 + distance: 0.9, 50: 0.5, 9: 0.55, 1: 0.1}
    found = by_likeness({(SESSION, seq): Likeness(cosine, 1) for seq, cosine in cosines.items()})
    assert [seq for _, seq in found.places] == [50 + distance, *order]


def test_no_more_places_by_vectors_count_than_change_something() -> None:
    found = by_likeness({(SESSION, 9 * seq): Likeness(seq / 1_000, 1) for seq in range(VECTORS_MAX + 1)})
    assert len(found.places) == VECTORS_MAX
    assert found.places[-1] == (SESSION, 9)


def test_a_message_beside_one_that_is_less_like_than_most_is_less_like_than_one_alone() -> None:
    cosines = {1: 0.9, 5: 0.5, 6: 0.1, 9: 0.5}
    found = by_likeness({(SESSION, seq): Likeness(cosine, 1) for seq, cosine in cosines.items()})
    assert [seq for _, seq in found.places] == [1, 9, 5, 6]


def test_what_is_of_the_time_that_is_named_comes_first_and_is_counted() -> None:
    cosines = {1: 0.9, 5: 0.5, 9: 0.1, 13: 0.7}
    found = by_likeness({(SESSION, seq): Likeness(cosine, 1, seq in {5, 9}) for seq, cosine in cosines.items()})
    assert found == Near([(SESSION, seq) for seq in (5, 9, 1, 13)], named=2)
