"""The numbers of a text in one form, however it writes or says them: ``1.234,50``, ``1,2 Mio.``, ``3万5千``, ``zwölf``.

What may be read in two ways is given in both: ``1.000``, ``10k`` and each word of ``twenty-five``.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cache
from math import prod
from typing import Final

from app.kit.words import any_of, plain_digits
from app.memory.grounding import number_words as words

_GROUP: Final = r"[ '’\u00a0\u202f]"
_BY_SPACES: Final = rf"\d{{1,3}}(?:{_GROUP}\d{{3}})+(?:[.,]\d+)?(?!\d)"
_DIGITS: Final = rf"(?:{_BY_SPACES}|\d+(?:[.,]\d+)*)"
_BY_COMMAS: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?")
_BY_DOTS: Final = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?")
_LIST: Final = re.compile(r"#?\d+(?:[.,]\d+)*")
_ARABIC_MARKS: Final = str.maketrans("٫٬", ".,")


def _values(lines: str, first: int, step: int = 1) -> dict[str, int]:
    return {
        word.replace("_", " "): first + step * at
        for at, line in enumerate(lines.strip().splitlines())
        for word in line.split()
    }


def _in_one_word() -> Iterator[tuple[str, int]]:
    for joint, ones, tens in words.ONES_BEFORE_TENS:
        for ten, tens_word in enumerate(tens.split(), start=2):
            for one, word in enumerate(ones.split(), start=1):
                joined = "ën" if joint == "en" and word.endswith("e") else joint
                yield word + joined + tens_word, 10 * ten + one


def _in_forms(values: Mapping[str, int]) -> dict[str, int]:
    return {unicodedata.normalize(form, word): value for word, value in values.items() for form in ("NFC", "NFKC")}


_SCALES: Final = _in_forms({word: scale for scale, said in words.SCALES.items() for word in said.split()})
_VALUES: Final = _in_forms(
    dict(_in_one_word())
    | _values(words.ORDINALS, 1)
    | _values(words.COUNTS, 0)
    | _values(words.TENS, 30, 10)
    | words.OTHERS
    | {"сто": 100}
)
_ALONE: Final = _in_forms(dict.fromkeys(words.SCALES_ALONE.split(), 0))
_END: Final = r"(?![\w\u0900-\u0963])"
_START: Final = r"(?<![\w\u0900-\u0963])"


@cache  # a start of the service needs neither, and it takes a twentieth of a second to make one
def _spoken_words(*, ascii_only: bool) -> re.Pattern[str]:
    """Most texts are ASCII, and need half of the words."""
    values, scales, alone = (
        any_of([word for word in said if word.isascii() or not ascii_only]) for said in (_VALUES, _SCALES, _ALONE)
    )
    return re.compile(
        rf"{_START}(?:{values}{_END}(?:[ -](?:(?:{words.JOINED_BY})[ -])?(?:{values}|{scales}){_END})*|{alone}{_END})"
    )


_VALUE, _SCALE = any_of(_VALUES), rf"{any_of(_SCALES)}{_END}"


@cache
def _spoken_word() -> re.Pattern[str]:
    return re.compile(rf"{_START}(?:(?P<value>{_VALUE}){_END}|(?P<scale>{_SCALE}))")


@cache
def _and_a_half() -> re.Pattern[str]:
    return re.compile(rf"\b([0-9]+|{_VALUE}) and a half\b")


_PART: Final = re.compile(rf"\b(?:{'|'.join(words.PARTS)})\b")
_SHORT_YEAR: Final = re.compile(r"(?<!\w)'([0-9]{2})\b|\b'?([0-9]0)s\b")  # '89, the 90s

_SIGNS, _UNITS, _MYRIADS = ("".join(signs) for signs in (words.SIGNS, words.UNITS, words.MYRIADS))
_PLAIN: Final = r"\d+(?:,\d{3})*(?:\.\d+)?"
_LARGER: Final = f"[{_UNITS}{_MYRIADS}]"
_REST: Final = rf"(?:[{_SIGNS}{_UNITS}{_MYRIADS}]|(?<={_LARGER})(?: ?{_PLAIN}(?={_LARGER})|{_PLAIN}(?![.,]?\d)))"
# Bounded: a text of nothing else would be one number.
_EAST_ASIAN: Final = re.compile(
    rf"(?<!\d){_PLAIN}(?=[{_UNITS}{_MYRIADS}]){_REST}{{1,20}}|[{_SIGNS}十百千]{_REST}{{0,20}}"
)
_EAST_ASIAN_SIGN: Final = re.compile(rf"{_PLAIN}|.")
_KOREAN: Final = re.compile(
    rf"(?<![가-힣])(?:(?P<tens>{'|'.join(words.KOREAN_TENS)})?(?P<ones>{'|'.join(words.KOREAN_ONES)})?"
    rf"(?= ?(?:{words.KOREAN_COUNTED}))|(?P<days>{'|'.join(words.KOREAN_DAYS)}))"
)
NUMBER: Final = re.compile(
    rf"#\d+(?:[.,]\d+)*|{_PLAIN}(?=[{_UNITS}{_MYRIADS}]){_REST}{{1,20}}|{_DIGITS}(?:[ -]?{_SCALE}){{0,2}}",
    re.IGNORECASE,
)
# No amount and no part of a number, but what a thing is called: an order, a port, an issue.
_AMOUNT: Final = rf"[%$€£¥₩₽₹₺원円元{_UNITS}{_MYRIADS}]|(?:EUR|USD|GBP|euros?|dollars?|pounds?)\b|{_SCALE}"
CODE: Final = re.compile(rf"(?<![$€£¥₩₽₹₺\d])(?<!\d[.,])#?\d{{4,}}(?![.,]?\d)(?![ -]?(?:{_AMOUNT}))", re.IGNORECASE)
SCALED_DIGITS_MAX: Final = 40  # nobody says a scale behind more of them, and Decimal has its limits
_HOURS: Final = range(1, 25)
_SIGNS_OF_HOURS: Final = "一 二 三 四 五 六 七 八 九 十 十一 十二"
KOREAN_HOURS: Final = {"열한": 11, "열두": 12, "열": 10} | words.KOREAN_ONES
# The words that an hour of the day may be said by.
HOURS_SAID: Final = (
    {word: value for word, value in _VALUES.items() if value in _HOURS}
    | {sign: value for value, sign in enumerate(_SIGNS_OF_HOURS.split(), start=1)}
    | {"两": 2, "兩": 2}
)


def numerals(text: str) -> frozenset[str]:
    """The numbers of a text: ``1,000`` and ``1000.0`` are ``1000``, ``08`` is ``8``, ``third`` is ``3``.

    Of one in groups, ``3 400``, each group is given too: two numbers may stand side by side.
    """
    text = plain_digits(text).translate(_ARABIC_MARKS)
    written = (
        form for number in set(NUMBER.findall(text)) for part in (number, *groups(number)) for form in forms(part)
    )
    said = _in_words(text.casefold())
    if text.isascii():
        return frozenset([*said, *written])
    return frozenset([*said, *written, *_east_asian(text), *_korean(text)])


def listed_numerals(text: str) -> frozenset[str]:
    """The numbers of a text, and those that its rows and lists hold: of ``[10,20]`` and ``8841,12.50`` each one."""
    lists = (written.split(",") for written in _LIST.findall(text) if "," in written and not _is_grouped(written))
    return numerals(text).union(form for pieces in lists for piece in pieces for form in forms(piece))


def _is_grouped(written: str) -> bool:
    """Whether its commas can only be those between thousands; of several it may be a list as well."""
    return written.count(",") == 1 and _BY_COMMAS.fullmatch(written) is not None


def forms(number: str) -> set[str]:
    """What one number with digits may mean; with a scale behind it, ``10k``, it is given without it too.

    Nothing where it is more than one number.
    """
    number = plain_digits(number).translate(_ARABIC_MARKS).lstrip("#")
    if not number.isascii() and _EAST_ASIAN.fullmatch(number):
        return {_decimal(f"{value:f}") for value in _composed(number)}
    match = re.match(_DIGITS, number)
    scales = (
        [_SCALES.get(word) for word in re.split("[ -]+", number[match.end() :].casefold()) if word] if match else []
    )
    if match is None or None in scales:
        return set()
    found = _plain_forms(match[0])
    if scales and len(match[0]) <= SCALED_DIGITS_MAX:
        scale = prod(filter(None, scales[:2]))
        found |= {_decimal(f"{Decimal(form) * scale:f}") for form in found if form.count(".") <= 1}
    return found


def groups(number: str) -> list[str]:
    """The groups of a number that spaces divide, ``3 400``; none of others."""
    found = re.match(_BY_SPACES, number)
    return re.split(_GROUP, found[0]) if found else []


def _in_words(text: str) -> Iterator[str]:
    for said in set(_spoken_words(ascii_only=text.isascii()).findall(text)):
        yield from _spoken(said)
    if any(part in text for part in words.PARTS):  # hardly any text holds one
        for part in _PART.findall(text):
            yield from words.PARTS[part]
        for whole in _and_a_half().findall(text):
            yield f"{_VALUES.get(whole, whole)}.5"
    for year, decade in _SHORT_YEAR.findall(text):
        yield from (f"{century}{year or decade}" for century in (19, 20))


def _spoken(said: str) -> Iterator[str]:
    """The number that the words say together, and those that they say one by one."""
    total = current = 0
    for match in _spoken_word().finditer(said):
        if match["value"]:
            current += _VALUES[match["value"]]
            yield str(_VALUES[match["value"]])
        elif _SCALES[match["scale"]] == 100:  # noqa: PLR2004 - two hundred thousand
            current = max(current, 1) * 100
        else:
            total, current = total + max(current, 1) * _SCALES[match["scale"]], 0
    yield str(total + current)


def _east_asian(text: str) -> Iterator[str]:
    """Numbers with a sign of Chinese, Japanese or Korean in them: ``三十五``, ``38万6千``; and each sign by itself."""
    for match in _EAST_ASIAN.finditer(text):
        yield from (_decimal(f"{value:f}") for value in _composed(match[0]))
        yield from (str(words.SIGNS.get(sign, 10)) for sign in match[0] if sign in words.SIGNS or sign == "十")


def _composed(run: str) -> set[Decimal]:
    """What the signs mean together. The last one may stand for tens or thousands: 两万五 is 25,000."""
    total = section = Decimal(0)
    number: Decimal | None = None
    last, before = 1, ""
    for sign in _EAST_ASIAN_SIGN.findall(run.replace(" ", "")):
        if sign in words.SIGNS:
            value = words.SIGNS[sign]
            number = Decimal(value) if number is None else number * 10 + value
        elif sign in words.UNITS:
            last = words.UNITS[sign]
            section, number = section + (1 if number is None else number) * last, None
        elif sign in words.MYRIADS:
            last = words.MYRIADS[sign]
            section += number or 0
            total, section, number = total + (section or 1) * last, Decimal(0), None
        else:
            number = Decimal(sign.replace(",", ""))
        before += sign
    found = {total + section + (number or 0)}
    if number is not None and last >= 100 and before[-1] in words.SIGNS and before[-2] not in words.SIGNS:  # noqa: PLR2004
        found.add(total + section + number * last / 10)
    return found


def _korean(text: str) -> Iterator[str]:
    for match in _KOREAN.finditer(text):
        if match["days"]:
            yield str(words.KOREAN_DAYS[match["days"]])
        elif match[0]:
            yield str(words.KOREAN_TENS.get(match["tens"], 0) + words.KOREAN_ONES.get(match["ones"], 0))


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
