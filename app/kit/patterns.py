"""Regular expressions compiled at first use: compiling all at import took a quarter of the start-up time."""

import re
from collections.abc import Iterator
from typing import Any, Final, cast

WINDOW: Final = 2_048  # characters: searched in milliseconds even by the slowest pattern


class _LazyPattern:
    """A proxy of a compiled pattern; each method is looked up once, and is then an attribute like any other."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # copy and pickle look for such names, perhaps before ``pattern`` is set
            raise AttributeError(name)
        if (compiled := self.__dict__.get("_compiled")) is None:
            compiled = self._compiled = re.compile(self.pattern, self._flags)
        value = getattr(compiled, name)
        setattr(self, name, value)
        return value


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern with the methods of ``re.compile``'s; ``re.sub(pattern, ...)`` and its like do not take it.

    A syntax error of the pattern is raised at its first use (re.error).
    """
    return cast("re.Pattern[str]", _LazyPattern(pattern, flags))


def in_windows(pattern: re.Pattern[str], text: str, start: int, end: int, *, reach: int) -> Iterator[re.Match[str]]:
    """The matches of ``finditer``, by a series of short searches, because a search holds the GIL.

    ``reach``: the most characters of a match, including its lookahead. The pattern may not match an empty text.
    """
    while start < end:
        stop = min(start + WINDOW, end)
        match = pattern.search(text, start, min(stop + reach, end))
        if match is None or match.start() >= stop:
            start = stop
        else:
            yield match
            start = match.end()
