"""Language detection, stop words and stemming: two libraries behind four functions.

A language is recognised by its script, and among those in Latin letters by the stop words of the text; a text without
any counts as English.
"""

from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from typing import Final

import regex

from app.kit.words import STOP_WORDS

ENGLISH: Final = "english"
# The languages of Latin letters that have stop words and a stemmer, with the code that dateparser knows them by.
LATIN: Final = {
    "english": "en",
    "german": "de",
    "french": "fr",
    "spanish": "es",
    "portuguese": "pt",
    "italian": "it",
    "dutch": "nl",
    "swedish": "sv",
    "danish": "da",
    "norwegian": "nb",
    "finnish": "fi",
    "hungarian": "hu",
    "romanian": "ro",
    "turkish": "tr",
    "polish": "pl",
    "indonesian": "id",
}
SCRIPTS: Final = (
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u04ff", "russian"),
    ("\u0530", "\u058f", "armenian"),
    ("\u0600", "\u06ff", "arabic"),
    ("\u0900", "\u097f", "hindi"),
    ("\u0b80", "\u0bff", "tamil"),
)
_CODES: Final = tuple(
    (regex.compile(letters), code)
    for letters, code in (
        (r"\p{Hangul}", "ko"),
        (r"[\p{Hiragana}\p{Katakana}]", "ja"),
        (r"\p{Han}", "zh"),
        (r"\p{Cyrillic}", "ru"),
        (r"\p{Greek}", "el"),
        (r"\p{Arabic}", "ar"),
        (r"\p{Devanagari}", "hi"),
        (r"\p{Thai}", "th"),
    )
)
_WORDS: Final = regex.compile(r"\w+")
WORDS_READ: Final = 200  # of a text, to tell its language


def language_of(words: Iterable[str], *, telling: int) -> str | None:
    """The language of Latin letters with the most stop words among ``words``; None if there are none.

    A language other than English needs ``telling`` different ones: "car" is a stop word of French, "dog" of Danish.
    """
    found: dict[str, int] = defaultdict(int)  # a Counter takes three times as long for the few of each word
    known = _languages_of_stop_words()
    for word in words if telling == 1 else dict.fromkeys(words):
        for language in known.get(word, ()):
            found[language] += 1
    if not found:
        return None
    most = max(LATIN, key=lambda language: found[language])  # the first of equals: English
    return most if most == ENGLISH or found[most] >= telling else None


def language_codes(text: str, *, telling: int = 1) -> list[str]:
    """The dateparser codes of the languages that a text may be in: by its scripts, else by its stop words.

    ``telling`` as for ``language_of``.
    """
    by_script = [code for letters, code in _CODES if letters.search(text)]
    latin = language_of(_WORDS.findall(text.casefold()), telling=telling)
    return [*by_script, *([] if by_script and latin is None else [LATIN[latin or ENGLISH]])]


def stem(word: str, language: str) -> str:
    """The stem of a word in lower case, in the language of its script, else in ``language``."""
    import snowballstemmer

    # A stemmer has a state, so threads cannot share one.
    return str(snowballstemmer.stemmer(_script_of(word) or language).stemWord(word))


@cache
def stop_words(language: str) -> frozenset[str]:
    """The stop words of a language, for English our own: the library's 1,300 include "name" and "work"."""
    from stop_words import get_stop_words

    return STOP_WORDS if language == ENGLISH else frozenset(get_stop_words(LATIN[language]))


@cache
def _languages_of_stop_words() -> dict[str, tuple[str, ...]]:
    words = {word for language in LATIN for word in stop_words(language)}
    return {word: tuple(language for language in LATIN if word in stop_words(language)) for word in words}


def _script_of(word: str) -> str | None:
    first = word[0]
    return next((language for low, high, language in SCRIPTS if low <= first <= high), None)
