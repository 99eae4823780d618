"""The tokenizer of the search, for every language. Pure.

Words are stemmed by language; scripts without spaces are cut into single characters and overlapping pairs, and a query
uses only the pairs; identifiers, paths, numbers and dates are kept whole, with their parts beside them.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain, islice, pairwise
from typing import Final, TypeAlias

import regex

from app.kit.days import date_phrases
from app.kit.patterns import lazy_pattern
from app.kit.weighted_cache import weighted_cache
from app.kit.words import normalized
from app.recall.languages import ENGLISH, LATIN, WORDS_READ, language_of, stem, stop_words

Alternatives: TypeAlias = frozenset[str]  # the terms that match one word of a query, each of them alone

CHARACTERS_MAX: Final = 64  # of a term; what is longer is cut to it
STEMMED_CHARACTERS: Final = 2 * CHARACTERS_MAX  # no ending is longer than what is cut off anyway
# Limits of one text: more is not prose, and would take a minute, while a megabyte of prose takes half a second.
CHARACTERS_READ: Final = 1_000_000  # also once it is normalized: one character can become eighteen
WORDS_MAX: Final = 10_000  # different ones, the most frequent: a row of the index holds no more terms
DATES_READ: Final = 10_000
PIECES_KEPT: Final = 65_536
TERMS_KEPT: Final = 65_536
KEPT_CHARACTERS: Final = 256  # of a piece at most
# The cache of short texts with their terms holds the lines of `notes_max` observations, or the facts of a resource;
# otherwise each search tokenizes them all again. TERM_BYTES was measured; a line of 100 characters has some 17 terms.
BYTES_KEPT: Final = 64 * 1024 * 1024
TERM_BYTES: Final = 130

# Scripts that are written without spaces, or in which words carry their particles.
_UNSPACED: Final = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー々"
_LETTER: Final = rf"[[\p{{L}}\p{{M}}\p{{N}}_]--[{_UNSPACED}]]"
_PIECES: Final = regex.compile(
    rf"([{_UNSPACED}]+)|({_LETTER}+(?:(?:://|[-._/\\:@+~=#&'%,]){_LETTER}+)*)", regex.VERSION1
)
# The same words where all is ASCII, which ``re`` finds in a fifth of the time.
_ASCII_WORDS: Final = lazy_pattern(r"[A-Za-z0-9_]+(?:(?:://|[-._/\\:@+~=#&'%,])[A-Za-z0-9_]+)*")
# The parts of a name such as ``getHTTPCode2``: get, HTTP, Code, 2.
_PARTS: Final = regex.compile(
    r"\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{Lo}\p{Lt}\p{Lm}\p{M}]+|\p{Lu}|\p{N}+", regex.VERSION1
)
# A word of a script that writes vowels as marks, which are no letters to ``str.isalpha``.
_MARKED_WORD: Final = regex.compile(r"(?=.*\p{M})\p{L}[\p{L}\p{M}]*")
_ACCENT_SCRIPTS: Final = regex.compile(r"[\p{Latin}\p{Greek}\p{M}]+")


def terms(text: str) -> Counter[str]:
    """The terms of a text, each with how often it occurs."""
    pieces = list(_pieces(text))
    language = _language(pieces) or ENGLISH
    found = Counter(chain.from_iterable(_grams(piece) for unspaced, piece in pieces if unspaced))
    words: dict[str, int] = {}
    for unspaced, piece in pieces:
        for word in () if unspaced else _readings(piece):
            words[word] = words.get(word, 0) + 1
    for word, count in words.items() if len(words) <= WORDS_MAX else Counter(words).most_common(WORDS_MAX):
        if term := _term(word, language):
            found[term] += count
    for day in islice(_days(text), DATES_READ):
        found.setdefault(day, 1)
    return found


def kept_terms(text: str) -> Mapping[str, int]:
    """The same from a cache, for texts that each search reads: lines of the log, facts."""
    return _with_terms(text)[1]


def _bytes(read: tuple[str, dict[str, int]]) -> int:
    return len(read[0]) + TERM_BYTES * (1 + len(read[1]))


@weighted_cache(BYTES_KEPT, weight=_bytes, key=lambda text: text)
def _with_terms(text: str) -> tuple[str, dict[str, int]]:
    return text, dict(terms(text))


def query_terms(text: str) -> list[Alternatives]:
    """The words of a query, in its order: each as the terms that may match it, by the language of a message.

    Stop words are left out, unless there is nothing else. A query may be a few names and nouns, so that a single stop
    word does not tell that it is not English.
    """
    pieces = list(_pieces(text))
    language = _language(pieces, telling=2)
    asked = {frozenset([day]): None for day in _days(text)}
    stopped: dict[Alternatives, None] = {}
    for unspaced, piece in pieces:
        if unspaced:
            asked |= dict.fromkeys(frozenset([pair]) for pair in _pairs(piece))
            continue
        for part in _readings(piece):
            held = stopped if part in stop_words(language or ENGLISH) else asked
            held[_stems(part, language)] = None
    return [alternatives for alternatives in asked or stopped if alternatives]


def _pieces(text: str) -> Iterator[tuple[bool, str]]:
    """Runs of scripts without spaces, and words as they are written."""
    text = normalized(text, "NFKC").replace("’", "'")[:CHARACTERS_READ]
    if text.isascii():
        yield from ((False, word) for word in _ASCII_WORDS.findall(text))
        return
    for run, word in _PIECES.findall(text):
        yield (True, run) if run else (False, word)


def _language(pieces: list[tuple[bool, str]], *, telling: int = 1) -> str | None:
    words = (word.casefold() for unspaced, word in islice(pieces, WORDS_READ) if not unspaced)
    return language_of(words, telling=telling)


def _grams(run: str) -> Iterator[str]:
    yield from run
    if len(run) > 1:
        yield from _pairs(run)


def _pairs(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for first, second in pairwise(run):
        yield first + second


def _stems(part: str, language: str | None) -> Alternatives:
    """A word's terms in the index: stemmed in the query's language and English, in all languages if it is not known.

    A word with vowel marks also unstemmed: earlier versions did not stem these, and the index still has them so.
    """
    languages = {ENGLISH, language} if language else LATIN
    found = {_term(part, one) for one in languages} | ({_folded(part)} if _MARKED_WORD.fullmatch(part) else set())
    return frozenset(found - {""})


def _term(part: str, language: str) -> str:
    """The stem of a word; anything else, such as a number, stays as it is."""
    return _kept_term(part[:STEMMED_CHARACTERS], language)


@lru_cache(maxsize=TERMS_KEPT)
def _kept_term(part: str, language: str) -> str:
    return _folded(stem(part, language) if part.isalpha() or _MARKED_WORD.fullmatch(part) else part)


def _readings(piece: str) -> tuple[str, ...]:
    """A piece in lower case: a plain word alone; a compound whole, and then its parts."""
    return _kept_readings(piece) if len(piece) <= KEPT_CHARACTERS else _new_readings(piece)


def _new_readings(piece: str) -> tuple[str, ...]:
    plain = piece.casefold().removesuffix("'s")
    if plain.isalpha() and (piece.islower() or piece.istitle() or piece.isupper()):
        return (plain,)
    parts = [part.casefold() for part in _PARTS.findall(piece.removesuffix("'s"))]
    whole = [plain] if "'" not in plain and [plain] != parts else []
    return (*whole, *(_number(part) for part in parts if len(part) > 1 or part.isdigit()))


_kept_readings = lru_cache(maxsize=PIECES_KEPT)(_new_readings)  # people say the same words again and again


def _number(part: str) -> str:
    return part.lstrip("0") or "0" if part.isdigit() else part


def _folded(term: str) -> str:
    """The term without accents, in scripts in which people leave them out."""
    if not term.isascii() and _ACCENT_SCRIPTS.fullmatch(decomposed := unicodedata.normalize("NFD", term)):
        term = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    return term[:CHARACTERS_MAX]


def _days(text: str) -> Iterator[str]:
    """The full calendar dates that a text names, in ISO form."""
    for phrase in date_phrases(text):
        if phrase.full is not None:
            yield phrase.full.isoformat()
