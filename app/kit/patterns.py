"""Patterns that are compiled at their first use: all of them at once took a quarter of the time of a start."""

import re
from typing import Any, cast


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
