"""Searches a text by lines, in time linear in its size whatever the pattern is (RE2). Pure.

Linear is not quick: if a pattern has too many states to be cached, each byte may cost a step for each part of it, 80 s
for 4 MB and ``a.{600}c``. So a text is searched in stretches, between which the search can be ended.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import re2

Piece: TypeAlias = Callable[[bytes, int], str]  # the piece of a line with the byte at a position
Regex: TypeAlias = Any  # of re2, which has no types: compiled for bytes, with search(text, position)

_BY_LINES = b"(?m)"  # put before every pattern: ^ and $ match at the ends of a line
STRETCH_BYTES = 64 * 1024  # of whole lines, at least one, that are searched at once
STEPS_MAX = 2_000_000_000  # of a stretch, each of a few nanoseconds: its bytes times the size of the pattern's program
COSTLY = "too large for a line as long as this text has: use fewer or shorter repetitions"
SLOW = "takes too long in this text: use fewer or shorter repetitions"


class PatternError(ValueError):
    """Not a regular expression, not one that RE2 takes, or one that takes too long; the text says why."""


class NotText(ValueError):
    """The bytes are not UTF-8, or hold a NUL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineMatch:
    """A line that matches, by its number from 1, and its neighbours."""

    line: int
    text: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """``truncated``: more lines match than were asked for."""

    matches: tuple[LineMatch, ...]
    truncated: bool


def grep(
    content: bytes,
    pattern: str,
    *,
    limit: int,
    neighbours: int,
    ignore_case: bool,
    line_characters_max: int,
    is_late: Callable[[], bool] = lambda: False,
) -> Found:
    """The first ``limit`` lines that match, each with ``neighbours`` lines before and after.

    A line ends with LF or CRLF, neither of which is part of it. Of a longer line than ``line_characters_max`` the piece
    with the match is shown, of a neighbour its beginning. ``is_late`` is asked before each stretch. Raises NotText, and
    PatternError, also if it is late.
    """
    check_text(content)
    content = content.replace(b"\r\n", b"\n")  # so that $ finds the end of every line that is shown
    regex = _compiled(pattern, ignore_case=ignore_case)
    matches: list[LineMatch] = []
    piece = partial(_piece, characters_max=line_characters_max)
    for match in _matches(regex, content, neighbours, piece, is_late):
        if len(matches) == limit:
            return Found(matches=tuple(matches), truncated=True)
        matches.append(match)
    return Found(matches=tuple(matches), truncated=False)


def check_text(content: bytes) -> str:
    """The bytes as text. Raises NotText."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise NotText(f"it is not valid UTF-8 at byte {error.start}") from error
    if "\0" in text:
        raise NotText("it contains a NUL character")
    return text


def _compiled(pattern: str, *, ignore_case: bool) -> Regex:
    options = re2.Options()
    options.never_nl = True  # a match lies within one line
    options.case_sensitive = not ignore_case
    options.log_errors = False
    try:
        return re2.compile(_BY_LINES + pattern.encode(), options)
    except (re2.error, UnicodeEncodeError) as error:
        raise PatternError(_reason(error)) from error


def _reason(error: Exception) -> str:
    said = error.args[0] if error.args else ""
    if not isinstance(said, bytes):
        return str(error)
    return said.replace(_BY_LINES, b"", 1).decode(errors="replace")


def _matches(
    regex: Regex, content: bytes, neighbours: int, piece: Piece, is_late: Callable[[], bool]
) -> Iterator[LineMatch]:
    line, counted = 1, 0
    for begin, last in _stretches(content):
        if is_late():
            raise PatternError(SLOW)
        if regex.programsize * (last - begin) > STEPS_MAX:
            raise PatternError(COSTLY)
        position = begin
        while position <= last and (found := regex.search(content, position, last)):
            start = content.rfind(b"\n", 0, found.start()) + 1
            end = _line_end(content, found.start())
            if start == len(content):
                return  # nothing follows the last line break: that is no line
            line += content.count(b"\n", counted, start)
            yield LineMatch(
                line=line,
                text=piece(content[start:end], found.start() - start),
                before=tuple(piece(near, 0) for near in _before(content, start, neighbours)),
                after=tuple(piece(near, 0) for near in _after(content, end, neighbours)),
            )
            counted, position = start, end + 1


def _stretches(content: bytes) -> Iterator[tuple[int, int]]:
    """The begin of each stretch, and the end of its last line: at a line break, or at the end of the text."""
    begin = 0
    while begin <= len(content):
        least = begin + STRETCH_BYTES
        broken = content.rfind(b"\n", begin, least) if least < len(content) else len(content)
        end = broken if broken >= 0 else _line_end(content, begin)
        yield begin, end
        begin = end + 1


def _before(content: bytes, start: int, count: int) -> list[bytes]:
    lines: list[bytes] = []
    while count > len(lines) and start > 0:
        end = start - 1
        start = content.rfind(b"\n", 0, end) + 1
        lines.append(content[start:end])
    return lines[::-1]


def _after(content: bytes, end: int, count: int) -> Iterator[bytes]:
    for _ in range(count):
        start = end + 1
        if start >= len(content):
            return
        end = _line_end(content, start)
        yield content[start:end]


def _line_end(content: bytes, position: int) -> int:
    end = content.find(b"\n", position)
    return len(content) if end < 0 else end


def _piece(line: bytes, position: int, *, characters_max: int) -> str:
    """The line, or of a long one the piece with the byte at ``position``, which may be within a character."""
    text, before = line.decode(), len(line[:position].decode(errors="ignore"))
    start = max(0, min(before - characters_max // 2, len(text) - characters_max))
    return text[start : start + characters_max]
