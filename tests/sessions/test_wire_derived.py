"""What follows from a message: hash, trust, visibility to the memory."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.sessions.model import Kind, Role, Trust
from app.sessions.wire import content_hash, default_trust, normalise, observable

PART = st.dictionaries(st.text(max_size=3), st.integers(0, 3) | st.text(max_size=3), max_size=3)
CONTENT = st.tuples(st.sampled_from(Role), st.none() | st.text(max_size=3), st.lists(PART, max_size=3))


@given(CONTENT, CONTENT)
def test_the_hash_is_equal_exactly_for_equal_content(
    one: tuple[Role, str | None, list[dict[str, int | str]]], other: tuple[Role, str | None, list[dict[str, int | str]]]
) -> None:
    assert (content_hash(*one) == content_hash(*other)) == (one == other)


def test_the_hash_is_the_same_tomorrow() -> None:
    digest = content_hash(Role.USER, None, [{"type": "text", "text": "I moved to Lisbon"}])

    assert digest.hex() == "b904de331cdc4a6f0cc57a7b21545201"


def test_the_order_of_keys_does_not_change_the_hash() -> None:
    one, other = {"type": "text", "text": "x"}, {"text": "x", "type": "text"}

    assert content_hash(Role.USER, "ana", (one,)) == content_hash(Role.USER, "ana", [other])


@pytest.mark.parametrize(
    "left_out",
    [
        {"reasoning_content": ""},
        {"reasoning": ""},
        {"thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "sig"}]},
    ],
)
def test_what_was_stored_when_such_reasoning_was_left_out_is_the_same_message(left_out: dict[str, Any]) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    stored, again, thought = (
        normalise({"role": "assistant", "content": None, "tool_calls": [call]} | more).parts
        for more in ({}, left_out, {"reasoning_content": "I must look."})
    )
    assert again != stored
    assert content_hash(Role.ASSISTANT, None, again) == content_hash(Role.ASSISTANT, None, stored)
    assert content_hash(Role.ASSISTANT, None, thought) != content_hash(Role.ASSISTANT, None, stored)


@pytest.mark.parametrize("observe", [None, True, False])
@pytest.mark.parametrize("kind", list(Kind))
def test_system_messages_control_text_and_what_the_caller_says_are_not_observed(
    kind: Kind,
    observe: bool | None,
) -> None:
    seen = {Kind.USER, Kind.ASSISTANT, Kind.TOOL_CALL, Kind.TOOL_RESULT}

    assert observable(kind, observe) == (kind in seen and observe is not False)


def test_trust_follows_from_who_speaks() -> None:
    assert {role: default_trust(role) for role in Role} == {
        Role.USER: Trust.USER,
        Role.ASSISTANT: Trust.OPERATOR,
        Role.SYSTEM: Trust.OPERATOR,
        Role.TOOL: Trust.TOOL,
    }
