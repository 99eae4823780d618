"""What a message costs (memory-rules.md section 1)."""

from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kit.tokens import text_tokens
from app.sessions.counting import IMAGE_TOKENS, message_tokens, part_tokens
from app.sessions.files import file_content
from app.sessions.model import Part
from app.sessions.wire import normalise

LONG = "The flat in Lisbon is small but bright. " * 20
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | TEXT,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "output", "content", "tokens", "data", "width", "x"]), inner)
    ),
)


def encoded(text: str, charset: str = "utf-8") -> str:
    return b64encode(text.encode(charset)).decode()


def test_a_message_costs_its_parts_and_four() -> None:
    parts = [{"type": "text", "text": LONG}, {"type": "text", "text": "hi"}]

    assert message_tokens(parts) == text_tokens(LONG) + text_tokens("hi") + 4
    assert message_tokens(()) == 4


def test_a_call_counts_its_name_and_its_arguments() -> None:
    part = {"type": "tool_call", "id": LONG, "name": "search", "arguments": {"q": "Lisbon"}}

    assert part_tokens(part) == text_tokens("search") + text_tokens('{"q":"Lisbon"}')
    assert part_tokens({**part, "arguments": LONG}) == text_tokens("search") + text_tokens(LONG)


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (LONG, LONG),
        ({"city": "Lisbon"}, '{"city":"Lisbon"}'),
        (["a", {"type": "row"}], 'a{"type":"row"}'),
        ([{"type": "text", "text": LONG, "x": 1}], LONG),
        (None, "null"),
    ],
)
def test_a_result_counts_its_output(output: Any, text: str) -> None:
    part = {"type": "tool_result", "tool_call_id": "c1", "output": output}

    assert part_tokens(part) == pytest.approx(text_tokens(text), abs=1)


def test_reasoning_counts_nothing() -> None:
    assert part_tokens({"type": "reasoning", "text": LONG, "signature": LONG}) == 0


@pytest.mark.parametrize(
    ("fields", "content"),
    [
        ({"data": encoded("naïve — 42"), "media_type": "text/plain"}, "naïve — 42"),
        ({"data": encoded("ab?>").replace("/", "_").replace("+", "-").rstrip("="), "media_type": "text/csv"}, "ab?>"),
        ({"data": encoded("\ufeffa,b"), "media_type": "TEXT/CSV; charset=utf-8"}, "a,b"),
        ({"data": encoded('{"a": 1}'), "media_type": "application/vnd.api+json"}, '{"a": 1}'),
        ({"data": encoded("a"), "media_type": "text/plain", "content": "b"}, "b"),
        ({"data": encoded("a"), "media_type": "application/pdf"}, None),
        ({"data": encoded("a"), "media_type": ["text/plain"]}, None),
        ({"data": encoded("a")}, None),
        ({"data": {"a": 1}, "media_type": "text/plain"}, None),
        ({"data": encoded("naïve", "utf-16"), "media_type": "text/plain"}, "naïve"),
        ({"data": encoded("\ufeffnaïve", "utf-16-be"), "media_type": "text/plain; charset=iso-8859-1"}, "naïve"),
        ({"data": encoded("\ufeffnaïve", "utf-32-le"), "media_type": "text/plain"}, "naïve"),
        ({"data": encoded("naïve – 42", "cp1252"), "media_type": 'text/csv; Charset="Windows-1252"'}, "naïve – 42"),
        ({"data": encoded("日本", "shift_jis"), "media_type": "text/plain;header=1;charset=Shift_JIS"}, "日本"),
        ({"url": "data:text/csv;charset=iso-8859-1;base64," + encoded("é", "latin-1")}, "é"),
        ({"data": encoded("naïve", "latin-1"), "media_type": "text/plain"}, None),
        ({"data": encoded("é", "latin-1"), "media_type": "text/plain; charset=iso-8859-12"}, None),
        ({"data": encoded("é"), "media_type": "text/plain; charset=rot13"}, "é"),
        ({"data": encoded("a\0b"), "media_type": "text/plain"}, None),
        ({"data": "a", "media_type": "text/plain"}, None),
        ({"data": "é", "media_type": "text/plain"}, None),
        ({"data": "YWI=" + encoded("more"), "media_type": "text/plain"}, None),
        ({"data": "YW%Jj", "media_type": "text/plain"}, None),
        ({"data": " YW\nJj ", "media_type": "text/plain"}, "abc"),
        ({"type": "image", "data": encoded("<svg/>"), "media_type": "image/svg+xml"}, None),
        ({"url": "data:text/csv;charset=utf-8;base64," + encoded("a,b")}, "a,b"),
        ({"url": "data:application/pdf;base64," + encoded("a,b"), "media_type": "text/plain"}, None),
        ({"url": "data:text/plain,abc"}, None),
    ],
)
def test_a_file_says_its_content_or_its_bytes_if_they_are_text(fields: dict[str, Any], content: str | None) -> None:
    assert file_content({"type": "file", **fields}) == content


@pytest.mark.parametrize(
    ("part", "tokens"),
    [
        ({"type": "image", "url": "u"}, 258),
        ({"type": "image", "url": "u", "width": 750, "height": 100}, 100),
        ({"type": "image", "url": "u", "width": 9_000, "height": 9_000}, 1_600),
        ({"type": "image", "url": "u", "width": 1, "height": 1}, 1),
        ({"type": "image", "url": "u", "width": "750", "height": 100}, IMAGE_TOKENS),
        ({"type": "image", "url": "u", "width": 750}, IMAGE_TOKENS),
        ({"type": "image", "url": "u", "width": 0, "height": 100}, IMAGE_TOKENS),
        ({"type": "image", "data": "A" * 76_000}, 300),
        ({"type": "image", "data": "A" * 4_000_000}, 1_600),
        ({"type": "file", "file_id": "f"}, 258),
        ({"type": "file", "data": "A" * 120_000}, 3_000),
        ({"type": "file", "url": "data:application/pdf;base64," + "A" * 120_000}, 3_000),
        ({"type": "file", "data": encoded(LONG), "media_type": "text/markdown"}, text_tokens(LONG)),
        ({"type": "file", "content": LONG}, text_tokens(LONG)),
        ({"type": "file", "content": [{"type": "text", "text": LONG}]}, text_tokens(LONG)),
    ],
)
def test_images_and_files_count_by_what_is_known_of_them(part: Part, tokens: int) -> None:
    assert part_tokens(part) == tokens


@pytest.mark.parametrize("own", [0, 7])
def test_the_callers_own_count_wins(own: int) -> None:
    assert part_tokens({"type": "text", "text": LONG, "tokens": own}) == own


@pytest.mark.parametrize("own", [-1, 2.5, "7", True, None, 2**40])
def test_what_is_not_a_count_does_not(own: Any) -> None:
    assert part_tokens({"type": "text", "text": LONG, "tokens": own}) == text_tokens(LONG)


def test_a_count_always_fits_its_column() -> None:
    part = {"type": "text", "text": "", "tokens": 2**31 - 1}

    assert message_tokens([part, part]) == 2**31 - 1


@given(JSON)
def test_whatever_is_stored_can_be_counted(output: Any) -> None:
    part = {"type": "tool_result", "tool_call_id": "c1", "output": output}

    assert message_tokens(normalise({"role": "tool", "content": [part]}).parts) >= 4
