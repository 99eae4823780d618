"""Numbers and times of day as texts say them, in figures or in words, each in one form. Pure."""

import re
from collections.abc import Iterator
from decimal import Decimal
from math import prod
from string import ascii_letters
from typing import Final

TIME: Final = re.compile(
    r"(?<![0-9:.])(?<![0-9],)(?P<hour>[01]?[0-9]|2[0-3])"
    r"(?:(?::(?P<minute>[0-5][0-9]))(?::[0-5][0-9])?(?![0-9:])|(?=\s?[ap]\.?m\b))(?:\s?(?P<half>[ap])\.?m\b\.?)?",
    re.IGNORECASE,
)
_SCALES: Final = {"hundred": 100, "k": 1_000, "thousand": 1_000, "m": 10**6, "million": 10**6, "billion": 10**9}
_HAN_SCALES: Final = {"十": 10, "百": 100, "千": 1_000, "万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8}
_HANGUL_SCALES: Final = {"천": 1_000, "만": 10**4, "억": 10**8}
_LARGE: Final = {**_HAN_SCALES, **_HANGUL_SCALES}
_DIGITS: Final = r"\d+(?:[.,]\d+)*"
NUMBER: Final = re.compile(
    rf"#{_DIGITS}|{_DIGITS}(?:[ -]?(?:{'|'.join(_SCALES)})\b|\s?[{''.join(_LARGE)}]{{1,3}})?", re.IGNORECASE
)
# No amount and no part of a number, but what a thing is called: an order, a port, an issue.
_AMOUNT: Final = rf"[%$€£¥₩원円元{''.join(_LARGE)}]|(?:EUR|USD|GBP|euros?|dollars?|pounds?|{'|'.join(_SCALES)})\b"
CODE: Final = re.compile(rf"(?<![$€£¥₩\d])(?<!\d[.,])#?\d{{4,}}(?![.,]?\d)(?![ -]?(?:{_AMOUNT}))", re.IGNORECASE)
_BY_COMMAS: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_BY_DOTS: Final = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?")

_ENGLISH: Final = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
)
_TENS: Final = ("thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ORDINALS: Final = (
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"),
    *("eleventh", "twelfth"),
)
# German, French, Spanish, Portuguese and Italian from two to twelve, without those that are English words.
_OTHERS: Final = (
    *("zwei deux dos dois duas", "drei trois tres três tre", "vier quatre cuatro quatro quattro"),
    *("fünf cinq cinco cinque", "sechs seis", "sieben sept siete sete sette", "acht huit ocho oito otto"),
    *("neun neuf nueve nove", "zehn dix diez dez dieci", "elf onze undici", "zwölf douze doce doze dodici"),
)
_NUMBER_WORDS: Final = (
    {word: number for number, word in enumerate(_ENGLISH)}
    | {word: number for number, word in enumerate(_ORDINALS, start=1)}
    | {word: 10 * number for number, word in enumerate(_TENS, start=3)}
    | {"once": 1, "twice": 2, "both": 2, "couple": 2, "dozen": 12, "thirds": 3}
)
_OTHER_WORDS: Final = {word: number for number, words in enumerate(_OTHERS, start=2) for word in words.split()}
_PARTS: Final = {"half": ("0.5", "50", "30"), "quarter": ("0.25", "25", "15")}  # also percent, and minutes
_SPOKEN: Final = "|".join(sorted(_NUMBER_WORDS, key=len, reverse=True))
_NUMBER_WORD: Final = re.compile(
    rf"\b(?:{_SPOKEN})(?:[ -](?:and )?(?:{_SPOKEN}|hundred|thousand|million|billion))*\b"
    r"|\b(?:hundred|thousand|million|billion)\b"
)
_OTHER_WORD: Final = re.compile(rf"\b(?:{'|'.join(_OTHER_WORDS)})\b")
_PART: Final = re.compile(rf"\b(?:{'|'.join(_PARTS)})\b")
_AND_A_HALF: Final = re.compile(rf"\b([0-9]+|{_SPOKEN}) and a half\b")
_SHORT_YEAR: Final = re.compile(r"(?<!\w)'([0-9]{2})\b|\b'?([0-9]0)s\b")  # '89, the 90s

_HAN_DIGITS: Final = {
    sign: digit
    for digit, signs in enumerate(("〇零", "一壱", "二两兩弐", "三参", "四", "五", "六", "七", "八", "九"))
    for sign in signs
}
_HAN: Final = re.compile(rf"(?<![0-9])[{''.join([*_HAN_DIGITS, *_HAN_SCALES])}]{{1,20}}")
_KOREAN_ONES: Final = {
    word: number
    for number, word in enumerate(["한", "두", "세", "네", "다섯", "여섯", "일곱", "여덟", "아홉"], start=1)
}
_KOREAN_TENS: Final = {
    word: 10 * number
    for number, words in enumerate(("열", "스물 스무", "서른", "마흔", "쉰", "예순", "일흔", "여든", "아흔"), start=1)
    for word in words.split()
}
_KOREAN: Final = re.compile(
    rf"(?<![가-힣])(?:(?P<tens>{'|'.join(_KOREAN_TENS)})?(?P<ones>{'|'.join(_KOREAN_ONES)})|(?P<round>{'|'.join(_KOREAN_TENS)}))"
    r"(?=\s?(?:명|살|개|마리|번|시|달|권|잔|병|대|장|가지|분|사람|배|곳|쌍|켤레|송이|그루|주))"
)

_HOUR: Final = rf"(?:2[0-3]|1[0-9]|[1-9]|{'|'.join(_ENGLISH[1:13])})"
_SPOKEN_TIME: Final = re.compile(
    rf"\b(?P<part>half|quarter) (?P<turn>past|after|to|before|till) (?P<of>{_HOUR})\b"
    rf"|\b(?:at|a las?|às|alle|um)(?: about| around)? (?P<at>{_HOUR})\b(?![:.,]?[0-9]| uhr)"
    rf"|\b(?P<clock>{_HOUR})(?: ?o'clock| uhr\b(?: (?P<uhr>[0-5][0-9])\b)?| ?h(?: ?(?P<h>[0-5][0-9]))?\b)"
    rf"|\b(?P<begin>{_HOUR})(?: ?[ap]\.?m\.?)? ?(?:-|–|to|till|until) ?(?P<end>{_HOUR})\b(?![:.,]?[0-9])"
    r"|\b(?P<noon>noon|midday)\b|\bmidnight\b"
)
_HAN_TO_60: Final = f"[{''.join([*_HAN_DIGITS, '十'])}]{{1,3}}"
_KOREAN_HOURS: Final = _KOREAN_ONES | {"열": 10, "열한": 11, "열두": 12}
_ASIAN_TIME: Final = re.compile(
    rf"(?P<hour>[0-9]{{1,2}}|{_HAN_TO_60}|{'|'.join(sorted(_KOREAN_HOURS, key=len, reverse=True))})\s?[点點時时시]"
    rf"(?![间間간])(?:\s?(?:(?P<half>半|반)|(?P<minute>[0-9]{{1,2}}|{_HAN_TO_60})\s?[分분]))?"
)
_PART_MINUTES: Final = {"half": 30, "quarter": 15}


def numerals(text: str) -> frozenset[str]:
    """The numbers of a text in one form: ``1,000`` and ``1000.0`` are ``1000``, ``08`` is ``8``, ``third`` is ``3``.

    What may be read in two ways is given in both: ``1.000``, ``10k``, ``half`` and each word of ``twenty-five``.
    """
    written = (form for number in NUMBER.findall(text) for form in _forms(number.lstrip("#")))
    return frozenset([*written, *_in_words(text.casefold())])


def listed_numerals(text: str) -> frozenset[str]:
    """The numbers of a text, and those that its rows and lists hold: of ``[10,20]`` and ``8841,12.50`` each one."""
    lists = (written.split(",") for written in NUMBER.findall(text) if "," in written and not _is_grouped(written))
    return numerals(text).union(form for pieces in lists for piece in pieces for form in _forms(piece.lstrip("#")))


def _is_grouped(written: str) -> bool:
    """Whether its commas can only be those between thousands; of several it may be a list as well."""
    return written.count(",") == 1 and _BY_COMMAS.fullmatch(written) is not None


def clock_times(text: str) -> frozenset[str]:
    """The times of day of a text as ``HH:MM``; ``3:30 pm`` is given as ``03:30`` too, for whoever drops the half."""
    found = {(clock(match), f"{int(match['hour']):02d}:{match['minute'] or '00'}") for match in TIME.finditer(text)}
    spoken = {time for match in _SPOKEN_TIME.finditer(text.casefold()) for time in _spoken_times(match)}
    asian = {time for match in _ASIAN_TIME.finditer(text) for time in _asian_times(match)}
    return frozenset(time for both in found for time in both) | spoken | asian


def clock(match: re.Match[str]) -> str:
    """A match of ``TIME`` as ``HH:MM``."""
    hour = int(match["hour"])
    if match["half"]:
        hour = hour % 12 + (12 if match["half"] in "pP" else 0)
    return f"{hour:02d}:{match['minute'] or '00'}"


def _in_words(text: str) -> Iterator[str]:
    for words in _NUMBER_WORD.findall(text):
        yield from _spoken(words)
    for word in _OTHER_WORD.findall(text):
        yield str(_OTHER_WORDS[word])
    if any(part in text for part in _PARTS):  # hardly any text holds one
        for part in _PART.findall(text):
            yield from _PARTS[part]
        for whole in _AND_A_HALF.findall(text):
            yield f"{_NUMBER_WORDS.get(whole, whole)}.5"
    for year, decade in _SHORT_YEAR.findall(text):
        yield from (f"{century}{year or decade}" for century in (19, 20))
    if text.isascii():
        return
    for signs in _HAN.findall(text):
        yield from _han(signs)
    for match in _KOREAN.finditer(text):
        tens = _KOREAN_TENS.get(match["tens"] or match["round"], 0)
        yield str(tens + _KOREAN_ONES.get(match["ones"], 0))


def _spoken(words: str) -> Iterator[str]:
    """The number that the words say together, and those that they say one by one."""
    total = current = 0
    for word in re.split("[ -]", words):
        if word in _NUMBER_WORDS:
            current += _NUMBER_WORDS[word]
            yield str(_NUMBER_WORDS[word])
        elif word == "hundred":
            current = max(current, 1) * _SCALES[word]
        elif word in _SCALES:
            total, current = total + max(current, 1) * _SCALES[word], 0
    yield str(total + current)


def _han(signs: str) -> Iterator[str]:
    """The number that the signs say together, ``三千五`` also as 3500, and those that they say one by one."""
    yield from (str(_HAN_DIGITS.get(sign, _HAN_SCALES.get(sign))) for sign in signs)
    if any(sign in _HAN_SCALES for sign in signs):
        whole, digit, last = _han_number(signs)
        yield from (str(whole), str(whole - digit + digit * max(1, last // 10)))
    else:
        yield str(int("".join(str(_HAN_DIGITS[sign]) for sign in signs)))


def _han_number(signs: str) -> tuple[int, int, int]:
    """The number, the digit it ends with, and the scale before that."""
    whole = section = digit = 0
    last = 1
    for sign in signs:
        scale = _HAN_SCALES.get(sign)
        if scale is None:
            digit = _HAN_DIGITS[sign]
            last = last if digit else 1
        elif scale < _HAN_SCALES["万"]:
            section, digit, last = section + max(digit, 1) * scale, 0, scale
        else:
            whole, section, digit, last = whole + max(section + digit, 1) * scale, 0, 0, scale
    return whole + section + digit, digit, last


def _spoken_times(match: re.Match[str]) -> Iterator[str]:
    if match["part"]:
        minute, back = _PART_MINUTES[match["part"]], match["turn"] in {"to", "before", "till"}
        yield from _either_half(_hour(match["of"]) - back, 60 - minute if back else minute)
        return
    hours = [_hour(said) for said in match.group("at", "clock", "begin", "end") if said]
    for hour in hours:
        yield from _either_half(hour, int(match["uhr"] or match["h"] or 0))
    if not hours:
        yield "12:00" if match["noon"] else "00:00"


def _asian_times(match: re.Match[str]) -> Iterator[str]:
    minute = 30 if match["half"] else _to_60(match["minute"] or "0")
    yield from _either_half(_to_60(match["hour"]), minute)


def _either_half(hour: int, minute: int) -> Iterator[str]:
    yield f"{hour % 24:02d}:{minute:02d}"
    if hour <= 12:  # noqa: PLR2004 - the clock's own twelve
        yield f"{(hour + 12) % 24:02d}:{minute:02d}"


def _hour(said: str) -> int:
    return int(said) if said.isdecimal() else _NUMBER_WORDS[said]


def _to_60(said: str) -> int:
    if said.isdecimal():
        return int(said)
    return _KOREAN_HOURS[said] if said in _KOREAN_HOURS else _han_number(said)[0]


def _forms(written: str) -> set[str]:
    """What a number with digits may mean; with a scale behind it, ``10k``, it is given without it too."""
    number = written.rstrip(ascii_letters + " -" + "".join(_LARGE))
    forms = _plain_forms(number)
    named = written[len(number) :].lstrip(" -").casefold()
    scale = prod(map(_LARGE.__getitem__, named)) if named and named[0] in _LARGE else _SCALES.get(named)
    if scale:
        forms |= {_decimal(f"{Decimal(form) * scale:f}") for form in forms if form.count(".") <= 1}
    return forms


def _plain_forms(number: str) -> set[str]:
    forms = {_decimal(number.replace(",", "."))}
    if _BY_COMMAS.fullmatch(number):
        forms = {_decimal(number.replace(",", ""))}
    if _BY_DOTS.fullmatch(number):
        forms.add(_decimal(number.replace(".", "").replace(",", ".")))
    return forms


def _decimal(number: str) -> str:
    whole, point, fraction = number.partition(".")
    whole = whole.lstrip("0") or "0"
    if "." in fraction:  # a version or an address, no number
        return whole + point + fraction
    fraction = fraction.rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole
