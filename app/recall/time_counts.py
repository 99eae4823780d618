"""Patterns of times with a count: "two weeks ago", "the last few days", "a year ago today". Pure."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from app.recall import time_words as words
from app.recall.periods import Stretch, ago, calendar_stretch, moment_ago, since
from app.recall.time_patterns import PARTICLE, Form, before, form, never, pattern, spaced, unit_of

_COUNTS: Final = {
    word: (count, count)
    for lines in (words.NUMBERS, words.UNSPACED_NUMBERS)
    for count, line in enumerate(lines.split("\n")[1:], start=1)
    for word in line.split()
}
_COUPLE: Final = (2, 3)
_FEW: Final = (2, 5)


def count_meant(said: str) -> tuple[int, int]:
    """The least and the greatest count meant. Raises ValueError for a letter that matches only regardless of case."""
    said = said.lower()
    for range_meant, names in ((_COUPLE, words.COUPLE), (_FEW, f"{words.FEW}|{words.UNSPACED_FEW}")):
        if re.fullmatch(names, said):
            return range_meant
    return _COUNTS.get(said) or (int(said), int(said))


def _ago(match: re.Match[str], now: datetime) -> Stretch:
    return _between(now, count_meant(match["count"]), unit_of(match))


def _few_days_ago(_match: re.Match[str], now: datetime) -> Stretch:
    return _between(now, _FEW, "day")


def _between(now: datetime, counts: tuple[int, int], unit: str) -> Stretch:
    least, most = counts
    return ago(now, most, unit)[0], ago(now, least, unit)[1]


def _since(match: re.Match[str], now: datetime) -> Stretch:
    return since(now, count_meant(match["count"])[1], unit_of(match))


def _ago_today(match: re.Match[str], now: datetime) -> Stretch:
    """The day itself, or the days, and not the whole week or year that contains them."""
    days = [moment_ago(now, {unit_of(match): count}) for count in count_meant(match["count"])]
    return calendar_stretch(days[1], "day")[0], calendar_stretch(days[0], "day")[1]


def _ago_together(match: re.Match[str], now: datetime) -> Stretch:
    """The month, week or day that is so many years, months, weeks and days ago."""
    units = [_unit_said(match[name]) for name in ("unit", "more_unit")]
    counts = [count_meant(match[name]) for name in ("count", "more_count")]
    latest, first = (moment_ago(now, dict(zip(units, (count[end] for count in counts), strict=True))) for end in (0, 1))
    return calendar_stretch(first, units[-1])[0], calendar_stretch(latest, units[-1])[1]


def _unit_said(word: str) -> str:
    return next(unit for unit, names in words.UNITS.items() if re.fullmatch(names, word, re.IGNORECASE))


ANY_COUNT: Final = "|".join((words.COUPLE, words.FEW, *" ".join(words.NUMBERS.split()).split()))
ANY_UNSPACED_COUNT: Final = "|".join((words.UNSPACED_FEW, *words.UNSPACED_NUMBERS.split()))
_UNIT: Final = "|".join(words.UNITS.values())
_TOGETHER: Final = (
    rf"(?<!\d)(?P<count>\d{{1,3}}|{ANY_COUNT}) (?P<unit>{_UNIT})(?:,|,? (?:{words.AND}))?"
    rf" (?P<more_count>\d{{1,3}}|{ANY_COUNT}) (?P<more_unit>{_UNIT})"
)


def counted_forms() -> Iterator[Form]:
    yield pattern(rf"\b(?:{words.HALF_A_YEAR_AGO})\b"), before(1, "half_year")
    yield pattern(f"(?:{words.UNSPACED_HALF_A_YEAR_AGO}){PARTICLE}"), before(1, "half_year")
    yield pattern(f"(?:{words.UNSPACED_FEW_DAYS_AGO}){PARTICLE}"), _few_days_ago
    yield pattern(rf"\b(?:{words.AGO_BEFORE}) {_TOGETHER}\b"), _ago_together
    yield pattern(rf"\b{_TOGETHER} (?:{words.AGO_BEHIND})\b"), _ago_together
    yield from _today_forms()
    yield spaced(words.AGO_BEFORE, "", words.UNITS, count=ANY_COUNT), _ago
    yield spaced("", words.AGO_BEHIND, words.UNITS, count=ANY_COUNT), _ago
    yield form("", rf" ?(?:之|以)?[前전]{PARTICLE}", words.UNSPACED_UNITS, between=" ?", count=ANY_UNSPACED_COUNT), _ago
    yield spaced(words.THE_LAST, "", words.UNITS, count=ANY_COUNT), _since
    yield form(r"\b", r"\b", words.UNITS, between=" derni[eè]re?s ", count=ANY_COUNT), _since
    yield (
        form(
            "(?:最近|过去|過去|この|지난|최근|(?<![가-힣])요) ?",
            "",
            words.UNSPACED_UNITS,
            between=" ?",
            count=ANY_UNSPACED_COUNT,
        ),
        _since,
    )
    yield form(r"\b", r"\b", words.UNITS, count=ANY_COUNT), never
    yield spaced(words.THE_LAST_FEW, "", words.PLURALS), lambda match, now: since(now, _FEW[1], unit_of(match))


def _today_forms() -> Iterator[Form]:
    today, unspaced = f"(?:{words.TODAY})", words.UNSPACED_UNITS
    yield spaced("", rf"(?:{words.AGO_BEHIND}),? {today}", words.UNITS, count=ANY_COUNT), _ago_today
    yield spaced(rf"{today},? (?:{words.AGO_BEFORE})", "", words.UNITS, count=ANY_COUNT), _ago_today
    yield spaced(words.AGO_BEFORE, today, words.UNITS, count=ANY_COUNT), _ago_today
    yield spaced(today, words.AGO_BEHIND, words.UNITS, count=ANY_COUNT), _ago_today
    ago_unspaced = rf" ?(?:之|以)?[前전](?:的|の|의)? ?(?:{words.UNSPACED_TODAY})"
    yield form("", ago_unspaced, unspaced, between=" ?", count=ANY_UNSPACED_COUNT), _ago_today
