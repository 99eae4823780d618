"""Extracts the parts of a text that can be checked against another: quotes, dates, identifiers, times, numbers.

They are what a model gets wrong without anyone noticing (memory-rules.md section 4, Gates). Everything works on plain
characters, so a script without spaces or capitals is read as well.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from app.kit.days import DatePhrase, date_phrases, days_apart, figure_phrases, in_common_era
from app.kit.patterns import lazy_pattern
from app.kit.words import any_of, normalized, plain_digits
from app.memory.grounding import time_words as words
from app.memory.grounding.clock import HOURS, TIME, WITH_H, clock
from app.memory.grounding.numbers import CODE, FRACTION, NUMBER

DAYS_AWAY: Final = {word.replace("_", " "): away for away, said in words.DAYS_AWAY.items() for word in said.split()}
WEEKDAYS: Final = {word: at for at, said in enumerate(words.WEEKDAYS.strip().splitlines()) for word in said.split()}
# Invisible marks of text direction are no part of a text, and the exponent of m² is no number.
_SOFT_SIGNS: Final = str.maketrans(
    dict.fromkeys("’‘´", "'")
    | {"¼": " 1/4", "½": " 1/2", "¾": " 3/4", "⅓": " 1/3", "⅔": " 2/3"}
    | dict.fromkeys("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069²³", "")
)
_ESCAPING: Final = lazy_pattern(r"\\++(?![^\W_])")  # \" and \_
_ESCAPED: Final = lazy_pattern(r"\\{2,}+")
_QUOTED: Final = lazy_pattern(
    r'"([^"]{2,300})"|“([^”]{2,300})”|„([^“”]{2,300})[“”]|«([^»]{2,300})»|»([^«]{2,300})«|`([^`]{2,300})`|「([^」]{1,300})」|『([^』]{1,300})』'
)
TRIMMED: Final = " .,;:!?'。、，؟،।"  # around a quote
# Letters that are, or have, letters of ASCII where texts are compared: an identifier does not end before one.
_FOLDED: Final = str.maketrans({letter: letter.casefold() for letter in "ßẞİǰẖẗẘẙ"})
# Letters alone are no identifier, but in camelCase.
_WORD: Final = lazy_pattern(
    r"(?<![A-Za-z0-9_./\\@~#+-])(?=[A-Za-z]*(?:[a-z][A-Z]|[0-9_./\\@~#+-]))[A-Za-z0-9_./\\@~#+-]+"
)
DAY_WORD_CHARACTERS: Final = 32
_DAY_WORD: Final = lazy_pattern(
    rf"(?:\b(?P<from>{words.NOT_FROM_TODAY}) )?(?:\b|(?<=[\u3040-\u30ff\u4e00-\u9fff]))"
    rf"(?P<word>{any_of((*DAYS_AWAY, *WEEKDAYS))}),? ?\(?$",
    re.IGNORECASE,
)
_PER: Final = lazy_pattern(r"[^\W\d_\u0590-\uffff]|[€£¥₽₺₹¢%°×]")  # before the slash of a rate: €/month, Größe/Preis
_NAME_OF_CODE: Final = lazy_pattern(r"[a-z][A-Z]|\w_\w|\w@[\w-]+\.\w")  # camelCase, snake_case, an e-mail address
_SHORT_ENDINGS: Final = frozenset({"cc", "cs", "go", "js", "kt", "md", "py", "rb", "rs", "sh", "ts"})  # of files: ui.js
_PLAIN: Final = lazy_pattern(r"[0-9][0-9.]*[A-Za-z]{0,4}|[A-Za-z.]*")  # 3rd, 10k, 30min, old, e.g
# A number with letters of its own: seat 14C, 10k, 3rd.
_LETTERED: Final = lazy_pattern(r"(?<![\w.,#/-])\d{1,6}[A-Za-z]{1,3}(?!\w)")
_DEGREES: Final = lazy_pattern(
    r"(?P<sign>(?<![\w°)\]])[-−–]\s?|\bminus\s)?(?<![\w.,])(?P<number>\d{1,3}(?:[.,]\d+)?)"
    r"\s?(?:[°º]|degrees?\b|grad\b|graus?\b|grados?\b|gradi\b|degrés?\b|градус|度|도(?!\w))"
)
# An IBAN and the like, in groups.
_IN_GROUPS: Final = lazy_pattern(r"(?<!\w)[A-Z]{2}\d{2}(?: [A-Z0-9]{4}){2,8}(?: [A-Z0-9]{1,4})?(?!\w)")
# Digits that belong together however they are grouped: 0341 / 55 87 12-30.
_RUN_OF_DIGITS: Final = lazy_pattern(r"(?<![\w.,])\(?\d[\d ()/.-]{5,}\d(?!\w)")
PHONE_DIGITS_MIN: Final = 7
# The former state, as a line tells it beside the present one. Possessive, or blanks in a bracket that is never closed
# would backtrack among the three in every way there is.
BEFORE: Final = lazy_pattern(
    r"[(（](?:(?:before|früher|vorher|zuvor|bisher|antes|anteriormente|avant|auparavant"
    r"|précédemment|prima|in precedenza|voorheen|eerder|раньше|ранее|прежде|до этого|раніше|wcześniej|önce|önceden"
    r"|daha önce|eskiden|قبل|سابق[اًا]*|من قبل|पहले|पूर्व में|sebelumnya|trước đó|tidigare|tidligere"
    r"|前は|元は|変更前)\s*+[:：]|(?:previously|until then|이전|기존|종전"
    r"|之前|以前|先前|此前|原先|原来|原為|原为|从前)(?:은|는|:|：|是|は)?)"
    r"\s*+([^)）]++)[)）]",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What a text claims. ``numbers`` are as written, with a ``#`` or a scale (``10k``); ``times`` are ``HH:MM``.

    ``figures``: dates in figures alone, each as it may be read; ``short`` are those without a year, as written.
    ``named``: a date with the day before it, ``yesterday`` or a weekday. ``hours`` are as written, ``15 h``, which may
    be a duration. ``codes`` are whole numbers of four digits or more that nothing marks as amounts. ``lettered`` are
    numbers with the letters right behind them, ``degrees`` those of a temperature and whether it is below zero; both
    count as numbers too.
    """

    quotes: tuple[str, ...]
    dates: tuple[DatePhrase, ...]
    figures: tuple[tuple[DatePhrase, ...], ...]
    short: tuple[str, ...]
    named: tuple[tuple[str, DatePhrase], ...]
    identifiers: tuple[str, ...]
    times: tuple[str, ...]
    hours: tuple[str, ...]
    codes: tuple[str, ...]
    numbers: tuple[str, ...]
    lettered: tuple[str, ...]
    degrees: tuple[tuple[bool, str], ...]


def claims(text: str) -> Claims:
    """Each kind of claim, a character counting to one kind only, in the order quotes to numbers."""
    rest = days_apart(_plain(text))
    quotes, rest = _taken(rest, _QUOTED, _quote)
    figures = tuple(figure_phrases(rest))
    both_ways = {read[0].start for read in figures}
    short = tuple(rest[one.start : one.end] for one, *_ in figures if one.year is None)
    dates = tuple(phrase for phrase in date_phrases(rest) if phrase.start not in both_ways)
    named = tuple(named_days(rest))
    rest = without(rest, sorted((*dates, *(read[0] for read in figures)), key=lambda phrase: phrase.start))
    local, rest = _taken(rest, WITH_H, clock)
    grouped, rest = _taken(rest, _IN_GROUPS, lambda match: match[0].replace(" ", "").casefold())
    identifiers, rest = _taken(rest.translate(_FOLDED), _WORD, _identifier)
    times, rest = _taken(rest, TIME, clock)
    hours, rest = _taken(rest, HOURS, lambda match: match[0])
    lettered = tuple(_LETTERED.findall(rest.casefold()))
    runs, rest = _taken(rest, _RUN_OF_DIGITS, _run_of_digits)
    codes, rest = _taken(rest, CODE, lambda match: match[0])
    parts, rest = _taken(rest, FRACTION, lambda match: match[0])
    numbers, _ = _taken(rest, NUMBER, lambda match: match[0])
    return Claims(
        quotes=quotes,
        dates=dates,
        figures=tuple(read for read in figures if read[0].year is not None),
        short=short,
        named=named,
        identifiers=(*grouped, *identifiers),
        times=(*local, *times),
        hours=hours,
        codes=codes,
        numbers=(*runs, *parts, *numbers),
        lettered=lettered,
        degrees=tuple(degrees(text)),
    )


def degrees(text: str) -> Iterator[tuple[bool, str]]:
    """The temperatures of a text: whether each is below zero, and its number."""
    for match in _DEGREES.finditer(_plain(text).casefold()):
        yield match["sign"] is not None, match["number"].replace(",", ".")


def without(text: str, phrases: Iterable[DatePhrase]) -> str:
    """The text with blanks in the place of dates, which are given in order."""
    kept, at = [], 0
    for phrase in phrases:
        if phrase.end > at:
            start = max(at, phrase.start)
            kept += [text[at:start], " " * (phrase.end - start)]
            at = phrase.end
    return "".join([*kept, text[at:]])


def named_days(text: str) -> Iterator[tuple[str, DatePhrase]]:
    """The dates right behind the word for their day: ``yesterday (May 7, 2026)``, ``Friday, May 8``."""
    for phrase in date_phrases(text):
        before = _DAY_WORD.search(text, max(0, phrase.start - DAY_WORD_CHARACTERS), phrase.start)
        if phrase.day is not None and before and not (before["from"] and before["word"].casefold() in DAYS_AWAY):
            yield before["word"].casefold(), phrase


def normal(text: str) -> str:
    """The text in the form in which texts are compared: NFKC, no case, single spaces, straight quotes, plain digits."""
    return " ".join(_plain(text).casefold().split())


def _plain(text: str) -> str:
    """The text with plain signs and digits, and without the backslashes of JSON or Markdown."""
    if "\\" in text:
        text = _ESCAPED.sub(r"\\", _ESCAPING.sub("", text))
    if text.isascii():
        return text
    return in_common_era(plain_digits(normalized(text.translate(_SOFT_SIGNS), "NFKC")))


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
    """The quoted text; "" if it is an identifier, which stays one within quotation marks."""
    text: str = next(filter(None, match.groups()))
    word = _WORD.fullmatch(text)
    return "" if word and _identifier(word) else normal(text).strip(TRIMMED)


def _identifier(match: re.Match[str]) -> str:
    """The word if it is an address, a path, a file, a code or a name of code, else ""."""
    word = match[0].strip(".-+#\\").rstrip("/")
    word = word if word.startswith("~/") else word.lstrip("~")
    rooted = word.startswith(("/", "~/")) or "//" in word or "\\" in word
    if word.startswith("/") and _PER.fullmatch(match.string[max(0, match.start() - 1) : match.start()]):
        rooted = False
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


def _run_of_digits(match: re.Match[str]) -> str:
    digits = sum(map(str.isdecimal, match[0]))
    return match[0].strip(" (.-") if digits >= PHONE_DIGITS_MIN and not NUMBER.fullmatch(match[0]) else ""
