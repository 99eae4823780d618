"""The parts of messages as artifacts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.artifacts.model import PartAt
from app.artifacts.parts import is_large, part_at, part_content, part_handle, part_name


@given(seq=st.integers(1, 2**63 - 1), place=st.integers(0, 999_999))
def test_a_name_leads_back_to_its_part(seq: int, place: int) -> None:
    assert part_at(part_name(PartAt(seq, place))) == PartAt(seq, place)


@pytest.mark.parametrize(
    "name",
    ["message:0:0", "message:1", "message:1:", "message:01:0", "message:1:01", "message:9999999999999999999:0", "m"],
)
def test_other_names_are_the_callers(name: str) -> None:
    assert part_at(name) is None


def test_a_handle_names_the_session_and_the_part() -> None:
    assert part_handle("s1", PartAt(12, 0)) == "artifact://s1/message:12:0?version=1"


@pytest.mark.parametrize(
    ("part", "content"),
    [
        ({"type": "text", "text": "Hi"}, ("Hi", "text/plain; charset=utf-8")),
        ({"type": "tool_result", "output": "Sunny"}, ("Sunny", "text/plain; charset=utf-8")),
        ({"type": "tool_result", "output": {"a": [1, "é"]}}, ('{"a":[1,"é"]}', "application/json")),
        (
            {"type": "tool_result", "output": [{"type": "text", "text": "x"}]},
            ('[{"type":"text","text":"x"}]', "application/json"),
        ),
        ({"type": "file", "content": "words"}, ("words", "text/plain; charset=utf-8")),
        ({"type": "tool_result", "output": None}, None),
        ({"type": "tool_call", "arguments": {"q": "x"}}, ('{"q":"x"}', "application/json")),
        ({"type": "image", "data": "aGk="}, None),
        ({"type": "file", "data": "aGk="}, None),
        ({"type": "reasoning", "text": "hm"}, None),
    ],
)
def test_what_a_part_says(part: dict[str, Any], content: tuple[str, str] | None) -> None:
    assert part_content(part) == content


@pytest.mark.parametrize(
    ("text", "large"), [("a" * 100, False), ("a" * 101, True), ("é" * 50, False), ("é" * 51, True)]
)
def test_a_part_is_large_by_its_bytes(text: str, large: bool) -> None:
    assert is_large({"type": "text", "text": text}, bytes_max=100) is large
