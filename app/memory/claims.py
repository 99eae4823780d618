"""The parts of a text that can be checked against another: quotes, dates, identifiers, times, numbers.

They are what a model gets wrong without anyone noticing (memory-rules.md section 4, Gates). Everything works on plain
characters, so a script without spaces or capitals is read as well.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from string import ascii_letters
from typing import Final

from app.kit.days import DatePhrase, date_phrases, days_apart
from app.kit.words import normalized

_SOFT_QUOTES: Final = str.maketrans("’‘´", "'''")
_ESCAPING: Final = re.compile(r"\\++(?![^\W_])")  # \" and \_
_ESCAPED: Final = re.compile(r"\\{2,}+")
_QUOTED: Final = re.compile(
    r'"([^"]{2,300})"|“([^”]{2,300})”|„([^“”]{2,300})[“”]|«([^»]{2,300})»|`([^`]{2,300})`|「([^」]{1,300})」|『([^』]{1,300})』'
)
# Of letters alone it is the name of nothing, but in camelCase.
_WORD: Final = re.compile(
    r"(?<![A-Za-z0-9_./\\@~#+-])(?=[A-Za-z]*(?:[a-z][A-Z]|[0-9_./\\@~#+-]))[A-Za-z0-9_./\\@~#+-]+"
)
_NAME_OF_CODE: Final = re.compile(r"[a-z][A-Z]|\w_\w|\w@[\w-]+\.\w")  # camelCase, snake_case, an e-mail address
# Possessive: blanks behind one that nothing closes would else be divided among the three in every way there is.
BEFORE: Final = re.compile(  # what a line says of the state that it replaces
    r"[(（](?:before|previously|until then|früher|antes|avant|prima|이전|之前|以前)\s*+[:：]?\s*+([^)）]++)[)）]"
)
_SHORT_ENDINGS: Final = frozenset({"cc", "cs", "go", "js", "kt", "md", "py", "rb", "rs", "sh", "ts"})  # of files: ui.js
_PLAIN: Final = re.compile(r"[0-9][0-9.]*[A-Za-z]{0,4}|[A-Za-z.]*")  # 3rd, 10k, 30min, old, e.g
_TIME: Final = re.compile(
    r"(?<![0-9:.,])(?P<hour>[01]?[0-9]|2[0-3])"
    r"(?:(?::(?P<minute>[0-5][0-9]))(?::[0-5][0-9])?(?![0-9:])|(?=\s?[ap]\.?m\b))(?:\s?(?P<half>[ap])\.?m\b\.?)?",
    re.IGNORECASE,
)
_SCALES: Final = {"hundred": 100, "k": 1_000, "thousand": 1_000, "m": 10**6, "million": 10**6, "billion": 10**9}
_DIGITS: Final = r"\d+(?:[.,]\d+)*"
_NUMBER: Final = re.compile(rf"#{_DIGITS}|{_DIGITS}(?:[ -]?(?:{'|'.join(_SCALES)})\b)?", re.IGNORECASE)
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
_NUMBER_WORDS: Final = (
    {word: number for words in (_ENGLISH, "〇一二三四五六七八九十") for number, word in enumerate(words)}
    | {word: number for number, word in enumerate(_ORDINALS, start=1)}
    | {word: 10 * number for number, word in enumerate(_TENS, start=3)}
    | {"once": 1, "twice": 2, "both": 2, "couple": 2, "dozen": 12}
)
_SPOKEN: Final = "|".join(sorted(filter(str.isascii, _NUMBER_WORDS), key=len, reverse=True))
_NUMBER_WORD: Final = re.compile(
    rf"\b(?:{_SPOKEN})(?:[ -](?:and )?(?:{_SPOKEN}|hundred|thousand|million|billion))*\b"
    r"|\b(?:hundred|thousand|million|billion)\b|[〇一二三四五六七八九十]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What a text claims. ``numbers`` are as written, with a ``#`` or a scale (``10k``); ``times`` are ``HH:MM``."""

    quotes: tuple[str, ...]
    dates: tuple[DatePhrase, ...]
    identifiers: tuple[str, ...]
    times: tuple[str, ...]
    numbers: tuple[str, ...]


def claims(text: str) -> Claims:
    """Each kind of claim, a character counting to one kind only, in the order quotes to numbers."""
    rest = days_apart(normalized(_unescaped(text), "NFKC"))
    quotes, rest = _taken(rest, _QUOTED, _quote)
    dates = tuple(date_phrases(rest))
    for phrase in dates:
        rest = rest[: phrase.start] + " " * (phrase.end - phrase.start) + rest[phrase.end :]
    identifiers, rest = _taken(rest, _WORD, _identifier)
    times, rest = _taken(rest, _TIME, _clock)
    numbers, _ = _taken(rest, _NUMBER, lambda match: match[0])
    return Claims(quotes=quotes, dates=dates, identifiers=identifiers, times=times, numbers=numbers)


def normal(text: str) -> str:
    """The text in the form in which texts are compared: NFKC, no case, single spaces, straight quotes."""
    return " ".join(normalized(_unescaped(text), "NFKC").casefold().split())


def _unescaped(text: str) -> str:
    """Straight quotes, and no more backslashes than the text had before it was shown as JSON or as Markdown."""
    plain = text.translate(_SOFT_QUOTES)
    return _ESCAPED.sub(r"\\", _ESCAPING.sub("", plain)) if "\\" in plain else plain


def numerals(text: str) -> frozenset[str]:
    """The numbers of a text in one form: ``1,000`` and ``1000.0`` are ``1000``, ``08`` is ``8``, ``third`` is ``3``.

    What may be read in two ways is given in both: ``1.000``, ``10k`` and each word of ``twenty-five``.
    """
    spoken = (form for words in _NUMBER_WORD.findall(text.casefold()) for form in _spoken(words))
    written = (form for number in _NUMBER.findall(text) for form in _forms(number.lstrip("#")))
    return frozenset([*spoken, *written])


def clock_times(text: str) -> frozenset[str]:
    """The times of day of a text as ``HH:MM``; ``3:30 pm`` is given as ``03:30`` too, for whoever drops the half."""
    found = {(_clock(match), f"{int(match['hour']):02d}:{match['minute'] or '00'}") for match in _TIME.finditer(text)}
    return frozenset(time for both in found for time in both)


def _taken(text: str, pattern: re.Pattern[str], read: Callable[[re.Match[str]], str]) -> tuple[tuple[str, ...], str]:
    """What ``read`` makes of each match, "" leaving it alone, and the text with the matches taken out."""
    found: list[str] = []

    def replacement(match: re.Match[str]) -> str:
        if value := read(match):
            found.append(value)
            return " "
        return match[0]

    rest = pattern.sub(replacement, text)
    return tuple(found), rest


def _quote(match: re.Match[str]) -> str:
    """What is quoted; "" of a name, which is one with quotation marks too."""
    text: str = next(filter(None, match.groups()))
    word = _WORD.fullmatch(text)
    return "" if word and _identifier(word) else normal(text).strip(" .,;:!?'")


def _identifier(match: re.Match[str]) -> str:
    """The word if it is an address, a path, a file, a code or a name of code, else ""."""
    word = match[0].strip(".-+#\\").rstrip("/")
    word = word if word.startswith("~/") else word.lstrip("~")
    rooted = word.startswith(("/", "~/")) or "//" in word or "\\" in word
    if rooted and any(map(str.isalpha, word)):  # not "~/", nor what is left of "May 13/14"
        return word.casefold()
    return word.casefold() if any(map(_is_code, word.split("/"))) else ""


def _is_code(piece: str) -> bool:
    if _NAME_OF_CODE.search(piece):
        return True
    dotted = piece.split(".")
    if len(dotted) > 1 and all(dotted) and (dotted[-1].casefold() in _SHORT_ENDINGS or any(map(_is_word, dotted))):
        return True
    return not all(_PLAIN.fullmatch(part) for part in piece.split("-"))


def _is_word(part: str) -> bool:
    return len(part) > 2 and part.isalpha()  # noqa: PLR2004 - not "e.g"


def _clock(match: re.Match[str]) -> str:
    hour = int(match["hour"])
    if match["half"]:
        hour = hour % 12 + (12 if match["half"] in "pP" else 0)
    return f"{hour:02d}:{match['minute'] or '00'}"


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


def _forms(written: str) -> set[str]:
    """What a number with digits may mean; with a scale behind it, ``10k``, it is given without it too."""
    number = written.rstrip(ascii_letters + " -")
    forms = _plain_forms(number)
    if scale := _SCALES.get(written[len(number) :].lstrip(" -").casefold()):
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
