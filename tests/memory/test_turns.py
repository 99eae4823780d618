"""Whose turn it is among the sessions that share a memory."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from app.memory.outcomes import Outcome
from app.memory.records import Conversation, Loaded
from app.memory.steps import NoteFacts, Observe
from app.memory.turns import about, in_turn, seen, tried
from tests.memory.building import NOW, loaded


def id_of(number: int) -> UUID:
    return UUID(int=1_000 + number)


def conversation(number: int, *, waits: bool = True, ended: bool = False) -> Conversation:
    return Conversation(
        session_id=id_of(number),
        session_key=f"s{number}",
        last_seq=10,
        observed_seq=2,
        buffered_seq=2,
        facts_seq=0,
        ended=ended,
        waits=waits,
    )


def shared(*conversations: Conversation) -> Loaded:
    """A memory as it was loaded, the session that has waited longest first."""
    return replace(loaded(), session_id=id_of(0), session_key="any", conversations=conversations)


def test_the_session_that_waited_longest_has_the_turn() -> None:
    one = in_turn(shared(conversation(1, waits=False), conversation(2), conversation(3)), {})
    assert (one.session_key, one.last_seq, one.observed_seq) == ("s2", 10, 2)


def test_who_had_no_safe_span_is_passed_by_until_something_comes() -> None:
    memory = shared(conversation(1), conversation(2))
    first = in_turn(memory, {})
    looked = {(first.session_id, Outcome.NOTHING_SAFE): seen(first)}
    assert in_turn(memory, looked).session_key == "s2"
    grown = shared(replace(conversation(1), last_seq=11), conversation(2))
    assert in_turn(grown, looked).session_key == "s1"
    asked = replace(memory, requested_at=NOW + timedelta(seconds=1))
    assert in_turn(asked, looked).session_key == "s1"


def test_who_had_no_end_of_a_topic_stands_behind_those_that_were_not_looked_through() -> None:
    memory = shared(conversation(1), conversation(2))
    looked = {(id_of(1), Outcome.NO_BOUNDARY): (10, None)}
    assert in_turn(memory, looked).session_key == "s2"
    looked[id_of(2), Outcome.NO_BOUNDARY] = (10, None)
    assert in_turn(memory, looked).session_key == "s1"
    looked[id_of(1), Outcome.NOTHING_SAFE] = (10, None)
    assert in_turn(memory, looked).session_key == "s2"


def test_where_nobody_has_a_safe_span_it_is_known_of_who_waited_longest() -> None:
    memory = shared(conversation(1), conversation(2))
    looked = {(id_of(number), Outcome.NOTHING_SAFE): (10, None) for number in (1, 2)}
    one = in_turn(memory, looked)
    assert (one.session_key, tried(one, looked)) == ("s1", frozenset({Outcome.NOTHING_SAFE}))


def test_facts_are_taken_from_one_that_has_ended_whoevers_turn_it_is_to_be_observed() -> None:
    memory = in_turn(shared(conversation(1), conversation(2, waits=False, ended=True)), {})
    assert about(NoteFacts(), memory).session_key == "s2"
    assert about(Observe(want_tokens=1, force_closed=False), memory) is memory
