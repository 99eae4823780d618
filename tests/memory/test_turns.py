"""Whose turn it is among the sessions that share a memory."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from app.memory.outcomes import Outcome
from app.memory.records import Conversation, Gap, Loaded
from app.memory.rules import Rules
from app.memory.steps import LiveReflection, NoteFacts, Observe, Rebuild, Request, Sizes
from app.memory.turns import about, in_turn, seen, state_of, tried
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


def test_a_step_is_about_the_memorys_own_session_where_no_other_shares_it() -> None:
    memory = loaded()
    assert in_turn(memory, {}) is memory
    assert about(NoteFacts(), memory) is memory


def test_where_nobody_waits_the_memory_stands_as_it_was_loaded() -> None:
    memory = shared(conversation(1, waits=False))
    assert in_turn(memory, {}) is memory


def test_the_first_of_what_was_erased_is_rebuilt_whosever_it_was() -> None:
    gaps = [Gap(session_id=id_of(at), session_key=f"s{at}", first=at, last=at) for at in (2, 1, 3)]
    one = about(Rebuild(), replace(shared(conversation(1)), rebuilding=tuple(gaps)))
    assert (one.session_id, one.session_key) == (id_of(2), "s2")


RULES = Rules.resolve({}, {})
SIZES = Sizes(
    observations=2,
    observation_tokens=30,
    buffered=(5, 6),
    reflections=(LiveReflection(level=1, tokens=7),),
    ahead=True,
)


def test_a_memory_is_told_to_policy_by_its_counters() -> None:
    state = state_of(replace(loaded(), pending_tokens=40, sizes=SIZES, unhelped_tokens=9, reflected_at=NOW), RULES)
    assert (state.rules, state.now, state.pending_tokens, state.unbuffered_tokens) == (RULES, NOW, 40, 29)
    assert (state.observations, state.observation_tokens, state.reflection_tokens, state.ahead) == (2, 30, 7, True)
    assert (state.reflected_at, state.unhelped_tokens) == (NOW, 9)


@pytest.mark.parametrize(
    ("standing", "told"),
    [
        ({}, set()),
        ({"attempts": 1}, {"failed"}),
        ({"unfinished": True}, {"unfinished"}),
        ({"rebuilding": (Gap(session_id=id_of(0), session_key="s", first=1, last=1),)}, {"rebuilding"}),
        ({"ended": True, "last_seq": 1, "resource_id": "r"}, {"to_note"}),
    ],
)
def test_a_memory_is_told_to_policy_by_what_has_become_of_it(standing: dict[str, Any], told: set[str]) -> None:
    state = state_of(replace(loaded(), **standing), RULES)
    names = {"failed", "unfinished", "rebuilding", "to_note", "nothing_safe", "no_boundary"}
    assert {name for name in names if getattr(state, name)} == told


def test_policy_is_told_what_was_tried_in_vain() -> None:
    nothing, no_boundary = (
        state_of(loaded(), RULES, tried=frozenset({one})) for one in (Outcome.NOTHING_SAFE, Outcome.NO_BOUNDARY)
    )
    assert (nothing.nothing_safe, nothing.no_boundary) == (True, False)
    assert (no_boundary.nothing_safe, no_boundary.no_boundary) == (False, True)


@pytest.mark.parametrize("activated", [False, True])
@pytest.mark.parametrize("requested", [None, *Request])
def test_a_cold_cache_asks_once_in_a_run_and_everybody_else_until_it_is_settled(
    requested: Request | None, activated: bool
) -> None:
    state = state_of(replace(loaded(), requested=requested), RULES, activated=activated)
    assert state.requested is (None if activated and requested is Request.ACTIVATE else requested)
