"""Patterns that are compiled at their first use: all of them at once took a quarter of the time of a start."""

import re
from collections.abc import Iterator
from typing import Any, Final, cast

WINDOW: Final = 2_048  # characters: searched in milliseconds even by the slowest pattern


class _LazyPattern:
    """Stands for a compiled pattern; each of its methods is looked up once, and is then an attribute like any other."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what copies or pickles asks for them, perhaps before there is a pattern
            raise AttributeError(name)
        if (compiled := self.__dict__.get("_compiled")) is None:
            compiled = self._compiled = re.compile(self.pattern, self._flags)
        value = getattr(compiled, name)
        setattr(self, name, value)
        return value


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """A module's own pattern, as ``re.compile`` would return it; ``re.sub(pattern, ...)`` and its like do not take it.

    A fault of the pattern is raised at its first use (re.error).
    """
    return cast("re.Pattern[str]", _LazyPattern(pattern, flags))


def in_windows(pattern: re.Pattern[str], text: str, start: int, end: int, *, reach: int) -> Iterator[re.Match[str]]:
    """What ``finditer`` finds, in one short search after the other: nothing else runs while a search does.

    ``reach``: as many characters as a match has at most, with those behind it that it depends on. None may be empty.
    """
    while start < end:
        stop = min(start + WINDOW, end)
        match = pattern.search(text, start, min(stop + reach, end))
        if match is None or match.start() >= stop:
            start = stop
        else:
            yield match
            start = match.end()
