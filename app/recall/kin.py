"""Kin, the near-synonyms of query words: a query for a "picture" also looks for a "photo". Pure.

``kin.txt`` lists them in English, on each line a word and its kin; docs/recall.md names their sources. They are
searched for beside the words of a query, and count for a message that lacks the word itself (ranking.py).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from app.recall.asking import asking_terms
from app.recall.languages import ENGLISH, LATIN, language_codes, stem
from app.recall.tokens import Alternatives


def kin_of(query: Sequence[Alternatives], text: str) -> list[Alternatives]:
    """The terms of each query word's kin, which may be none; ``text`` is the query as it was asked.

    Only words of an English query have kin: others may only look English. Words of asking have none.
    """
    if LATIN[ENGLISH] not in language_codes(text, telling=2):
        return [frozenset[str]()] * len(query)
    known = kin()
    return [frozenset[str]().union(*(known.get(term, ()) for term in word)) - word for word in query]


@cache
def kin() -> Mapping[str, Alternatives]:
    """The kin of each term; the relation is symmetric."""
    found: dict[str, set[str]] = defaultdict(set)
    for line in files(__package__).joinpath("kin.txt").read_text(encoding="utf-8").splitlines():
        word, *others = (stem(word, ENGLISH) for word in line.split())
        found[word].update(others)
        for other in others:
            found[other].add(word)
    return {term: frozenset(found[term]) for term in found.keys() - asking_terms()}
