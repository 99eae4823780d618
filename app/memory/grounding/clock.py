"""Finds the times of day of a text, in figures or words: ``3:30 pm``, ``15h30``, ``halb vier``, ``下午3点半``."""

import re
from collections.abc import Collection, Iterator
from functools import cache
from typing import Final

from app.kit.patterns import lazy_pattern
from app.kit.words import any_of, plain_digits
from app.memory.grounding import time_words as words
from app.memory.grounding.number_words import KOREAN_ONES
from app.memory.grounding.spoken import END, START, VALUES

_HOURS_OF_DAY: Final = range(1, 25)
_SIGNS_OF_HOURS: Final = "一 二 三 四 五 六 七 八 九 十 十一 十二"
_KOREAN_HOURS: Final = {"열한": 11, "열두": 12, "열": 10} | KOREAN_ONES
# Words for the hours of a day.
_HOURS_SAID: Final = (
    {word: value for word, value in VALUES.items() if value in _HOURS_OF_DAY}
    | {sign: value for value, sign in enumerate(_SIGNS_OF_HOURS.split(), start=1)}
    | {"两": 2, "兩": 2}
)

TIME: Final = lazy_pattern(
    r"(?<![0-9:.])(?<![0-9],)(?P<hour>[01]?[0-9]|2[0-3])"
    r"(?:(?::(?P<minute>[0-5][0-9]))(?::[0-5][0-9])?(?![0-9:])|(?=\s?[ap]\.?m\b))(?:\s?(?P<half>[ap])\.?m\b\.?)?",
    re.IGNORECASE,
)
WITH_H: Final = lazy_pattern(
    r"(?<![\w:.,])(?P<hour>[01]?[0-9]|2[0-3])\s?h\s?(?P<minute>[0-5][0-9])(?!\w)", re.IGNORECASE
)
_WITH_DOT: Final = lazy_pattern(r"(?<![\w:.,])(?P<hour>[01]?[0-9]|2[0-3])\.(?P<minute>[0-5][0-9])(?![\w.,]*[0-9])")
_SIGN: Final = rf"(?:(?:{words.HOUR})(?![^\W\d_])|{words.HOUR_UNSPACED})"
HOURS: Final = lazy_pattern(
    rf"(?<![\w:.,])(?:[01]?[0-9]|2[0-4])\s?{_SIGN}(?:\s?[0-5]?[0-9]\s?[分분]|\s?[半반])?", re.IGNORECASE
)
_MINUTES: Final = (
    r"(?:\s?(?P<minute>[0-5]?[0-9])(?:\s?[分분]|(?![0-9]|[.,][0-9]))|\s?(?P<half>[半반])|\s?(?P<quarter>一刻))"
)


@cache  # made when first needed, not at the start of the service
def _forms(*, ascii_only: bool) -> tuple[re.Pattern[str], ...]:
    """Patterns of an hour in lower case: with a word before it, with a word or sign behind it, and to another hour."""
    hours = any_of([word for word in _HOURS_SAID if word.isascii() or not ascii_only])
    said = (
        rf"(?:{START}{hours}{END}|(?<![0-9.,:])(?:[01]?[0-9]|2[0-4])(?![0-9]|[.,:][0-9])"
        rf"|[一二三四五六七八九十两兩]{{1,3}}|(?:{'|'.join(_KOREAN_HOURS)})(?=\s?시))"
    )
    hour = rf"(?P<said>{said})"
    before = (
        rf"{START}(?:(?P<minus_30>{words.HALF_TO})|(?P<plus_30>{words.HALF_PAST}|{words.HALF_BEFORE})"
        rf"|(?P<plus_15>{words.QUARTER_PAST})|(?P<minus_15>{words.QUARTER_TO}))\s{hour}"
    )
    at = rf"{START}(?:{words.AT})\s?{hour}(?!\s?(?:[%€$£₽₺°]|{_SIGN}))"
    behind = (
        rf"{hour}(?P<sign>\s?{_SIGN})?(?:(?<!\d){_MINUTES}|\s?(?:(?P<plus_30>{words.HALF_BEHIND})"
        rf"|(?P<plus_15>{words.QUARTER_BEHIND})|(?P<minus_15>{words.QUARTER_TO_BEHIND})))?"
    )
    until = rf"{hour}(?:\s?[ap]\.?m\.?)?\s?(?:-|–|(?:{words.UNTIL})\b)\s?(?P<end>{said})"
    return tuple(map(lazy_pattern, (before, at, behind, until)))


_HOURS: Final = _HOURS_SAID | _KOREAN_HOURS
_TWELVE: Final = tuple(
    (lazy_pattern(rf"{START}(?:{said}){END}|{unspaced}"), at)
    for said, unspaced, at in (
        (words.NOON, words.NOON_UNSPACED, "12:00"),
        (words.MIDNIGHT, words.MIDNIGHT_UNSPACED, "00:00"),
    )
)
_LATE: Final = lazy_pattern(rf"{START}(?:{words.LATE}){END}|{words.LATE_UNSPACED}")
_HALF_A_DAY: Final = 12 * 60
_MOVED: Final = {"minus_30": -30, "plus_30": 30, "plus_15": 15, "minus_15": -15, "half": 30, "quarter": 15}


def clock_times(text: str) -> frozenset[str]:
    """The times of day of a text as ``HH:MM``.

    In figures as they stand: ``3:30 pm`` also as ``03:30``, for a line that drops the "pm", and 3:30 in a text with a
    word for the afternoon also as ``15:30``. Those in words may be of either half of the day.
    """
    text = plain_digits(text).casefold()
    late = _LATE.search(text) is not None
    return frozenset([*_in_figures(text, late=late), *_in_words(text)])


def clock(match: re.Match[str]) -> str:
    """A match of ``TIME`` or ``WITH_H`` as ``HH:MM``."""
    hour = int(match["hour"])
    half = match.groupdict().get("half")
    if half:
        hour = hour % 12 + (12 if half in "pP" else 0)
    return f"{hour:02d}:{match['minute'] or '00'}"


def _in_figures(text: str, *, late: bool) -> Iterator[str]:
    for pattern in (TIME, WITH_H, _WITH_DOT):
        for match in pattern.finditer(text):
            hour, minute = int(match["hour"]), match["minute"] or "00"
            yield clock(match)
            yield f"{hour:02d}:{minute}"
            if late:
                yield f"{hour % 12 + 12:02d}:{minute}"


def _in_words(text: str) -> Iterator[str]:
    before, at, behind, until = _forms(ascii_only=text.isascii())
    for form in (before, at, behind):
        for match in form.finditer(text):
            found = {name for name, value in match.groupdict().items() if value}
            if form is not behind or found - {"said"}:
                yield from _both(match["said"], _minutes(match, found))
    for match in until.finditer(text):
        yield from (time for said in (match["said"], match["end"]) for time in _both(said, 0))
    for twelve, time in _TWELVE:
        if twelve.search(text):
            yield time


def _minutes(match: re.Match[str], found: Collection[str]) -> int:
    if "minute" in found:
        return int(match["minute"])
    return sum(_MOVED.get(name, 0) for name in found)


def _both(said: str, minutes: int) -> Iterator[str]:
    """The time and, before 13:00, the one twelve hours later: the words may mean either."""
    hour = int(said) if said.isdecimal() else _HOURS.get(said)
    if hour is None:
        return
    first = 60 * hour + minutes
    for at in (first, first + _HALF_A_DAY) if first < _HALF_A_DAY + 60 else (first,):
        yield f"{at // 60 % 24:02d}:{at % 60:02d}"
