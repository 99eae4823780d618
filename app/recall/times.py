"""Finds the time that a query names: "last May", "two weeks ago". Pure.

dateparser reads dates in all the languages, but takes more for a date than a reader would ("we" for a Wednesday, "may"
for a month), so a single word is only taken if it can hardly be anything else.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import regex

from app.kit.days import date_phrases
from app.recall.languages import language_codes
from app.recall.model import Span
from app.recall.periods import Stretch, calendar_stretch, tomorrow
from app.recall.relative import time_phrases
from app.recall.time_words import SINCE, SINCE_BEHIND, WEEKDAYS
from app.recall.years import years_said

CHARACTERS_MAX: Final = 1_000  # of a query that is searched for dates

_NAMED_DAYS: Final = """
yesterday today tonight tomorrow gestern heute morgen hier demain ayer hoy ontem hoje ieri oggi domani gisteren vandaag
вчера сегодня завтра
"""
# A single word names a time if it is one of these, or has a capital within a sentence; CJK has no capitals.
_PLAIN: Final = frozenset(_NAMED_DAYS.split()) | {
    name for names in WEEKDAYS for name in names.split("|") if name.isalpha()
}
# Names that are other English words too; a short word next to one does not make it a time: "may we".
_AMBIGUOUS: Final = frozenset({"may", "march", "mar", "sun", "sat", "second"})
_YEARS: Final = range(2, 9_999)  # in whatever zone, and the year after it, is a date still
_YEAR_DIGITS: Final = 4
_LETTERS_MIN: Final = 3
_WORDS: Final = regex.compile(r"\w+")
_UNSPACED: Final = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]{2,}")
_NUMBER: Final = regex.compile(r"\d")
_DAY_OR_YEAR: Final = regex.compile(r"(?<!\d)(?:(?:19|20)\d\d|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4})(?!\d)")


# Phrases that name no day: a time of day, or an ordinal that may be anything's.
_NO_DAY: Final = regex.compile(
    r"(?:(?:at|um|on|in) )?(?:\d{1,2}(?::\d\d)? ?(?:am|pm|uhr)|\d{1,2}:\d\d|the \d{1,2}(?:st|nd|rd|th))",
    regex.IGNORECASE,
)
_FIGURES: Final = "一二三四五六七八九"
_SIGNS: Final = str.maketrans(f"〇{_FIGURES}", "0123456789")
_NUMERAL: Final = rf"\d{{1,2}}|[二三]?十[{_FIGURES}]?|[{_FIGURES}]"
_MONTH_AND_DAY: Final = rf"(?P<month>{_NUMERAL}) ?[月월](?: ?(?P<day>{_NUMERAL}) ?[日号號일])?"
_UNSPACED_DATE: Final = regex.compile(
    rf"(?<![\d〇{_FIGURES}十])(?:(?P<year>\d{{4}}|[〇{_FIGURES}]{{4}}) ?[年년](?: ?{_MONTH_AND_DAY})?|{_MONTH_AND_DAY})"
)
_SINCE: Final = rf"\b(?:{SINCE}) (?:(?:the|de[mnr]?|le|la|el|il|lo) )?"
_WEEKDAY_OF_IT: Final = regex.compile(
    rf"(?:\b(?:{'|'.join(WEEKDAYS)}),? (?:(?:the|de[rnm]|le|el|il) )?)$", regex.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Named:
    """The time that a query names.

    ``text``: the query without words for it that messages of then do not have; ``beside``: without any words for it.
    """

    span: Span | None
    text: str
    beside: str


def named_time(query: str, now: datetime) -> Named:
    """The time that ``query`` names, relative to ``now``; of several, from the first to the last.

    If it names a day with its year, the others are relative to that: "last weekend" is the one before it. "Since" a
    time lasts until the end of today.
    """
    now = now if now.tzinfo else now.replace(tzinfo=UTC)
    text = query[:CHARACTERS_MAX]
    for year in years_said(text, now):
        text = text.replace(year.phrase, year.dated, 1)
    found = list(_found(text, now))
    if not found:
        return Named(None, query, query)
    rest = beside = text + query[CHARACTERS_MAX:]
    for one in found:
        beside = beside.replace(one.phrase, " ", 1)
        if not one.is_word and not _NUMBER.search(one.phrase if one.phrase in query else one.phrase[:-_YEAR_DIGITS]):
            rest = rest.replace(one.phrase, " ", 1)
    since, until = min(one.stretch[0] for one in found), max(one.stretch[1] for one in found)
    if len(found) == 1 and _is_since(found[0].phrase, text):
        until = max(until, tomorrow(now))
    return Named(Span(since=since, until=until), rest, beside)


@dataclass(frozen=True, slots=True)
class _Found:
    """A phrase that names a time. ``is_word``: a message of then may have it too, as it may one with a number."""

    phrase: str
    stretch: Stretch
    is_word: bool = False


def _found(text: str, now: datetime) -> Iterator[_Found]:
    base = _day_named(text, now) or now
    for said in time_phrases(text, base):
        text = text.replace(said.phrase, "\n", 1)
        if said.stretch is not None:
            yield _Found(said.phrase, said.stretch, is_word=said.is_word)
    for phrase, stretch, _ in _dates(text, now):
        text = text.replace(phrase, "\n", 1)
        yield _Found(phrase, stretch)
    for phrase, stretch in _unspaced_dates(text, now):
        yield _Found(phrase, stretch, is_word=True)
    for phrase, at, period in _phrases(_UNSPACED_DATE.sub("\n", text), base):
        yield _Found(phrase, calendar_stretch(at, period))


def _is_since(phrase: str, text: str) -> bool:
    """Whether the text says "since" of the time that the phrase names."""
    said = re.escape(phrase)
    return bool(re.search(rf"{_SINCE}{said}|(?={_SINCE}){said}|{said}(?:{SINCE_BEHIND})", text, re.IGNORECASE))


def _dates(text: str, now: datetime) -> Iterator[tuple[str, Stretch, bool]]:
    """The dates with a month and a year: the phrase, the time, and whether it is a day."""
    for found in date_phrases(text):
        if found.year is not None and found.year in _YEARS:
            at = now.replace(year=found.year, month=found.month, day=found.day or 1)
            weekday = _WEEKDAY_OF_IT.search(text[: found.start])
            begin = weekday.start() if weekday else found.start
            yield text[begin : found.end], calendar_stretch(at, "day" if found.day else "month"), found.day is not None


def _day_named(text: str, now: datetime) -> datetime | None:
    return next((since for _, (since, _), is_day in _dates(text, now) if is_day), None)


def _unspaced_dates(text: str, now: datetime) -> Iterator[tuple[str, Stretch]]:
    """The dates in Chinese, Japanese and Korean; without a year, the latest one."""
    for match in _UNSPACED_DATE.finditer(text):
        year, month, day = (_number(found) if (found := match[part]) else None for part in ("year", "month", "day"))
        try:
            at = now.replace(
                year=now.year if year is None else year,
                month=1 if month is None else month,
                day=1 if day is None else day,
            )
            at = at if year or at <= now else at.replace(year=at.year - 1)
        except ValueError:
            continue
        if at.year in _YEARS:
            yield match[0], calendar_stretch(at, "day" if day else "month" if month else "year")


def _number(written: str) -> int:
    """The number in digits or in signs: 二十三, and for a year 二〇二三."""
    if "十" not in written:
        return int(written.translate(_SIGNS))
    tens, _, ones = written.translate(_SIGNS).partition("十")
    return int(tens or 1) * 10 + int(ones or 0)


def _phrases(text: str, now: datetime) -> list[tuple[str, datetime, str]]:
    """The finds of dateparser in the language of the text; if a single word told it and it finds none, in English."""
    told, certain = language_codes(text), language_codes(text, telling=2)
    found = list(_phrases_in(told, text, now))
    return found if found or told == certain else list(_phrases_in(certain, text, now))


def _phrases_in(languages: list[str], text: str, now: datetime) -> Iterator[tuple[str, datetime, str]]:
    from dateparser.date import DateDataParser
    from dateparser.search import search_dates

    settings = {"RELATIVE_BASE": now.replace(tzinfo=None), "PREFER_DATES_FROM": "past", "PREFER_DAY_OF_MONTH": "first"}
    for phrase, _ in search_dates(text, languages=languages, settings=settings) or []:
        if _is_time(phrase, text):
            found = DateDataParser(languages=languages, settings=settings).get_date_data(phrase)
            if found.date_obj is not None and found.date_obj.year in _YEARS:
                yield phrase, found.date_obj.replace(tzinfo=now.tzinfo), found.period or "day"


def _is_time(phrase: str, text: str) -> bool:
    if _NO_DAY.fullmatch(phrase):
        return False
    words = _WORDS.findall(phrase)
    telling = [word for word in words if len(word) >= _LETTERS_MIN or _NUMBER.search(word)]
    word = telling[0] if telling else ""
    if len(telling) > 1 or _UNSPACED.search(phrase) or (len(words) > 1 and word.casefold() not in _AMBIGUOUS):
        return True
    if _NUMBER.search(word):
        return _DAY_OR_YEAR.search(word) is not None
    within = not text.lstrip().startswith(phrase)
    return word.casefold() in _PLAIN or (word[:1].isupper() and within)
