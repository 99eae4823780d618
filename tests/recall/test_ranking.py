from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from app.recall.model import Indexed, Scope, Span
from app.recall.ranking import NEAR_MAX, plain_scores, ranked
from app.recall.tokens import query_terms, terms
from app.sessions.model import Role

SESSION, OTHER = UUID(int=1), UUID(int=2)
BEGIN = datetime(2026, 5, 1, tzinfo=UTC)
FILLER = "the weather stays as it was"
SAID = st.sampled_from(["bakery", "bakery river", "river boat", "boat boat", FILLER])
TALKS = st.lists(SAID, min_size=1, max_size=12)


def rows(query: str, *said: str, session: UUID = SESSION) -> list[Indexed]:
    """A message a minute, each with what it has of the query."""
    counted = [terms(text) for text in said]
    return [
        Indexed(
            session=session,
            seq=seq,
            segment=1,
            length=counts.total(),
            role=Role.USER,
            created_at=BEGIN + timedelta(minutes=seq),
            counts={
                word: count
                for word, alternatives in enumerate(query_terms(query))
                if (count := sum(counts[term] for term in alternatives))
            },
        )
        for seq, counts in enumerate(counted, start=1)
    ]


def scope_of(query: str, found: Sequence[Indexed]) -> Scope:
    having = Counter(word for row in found for word in row.counts)
    return Scope(
        messages=len(found),
        length=sum(row.length for row in found),
        segments=len({(row.session, row.segment) for row in found}),
        having=[having[word] for word in range(len(query_terms(query)))],
    )


def order(query: str, found: Sequence[Indexed], *, named: Span | None = None, meant: Role | None = None) -> list[int]:
    """The seqs that are found, best first."""
    best = ranked(query_terms(query), found, scope_of(query, found), named=named, meant=meant)
    return [one.place[1] for one in best]


@given(TALKS)
def test_only_what_matches_or_stands_near_a_match_is_found_each_once(talk: list[str]) -> None:
    found = rows("bakery", *talk)
    matching = [row.seq for row in found if row.counts]
    near = {row.seq for row in found if any(abs(row.seq - seq) <= NEAR_MAX for seq in matching)}
    assert sorted(order("bakery", found)) == sorted(near)


@given(TALKS, st.randoms())
def test_the_order_is_that_of_the_scores_whatever_order_the_rows_come_in(talk: list[str], random: Random) -> None:
    found = rows("bakery river", *talk)
    shuffled = list(found)
    random.shuffle(shuffled)
    best = ranked(query_terms("bakery river"), shuffled, scope_of("bakery river", found))
    assert [one.place[1] for one in best] == order("bakery river", found)
    assert [one.score for one in best] == sorted((one.score for one in best), reverse=True)


@given(TALKS)
def test_a_message_with_both_words_comes_before_the_same_place_with_one(talk: list[str]) -> None:
    query = "bakery river"
    with_one = rows(query, *talk, *[FILLER] * 3, "bakery")
    with_both = rows(query, *talk, *[FILLER] * 3, "bakery river")
    scope = scope_of(query, with_both)
    last = with_both[-1].place
    scores = [
        next(one.score for one in ranked(query_terms(query), some, scope) if one.place == last)
        for some in (with_one, with_both)
    ]
    assert scores[0] < scores[1]


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    talk = ["bakery", *[FILLER] * 5, "river", *[FILLER] * 5, "river", *[FILLER] * 5, "river"]
    assert order("bakery river", rows("bakery river", *talk))[0] == 1


def test_of_equals_the_newest_comes_first() -> None:
    talk = ["bakery", *[FILLER] * 4, "bakery", *[FILLER] * 4]
    assert order("bakery", rows("bakery", *talk))[0] == 6


def test_what_its_neighbours_say_counts_for_a_message() -> None:
    talk = [FILLER, "bakery", "river", FILLER, FILLER, FILLER, "bakery", FILLER, FILLER]
    assert order("bakery river", rows("bakery river", *talk)).index(2) < order(
        "bakery river", rows("bakery river", *talk)
    ).index(7)


def test_a_neighbour_beyond_a_pause_or_in_another_session_does_not_count() -> None:
    together = rows("bakery", "bakery", FILLER)
    assert order("bakery", together) == [1, 2]
    assert order("bakery", [together[0], replace(together[1], segment=2)]) == [1]
    assert order("bakery", [together[0], replace(together[1], session=OTHER)]) == [1]


def test_the_word_of_whom_a_query_names_comes_first_and_the_name_is_no_word_of_it() -> None:
    ana, ben = rows("Ben bakery", "Ben: bakery", "bakery")
    found = [replace(ana, speaker="Ana"), replace(ben, speaker="Ben")]
    assert order("Ben bakery", found) == [2, 1]
    ben, ana = rows("Ben", "Ben: bakery", "Ben: bakery")
    found = [replace(ben, speaker="Ben"), replace(ana, speaker="Ana")]
    assert order("Ben", found) == [1, 2]  # where it is all that is asked


def test_the_word_of_the_role_that_is_meant_comes_first_where_it_says_something() -> None:
    talk = rows("bakery", "bakery", *[FILLER] * 4, "bakery", FILLER)
    found = [replace(row, role=Role.ASSISTANT) if row.seq == 6 else row for row in talk]
    assert order("bakery", found)[0] == 6
    assert order("bakery", found, meant=Role.USER)[0] == 1


def test_what_the_assistant_repeats_counts_less_than_the_users_own_word_where_that_is_meant() -> None:
    talk = rows("bakery", FILLER, "bakery", *[FILLER] * 4, FILLER, "bakery")
    found = [replace(row, role=Role.ASSISTANT) if row.seq == 8 else row for row in talk]
    assert order("bakery", found).index(7) < order("bakery", found).index(1)  # of equals the newest
    assert order("bakery", found, meant=Role.USER).index(1) < order("bakery", found, meant=Role.USER).index(7)


def test_a_long_message_lifts_what_stands_beside_it_less_than_a_short_one() -> None:
    talk = [FILLER, f"bakery {FILLER * 20}", *[FILLER] * 4, "bakery", FILLER]
    found = rows("bakery", *talk)
    assert order("bakery", found).index(8) < order("bakery", found).index(1)


def test_a_word_of_the_asking_counts_less_than_one_that_is_looked_for() -> None:
    query = "suggestions for the bakery"
    talk = ["bakery", *[FILLER] * 4, "suggestions", *[FILLER] * 4]
    assert order(query, rows(query, *talk))[0] == 1
    assert plain_scores(query_terms(query), ["suggestions", "bakery"])[0] > 0  # it is not left out


def test_kin_of_a_word_counts_for_a_message_that_has_not_the_word_and_less() -> None:
    kin = Counter({1: 1})  # behind the one word of the query
    literal, similar, both = (
        replace(row, counts=counts)
        for row, counts in zip(rows("bakery", *["bakery"] * 3), ({0: 1}, kin, {0: 1} | kin), strict=True)
    )
    apart = [replace(row, segment=row.seq) for row in (literal, similar, both)]
    best = ranked(query_terms("bakery"), apart, replace(scope_of("bakery", apart), segments=3, having=[2]))
    scores = {one.place[1]: one.score for one in best}
    assert 0 < scores[2] < scores[1] == scores[3]


def test_what_was_said_at_the_time_that_is_named_comes_first_and_shuts_out_nothing() -> None:
    found = rows("bakery", "bakery", *[FILLER] * 4, "bakery")
    named = Span(until=BEGIN + timedelta(minutes=3))
    assert order("bakery", found, named=named)[0] == 1
    assert set(order("bakery", found, named=named)) == set(order("bakery", found))


@given(TALKS)
def test_a_text_alone_scores_over_nothing_exactly_if_it_has_a_word_of_the_query(talk: list[str]) -> None:
    scores = plain_scores(query_terms("bakery boat"), talk)
    assert [score > 0 for score in scores] == [bool({"bakeri", "boat"} & terms(text).keys()) for text in talk]


def test_a_word_that_more_messages_have_than_were_counted_counts_little() -> None:
    """As when the last of them expired between the two statements that count."""
    found = rows("tea", "I like tea", "tea again", "tea it is")
    counted = replace(scope_of("tea", found), messages=1, length=3)
    assert all(0 < one.score < 1 for one in ranked(query_terms("tea"), found, counted))


def test_nothing_is_ranked_where_there_is_nothing() -> None:
    assert ranked([], [], Scope(messages=0, length=0, segments=0, having=[])) == []
    assert plain_scores(query_terms("bakery"), []) == []
