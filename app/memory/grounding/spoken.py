"""Converts the number words of a text to figures: ``nineteen eighty-four``, ``zweihundertfünf``, ``三十五``.

Dictated text has hardly any figures, and a model writes them: ``$1,250`` of "twelve fifty".
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Final

from app.kit.patterns import lazy_pattern
from app.kit.words import any_of
from app.memory.grounding import number_words as words
from app.memory.grounding.eastern import in_figures, plainly

# Word boundaries; a word of Hindi may end in a sign that is no letter.
START, END = r"(?<![\w\u0900-\u0963])", r"(?![\w\u0900-\u0963])"
_HUNDRED: Final = 100
WORDS_MAX: Final = 30  # of one number or several side by side: one of nothing but "hundred" would have no end
_DECIMALS_MAX: Final = 9
_SCORES: Final = frozenset({60, 80})  # before ten to nineteen: soixante-quinze, quatre-vingt-dix


def _values(lines: str, first: int, step: int = 1) -> dict[str, int]:
    """The values of a table of words with a line for each value."""
    return {
        word.replace("_", " "): first + step * at
        for at, line in enumerate(lines.strip().splitlines())
        for word in line.split()
    }


def _ones_before_tens() -> Iterator[tuple[str, int]]:
    for joint, ones, tens in words.ONES_BEFORE_TENS:
        for ten, tens_word in enumerate(tens.split(), start=2):
            for one, word in enumerate(ones.split(), start=1):
                joined = "ën" if joint == "en" and word.endswith("e") else joint
                yield word + joined + tens_word, 10 * ten + one


def _tens_before_ones() -> Iterator[tuple[str, int]]:
    tens, ones = words.TENS_BEFORE_ONES
    for ten, tens_word in enumerate(tens.split(), start=2):
        for one, word in enumerate(ones.split(), start=1):
            yield (tens_word[:-1] if word[0] in "uo" else tens_word) + word, 10 * ten + one


def _in_forms(said: Mapping[str, int]) -> dict[str, int]:
    return {unicodedata.normalize(form, word): value for word, value in said.items() for form in ("NFC", "NFKC")}


SCALES: Final = _in_forms({word: scale for scale, said in words.SCALES.items() for word in said.split()})
VALUES: Final = _in_forms(
    dict(_ones_before_tens())
    | dict(_tens_before_ones())
    | _values(words.ORDINALS, 1)
    | _values(words.COUNTS, 0)
    | _values(words.TENS, 30, 10)
    | _values(words.HUNDREDS, 200, 100)
    | {word: 20 + 10 * at for at, word in enumerate(words.DECADES.split())}
    | {word: at for at, word in enumerate(words.ORDINALS_OF_YEARS.split(), start=1)}
    | {word: value for value, said in words.OTHERS.items() for word in said.split()}
)
_IN_RUNS: Final = VALUES | {"oh": 0}  # two oh four
_ALONE: Final = _in_forms(dict.fromkeys(words.SCALES_ALONE.split(), 0))
SCALE: Final = rf"{any_of(SCALES)}{END}"
_VALUE: Final = any_of(VALUES)


@cache  # made when first needed: it takes a twentieth of a second
def _run(*, ascii_only: bool) -> re.Pattern[str]:
    """A pattern of number words side by side. Most texts are ASCII, and need half of the words."""
    value, scale, alone = (
        any_of([word for word in said if word.isascii() or not ascii_only]) for said in (VALUES, SCALES, _ALONE)
    )
    joint = rf"[ -](?:(?:{words.JOINED_BY}|{words.POINT})[ -])?"
    return lazy_pattern(
        rf"{START}(?:(?:{value}{END}|{scale}{END}(?={joint}{value}{END}))(?:{joint}(?:{value}|{scale}|oh){END}){{0,{WORDS_MAX}}}"
        rf"|{alone}{END})"
    )


_WORD: Final = lazy_pattern(rf"{START}(?:(?P<value>{_VALUE}|oh){END}|(?P<scale>{SCALE})|(?P<point>{words.POINT}){END})")
_HALF_OF: Final = lazy_pattern(rf"{START}(?:{words.HALF_OF})(?={SCALE})")
_JOINTS: Final = (*words.HUNDRED_IN_WORD.split("|"), *words.THOUSAND_IN_WORD.split("|"), "einhalb")
_STEMS_OF_PARTS: Final = words.STEMS_OF_PARTS.split()
_PARTS: Final = {word: parts for parts, said in words.PARTS.items() for word in said.split()}
_PART: Final = lazy_pattern(rf"{START}{any_of(_PARTS)}{END}")
_TIME: Final = lazy_pattern("(1?[0-9]|2[0-4]) ([1-5][0-9])")  # ten thirty
_IN_ONE_WORD: Final = lazy_pattern(
    rf"{START}[^\W\d_]{{0,40}}(?:{words.HUNDRED_IN_WORD}|{words.THOUSAND_IN_WORD}|einhalb)[^\W\d_]{{0,40}}{END}"
)
_AND_A_PART: Final = lazy_pattern(
    r"(?:(?<![\d.,])(?P<whole>\d{1,9}) )?(?:an? )?(?P<counted>[^\W\d_]{1,20} )?"
    rf"(?:(?P<half>{words.AND_A_HALF})|(?P<quarter>{words.AND_A_QUARTER})|{words.AND_THREE_QUARTERS}){END}"
)
# 1米75
_HUNDREDTHS: Final = lazy_pattern(rf"(?<![\d.,])(\d+) ?((?:{words.WITH_HUNDREDTHS})s?) ?(\d{{1,2}})(?!\d|[.,]\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A text in figures, ``2.5 thousand``, ``10:30``, and the other readings of its number words.

    ``readings``: each word by itself, and several side by side as one number. "Twenty-five" is 20 and 5 too, "nineteen
    eighty-four" 1984, "one seventy-five" 1.75.
    """

    figures: str
    readings: frozenset[str]


def spoken(text: str) -> Spoken:
    """The text, in lower case, in figures. Rare patterns are only tried if the text has a part of them."""
    runs: set[str] = set()

    def written(run: re.Match[str]) -> str:
        runs.add(run[0])
        return _written(run[0])

    said = _IN_ONE_WORD.sub(lambda word: _of_one_word(word[0]) or word[0], text) if _holds(text, _JOINTS) else text
    said = _run(ascii_only=said.isascii()).sub(
        written, _HALF_OF.sub("0.5 ", said) if _holds(text, _STEMS_OF_PARTS) else said
    )
    readings = {reading for run in runs for reading in _readings(run)}
    if _holds(text, _STEMS_OF_PARTS):
        readings.update(reading for part in _PART.findall(text) for reading in _PARTS[part])
        readings.update(str(_minutes(match)) for match in _AND_A_PART.finditer(said))
        said = _AND_A_PART.sub(_and_a_part, said)
    if not said.isascii():
        said = in_figures(said, readings)
    if _holds(said, words.WITH_HUNDREDTHS.split("|")):
        said = _HUNDREDTHS.sub(r"\1.\3 \2", said)
    return Spoken(figures=said, readings=frozenset(readings))


def _holds(text: str, parts: Iterable[str]) -> bool:
    return any(part in text for part in parts)


def _readings(run: str) -> Iterator[str]:
    yield from (str(_IN_RUNS[word["value"]]) for word in _WORD.finditer(run) if word["value"])
    found = _numbers(run)
    yield from found
    if len(found) > 2 or any(len(number) == 2 for number in found[1:]):  # noqa: PLR2004 - not "two thirds"
        yield "".join(found)
        yield f"{found[0]}.{''.join(found[1:])}"


@dataclass(slots=True)
class _Number:
    """One number being read: its thousands and millions, what is below them, and the digits behind a point."""

    total: int = 0
    below: int = 0
    fraction: str | None = None
    begun: bool = False

    def takes(self, value: int) -> bool:
        """Add the next word's value if it belongs to this number; answers whether it does."""
        if self.fraction is not None:
            return self._takes_behind_point(value)
        if self.begun and not self._has_room_for(value):
            return False
        self.below, self.begun = self.below + value, True
        return True

    def _takes_behind_point(self, value: int) -> bool:
        digits = self.fraction or ""
        if digits[1:] == "0" and value < 10:  # noqa: PLR2004 - seventy five
            self.fraction = digits[0] + str(value)
        elif not digits or value < 10:  # noqa: PLR2004 - one four
            self.fraction = digits + str(value)
        else:
            return False
        return True

    def _has_room_for(self, value: int) -> bool:
        if not self.below:
            return bool(self.total and value)
        ones = self.below % _HUNDRED
        is_round = self.below % 10 ** len(str(value)) == 0 and ones != 10  # noqa: PLR2004 - ten five
        return is_round or (ones in _SCORES and 10 <= value < 20)  # noqa: PLR2004

    def scale(self, scale: int) -> None:
        number = self.below * scale or scale
        if self.fraction:  # one point five million
            number = int(Decimal(f"{self.below}.{self.fraction[:_DECIMALS_MAX]}") * scale)
        if scale == _HUNDRED:  # two hundred thousand
            self.below = number
        else:
            self.total, self.below = self.total + number, 0
        self.fraction, self.begun = None, True

    def __str__(self) -> str:
        return f"{self.total + self.below}" + (f".{self.fraction}" if self.fraction else "")


def _numbers(run: str) -> list[str]:
    """The numbers that words side by side say: of "twenty-five ten thirty" 25, 10 and 30."""
    found = [_Number()]
    for word in _WORD.finditer(run):
        if word["point"]:
            found[-1].fraction = ""
        elif word["scale"]:
            found[-1].scale(SCALES[word["scale"]])
        elif not found[-1].takes(value := _IN_RUNS[word["value"]]):
            found.append(_Number(below=value, begun=True))
    return [str(number) for number in found]


def _written(run: str) -> str:
    """The run in figures; a scale alone stays a word, as it may stand behind figures."""
    figures = run if run in _ALONE else " ".join(_numbers(run))
    return figures.replace(" ", ":") if _TIME.fullmatch(figures) else figures


def _of_one_word(word: str) -> str | None:
    if word in VALUES:
        return None
    before, half, behind = word.partition("einhalb")
    if half and not behind and before in VALUES:
        return f"{VALUES[before]}.5"
    for scale in words.THOUSAND_IN_WORD.split("|"):
        before, found, behind = word.partition(scale)
        thousands, rest = _hundreds(before or "ein"), _hundreds(behind)
        if found and before + behind and thousands is not None and rest is not None:
            return str(1_000 * thousands + rest)
    number = _hundreds(word)
    return None if number is None else str(number)


def _hundreds(word: str) -> int | None:
    """The value of a word of less than a thousand, 0 of an empty one; None for another word."""
    for scale in words.HUNDRED_IN_WORD.split("|"):
        before, found, behind = word.partition(scale)
        hundreds, rest = VALUES.get(before or "ein"), _below_hundred(behind)
        if found and before + behind and hundreds is not None and rest is not None:
            return _HUNDRED * hundreds + rest
    return _below_hundred(word)


def _below_hundred(word: str) -> int | None:
    return VALUES.get(word.removeprefix("und").removeprefix("en")) if word else 0


def _and_a_part(match: re.Match[str]) -> str:
    return f"{plainly(Decimal(_minutes(match)) / 60)} {match['counted'] or ''}".rstrip()


def _minutes(match: re.Match[str]) -> int:
    """The minutes of so many hours and a part, as a model may write them."""
    return 60 * int(match["whole"] or 1) + (30 if match["half"] else 15 if match["quarter"] else 45)
