"""Dates in texts of many languages: finds them, reads the labels of ``Date:`` headers, and writes them for the log."""

import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from itertools import chain
from typing import Final

from app.kit import month_names
from app.kit.patterns import in_windows, lazy_pattern
from app.kit.words import any_of, plain_digits

LABEL_CHARACTERS_MAX: Final = 80
LABELS_KEPT: Final = 4_096  # in the cache of parsed labels: a log has few, and asks for each of its lines

SHORT_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DOTTED: Final = str.maketrans("ıİ", "ii")


def _read(said: str) -> str:
    """A name as a lookup key: a pattern that ignores case takes ``ı`` for an i, and ``ſ`` for an s."""
    return said.translate(_DOTTED).casefold()


def _names(*lines: str) -> dict[str, int]:
    """Month numbers by name; each name in the Unicode normal forms that texts have."""
    months = (enumerate(one.strip().splitlines(), start=1) for one in lines)
    said = ((name.replace("_", " "), at) for one in months for at, names in one for name in names.split())
    return {unicodedata.normalize(form, name): at for name, at in said for form in ("NFC", "NFKC", "NFKD")}


_FIRST: Final = _names(month_names.NAMES)
MONTHS: Final = _FIRST | _names(
    month_names.NAMES_BEHIND, month_names.NAMES_BEHIND_EASTERN, month_names.NAMES_BEHIND_SOUTHERN
)
_MONTH_NUMBERS: Final = {_read(name): number for name, number in MONTHS.items()}

_MONTH: Final = any_of(_FIRST)
_A_LETTER: Final = r"(?=[^\W\d_])"  # all names begin with one; tried first, because trying all names is slow
_ANY_MONTH: Final = _A_LETTER + any_of(MONTHS)
_MONTH_ONLY: Final = any_of([name for name in MONTHS if name in _FIRST or len(name) > len("ago")])
_OVER: Final = r"(?!\w)\.?"  # not \b: the vowel sign that a Hindi word may end with is no letter to it
_OF_YEAR: Final = r"(?:\s?(?:года|году|року|г\.|г\b|р\.))?"
# Hardly any position of a text begins a date, so a lookahead for a digit or a letter fails fast.
_DATE: Final = lazy_pattern(
    rf"""
    (?=[0-9])(?:
      (?<![0-9])(?P<y1>[0-9]{{4}})(?P<sep>[-/.])\s?(?P<m1>[0-9]{{1,2}})(?P=sep)\s?(?P<d1>[0-9]{{1,2}})(?![0-9])
      | (?<![0-9])(?:(?P<y2>[0-9]{{4}})\s?[年년]\s?)?(?P<m2>[0-9]{{1,2}})\s?[月월]\s?(?P<d2>[0-9]{{1,2}})\s?[日일号號]
      | (?<![0-9])(?P<y3>[0-9]{{4}})\s?[年년]\s?(?P<m3>[0-9]{{1,2}})\s?[月월]
      | (?<![0-9.])(?P<d7>[0-9]{{1,2}})\.\s?(?P<m7>[0-9]{{1,2}})\.\s?(?P<y7>[0-9]{{4}})(?![0-9])
      | (?<![0-9])(?P<y8>[0-9]{{4}})\.?\s(?P<m8>{_ANY_MONTH})\s{{1,3}}(?P<d8>[0-9]{{1,2}})(?![0-9:])
      | (?<![0-9.:])(?P<d9>[0-9]{{1,2}})\stháng\s(?P<m9>[0-9]{{1,2}})(?:,?\snăm\s(?P<y9>[0-9]{{4}}))?(?![0-9])
      | (?<![0-9.:])(?P<d5>[0-9]{{1,2}})(?:st|nd|rd|th|er|º|\.|-го)?(?:\s(?:of|de))?\s{{0,3}}(?P<m5>{_ANY_MONTH}){_OVER}
        (?:(?:,|\sdel?)?\s{{1,3}}(?P<y5>[0-9]{{4}})\b{_OF_YEAR})?
    )
    | \b{_A_LETTER}(?:
      (?P<m4>{_MONTH})\b\.?\s{{1,3}}(?P<d4>[0-9]{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s{{1,3}}(?P<y4>[0-9]{{4}})\b)?
      | (?P<m6>{_MONTH_ONLY}){_OVER},?(?:\sdel?)?\s{{1,3}}(?P<y6>[0-9]{{4}})\b(?![.,][0-9]){_OF_YEAR}
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)
# A word is a range only before a year: "on May 3 to 5 people" is none.
_TO: Final = r"(?:\s?[-–/]\s?|\s(?:to|through|until|and|bis|und)\s(?=[0-9]{1,2},?\s[0-9]{4}\b))"
_RANGE: Final = lazy_pattern(
    rf"\b(?P<month>(?:{_MONTH})\b\.?)\s{{1,3}}(?P<first>[0-9]{{1,2}}){_TO}(?P<last>[0-9]{{1,2}})\b"
    r"(?P<year>,?\s{1,3}[0-9]{4}\b)?",
    re.IGNORECASE,
)
_RANGE_BEFORE: Final = lazy_pattern(
    r"(?<![0-9.:-])(?P<first>[0-9]{1,2})\.?\s?[-–]\s?(?P<last>[0-9]{1,2}\.?)"
    rf"(?P<month>(?:\sde)?\s{{1,3}}(?:{_ANY_MONTH}){_OVER})(?P<year>(?:,|\sdel?)?\s{{1,3}}[0-9]{{4}}\b)?",
    re.IGNORECASE,
)
_RANGE_UNSPACED: Final = lazy_pattern(
    r"(?P<month>(?:[0-9]{4}\s?[年년]\s?)?[0-9]{1,2}\s?[月월]\s?)(?P<first>[0-9]{1,2})\s?[日일号號]?\s?"
    r"(?:[-–~〜]|から|부터|至|到)\s?(?P<last>[0-9]{1,2})\s?(?P<day>[日일号號])"
)
_MONTH_ALONE: Final = lazy_pattern(rf"\b(?:{_MONTH_ONLY})(?!\w)|(?<![0-9])[0-9]{{1,2}}\s?[月월]", re.IGNORECASE)
_DAY_ALONE: Final = lazy_pattern(
    r"(?<![0-9])([0-9]{1,2})(?:(?:st|nd|rd|th)\b|-(?:го|е)\b|\s?(?:[日일号號]|तारीख))"
    r"|\b(?:the|on|am|den|dem|vom|zum|le|au|du|el|al|del|il|dia|día|ngày|tanggal)\s([0-9]{1,2})\b",
    re.IGNORECASE,
)
_FIGURES: Final = lazy_pattern(
    r"(?<![0-9./-])([0-9]{1,2})([./-])([0-9]{1,2})\2([0-9]{4})(?![0-9./-]*[0-9])"
    r"|(?<![\w./,])([0-3]?[0-9])(?:\.(0?[1-9]|1[0-2])\.(?=[\s,;:)\]–-]|$)|/(0[1-9]|1[0-2])(?![\w/]))"
    r"|(?<![0-9年년])(?<![年년]\s)([0-9]{1,2})\s?[月월](?!\s?[0-9]{1,2}\s?[日일号號])"
)
_IN_FIGURES: Final = lazy_pattern(
    r"(?<![0-9./-])([0-9]{1,2})[/.]\s?([0-9]{1,2})(?:[/.]\s?([0-9]{4}|[0-9]{2}))?\.?(?![0-9/.-])"
)
CENTURY: Final = 2_000  # added to a year of two digits
_DIGITS: Final = lazy_pattern("[0-9]+")
# A date has at most 41 characters: 22 before its first digit (``października,  del   2026``), 31 between two.
_REACH: Final = 32
_WORD: Final = lazy_pattern(r"(?=\w)[^\s,.;:!?*#_~|，、。]+")
_DECORATION: Final = " *#_\u3000"
_COLON: Final = str.maketrans("：", ":")
_LABELS: Final = """
date datum fecha data dato dátum päivä päivämäärä tarih tanggal ngày дата день ημερομηνία التاريخ تاريخ תאריך
दिनांक तारीख तिथि 日期 日付 日 날짜 일자
"""
_ERAS: Final = {
    "明治": 1867,
    "大正": 1911,
    "昭和": 1925,
    "平成": 1988,
    "令和": 2018,
    "民國": 1911,
    "民国": 1911,
}  # year 0
_ERA_YEAR: Final = lazy_pattern(rf"(?P<era>{'|'.join(_ERAS)})\s?(?P<number>元|[0-9]{{1,3}})\s?年")
_PARENTHESIS: Final = lazy_pattern(r"\([^()]*\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class DatePhrase:
    """A date found at ``start``..``end`` of a text. ``year`` or ``day`` is None if the text leaves it out."""

    start: int
    end: int
    year: int | None
    month: int
    day: int | None

    def on(self, year: int) -> date | None:
        """The date in ``year``; the first of the month if no day is given; None if there is no such date."""
        try:
            return date(year, self.month, self.day or 1)
        except ValueError:
            return None

    @property
    def full(self) -> date | None:
        """The date if year, month and day are all given, else None."""
        return None if self.year is None or self.day is None else self.on(self.year)


def date_phrases(text: str) -> Iterator[DatePhrase]:
    """The calendar dates a text names, in order: ``May 20, 2023``, ``20 mai``, ``2023-05-20``, ``2023年5月20日``."""
    text = plain_digits(text)
    for match in chain.from_iterable(in_windows(_DATE, text, *near, reach=2 * _REACH) for near in _near_digits(text)):
        found = {name[0]: value for name, value in match.groupdict().items() if value and name != "sep"}
        month = _month(found["m"])
        phrase = DatePhrase(
            start=match.start(),
            end=match.end(),
            year=int(found["y"]) if "y" in found else None,
            month=month,
            day=int(found["d"]) if "d" in found else None,
        )
        if phrase.on(phrase.year if phrase.year is not None else 2000) is not None:  # 2000: a leap year
            yield phrase


def _near_digits(text: str) -> Iterator[tuple[int, int]]:
    """The windows around digits, because each date has one. Trying all other words would take most of the time."""
    start = end = 0
    for digits in _DIGITS.finditer(text):
        if digits.start() - _REACH > end:
            if end:
                yield start, end
            start = digits.start() - _REACH
        end = digits.end() + _REACH
    if end:
        yield start, end


def _month(said: str) -> int:
    """The month's number, from a name or a number as a pattern found it."""
    return _MONTH_NUMBERS.get(_read(said)) or int(said)


def days_apart(text: str) -> str:
    """The text with each range of days, ``Aug 8-9, 2026``, written as two dates."""
    apart = _RANGE.sub(r"\g<month> \g<first>\g<year> \g<month> \g<last>\g<year>", text)
    apart = _RANGE_BEFORE.sub(r"\g<first>\g<month>\g<year> \g<last>\g<month>\g<year>", apart)
    return _RANGE_UNSPACED.sub(r"\g<month>\g<first>\g<day> \g<month>\g<last>\g<day>", apart)


def figure_phrases(text: str) -> Iterator[tuple[DatePhrase, ...]]:
    """The numeric dates in a text, ``3.5.2026``, ``20/08``, ``9月``, each with its one or two possible readings."""
    for match in _FIGURES.finditer(text):
        year = int(match[4]) if match[4] else None
        one, other = match[1] or match[5], int(match[3] or match[6] or match[7] or match[8])
        both_ways = ((other, int(one)), (int(one), other)) if one else ((other, None),)
        read = (
            DatePhrase(start=match.start(), end=match.end(), year=year, month=month, day=day)
            for month, day in dict.fromkeys(both_ways)
        )
        if found := tuple(phrase for phrase in read if phrase.on(2000 if year is None else year)):
            yield found


def partial_phrases(text: str) -> Iterator[DatePhrase]:
    """The months without a day in a text, ``in September``, and numeric dates, ``3/14``, in both readings."""
    found: list[tuple[int | None, int, int | None]] = [
        (None, _month(name.rstrip("월月").rstrip()), None) for name in _MONTH_ALONE.findall(text)
    ]
    for one, other, written in _IN_FIGURES.findall(text):
        year = int(written) + CENTURY * (len(written) == len("26")) if written else None
        found += [(year, int(one), int(other)), (year, int(other), int(one))]
    for year, month, day in found:
        phrase = DatePhrase(start=0, end=0, year=year, month=month, day=day)
        if phrase.on(2000 if year is None else year) is not None:
            yield phrase


def days_alone(text: str) -> frozenset[int]:
    """The days of a month that a text names without the month: ``the 14th``, ``am 14.``, ``14日``."""
    return frozenset(int(first or second) for first, second in _DAY_ALONE.findall(text))


def day_label(day: date) -> str:
    """The form in which the log writes a day: ``Aug 1, 2026``."""
    return f"{SHORT_MONTHS[day.month - 1]} {day.day}, {day.year:04d}"


def parse_day(label: str) -> date | None:
    """The day a header names, or None. Weekdays, decoration and a relative time beside the date are ignored."""
    return None if len(label) > LABEL_CHARACTERS_MAX else _day_of(label)


@lru_cache(maxsize=LABELS_KEPT)
def _day_of(label: str) -> date | None:
    days = [phrase.full for phrase in date_phrases(_plain(label))]
    return days[0] if len(days) == 1 else None


def is_day_alone(line: str) -> bool:
    """Whether a line is a full date and nothing else, except for one word such as a weekday."""
    return parse_day(line) is not None and _is_date_alone(line)


def _is_date_alone(line: str) -> bool:
    """As ``is_day_alone``, for a date that may lack its year."""
    plain = _plain(line)
    found = list(date_phrases(plain))
    if len(found) != 1 or found[0].day is None:
        return False
    return len(_WORD.findall(plain[: found[0].start] + " " + plain[found[0].end :])) <= 1


def day_behind_label(line: str) -> str | None:
    """The date of a line like ``日付：2026年8月1日``, labelled with a word for "date" in some language; or None."""
    label, colon, rest = line.translate(_COLON).partition(":")
    if not colon or label.strip(_DECORATION).casefold() not in _LABELS.split():
        return None
    rest = rest.strip(_DECORATION)
    short = len(rest) <= LABEL_CHARACTERS_MAX
    return rest if short and (_is_date_alone(rest) or _IN_FIGURES.fullmatch(_plain(rest).strip())) else None


def days_meant(label: str, among: Collection[date]) -> frozenset[date]:
    """The days of ``among`` that a label without a year, or a numeric one, may mean: ``Aug 1``, ``01/08/2026``."""
    plain = _plain(label)
    phrases = [phrase for phrase in (*date_phrases(plain), *partial_phrases(plain)) if phrase.day]
    return frozenset(day for day in among for phrase in phrases if phrase.on(phrase.year or day.year) == day)


def _plain(label: str) -> str:
    return _PARENTHESIS.sub("", plain_digits(in_common_era(unicodedata.normalize("NFKC", label))))


def in_common_era(text: str) -> str:
    """The text with years of Japanese eras and of the Republic of China converted to the common era."""
    return _ERA_YEAR.sub(_common, text)


def _common(match: re.Match[str]) -> str:
    number = 1 if match["number"] == "元" else int(match["number"])
    return f"{_ERAS[match['era']] + number}年"


def relative(day: date, anchor: date) -> str:
    """How far ``day`` is from ``anchor``: ``2 weeks ago``, ``in 3 months``. Buckets: memory-rules.md section 6."""
    passed = (anchor - day).days
    match passed:
        case 0:
            return "today"
        case 1:
            return "yesterday"
        case -1:
            return "tomorrow"
    count, unit = _bucket(abs(passed))
    span = f"{count} {unit}" if count == 1 else f"{count} {unit}s"
    return f"{span} ago" if passed > 0 else f"in {span}"


def _bucket(days: int) -> tuple[int, str]:
    for until, length, unit in ((7, 1, "day"), (30, 7, "week"), (365, 30, "month")):
        if days < until:
            return days // length, unit
    return days // 365, "year"
