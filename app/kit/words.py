"""A tokenizer for the words of any language, by character class, without dictionaries or models.

Latin, Greek and Cyrillic words are lower-cased and lightly stemmed. In scripts that write vowels as marks, which are no
letters to ``re``, a word is a run of characters of their blocks. Han, kana, Hangul, Thai, Lao, Burmese and Khmer have
no reliable spaces, so their runs are cut into overlapping bigrams, the usual index unit without a dictionary.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Literal, TypeAlias

from app.kit.patterns import lazy_pattern

_HAN_KANA = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_HANGUL = r"\u1100-\u11ff\uac00-\ud7af"
_UNSPACED = _HAN_KANA + _HANGUL + r"\u0e01-\u0e4e\u0e81-\u0ece\u1000-\u103f\u1780-\u17d3"
# Hebrew, Arabic, the scripts of India, without the punctuation in their blocks.
_MARKED = (
    r"\u0591-\u05bd\u05bf-\u05c7\u05d0-\u05f2\u0610-\u061a\u0620-\u0669\u066e-\u06d3\u06d5-\u06ff"
    r"\u0900-\u0963\u0966-\u096f\u0971-\u0df3"
)

NUMBER = lazy_pattern(r"\d(?<![^\W\d_]\d)\d*(?:[.,:/-]\d+)*")
_RUN = lazy_pattern(
    rf"[{_UNSPACED}]+|[{_MARKED}]+|[^\W_{_UNSPACED}{_MARKED}][^\W{_UNSPACED}{_MARKED}]*(?:'[^\W_{_UNSPACED}]+)?"
)
_NAME = lazy_pattern(r"(?<=[\w,;:)'’\"] )[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)*|[\u30a0-\u30ff]{3,}")
_NOT_NAMES = lazy_pattern(r"^(?:I|I'm|I've|I'd|I'll|OK|AI)$")
# At most a sentence: for each unclosed quotation mark the text would otherwise be searched to its end.
_QUOTED = lazy_pattern(r"[\"“「『《][^\"”」』》]{2,400}[\"”」』》]|`[^`]{1,400}`")
_IDENTIFIER = lazy_pattern(r"\b\w+[_/@.]\w[\w/.@-]*|\b[A-Z]+-?\d+\b")
_UNSPACED_RUN = lazy_pattern(rf"[{_UNSPACED}]+")
# Kana alone are mostly grammar (particles, endings); katakana are names and loan words.
_HIRAGANA = lazy_pattern(r"[\u3041-\u309f]+")

NormalForm: TypeAlias = Literal["NFC", "NFD", "NFKC", "NFKD"]
# No language has so many marks on a letter (the Stream-Safe Text Format of UAX 15).
MARKS_MAX = 30
_MARKS_ALONE = "\uff9e\uff9f"  # the half-width sound marks of kana: letters by themselves, marks in a normal form
_CROWD = lazy_pattern(rf"[^\w\s\x00-\x7f]{{{MARKS_MAX + 1},}}")  # fails at the first character in most texts
_CROWD_OF_KANA = lazy_pattern(rf"(?:[^\w\s\x00-\x7f]|[{_MARKS_ALONE}]){{{MARKS_MAX + 1},}}")

_ZEROS = "٠۰०০੦૦୦௦౦೦൦๐໐၀០０"  # the zero of each script with digits of its own: ten code points in a row
_PLAIN_DIGITS = str.maketrans({chr(ord(zero) + digit): str(digit) for zero in _ZEROS for digit in range(10)})

STOP_WORDS = frozenset(
    """a about above after again all also always am an and any are aren't as at be because been before being below
    between both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each even
    ever few for from further get gets getting go goes going gonna got had hadn't has hasn't have haven't having he
    he's her here here's hers him his how how's i i'd i'll i'm i've if in into is isn't it it'd it'll it's its itself
    just kind let let's like lot lots made make makes making many may maybe me might more most much must my myself no
    nor not now of off oh ok okay on once one only or other our ours out over own pretty quite rather really same see
    she she's should shouldn't so some something such super sure than that that's the their them then there there's
    these they they're they've thing things this those though through to too totally under until up us very wanna was
    wasn't way we we'd we'll we're we've well were weren't what what's when where where's which while who who's whom
    why will with won't would wouldn't yeah yes yep you you'd you'll you're you've your yours yourself
    amazing awesome cool glad good great hear hey hi hello nice wow thanks thank happy sounds sound feel feels feeling
    looks look think know definitely actually absolutely bye""".split()  # noqa: SIM905 - a list of 200 strings is unreadable
)
_ENDINGS = ("ing", "ies", "ed", "es", "s")
WORDS_KEPT = 16_384
KEPT_CHARACTERS = 32  # of a cached word at most: a longer one is hardly said again
_STEM_LETTERS = 4  # that a word must have left without its ending to be stemmed


def normalized(text: str, form: NormalForm) -> str:
    """The text in a normal form of Unicode, with at most the first ``MARKS_MAX`` marks on each letter.

    Python sorts them in quadratic time, holding the GIL: half a million, a message of a megabyte, would take minutes.
    """
    if text.isascii():
        return text
    crowd = _CROWD_OF_KANA if any(mark in text for mark in _MARKS_ALONE) else _CROWD
    return unicodedata.normalize(form, crowd.sub(_thinned, text))


def _thinned(crowd: re.Match[str]) -> str:
    kept, marks = list[str](), 0
    for one in crowd[0]:
        marks = marks + 1 if one in _MARKS_ALONE or unicodedata.category(one).startswith("M") else 0
        if marks <= MARKS_MAX:
            kept.append(one)
    return "".join(kept)


def any_of(words: Collection[str]) -> str:
    """A pattern that matches any of these words, built as a trie: alternatives would take five times as long."""
    rests: dict[str, set[str]] = {}
    for word in filter(None, words):
        rests.setdefault(word[0], set()).add(word[1:])
    choices = [
        re.escape(first) + (any_of(rest) if len(rest) > 1 else re.escape(*rest))
        for first, rest in sorted(rests.items())
    ]
    return f"(?:{'|'.join(choices)}){'?' if '' in words else ''}" if choices else ""


def plain_digits(text: str) -> str:
    """The text with the digits of every script replaced by ASCII's; positions do not change."""
    return text if text.isascii() else text.translate(_PLAIN_DIGITS)


def terms(text: str) -> Iterator[str]:
    """The content terms of a text in order: stems of content words, bigrams of unspaced scripts, numbers.

    Decomposed letters, as macOS writes names of files, are composed first.
    """
    for word in _RUN.findall(normalized(text, "NFC").lower().replace("’", "'")):
        yield from _kept(word) if len(word) <= KEPT_CHARACTERS else _units(word)


def _units(run: str) -> Iterator[str]:
    if not run.isascii() and _UNSPACED_RUN.match(run):
        yield from _pairs(run)
    elif run not in STOP_WORDS and (len(run) > 1 or run.isdigit()):
        yield _stem(run)


@lru_cache(maxsize=WORDS_KEPT)
def _kept(word: str) -> tuple[str, ...]:
    """The terms of a word, cached: people use the same few thousand words again and again."""
    return tuple(_units(word))


def weight(term: str) -> float:
    """The weight of a term: a bigram of an unspaced script counts as half a word, because bigrams overlap."""
    return 0.5 if not term.isascii() and _UNSPACED_RUN.match(term) else 1.0


def overlap(left: frozenset[str], right: frozenset[str]) -> float:
    """Jaccard similarity of two sets of terms, 0 to 1."""
    union = len(left | right)
    return len(left & right) / union if union else 0.0


def _pairs(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for first, second in pairwise(run):
        if not _HIRAGANA.fullmatch(first + second):
            yield first + second


def _stem(word: str) -> str:
    word = word.removesuffix("'s")
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _STEM_LETTERS:
            return word[: -len(ending)]
    return word


def specifics(text: str) -> list[str]:
    """The numbers, names, quotations and identifiers of a text."""
    return [*NUMBER.findall(text), *names(text), *_QUOTED.findall(text), *_IDENTIFIER.findall(text)]


def names(text: str) -> list[str]:
    """The runs of capitalised words in a text, without the first word of a sentence, and its katakana words."""
    return [name for name in _NAME.findall(text) if not _NOT_NAMES.match(name)]
