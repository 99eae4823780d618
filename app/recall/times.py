"""The time that a query names: "last May", "two weeks ago" (issue 7, point 3). Pure.

Dates are read by dateparser, which knows the languages. It takes more for a date than a reader would ("we" for a
Wednesday, "may" for a month), so a word alone is only taken where it can hardly be anything else.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import regex

from app.recall.languages import language_codes
from app.recall.model import Span

CHARACTERS_MAX: Final = 1_000  # of a query that is searched for dates

# A word alone that names a time: one of these, or one with a capital within a sentence; CJK has no capitals.
_PLAIN: Final = frozenset(
    {
        "yesterday",
        "today",
        "tonight",
        "tomorrow",
        "gestern",
        "heute",
        "morgen",
        "hier",
        "demain",
        "ayer",
        "hoy",
        "ontem",
    }
    | {"hoje", "ieri", "oggi", "domani", "gisteren", "vandaag", "вчера", "сегодня", "завтра"}
)
# English words beside, which a short word next to them does not make a time: "may we".
_AMBIGUOUS: Final = frozenset({"may", "march", "mar", "sun", "sat", "second"})
_YEARS: Final = range(2, 9_999)  # in whatever zone, and the year after it, is a date still
_LETTERS_MIN: Final = 3
_WORDS: Final = regex.compile(r"\w+")
_UNSPACED: Final = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]{2,}")
_NUMBER: Final = regex.compile(r"\d")
_DAY_OR_YEAR: Final = regex.compile(r"(?<!\d)(?:(?:19|20)\d\d|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4})(?!\d)")


@dataclass(frozen=True, slots=True)
class Named:
    """The time that a query names, and the query without the words that only count from today."""

    span: Span | None
    text: str


def named_time(query: str, now: datetime) -> Named:
    """What ``query`` names, as seen from ``now``: from the first to the last time, where it names several."""
    text = query[:CHARACTERS_MAX]
    spans, rest = [], query
    for phrase, at, period in _phrases(text, now):
        spans.append(_span(at, period))
        if not _NUMBER.search(phrase):
            rest = rest.replace(phrase, " ", 1)
    if not spans:
        return Named(None, query)
    return Named(Span(since=min(since for since, _ in spans), until=max(until for _, until in spans)), rest)


def _phrases(text: str, now: datetime) -> Iterator[tuple[str, datetime, str]]:
    from dateparser.date import DateDataParser
    from dateparser.search import search_dates

    settings = {"RELATIVE_BASE": now.replace(tzinfo=None), "PREFER_DATES_FROM": "past", "PREFER_DAY_OF_MONTH": "first"}
    languages = language_codes(text)
    for phrase, _ in search_dates(text, languages=languages, settings=settings) or []:
        if _is_time(phrase, text):
            found = DateDataParser(languages=languages, settings=settings).get_date_data(phrase)
            if found.date_obj is not None and found.date_obj.year in _YEARS:
                yield phrase, found.date_obj.replace(tzinfo=now.tzinfo or UTC), found.period or "day"


def _is_time(phrase: str, text: str) -> bool:
    words = _WORDS.findall(phrase)
    telling = [word for word in words if len(word) >= _LETTERS_MIN or _NUMBER.search(word)]
    word = telling[0] if telling else ""
    if len(telling) > 1 or _UNSPACED.search(phrase) or (len(words) > 1 and word.casefold() not in _AMBIGUOUS):
        return True
    if _NUMBER.search(word):
        return _DAY_OR_YEAR.search(word) is not None
    within = not text.lstrip().startswith(phrase)
    return word.casefold() in _PLAIN or (word[:1].isupper() and within)


def _span(at: datetime, period: str) -> tuple[datetime, datetime]:
    """The day, calendar week, month or year that holds ``at``."""
    day = at.replace(hour=0, minute=0, second=0, microsecond=0)
    match period:
        case "year":
            return day.replace(month=1, day=1), day.replace(year=day.year + 1, month=1, day=1)
        case "month":
            first = day.replace(day=1)
            return first, (first + timedelta(days=31)).replace(day=1)
        case "week":
            monday = day - timedelta(days=day.weekday())
            return monday, monday + timedelta(weeks=1)
        case _:
            return day, day + timedelta(days=1)
