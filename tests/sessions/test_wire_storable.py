"""Which JSON values can be stored."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.sessions.wire import first_flaw

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=5)
SCALARS = st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats() | ANY_TEXT
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3))


def nested(levels: int) -> Any:
    value: Any = "end"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "pointer"),
    [
        ("a\0b", ""),
        ({"a": ["x", {"b/c~d": "\0"}]}, "/a/1/b~1c~0d"),
        ({"a": {"k\0": 1}}, "/a"),
        ({"a": "\ud800"}, "/a"),
        ({"\udfff": 1}, ""),
        ([1, 2**64], "/1"),
        ([-(2**63) - 1], "/0"),
        ({"x": float("nan")}, "/x"),
        ({"x": [None, float("-inf")]}, "/x/1"),
        (nested(65), "/0" * 64),
        (nested(100_000), "/0" * 64),
    ],
)
def test_a_flaw_is_found_at_its_place(value: Any, pointer: str) -> None:
    flaw = first_flaw(value)
    assert flaw is not None
    assert flaw.pointer == pointer


@pytest.mark.parametrize(
    "value",
    ["", "\\u0000", {"a": "\\\\u0000 null"}, [None, 2**64 - 1, -(2**63)], nested(64), [[[]]] * 100, "😀", 1e300],
)
def test_other_values_have_no_flaw(value: Any) -> None:
    assert first_flaw(value) is None


@given(JSON)
def test_a_value_is_storable_exactly_if_it_survives_the_store(value: Any) -> None:
    def survives() -> bool:
        try:
            return "\\u0000" not in json.dumps(value) and orjson.loads(orjson.dumps(value)) == value
        except orjson.JSONEncodeError:
            return False

    assert (first_flaw(value) is None) == survives()
