"""Builds the patterns of relative times from words for units of time, and reads their matches. Pure."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Final, TypeAlias

from app.kit.patterns import lazy_pattern
from app.recall.periods import Stretch, ago

Meaning: TypeAlias = Callable[[re.Match[str], datetime], Stretch | None]
Form: TypeAlias = tuple[re.Pattern[str], Meaning]

PARTICLE: Final = "(?:에는?|には?|の|的)?"  # matched with the phrase: it would be left behind alone


def units_of(match: re.Match[str]) -> list[str]:
    """The names of the groups that matched."""
    return [name for name, word in match.groupdict().items() if word]


def unit_of(match: re.Match[str]) -> str:
    return next(name for name in units_of(match) if name not in {"count", "year_said"})


def before(count: int, unit: str | None = None) -> Meaning:
    return lambda match, now: ago(now, count, unit or unit_of(match))


def never(_match: re.Match[str], _now: datetime) -> None:
    """The meaning of a phrase that says how long or how often, and not when."""


def pattern(text: str) -> re.Pattern[str]:
    return lazy_pattern(text, re.IGNORECASE)


def any_of(units: dict[str, str]) -> str:
    return "|".join(f"(?P<{unit}>{names})" for unit, names in units.items())


def form(before: str, after: str, units: dict[str, str], *, between: str = "[ -]", count: str = "") -> re.Pattern[str]:
    counted = rf"(?<![\d一二三四五六七八九十百])(?P<count>\d{{1,3}}|{count}){between}" if count else ""
    return pattern(f"{before}{counted}(?:{any_of(units)}){after}")


def spaced(before: str, after: str, units: dict[str, str], *, count: str = "") -> re.Pattern[str]:
    return form(rf"\b(?:{before}) " if before else r"\b", rf" (?:{after})\b" if after else r"\b", units, count=count)
