"""The Range header (RFC 9110 section 14)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.artifacts.ranges import Span, Unsatisfiable, asked_span

SIZES = st.integers(0, 50)


@given(size=SIZES, first=st.integers(0, 60), length=st.integers(0, 60))
def test_a_range_is_the_slice_of_what_there_is(size: int, first: int, length: int) -> None:
    content = bytes(range(size))
    wanted = content[first : first + length + 1]
    if not wanted:
        with pytest.raises(Unsatisfiable):
            asked_span(f"bytes={first}-{first + length}", size=size)
    else:
        span = asked_span(f"bytes={first}-{first + length}", size=size)
        assert span is not None
        assert content[slice(*span)] == wanted


@pytest.mark.parametrize(
    ("header", "span"),
    [
        ("bytes=0-", Span(0, 10)),
        ("bytes=4-", Span(4, 10)),
        ("bytes=9-9", Span(9, 10)),
        ("bytes=0-999999999999", Span(0, 10)),
        ("bytes=-3", Span(7, 10)),
        ("bytes=-30", Span(0, 10)),
        ("bytes= 2-3 ", Span(2, 4)),
        ("Bytes=2-3", Span(2, 4)),
        ("bytes=2-" + "9" * 5_000, Span(2, 10)),
        ("bytes=-" + "9" * 5_000, Span(0, 10)),
        ("bytes=" + "0" * 5_000 + "2-3", Span(2, 4)),
    ],
)
def test_the_ends_of_a_range_may_be_left_open(header: str, span: Span) -> None:
    assert asked_span(header, size=10) == span


@pytest.mark.parametrize(
    "header", [None, "", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=5-2", "lines=1-2", "bytes=0-1,4-5"]
)
def test_what_is_no_single_range_of_bytes_asks_for_the_whole(header: str | None) -> None:
    assert asked_span(header, size=10) is None


@pytest.mark.parametrize(
    ("header", "size"),
    [
        ("bytes=10-", 10),
        ("bytes=10-12", 10),
        ("bytes=-0", 10),
        ("bytes=0-", 0),
        ("bytes=" + "9" * 5_000 + "-", 10),
    ],
)
def test_no_byte_of_it_there_is_unsatisfiable(header: str, size: int) -> None:
    with pytest.raises(Unsatisfiable):
        asked_span(header, size=size)
