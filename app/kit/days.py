"""Dates as the log writes them and as people write them: labels of ``Date:`` headers, dates inside a text."""

import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Final

LABEL_CHARACTERS_MAX: Final = 80

SHORT_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# English, German, French, Spanish, Portuguese, Italian; CJK dates carry their month as a number.
MONTH_NAMES: Final = (
    "jan january januar janvier enero janeiro gennaio",
    "feb february februar février febrero fevereiro febbraio",
    "mar march märz mars marzo março",
    "apr april avril abril aprile",
    "may mai mayo maio maggio",
    "jun june juni juin junio junho giugno",
    "jul july juli juillet julio julho luglio",
    "aug august août agosto",
    "sep sept september septembre septiembre setembro settembre",
    "oct october oktober octobre octubre outubro ottobre",
    "nov november novembre noviembre novembro",
    "dec december dezember décembre diciembre dezembro dicembre",
)
MONTHS: Final = {name: number for number, names in enumerate(MONTH_NAMES, start=1) for name in names.split()}


def _any_of(words: Collection[str]) -> str:
    """A pattern of these words, decided letter by letter: trying one after the other costs five times as much."""
    firsts = sorted({word[0] for word in words if word})
    choices = [first + _any_of({word[1:] for word in words if word.startswith(first)}) for first in firsts]
    return f"(?:{'|'.join(choices)}){'?' if '' in words else ''}" if choices else ""


_MONTH: Final = _any_of(MONTHS)
# Hardly any place of a text begins a date, so digits and letters are told apart first.
_DATE: Final = re.compile(
    rf"""
    (?=[0-9])(?:
      (?<![0-9])(?P<y1>[0-9]{{4}})(?P<sep>[-/.])\s?(?P<m1>[0-9]{{1,2}})(?P=sep)\s?(?P<d1>[0-9]{{1,2}})(?![0-9])
      | (?<![0-9])(?:(?P<y2>[0-9]{{4}})\s?[年년]\s?)?(?P<m2>[0-9]{{1,2}})\s?[月월]\s?(?P<d2>[0-9]{{1,2}})\s?[日일号號]
      | (?<![0-9])(?P<y3>[0-9]{{4}})\s?[年년]\s?(?P<m3>[0-9]{{1,2}})\s?[月월]
      | (?<![0-9.:])(?P<d5>[0-9]{{1,2}})(?:st|nd|rd|th|er|º|\.)?(?:\s(?:of|de))?\s{{0,3}}(?P<m5>{_MONTH})\b\.?
        (?:(?:,|\sde)?\s{{1,3}}(?P<y5>[0-9]{{4}})\b)?
    )
    | \b(?:
      (?P<m4>{_MONTH})\b\.?\s{{1,3}}(?P<d4>[0-9]{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s{{1,3}}(?P<y4>[0-9]{{4}})\b)?
      | (?P<m6>{_MONTH})\b\.?,?(?:\sde)?\s{{1,3}}(?P<y6>[0-9]{{4}})\b
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_RANGE: Final = re.compile(
    rf"\b(?P<month>(?:{_MONTH})\b\.?)\s{{1,3}}(?P<first>[0-9]{{1,2}})\s?[-–/]\s?(?P<last>[0-9]{{1,2}})\b"
    r"(?P<year>,?\s{1,3}[0-9]{4}\b)?",
    re.IGNORECASE,
)
_MONTH_ALONE: Final = re.compile(rf"\b(?:{_MONTH})\b|(?<![0-9])[0-9]{{1,2}}\s?[月월]", re.IGNORECASE)
_DAY_ALONE: Final = re.compile(
    r"(?<![0-9])([0-9]{1,2})(?:(?:st|nd|rd|th)\b|\s?[日일号號])|\b(?:the|on|am|zum|le|el|il|dia|día)\s([0-9]{1,2})\b",
    re.IGNORECASE,
)
_FIGURES: Final = re.compile(r"(?<![0-9./-])([0-9]{1,2})([./-])([0-9]{1,2})\2([0-9]{4})(?![0-9./-]*[0-9])")
_IN_FIGURES: Final = re.compile(
    r"(?<![0-9./-])([0-9]{1,2})[/.]\s?([0-9]{1,2})(?:[/.]\s?([0-9]{4}|[0-9]{2}))?\.?(?![0-9/.-])"
)
CENTURY: Final = 2_000  # of a year in two figures
_DIGIT: Final = re.compile("[0-9]")
_DOTTED: Final = str.maketrans("ıİ", "ii")
_PARENTHESIS: Final = re.compile(r"\([^()]*\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class DatePhrase:
    """A date found at ``start``..``end`` of a text. ``year`` or ``day`` is None where the text leaves it out."""

    start: int
    end: int
    year: int | None
    month: int
    day: int | None

    def on(self, year: int) -> date | None:
        """The day meant if the year is ``year``; the first of the month where no day is said; None if there is none."""
        try:
            return date(year, self.month, self.day or 1)
        except ValueError:
            return None

    @property
    def full(self) -> date | None:
        """The day, where year, month and day are all said."""
        return None if self.year is None or self.day is None else self.on(self.year)


def date_phrases(text: str) -> Iterator[DatePhrase]:
    """The calendar dates a text names, in order: ``May 20, 2023``, ``20 mai``, ``2023-05-20``, ``2023年5月20日``."""
    if not _DIGIT.search(text):
        return
    for match in _DATE.finditer(text):
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


def _month(said: str) -> int:
    """Of a name or a number as a pattern found it: one that ignores case takes ``ı`` for an i, and ``ſ`` for an s."""
    return MONTHS.get(said.translate(_DOTTED).casefold()) or int(said)


def days_apart(text: str) -> str:
    """The text with each range of days, ``Aug 8-9, 2026``, written as its two days."""
    return _RANGE.sub(r"\g<month> \g<first>\g<year> \g<month> \g<last>\g<year>", text)


def figure_phrases(text: str) -> Iterator[tuple[DatePhrase, ...]]:
    """The dates a text names in figures with the year last, ``3.5.2026``, each as it may be read: twice, or once."""
    for match in _FIGURES.finditer(text):
        one, other, year = int(match[1]), int(match[3]), int(match[4])
        read = (
            DatePhrase(start=match.start(), end=match.end(), year=year, month=month, day=day)
            for month, day in dict.fromkeys(((other, one), (one, other)))
        )
        if found := tuple(phrase for phrase in read if phrase.full):
            yield found


def partial_phrases(text: str) -> Iterator[DatePhrase]:
    """The dates a text names by a month alone, ``in September``, or in figures alone, ``3/14``: these both ways."""
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
    """The days of a month that a text names without it: ``the 14th``, ``am 14.``, ``14日``."""
    return frozenset(int(first or second) for first, second in _DAY_ALONE.findall(text))


def day_label(day: date) -> str:
    """``Aug 1, 2026``: the one form the log writes a day in."""
    return f"{SHORT_MONTHS[day.month - 1]} {day.day}, {day.year:04d}"


def parse_day(label: str) -> date | None:
    """The day a header names, or None. Weekdays, decoration and a relative time beside the date are passed over."""
    if len(label) > LABEL_CHARACTERS_MAX:
        return None
    plain = _PARENTHESIS.sub("", unicodedata.normalize("NFKC", label))
    days = [phrase.full for phrase in date_phrases(plain)]
    return days[0] if len(days) == 1 else None


def is_day_alone(line: str) -> bool:
    """Whether a line says a day and nothing else, except for one word such as a weekday."""
    if parse_day(line) is None:
        return False
    plain = _PARENTHESIS.sub("", unicodedata.normalize("NFKC", line))
    phrase = next(date_phrases(plain))
    return len(re.findall(r"\w+", plain[: phrase.start] + " " + plain[phrase.end :])) <= 1


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
