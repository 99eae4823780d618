"""Searching a text by lines."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.artifacts.grep import STRETCH_BYTES, Found, NotText, PatternError, grep

LINES = st.lists(st.text(st.sampled_from("ab é🔴\r"), max_size=6), min_size=1, max_size=12)
# Patterns that mean the same to RE2 and to Python.
PATTERNS = st.sampled_from(["a", "b$", "^a", "^$", "a+b", "é", "🔴.", "[^a]", "(a|b)é?", ".*", "b|^ ", r"\s"])


def search(content: bytes, pattern: str, **asked: Any) -> Found:
    usual = {"limit": 100, "neighbours": 0, "ignore_case": False, "line_characters_max": 500}
    return grep(content, pattern, **usual | asked)


@given(lines=LINES, pattern=PATTERNS, ends=st.booleans())
def test_a_search_finds_the_lines_that_match_by_their_numbers(lines: list[str], pattern: str, ends: bool) -> None:
    text = "\n".join(lines) + "\n" * ends
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []
    found = search(text.encode(), pattern)
    assert [(match.line, match.text) for match in found.matches] == [
        (number, line) for number, line in enumerate(lines, start=1) if re.search(pattern, line)
    ]
    assert not found.truncated


@pytest.mark.parametrize("pattern", ["eins$", "^eins$", "s$", "^$"])
def test_the_end_of_a_line_is_before_its_break_whatever_that_is(pattern: str) -> None:
    by_break = [search(ends.join(["eins", "", "zwei", "eins", ""]).encode(), pattern) for ends in ("\n", "\r\n")]
    assert by_break[0].matches
    assert by_break[0] == by_break[1]


@given(lines=LINES, neighbours=st.integers(0, 3))
def test_a_match_has_its_neighbours(lines: list[str], neighbours: int) -> None:
    lines = [line.replace("\r", "") + "." for line in lines]
    for match in search("\n".join(lines).encode(), ".", neighbours=neighbours).matches:
        index = match.line - 1
        assert list(match.before) == lines[max(index - neighbours, 0) : index]
        assert list(match.after) == lines[index + 1 : index + 1 + neighbours]


@pytest.mark.parametrize(("limit", "lines", "truncated"), [(3, 3, False), (2, 2, True), (1, 1, True)])
def test_a_search_tells_when_there_are_more_than_were_asked_for(limit: int, lines: int, truncated: bool) -> None:
    found = search(b"a\na\na\n", "a", limit=limit)
    assert (len(found.matches), found.truncated) == (lines, truncated)


@pytest.mark.parametrize("pattern", ["x$", "^$", "^y+$", "y"])
@pytest.mark.parametrize("ends", [b"", b"\n", b"\n\n"])
def test_a_text_of_several_stretches_is_searched_whole(pattern: str, ends: bytes) -> None:
    """Also where a line is longer than one, and where one ends at an empty line."""
    sizes = [*range(0, 2_000, 7), STRETCH_BYTES - 1, 0, STRETCH_BYTES, 0, 0, STRETCH_BYTES + 1, 2 * STRETCH_BYTES, 5]
    text = b"\n".join(b"y" * size + b"x" * (size % 2) for size in sizes) + ends
    lines = text.decode().removesuffix("\n").split("\n")
    found = search(text, pattern, limit=10_000)
    assert [match.line for match in found.matches] == [
        number for number, line in enumerate(lines, start=1) if re.search(pattern, line)
    ]


def test_a_search_that_is_late_ends() -> None:
    looks = iter([False, True])
    with pytest.raises(PatternError, match="too long"):
        search(b"a\n" * STRETCH_BYTES, "b", is_late=lambda: next(looks))
    assert not [*looks]


def test_a_large_pattern_is_refused_for_a_long_line_alone() -> None:
    """4 MB took 80 s, in one of the few threads that there are for all."""
    large, line = "a.{600}c", b"ab" * 2_000_000
    with pytest.raises(PatternError, match="too large"):
        search(line, large)
    assert search(b"a" + b"b" * 600 + b"c", large).matches
    assert not search(line, r"\d{4}-\d\d-\d\d.*ERROR.*timeout|(?i)warning|x$").matches


def test_case_counts_unless_told_otherwise() -> None:
    assert not search(b"Lisbon", "lisbon").matches
    assert search(b"Lisbon", "lisbon", ignore_case=True).matches


@pytest.mark.parametrize("pattern", [r"\n", "a\nb", r"a\sb", "(?s)a.b"])
def test_a_match_never_goes_over_the_end_of_its_line(pattern: str) -> None:
    assert not search(b"a\nb", pattern).matches


def test_of_a_long_line_the_piece_around_the_match_is_shown() -> None:
    line = "é" * 2_000 + "needle" + "é" * 2_000
    [match] = search(f"first\n{line}\n".encode(), "needle").matches
    assert len(match.text) == 500
    assert match.text.strip("é") == "needle"
    [match] = search(line.encode(), "^é").matches
    assert match.text == line[:500]


def test_how_much_of_a_line_is_shown_can_be_said() -> None:
    text = b"a" * 50 + b"\n" + b"b" * 50 + b"needle\n"
    [match] = search(text, "needle", neighbours=1, line_characters_max=40).matches
    assert (match.text, match.before) == ("b" * 34 + "needle", ("a" * 40,))


def test_a_match_may_begin_within_a_character() -> None:
    [match] = search("éx".encode(), r"\Cx").matches
    assert match.text == "éx"


@pytest.mark.parametrize("pattern", ["(", "[a", "a{1000}{1000}", r"(a)\1", "(?=a)", "\ud800", "*"])
def test_what_is_no_pattern_of_re2_is_refused_with_the_reason(pattern: str) -> None:
    with pytest.raises(PatternError) as raised:
        search(b"a", pattern)
    assert str(raised.value)
    assert "(?m)" not in str(raised.value)  # which is put before each pattern


@pytest.mark.parametrize("content", [b"\xff", b"a\0b", b"\xed\xa0\x80", b"caf\xc3"])
def test_what_is_not_text_is_refused(content: bytes) -> None:
    with pytest.raises(NotText):
        search(content, "a")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("pattern", ["(a+)+$", "(a*)*b", "(a|aa)+$", "(.*a){12}b"])
def test_a_pattern_made_to_explode_takes_linear_time(pattern: str) -> None:
    assert search(b"a" * 200_000 + b"!", pattern).matches == ()  # trying each way there is, it never ends
