"""Finds the numbers of a text, in figures or words, in one form: ``1.234,50``, ``1,2 Mio.``, ``3万5千``, ``zwölf``.

Ambiguous ones are given in each reading: ``1.000``, ``10k`` and each word of ``twenty-five``.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from math import prod
from typing import Final

from app.kit.patterns import lazy_pattern
from app.kit.words import plain_digits
from app.memory.grounding.eastern import EAST_ASIAN, LARGER, PLAIN, REST, composed
from app.memory.grounding.spoken import SCALE, SCALES, Spoken, spoken

_GROUP: Final = r"[ '’\u00a0\u202f]"
_BY_SPACES: Final = rf"\d{{1,3}}(?:{_GROUP}\d{{3}})+(?:[.,]\d+)?(?!\d)"
_DIGITS: Final = rf"(?:{_BY_SPACES}|\d+(?:[.,]\d+)*)"
_BY_COMMAS: Final = lazy_pattern(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?")
_BY_DOTS: Final = lazy_pattern(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?")
_LIST: Final = lazy_pattern(r"#?\d+(?:[.,]\d+)*")
FRACTION: Final = lazy_pattern(r"(?<![\d/.,])(?:(\d{1,3})[ -])?(\d)/([2-9])(?![\d/.])")
_ARABIC_MARKS: Final = str.maketrans("٫٬", ".,")


_SHORT_YEAR: Final = lazy_pattern(
    r"(?:(?<!\w)'|\bin )([0-9]{2})\b|\b'?([0-9]0)s\b|(?<![0-9])([0-9]{2})年"
)  # '89, the 90s

NUMBER: Final = lazy_pattern(
    rf"#\d+(?:[.,]\d+)*|{PLAIN}(?={LARGER}){REST}{{1,20}}|{_DIGITS}(?:[ -]?{SCALE}){{0,2}}",
    re.IGNORECASE,
)
# A number that is a name, not an amount or a part of one: of an order, a port, an issue.
_AMOUNT: Final = rf"[%$€£¥₩₽₹₺원円元{LARGER[1:]}|(?:EUR|USD|GBP|euros?|dollars?|pounds?)\b|{SCALE}"
CODE: Final = lazy_pattern(rf"(?<![$€£¥₩₽₹₺\d])(?<!\d[.,])#?\d{{4,}}(?![.,]?\d)(?![ -]?(?:{_AMOUNT}))", re.IGNORECASE)
_MEASURE: Final = lazy_pattern(r"[0-9]{1,15}(?:\.[0-9]{1,20})?")
SHORTENED_DIGITS_MIN: Final = 2
WHOLE_PRICE_MIN: Final = 100  # $1,299 of 129900 cents; below it, 50 and 5000 may be two things
SCALED_DIGITS_MAX: Final = 40  # nobody writes a scale behind more of them, and Decimal has its limits


def numerals(text: str) -> frozenset[str]:
    """The numbers of a text: ``1,000`` and ``1000.0`` are ``1000``, ``08`` is ``8``, ``third`` is ``3``.

    A number in groups, ``3 400``, also gives each group: two numbers may stand side by side.
    """
    lower = plain_digits(text).casefold()
    return _numerals(lower, spoken(lower))


def listed_numerals(text: str, said: Spoken) -> frozenset[str]:
    """The numbers of a text in plain digits, and those in its rows and lists: each one of ``[10,20]``."""
    lists = (written.split(",") for written in _LIST.findall(text) if "," in written and not _is_grouped(written))
    return _numerals(text, said).union(
        fractions(text), (form for pieces in lists for piece in pieces for form in forms(piece))
    )


def fractions(text: str) -> frozenset[str]:
    """The values of ``1/2`` and ``1 3/4``: ``0.5`` and ``1.75``; to three digits."""
    found = (map(int, match.groups("0")) for match in FRACTION.finditer(text))
    return frozenset(_decimal(f"{whole + above / below:.3g}") for whole, above, below in found if above < below)


def _numerals(text: str, said: Spoken) -> frozenset[str]:
    found = {number for written in {text, said.figures} for number in NUMBER.findall(written.translate(_ARABIC_MARKS))}
    written = (form for number in found for part in (number, *groups(number)) for form in forms(part))
    return frozenset([*written, *said.readings, *_short_years(said.figures)])


def _is_grouped(written: str) -> bool:
    """Whether its comma can only separate thousands; several commas may be those of a list."""
    return written.count(",") == 1 and _BY_COMMAS.fullmatch(written) is not None


def forms(number: str) -> set[str]:
    """The values that one number with digits may mean; with a scale behind it, ``10k``, also without the scale.

    Empty if it is more than one number.
    """
    number = plain_digits(number).translate(_ARABIC_MARKS).lstrip("#")
    if not number.isascii() and EAST_ASIAN.fullmatch(number):
        return {_decimal(f"{value:f}") for value in composed(number)}
    match = re.match(_DIGITS, number)
    scales = [SCALES.get(word) for word in re.split("[ -]+", number[match.end() :].casefold()) if word] if match else []
    if match is None or None in scales:
        return set()
    found = _plain_forms(match[0])
    if scales and len(match[0]) <= SCALED_DIGITS_MAX:
        scale = prod(filter(None, scales[:2]))
        found |= {_decimal(f"{Decimal(form) * scale:f}") for form in found if form.count(".") <= 1}
    return found


def is_shortened(number: str, longer: Iterable[str]) -> bool:
    """Whether a number is one of the ``longer`` in fewer digits, or by another power of ten.

    So ``3.1`` (%) is of ``0.0312``, ``1.2M`` of ``1234567``, ``$120.50`` of ``12050`` (cents), ``1.53`` (s) of
    ``1534.29`` (ms). A single digit would be of too many numbers, and a plain whole number is of another only as a
    price.
    """
    digits = re.match(_DIGITS, plain_digits(number).translate(_ARABIC_MARKS))
    if digits is None or len(number) > SCALED_DIGITS_MAX:
        return False
    plain = [form for form in _plain_forms(digits[0]) if _MEASURE.fullmatch(form)]
    told = [
        _Told(
            value=Decimal(value), unit=Decimal(value) / Decimal(form) * Decimal(1).scaleb(-len(form.partition(".")[2]))
        )
        for form in plain
        if len(form.replace(".", "").lstrip("0")) >= SHORTENED_DIGITS_MIN
        for value in ({form} if digits[0] == number else forms(number) - {form})
        if _MEASURE.fullmatch(value)
    ]
    is_price = re.search(r"[.,][0-9]{2}$", number) is not None
    return any(
        one.is_of(Decimal(long), is_price=is_price) for one in told for long in longer if _MEASURE.fullmatch(long)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """A number as it is told; ``unit``: what one in its last digit is worth."""

    value: Decimal
    unit: Decimal

    def is_of(self, long: Decimal, *, is_price: bool) -> bool:
        broken, rounded = long % 1 != 0, self.unit != 1
        if (broken or rounded) and self._is_rounded(long):
            return True
        if broken and (self._is_rounded(100 * long) or self._is_rounded(1_000 * long)):
            return True
        in_hundredths = is_price or self.value >= WHOLE_PRICE_MIN
        return (in_hundredths and 100 * self.value == long) or (self.unit < 1 and self._is_rounded(long / 1_000))

    def _is_rounded(self, long: Decimal) -> bool:
        """Whether ``long`` is rounded, or cut off, to this number."""
        return -self.unit / 2 <= long - self.value < self.unit


def groups(number: str) -> list[str]:
    """The groups of a number that spaces divide, ``3 400``; empty for others."""
    found = re.match(_BY_SPACES, number)
    return re.split(_GROUP, found[0]) if found else []


def _short_years(text: str) -> Iterator[str]:
    for found in _SHORT_YEAR.findall(text):
        yield from (f"{century}{''.join(found)}" for century in (19, 20))


def _plain_forms(number: str) -> set[str]:
    number = re.sub(_GROUP, "", number)
    found = {_decimal(number.replace(",", "."))}
    if _BY_COMMAS.fullmatch(number):
        found = {_decimal(number.replace(",", ""))}
    if _BY_DOTS.fullmatch(number):
        found.add(_decimal(number.replace(".", "").replace(",", ".")))
    return found


def _decimal(number: str) -> str:
    whole, point, fraction = number.partition(".")
    whole = whole.lstrip("0") or "0"
    if "." in fraction:  # a version or an address, no number
        return whole + point + fraction
    fraction = fraction.rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole
