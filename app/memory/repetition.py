"""Detects a model that got caught in a loop (memory-rules.md section 4, Parsing)."""

from collections import Counter
from itertools import groupby
from typing import Final

CHARACTERS_MIN: Final = 2_000  # a text up to here is never repetitive
WINDOWS: Final = 50
WINDOW_CHARACTERS: Final = 200
EQUAL_WINDOWS_MIN: Final = 5
EQUAL_WINDOWS_SHARE: Final = 0.4
LONG_LINE_CHARACTERS: Final = 40
LONG_LINES_MIN: Final = 20
SHORT_REPEATED_CHARACTERS: Final = 10_000


def is_repetitive(text: str) -> bool:
    """Whether the text says the same over and over. A run of one identical line counts once."""
    lines = [line for line, _ in groupby(line.strip() for line in text.split("\n"))]
    once = "\n".join(lines)
    if len(once) <= CHARACTERS_MIN:
        return False
    return _windows_repeat(once) or _long_lines_repeat(lines) or _short_lines_repeat(lines)


def _windows_repeat(text: str) -> bool:
    """Whether too many sampled windows already stood earlier in the text.

    Comparing with the whole text, not with the other samples only, finds a loop of any period.
    """
    starts = range(0, len(text) - WINDOW_CHARACTERS + 1, max(1, len(text) // WINDOWS))
    equal = sum(text.find(text[start : start + WINDOW_CHARACTERS]) < start for start in starts)
    return equal > EQUAL_WINDOWS_MIN and equal > EQUAL_WINDOWS_SHARE * len(starts)


def _long_lines_repeat(lines: list[str]) -> bool:
    long = [line for line in lines if len(line) >= LONG_LINE_CHARACTERS]
    return len(long) >= LONG_LINES_MIN and len(long) - len(set(long)) > len(long) / 2


def _short_lines_repeat(lines: list[str]) -> bool:
    counts = Counter(line for line in lines if len(line) < LONG_LINE_CHARACTERS)
    return sum(len(line) * (count - 1) for line, count in counts.items()) > SHORT_REPEATED_CHARACTERS
