"""Converts Chinese, Japanese and Korean numbers to figures: ``三十五``, ``3万5千``, ``백오``."""

import re
from decimal import Decimal
from typing import Final

from app.kit.patterns import lazy_pattern
from app.memory.grounding import number_words as words

_HUNDRED: Final = 100
_HANGUL: Final = lazy_pattern("[가-힣]")
_HALVES: Final = lazy_pattern(r"(?<![\d.,])(\d{1,9})(\s?[^\W\d_]{1,3}?)\s?[半반](?![가-힣])")  # 1个半, 2 시간 반
_TENTHS: Final = lazy_pattern(r"(?<![\d.,])([1-9]) ?[成割]")  # 三成 is 30%

_SIGNS, _UNITS, _MYRIADS = ("".join(signs) for signs in (words.SIGNS, words.UNITS, words.MYRIADS))
PLAIN: Final = r"\d+(?:,\d{3})*(?:\.\d+)?"
LARGER: Final = f"[{_UNITS}{_MYRIADS}]"
REST: Final = rf"(?:[{_SIGNS}{_UNITS}{_MYRIADS}]|(?<={LARGER})(?: ?{PLAIN}(?={LARGER})|{PLAIN}(?![.,]?\d)))"
# Bounded: a text of nothing else would be one number.
EAST_ASIAN: Final = lazy_pattern(rf"(?<!\d){PLAIN}(?={LARGER}){REST}{{1,20}}|[{_SIGNS}十百千]{REST}{{0,20}}")
_EAST_ASIAN_SIGN: Final = lazy_pattern(rf"{PLAIN}|.")
_KOREAN: Final = lazy_pattern(
    rf"(?<![가-힣])(?:(?P<tens>{'|'.join(words.KOREAN_TENS)})?(?P<ones>{'|'.join(words.KOREAN_ONES)})?"
    rf"(?:(?= ?(?:{words.KOREAN_COUNTED}))|(?(tens)(?(ones)|(?!))|(?!)))|(?P<days>{'|'.join(words.KOREAN_DAYS)}))"
)
_SINO_KOREAN_SIGNS: Final = "".join(words.SINO_KOREAN)
_SINO_KOREAN: Final = lazy_pattern(
    rf"(?<![가-힣\d])[{_SINO_KOREAN_SIGNS}십백천]{{1,8}}(?:[만억] ?[{_SINO_KOREAN_SIGNS}십백천]{{0,8}})?"
    rf"(?= ?(?:{words.SINO_KOREAN_COUNTED}))|(?<![가-힣\d])[만억][{_SINO_KOREAN_SIGNS}십백천]{{0,8}}(?= ?원)"
)
_AS_CHINESE: Final = str.maketrans(words.SINO_KOREAN)


def in_figures(text: str, readings: set[str]) -> str:
    """The text with such numbers in figures; what they may mean otherwise is added to ``readings``."""
    if _HANGUL.search(text):
        text = _KOREAN.sub(_korean, _SINO_KOREAN.sub(_sino_korean, text))
    for signs in EAST_ASIAN.findall(text):
        readings.update(map(plainly, composed(signs)))
        readings.update(str(words.SIGNS.get(sign, 10)) for sign in signs if sign in words.SIGNS or sign == "十")
    readings.update(part for parts, said in words.PARTS_UNSPACED.items() if said in text for part in parts)
    text = EAST_ASIAN.sub(lambda signs: plainly(max(composed(signs[0]))), text)
    readings.update(str(60 * int(whole) + 30) for whole, _ in _HALVES.findall(text))
    return _TENTHS.sub(r"\g<1>0%", _HALVES.sub(r"\1.5\2", text))


def composed(signs: str) -> set[Decimal]:
    """The values that signs may mean together. The last one may stand for tens or thousands: 两万五 is 25,000."""
    total = section = Decimal(0)
    number: Decimal | None = None
    last, before = 1, ""
    for sign in _EAST_ASIAN_SIGN.findall(signs.replace(" ", "")):
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
    if number is not None and last >= _HUNDRED and before[-1] in words.SIGNS and before[-2] not in words.SIGNS:
        found.add(total + section + number * last / 10)
    return found


def plainly(value: Decimal) -> str:
    return f"{value.normalize():f}"


def _korean(match: re.Match[str]) -> str:
    if match["days"]:
        return str(words.KOREAN_DAYS[match["days"]]) + "일"
    number = words.KOREAN_TENS.get(match["tens"], 0) + words.KOREAN_ONES.get(match["ones"], 0)
    return str(number) if match[0] else ""


def _sino_korean(match: re.Match[str]) -> str:
    """Unlike in Chinese, the last sign always stands for ones: 백오 is 105."""
    return plainly(min(composed(match[0].translate(_AS_CHINESE)))) + " " * match[0].endswith(" ")
