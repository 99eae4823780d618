"""A day or a month whose year is told beside it: "4 July last year", "in May two years ago", 去年5月. Pure.

The year is written into the text, so that all who look for dates there find one with its year.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

from app.kit.patterns import lazy_pattern
from app.recall import time_words as words
from app.recall.periods import Stretch, ago
from app.recall.time_counts import ANY_COUNT, count_meant
from app.recall.time_forms import A_MONTH

Meaning: TypeAlias = Callable[[re.Match[str], datetime], Stretch]

_YEAR: Final = words.UNITS["year"]
_COUNTED: Final = rf"(?P<count>\d{{1,3}}|{ANY_COUNT}) (?:{_YEAR})"
_DAY: Final = (
    rf"\d{{1,2}}(?:st|nd|rd|th|er|º|\.)?(?: (?:of|de))? (?:{A_MONTH})\b|(?:{A_MONTH})\.? \d{{1,2}}(?:st|nd|rd|th)?\b"
)
_PREPOSITION: Final = rf"{words.IN_MONTH}|{words.SINCE}|of|until|before|after|by|à"
# Words of other meanings as well, unless something tells that they are months: "What may last year bring?".
_OTHER_WORD: Final = r"(?-i:may|march)\b"
_MONTH: Final = rf"(?:{_PREPOSITION}) (?:{A_MONTH})|(?!{_OTHER_WORD})(?:{A_MONTH})"
_OF: Final = r",?(?: (?:of|in|de|del|do|des|di|im|en|em|el|le|il|no)){0,2} (?:dell['’]|de l['’]|nell['’]|l['’])?"
_ON: Final = rf",?(?! {_OTHER_WORD})(?: (?:on|in|im|am|en|em|a|ad|à|op|au|nel|no|le|el|il|the)){{0,2}} "
_BEFORE: Final = lazy_pattern(rf"\b(?P<date>{_DAY}|{_MONTH}){_OF}\Z", re.IGNORECASE)
_BEHIND: Final = lazy_pattern(rf"{_ON}(?P<date>{_DAY}|(?:{A_MONTH})\b)(?!,? (?:of |de |del |do )?\d)", re.IGNORECASE)
_REACH: Final = 48  # a month with its day and what joins it to its year


@dataclass(frozen=True, slots=True)
class YearSaid:
    """A ``phrase`` of a text, and the same as a date that ends, or in an unspaced script begins, with its year."""

    phrase: str
    dated: str


def years_said(text: str, now: datetime) -> Iterator[YearSaid]:
    """Such phrases of a text."""
    for form, meaning in _FORMS:
        for match in form.finditer(text):
            if (found := _dated(text, match)) is not None:
                phrase, date = found
                with suppress(OverflowError, ValueError):  # before the year 1
                    yield YearSaid(phrase, f"{date} {meaning(match, now)[0].year:04d}")
        text = form.sub("\n", text)
    for years, form in _UNSPACED:
        for match in form.finditer(text):
            yield YearSaid(match[0], f"{now.year - years}年")


def _dated(text: str, year: re.Match[str]) -> tuple[str, str] | None:
    """The words for a year with the date before or behind them, and that date."""
    if date := _BEFORE.search(text, max(0, year.start() - _REACH), year.start()):
        return date[0] + year[0], date["date"]
    if date := _BEHIND.match(text, year.end()):
        return year[0] + date[0], date["date"]
    return None


def _before(years: int) -> Meaning:
    return lambda _, now: ago(now, years, "year")


def _counted(match: re.Match[str], now: datetime) -> Stretch:
    return ago(now, count_meant(match["count"])[0], "year")


_LAST: Final = rf"{words.OF_LAST_YEAR}|(?:{words.LAST}) (?:{_YEAR})|(?:{_YEAR}) (?:{words.LAST_BEHIND})"
_FORMS: Final = (
    (lazy_pattern(rf"\b(?:{_LAST})\b", re.IGNORECASE), _before(1)),
    (lazy_pattern(rf"\b(?:{words.THIS}) (?:{_YEAR})\b", re.IGNORECASE), _before(0)),
    (lazy_pattern(rf"\b(?:{words.AGO_BEFORE}) {_COUNTED}\b", re.IGNORECASE), _counted),
    (lazy_pattern(rf"\b{_COUNTED} (?:{words.AGO_BEHIND})\b", re.IGNORECASE), _counted),
)
_UNSPACED: Final = tuple(
    (years, lazy_pattern(rf"(?:{names})(?:の|的| )?(?=(?:\d{{1,2}}|[一二三四五六七八九十]{{1,2}}) ?[月월])"))
    for years, names in words.UNSPACED_YEARS_BEFORE.items()
)
