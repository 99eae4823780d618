"""Which call a result is of."""

from app.sessions.model import Part
from app.sessions.open_calls import OpenCalls


def call(call_id: str, name: str = "f") -> Part:
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": {}}


def result(call_id: str) -> Part:
    return {"type": "tool_result", "tool_call_id": call_id, "output": ""}


def waiting(*calls: Part, at_once: bool = False) -> OpenCalls[int]:
    """Holds of each call its place; each is a message of its own, or they are one message."""
    made: OpenCalls[int] = OpenCalls()
    for at, one in enumerate(calls):
        made.called(one, at, message=9 if at_once else at)
    return made


def test_a_call_is_answered_once() -> None:
    calls = waiting(call("a"), call("b"))
    assert [calls.answered(result("b")), calls.answered(result("b")), calls.answered(result("c"))] == [1, None, None]
    assert list(calls.held()) == [0]


def test_an_id_used_again_is_that_of_the_newest_message_s_call() -> None:
    calls = waiting(call("a"), call("a"))
    assert list(calls.held()) == [1]
    assert calls.answered(result("a")) == 1

    calls = waiting(call("a"), call("a"), at_once=True)
    calls.called(call("a"), 2, message=10)
    assert list(calls.held()) == [2]


def test_calls_of_one_message_that_share_an_id_are_answered_in_order() -> None:
    calls = waiting(call("a"), call("a"), at_once=True)
    assert [calls.answered(result("a")) for _ in range(3)] == [0, 1, None]


def test_calls_without_an_id_are_answered_by_tool_and_then_in_order() -> None:
    calls = waiting(call("gemini:f:1"), call("gemini:f:2"), call("gemini:f:1"), call("gemini:g:1", "g"))
    asked = ("gemini:f:2", "gemini:g:2", "gemini:f:1", "gemini:f:1", "gemini:f:1")
    assert [calls.answered(result(one)) for one in asked] == [1, 3, 0, 2, None]


def test_a_result_without_an_id_answers_a_call_that_has_one() -> None:
    calls = waiting(call("a", "g"), call("b", "f:x"), call("c"))
    assert [calls.answered(result(one)) for one in ("gemini:f:x:1", "gemini:f:1")] == [1, 2]


def test_no_call_waits_any_more_once_all_are_closed() -> None:
    calls = waiting(call("a"), call("gemini:f:1"))
    calls.clear()
    assert [calls.answered(result(one)) for one in ("a", "gemini:f:1")] == [None, None]
    assert not list(calls.held())
