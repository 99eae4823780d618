"""Calls and results as providers take them, and never otherwise than a shorter log showed them."""

import pytest

from app.context.model import Turn
from app.context.rendering.pairing import Pairing
from app.sessions.model import Part, Role
from tests.context.building import assistant, call, result, system, text, tool, user
from tests.steps import steps

NONE = "(no result)"


def paired(*said: tuple[Role, tuple[Part, ...]]) -> list[tuple[Role, list[Part]]]:
    pairing = Pairing()
    turns = [Turn(id=str(n), role=role, parts=parts, tokens=0) for n, (role, parts) in enumerate(said)]
    return [(role, parts) for turn in turns for role, parts in pairing.said(turn)] + list(pairing.ending())


def shown(*said: tuple[Role, tuple[Part, ...]]) -> list[tuple[Role, list[Part]]]:
    return [(role, list(parts)) for role, parts in said]


def test_a_call_and_its_result_stay_as_they_are() -> None:
    said = (user("Find"), assistant("Looking.", call("c1"), call("c2")), tool(result("c1")), tool(result("c2")))
    assert paired(*said) == shown(*said)


def test_calls_sent_as_messages_of_their_own_wait_for_their_results_together() -> None:
    said = (assistant(call("c1")), assistant(call("c2")), tool(result("c1")), tool(result("c2")))
    assert paired(*said) == shown(*said)


def test_an_open_call_at_the_end_stays_open() -> None:
    said = (assistant(call("c1"), call("c2")), tool(result("c1")))
    assert paired(*said) == shown(*said)


def test_a_call_that_a_user_message_closed_is_given_no_result() -> None:
    said = (assistant(call("c1"), call("c2")), tool(result("c1")), user("Never mind"))
    assert paired(*said) == shown(*said[:2], tool(result("c2", NONE)), said[2])


def test_results_of_one_id_are_of_the_calls_of_the_newest_message_in_their_order() -> None:
    again = (assistant(call("c1")), assistant(call("c1")), tool(result("c1", "42")))
    assert paired(*again) == shown(again[0], assistant(call("c1_2")), tool(result("c1_2", "42")))
    at_once = (assistant(call("c1"), call("c1")), tool(result("c1", "1")), tool(result("c1", "2")))
    assert paired(*at_once) == shown(
        assistant(call("c1"), call("c1_2")), tool(result("c1", "1")), tool(result("c1_2", "2"))
    )


def test_a_result_without_an_id_answers_no_call_whose_id_a_newer_message_used_again() -> None:
    said = (assistant(call("c1")), assistant(call("c1")), tool(result("gemini:search:1", "42")))
    assert paired(*said) == shown(said[0], assistant(call("c1_2")), tool(result("c1_2", "42")))


def test_a_result_that_comes_too_late_is_text() -> None:
    said = (assistant(call("c1")), user("And?"), tool(result("c1", "42")))
    late = user("[result of tool call c1]\n42")
    assert paired(*said) == shown(said[0], tool(result("c1", NONE)), said[1], late)


def test_a_result_of_no_known_call_is_text() -> None:
    assert paired(tool(result("c9", {"hits": 3}))) == shown(user('[result of tool call c9]\n{"hits":3}'))


def test_what_the_assistant_says_after_a_call_closes_it_so_that_nothing_shown_ever_moves() -> None:
    said = (assistant(call("c1")), assistant("One moment."), tool(result("c1", "42")))
    late = user("[result of tool call c1]\n42")
    assert paired(*said) == shown(said[0], tool(result("c1", NONE)), said[1], late)


def test_a_second_call_after_the_first_result_closes_what_is_still_open() -> None:
    said = (assistant(call("c1"), call("c2")), tool(result("c1")), assistant(call("c3")))
    assert paired(*said) == shown(*said[:2], tool(result("c2", NONE)), said[2])


def test_a_call_whose_result_was_erased_is_closed_where_that_stood() -> None:
    said = (assistant(call("c1")), tool(), assistant(call("c2")), tool(result("c2")))
    assert paired(*said) == shown(said[0], tool(result("c1", NONE)), *said[2:])


def test_of_two_calls_the_one_whose_result_was_erased_is_closed_behind_the_other_s_result() -> None:
    for results in ((tool(), tool(result("c2"))), (tool(result("c2")), tool())):
        said = (assistant(call("c1"), call("c2")), *results)
        assert paired(*said) == shown(said[0], tool(result("c2")), tool(result("c1", NONE)))
        assert paired(*said, assistant("Done.")) == [*paired(*said), *shown(assistant("Done."))]


def test_all_calls_are_closed_whose_results_were_erased_with_one_message() -> None:
    said = (assistant(call("c1"), call("c2"), call("c3")), tool(result("c2")), tool())
    assert paired(*said) == shown(*said[:2], tool(result("c1", NONE), result("c3", NONE)))


def test_a_result_that_comes_after_an_erased_one_is_still_one() -> None:
    pairing = Pairing()
    said = (assistant(call("c1"), call("c2")), tool(), tool(result("c2")))
    turns = [Turn(id=str(n), role=role, parts=parts, tokens=0) for n, (role, parts) in enumerate(said)]
    stable = [each for turn in turns for each in pairing.said(turn)]
    assert stable == shown(said[0], said[2])
    assert list(pairing.ending()) == shown(tool(result("c1", NONE)))


def test_a_call_after_an_erased_result_closes_all_that_are_open() -> None:
    said = (assistant(call("c1"), call("c2")), tool(), assistant(call("c3")))
    assert paired(*said) == shown(said[0], tool(result("c1", NONE), result("c2", NONE)), said[2])


def test_what_a_user_says_is_no_erased_result_where_nothing_is_left_of_it() -> None:
    said = (assistant(call("c1"), call("c2")), user(), tool(result("c1")))
    assert paired(*said) == shown(said[0], said[2])


def test_an_erased_result_without_a_call_closes_none_of_the_next() -> None:
    assert paired(tool(), assistant(call("c1"))) == shown(assistant(call("c1")))


def test_words_among_more_calls_close_the_calls_before() -> None:
    said = (assistant(call("c1")), assistant("And", call("c2")))
    assert paired(*said) == shown(said[0], tool(result("c1", NONE)), said[1])


def test_an_erased_result_of_another_message_closes_none_of_the_next() -> None:
    said = (assistant(call("c1")), tool(), tool(), assistant(call("c2")))
    assert paired(*said) == shown(said[0], tool(result("c1", NONE)), said[3])


def test_a_system_message_closes_open_calls() -> None:
    said = (assistant(call("c1")), system("New policy."))
    assert paired(*said) == shown(said[0], tool(result("c1", NONE)), said[1])


def test_results_of_a_users_message_come_before_its_words() -> None:
    said = (assistant(call("c1")), user("Here:", result("c1")))
    assert paired(*said) == shown(said[0], tool(result("c1")), user("Here:"))


def test_a_providers_own_tool_call_is_answered_inside_the_assistants_message() -> None:
    said = (assistant("Searching.", call("c1"), result("c1", "hits"), "Found it."),)
    expected = (assistant("Searching.", call("c1")), tool(result("c1", "hits")), assistant("Found it."))
    assert paired(*said) == shown(*expected)


def test_an_id_used_again_gets_a_number_and_its_result_follows_it() -> None:
    said = (assistant(call("c1")), tool(result("c1", "a")), assistant(call("c1")), tool(result("c1", "b")))
    expected = (*said[:2], assistant(call("c1_2")), tool(result("c1_2", "b")))
    assert paired(*said) == shown(*expected)


def test_a_numbered_id_never_meets_one_that_is_there() -> None:
    calls = [part["id"] for _, parts in paired(assistant(call("c"), call("c_2"), call("c"))) for part in parts]
    assert calls == ["c", "c_2", "c_3"]


def test_blank_texts_say_nothing_and_close_nothing() -> None:
    said = (assistant(call("c1")), user(" \n"), assistant(text("")), tool(result("c1")))
    assert paired(*said) == shown(said[0], said[3])


@pytest.mark.parametrize("blank", [user(" "), user(), system("")])
def test_a_blank_at_the_end_closes_the_calls_before_it_until_their_results_come(
    blank: tuple[Role, tuple[Part, ...]],
) -> None:
    said = (assistant(call("c1"), call("c2")), tool(result("c1")), blank)
    assert paired(*said) == paired(*said, assistant(" ")) == shown(*said[:2], tool(result("c2", NONE)))
    assert paired(*said, tool(result("c2"))) == shown(*said[:2], tool(result("c2")))
    assert paired(assistant(call("c1")), assistant(" ")) == shown(assistant(call("c1")))


def test_a_result_without_an_id_answers_a_call_that_has_one() -> None:
    said = (assistant(call("c1"), call("c2")), tool(result("c2")), tool(result("gemini:search:1", 1)))
    assert paired(*said) == shown(*said[:2], tool(result("c1", 1)))


def test_results_without_ids_of_their_own_answer_the_calls_of_their_tool_in_order() -> None:
    said = (
        assistant(call("gemini:a:1"), call("gemini:b:1")),
        assistant(call("gemini:a:1")),
        tool(result("gemini:a:1", 1), result("gemini:a:2", 2), result("gemini:c:1", 3)),
        tool(result("gemini:b:1", 4)),
    )
    second = call("gemini:a:1") | {"id": "gemini:a:1_2"}
    assert paired(*said) == shown(
        said[0],
        assistant(second),
        tool(result("gemini:a:1", 1), result("gemini:a:1_2", 2)),
        tool(result("gemini:b:1", "(no result)")),
        user("[result of tool call gemini:c:1]\n3"),
        user("[result of tool call gemini:b:1]\n4"),
    )


@pytest.mark.parametrize("same", [False, True])
def test_ten_times_the_calls_take_no_hundred_times_as_much(*, same: bool) -> None:
    def work(calls: int) -> int:
        ids = ["c"] * calls if same else [f"c{number}" for number in range(calls)]
        turns = [assistant(*map(call, ids)), tool(*map(result, reversed(ids)))]
        (_, called), (_, told) = paired(*turns)
        assert len({part["id"] for part in called}) == len(told) == calls
        return steps(lambda: paired(*turns))

    assert work(1_000) < 15 * work(100)  # each result was looked for among all calls: some 100 times
