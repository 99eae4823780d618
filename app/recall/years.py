"""Resolves the relative year of a day or month: "4 July last year", "in May two years ago", 去年5月. Pure.

The year is written into the text, so that the parsers of dates find a date with its year there.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from app.kit.patterns import lazy_pattern
from app.recall import time_words as words
from app.recall.time_counts import ANY_COUNT, count_meant
from app.recall.time_forms import A_MONTH
from app.recall.time_patterns import pattern

_YEAR: Final = words.UNITS["year"]
_COUNTED: Final = rf"(?P<count>\d{{1,3}}|{ANY_COUNT}) (?:{_YEAR})"
_DAY: Final = (
    rf"\d{{1,2}}(?:st|nd|rd|th|er|º|\.)?(?: (?:of|de))? (?:{A_MONTH})\b|(?:{A_MONTH})\.? \d{{1,2}}(?:st|nd|rd|th)?\b"
)
_PREPOSITION: Final = rf"{words.IN_MONTH}|{words.SINCE}|of|until|before|after|by|à"
# Words with other meanings, unless a preposition or a day tells that they are months: "What may last year bring?".
_OTHER_WORD: Final = r"(?-i:may|march)\b"
_MONTH: Final = rf"(?:{_PREPOSITION}) (?:{A_MONTH})|(?!{_OTHER_WORD})(?:{A_MONTH})"
_OF: Final = r",?(?: (?:of|in|de|del|do|des|di|im|en|em|el|le|il|no)){0,2} (?:dell['’]|de l['’]|nell['’]|l['’])?"
_ON: Final = rf",?(?! {_OTHER_WORD})(?: (?:on|in|im|am|en|em|a|ad|à|op|au|nel|no|le|el|il|the)){{0,2}} "
_BEFORE: Final = pattern(rf"\b(?P<date>{_DAY}|{_MONTH}){_OF}\Z")
_BEHIND: Final = pattern(rf"{_ON}(?P<date>{_DAY}|(?:{A_MONTH})\b)(?!,? (?:of |de |del |do )?\d)")
_YEARS: Final = range(1, 9_999)  # that a date can have, and the year after them
_REACH: Final = 48  # a month with its day and what joins it to its year


@dataclass(frozen=True, slots=True)
class YearSaid:
    """A ``phrase`` of a text, and the date with its year (or in an unspaced script the year alone) for its place."""

    phrase: str
    dated: str


def years_said(text: str, now: datetime) -> Iterator[YearSaid]:
    """The phrases of a text that tell the year of a date relative to ``now``."""
    for form, years in _FORMS:
        for match in form.finditer(text):
            if (found := _dated(text, match)) is not None:
                phrase, date = found
                with suppress(ValueError):  # of a letter that matches regardless of case alone
                    year = now.year - (count_meant(match["count"])[0] if years is None else years)
                    if year in _YEARS:
                        yield YearSaid(phrase, f"{date} {year:04d}")
        text = form.sub("\n", text)
    for years, form in _UNSPACED:
        for match in form.finditer(text):
            yield YearSaid(match[0], f"{now.year - years}年")


def _dated(text: str, year: re.Match[str]) -> tuple[str, str] | None:
    """The words for a year with the date before or after them, and that date; None: there is no date beside them."""
    if date := _BEFORE.search(text, max(0, year.start() - _REACH), year.start()):
        return date[0] + year[0], date["date"]
    if date := _BEHIND.match(text, year.end()):
        return year[0] + date[0], date["date"]
    return None


_LAST: Final = rf"{words.OF_LAST_YEAR}|(?:{words.LAST}) (?:{_YEAR})|(?:{_YEAR}) (?:{words.LAST_BEHIND})"
# Each with the number of years ago; None: the count in the phrase.
_FORMS: Final = (
    (pattern(rf"\b(?:{_LAST})\b"), 1),
    (pattern(rf"\b(?:{words.THIS}) (?:{_YEAR})\b"), 0),
    (pattern(rf"\b(?:{words.AGO_BEFORE}) {_COUNTED}\b"), None),
    (pattern(rf"\b{_COUNTED} (?:{words.AGO_BEHIND})\b"), None),
)
_UNSPACED: Final = tuple(
    (years, lazy_pattern(rf"(?:{names})(?:の|的| )?(?=(?:\d{{1,2}}|[一二三四五六七八九十]{{1,2}}) ?[月월])"))
    for years, names in words.UNSPACED_YEARS_BEFORE.items()
)
