"""Checks that what a line claims occurs in its source (memory-rules.md section 4, Gates)."""

import re
from bisect import bisect_right
from calendar import monthrange
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from functools import partial
from math import inf
from string import ascii_lowercase
from typing import Any, Final

from app.kit.days import DatePhrase, figure_phrases
from app.kit.patterns import lazy_pattern
from app.memory.grounding.claims import BEFORE, DAYS_AWAY, PHONE_DIGITS_MIN, TRIMMED, WEEKDAYS, Claims, claims
from app.memory.grounding.clock import clock_times
from app.memory.grounding.numbers import NUMBER, forms, fractions, groups, is_shortened
from app.memory.grounding.sources import GROUPING, JOINT, Ground
from app.memory.ranges import Ranges

COMPUTED_DAYS_MAX: Final = 366  # how far "last May", "next week" and the like may lead from the day they are said on
DAY_ALONE_DAYS_MAX: Final = 31  # and "the 14th"
_YEAR: Final = lazy_pattern("[12][0-9]{3}")
# Members of a class or a module, ``TimeDelta._serialize``, but no file; and codes written together: ``HAT030/HAT223``.
_ENDINGS: Final = "cfg|css|csv|html|ini|json|lock|log|sql|toml|txt|xml|yaml|yml"
_MEMBER: Final = lazy_pattern(rf"\w{{3,}}(?:\.(?!(?:{_ENDINGS})$)\w{{3,}})+")
_CODES: Final = lazy_pattern(r"(?=\w*\d)\w++(?:[/+](?=\w*\d)\w++)+")
_MEMBERS: Final = lazy_pattern(r"\.")
_TOGETHER: Final = lazy_pattern("[/+]")
_VERSION: Final = lazy_pattern(r"v[0-9][0-9.]*")


def stands_on(text: str, grounds: Sequence[Ground], *, anywhere: Ground | None = None) -> bool:
    """Whether every claim of ``text`` occurs in one of the sources, or is a date that follows from its day.

    Names and the "(before: ...)" may occur ``anywhere``: a line names a thing that its message calls "it", and the
    former state was told before.
    """
    return next(unfounded(text, grounds, anywhere=anywhere), None) is None


def unfounded(text: str, grounds: Sequence[Ground], *, anywhere: Ground | None = None) -> Iterator[str]:
    """The claims of ``text`` that no source holds."""
    wide = grounds if anywhere is None else (*grounds, anywhere)
    yield from _unheld(claims(BEFORE.sub(" ", text)), grounds, named=wide)
    for before in BEFORE.findall(text):
        yield from _unheld(claims(before), wide, named=wide)


def _unheld(found: Claims, grounds: Sequence[Ground], *, named: Sequence[Ground]) -> Iterator[str]:
    checks: tuple[tuple[Sequence[Any], Callable[[Any, Ground], bool], Sequence[Ground]], ...] = (
        (found.quotes, _quotes, grounds),
        (found.dates, _dates, grounds),
        (found.figures, _figures, grounds),
        (found.short, _short, grounds),
        (found.named, _named, grounds),
        (found.identifiers, _names, named),
        (found.times, _times, grounds),
        (found.hours, _hours, grounds),
        (found.codes, _counts, named),
        (found.numbers, _counts, grounds),
        (found.lettered, _has_letters, grounds),
        (found.degrees, _is_as_cold, grounds),
    )
    for values, holds, among in checks:
        for value in values:
            if not any(map(partial(holds, value), among)):
                yield str(value)


def _quotes(quote: str, ground: Ground) -> bool:
    """Whether one source says the quote, or each piece of it between dots of omission, verbatim."""
    pieces = [piece.strip(TRIMMED) for piece in quote.split("...")]
    if not all(piece in ground.text for piece in pieces):
        return False
    return len(pieces) == 1 or any(all(piece in source.text for piece in pieces) for source in ground.sources)


def _names(name: str, ground: Ground) -> bool:
    """Whether the name occurs, also joined otherwise, without its dot, or in its parts.

    "nextjs" means Next.js, and "flight LH 123" means LH123.
    """
    if _is_whole(name, ground.text) or ("." in name and name.replace(".", "") in ground.text):
        return True
    if sum(map(str.isdecimal, name)) >= PHONE_DIGITS_MIN and name.translate(GROUPING) in ground.ungrouped:
        return True
    if _VERSION.fullmatch(name):
        return _is_whole(name[1:], ground.text)
    if re.search(rf"(?<![a-z0-9_]){re.escape(JOINT.sub('', name))}(?![a-z0-9_])", ground.joined):
        return True
    parts = _MEMBERS.split(name) if _MEMBER.fullmatch(name) else _TOGETHER.split(name) if _CODES.fullmatch(name) else ()
    return bool(parts) and all(_is_apart(part, ground.text) for part in parts)


def _is_whole(name: str, text: str) -> bool:
    """Whether the name occurs, not as a part of a longer word: ``/etc/host`` of ``/etc/hosts``."""
    return name in text and re.search(rf"(?<![a-z0-9_]){re.escape(name)}(?![a-z0-9_])", text) is not None


def _has_letters(lettered: str, ground: Ground) -> bool:
    """False if its number occurs with other letters only: 14C is not 14D; 30m may be 30min or 30 minutes."""
    digits = lettered.rstrip(ascii_lowercase)
    letters = lettered[len(digits) :]
    found = re.findall(rf"(?<![\w.,]){digits}( ?)([a-z]+)(?![a-z0-9])", ground.text)
    others = [behind for blank, behind in found if not blank]
    return not others or any(
        behind.startswith(letters) or (not blank and letters.startswith(behind)) for blank, behind in found
    )


def _is_as_cold(degrees: tuple[bool, str], ground: Ground) -> bool:
    """False if the source has this temperature on the other side of zero only."""
    below, number = degrees
    return (not below, number) not in ground.degrees or degrees in ground.degrees


def _is_apart(part: str, text: str) -> bool:
    """Whether the part occurs as a word of its own."""
    return re.search(rf"(?<![\w.]){re.escape(part)}(?![\w]|\.\w)", text) is not None


def _times(time: str, ground: Ground) -> bool:
    return time in ground.times


def _hours(hours: str, ground: Ground) -> bool:
    return bool(clock_times(hours) & ground.times) or all(_counts(number, ground) for number in NUMBER.findall(hours))


def _counts(number: str, ground: Ground) -> bool:
    """Whether the number occurs in some form; several that stand together, if each of them does."""
    if number.startswith("#") and _is_seq(number[1:], ground.seqs):
        return True
    meant = forms(number)
    if meant & ground.numbers or any(_YEAR.fullmatch(form) and form in ground.years for form in meant):
        return True
    digits = number.translate(GROUPING)
    if len(digits) >= PHONE_DIGITS_MIN and digits.isdecimal() and digits in ground.ungrouped:
        return True
    if not number.startswith("#") and is_shortened(number, ground.numbers):
        return True
    if fractions(number) & ground.numbers:
        return True
    parts = groups(number) or [part for part in NUMBER.findall(number) if part != number]
    return bool(parts) and all(_counts(part, ground) for part in parts)


def _is_seq(number: str, seqs: Ranges) -> bool:
    if re.fullmatch("[0-9]{1,9}", number) is None:
        return False
    at = bisect_right(seqs, int(number), key=lambda span: span[0]) - 1
    return at >= 0 and int(number) <= seqs[at][1]


def _dates(phrase: DatePhrase, ground: Ground) -> bool:
    if any(_is_said(phrase, *said) for said in ground.dates):
        return True
    return any(_is_computed(phrase, day, *reach) for day, reach in ground.reaches.items())


def _figures(read: Sequence[DatePhrase], ground: Ground) -> bool:
    return any(_dates(phrase, ground) for phrase in read)


def _short(written: str, ground: Ground) -> bool:
    """Whether it occurs as a date or, since it may be none, as numbers."""
    if any(_figures(read, ground) for read in figure_phrases(written)):
        return True
    return _counts(written.rstrip(".月월 "), ground)


def _named(named: tuple[str, DatePhrase], ground: Ground) -> bool:
    """Whether the date fits its word, ``yesterday`` or a weekday, or the source says so."""
    word, phrase = named
    if (word, phrase.month, phrase.day) in ground.named or not ground.reaches:
        return True
    days = [(_nearest(phrase, said), said) for said in ground.reaches]
    if word in DAYS_AWAY:
        return any(day is not None and (day - said).days == DAYS_AWAY[word] for day, said in days)
    return any(day is not None and day.weekday() == WEEKDAYS[word] for day, _ in days)


def _nearest(phrase: DatePhrase, said: date) -> date | None:
    """The day meant, in the year that brings it nearest to the day of saying; None if there is no such day."""
    days = [day for year in _years(phrase, said) if (day := phrase.on(year))]
    return min(days, key=lambda day: abs(day - said), default=None)


def _is_said(phrase: DatePhrase, month: int, day: int | None, year: int | None, near: int | None) -> bool:
    """Whether a date of the source means this one; without a year it means one near that of its saying."""
    if phrase.month != month or phrase.day not in {None, day}:
        return False
    if phrase.year is None or year is not None:
        return phrase.year in {None, year}
    return near is None or abs(phrase.year - near) <= 1


def _is_computed(phrase: DatePhrase, said: date, relative: bool, alone: frozenset[int]) -> bool:  # noqa: FBT001 - of a tuple
    """Whether the date is the day of saying, or near it if something is said relative to that."""
    near = DAY_ALONE_DAYS_MAX if phrase.day in alone else 0
    reach = COMPUTED_DAYS_MAX if relative else near
    return any(_days_between(phrase, year, said) <= reach for year in _years(phrase, said))


def _years(phrase: DatePhrase, said: date) -> Sequence[int]:
    """The years that the date may mean."""
    return range(said.year - 1, said.year + 2) if phrase.year is None else (phrase.year,)


def _days_between(phrase: DatePhrase, year: int, day: date) -> float:
    """Days from ``day`` to what the phrase means in ``year``: to the nearest day of the month if it names no day."""
    first = phrase.on(year)
    if first is None:
        return inf
    length = 0 if phrase.day else monthrange(year, phrase.month)[1] - 1
    return max(0, (first - day).days, (day - first).days - length)
