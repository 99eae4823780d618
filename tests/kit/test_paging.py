import base64
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kit.errors import Invalid
from app.kit.paging import next_cursor, paged, read_cursor
from app.sessions.model import SEQ_MAX
from app.sessions.schemas import KEY_PATTERN


def cursor_of(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


@given(st.integers(0, SEQ_MAX))
def test_a_cursor_is_read_back_as_the_number_it_was_made_of(last: int) -> None:
    assert read_cursor(next_cursor(last), int) == last


@given(st.from_regex(KEY_PATTERN, fullmatch=True))
def test_a_cursor_is_read_back_as_the_key_it_was_made_of(last: str) -> None:
    cursor = next_cursor(last)
    assert read_cursor(cursor, str) == last
    assert len(cursor) <= 400  # what a request may have
    assert "=" not in cursor


@given(st.integers(0, 20), st.integers(1, 5))
def test_a_list_is_read_page_by_page_to_its_end(count: int, limit: int) -> None:
    read: list[int] = []
    cursor: str | None = None
    for _ in range(max(1, -(-count // limit))):
        after = read_cursor(cursor, int) or 0
        page, cursor = paged(range(after + 1, count + 1)[: limit + 1], limit, int)
        read += page
    assert (read, cursor) == ([*range(1, count + 1)], None)


def test_without_a_cursor_a_list_is_read_from_its_start() -> None:
    assert read_cursor(None, int) is None


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "x",
        "!!!!",
        "é",
        "\0",
        cursor_of("nonsense"),
        cursor_of("12") + "~",
        next_cursor("a key"),
        cursor_of("true"),
        cursor_of("1.5"),
        cursor_of("null"),
        cursor_of("[1]"),
        cursor_of("-1"),
        cursor_of(str(2**63)),
        cursor_of(str(2**64)),
        cursor_of("9" * 200),
    ],
)
def test_what_is_no_cursor_of_a_numbered_list_is_refused_by_its_name(cursor: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_cursor(cursor, int)
    assert [error.pointer for error in refused.value.errors] == ["cursor"]


@pytest.mark.parametrize("cursor", [next_cursor(12), cursor_of('"a\\u0000"'), cursor_of('"\\ud800"'), cursor_of("{}")])
def test_what_is_no_cursor_of_a_list_by_key_is_refused(cursor: str) -> None:
    with pytest.raises(Invalid):
        read_cursor(cursor, str)


@given(st.text(max_size=40))
def test_any_text_is_a_cursor_or_invalid(cursor: str) -> None:
    with suppress(Invalid):
        assert type(read_cursor(cursor, int)) is int
