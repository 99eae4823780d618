"""Ranks messages by BM25 over a message with its neighbours (how it was found: docs/recall.md). Pure.

The topic of a message often stands in the one before it, so each is scored as a passage: its counts with shares of its
neighbours' in the same segment. Its own score, that of its segment, and bonuses for the speaker and the time that the
query means are added. Counts are divided by the message's length before they are summed, as BM25F does with fields
(Robertson, Zaragoza and Taylor 2004); otherwise a long answer that has every word once would lift its neighbours.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log
from operator import attrgetter
from typing import Final, TypeAlias
from uuid import UUID

from app.recall.asking import asking_terms, is_grammar
from app.recall.model import Indexed, Place, Scope, Span
from app.recall.tokens import Alternatives, kept_terms, terms
from app.sessions.model import Role

Counts: TypeAlias = dict[int, float]  # of the query's words, by their position in it

# Saturation (k1) and length normalisation (b) of Robertson and Zaragoza's BM25; short messages need less of both than
# documents do. A segment is not normalised: a longer one says more. Rare words weigh more than in BM25.
SATURATION: Final = 0.9
NORMALISATION: Final = 0.4
SEGMENT_SATURATION: Final = 1.2
RARITY: Final = 1.2  # an exponent

# Weights of neighbours by distance; of the message's own score and its segment's beside the passage's; of a word of
# asking; of a word of grammar in a script without spaces; of a word's kin; and of what others say if the user's word is
# meant, because an answer repeats its question.
NEAR: Final = {-2: 0.3, -1: 0.7, 0: 1.0, 1: 0.7, 2: 0.3}
NEAR_MAX: Final = max(NEAR)
OWN: Final = 0.5
SEGMENT: Final = 1.0
ASKING: Final = 0.5
GRAMMAR: Final = 0.3
KIN: Final = 0.2
OTHERS: Final = 0.5

# Bonuses, in shares of the weight of all words of the query: for the speaker that it names, for the role that it means
# if it names no speaker, and for the time that it names.
SPEAKER: Final = 0.35
MEANT: Final = 0.5
TIME: Final = 1.0


@dataclass(frozen=True, slots=True)
class Ranked:
    place: Place
    score: float


def ranked(
    query: Sequence[Alternatives],
    rows: Iterable[Indexed],
    scope: Scope,
    *,
    named: Span | None = None,
    meant: Role | None = None,
) -> list[Ranked]:
    """The messages that match, or are neighbours of one that does, best first; of equals the newest first.

    ``rows``: the candidates with a word of the query, and their neighbours. In their counts the kin of word ``n`` is at
    ``len(query) + n``. ``named``: the time that the query names; ``meant``: the role it means if it names no speaker.
    """
    # Sorted, so that floats are summed in the same order whatever order the rows come in.
    known = {row.place: row for row in sorted(rows, key=attrgetter("seq"))}
    speakers = _speakers(query, known.values())
    words = [word for word in range(len(query)) if word not in speakers] or list(speakers)
    asked = frozenset[str]().union(*(query[word] for word in speakers))
    role = None if asked else meant
    matching = {
        place: counts
        for place, row in known.items()
        if (counts := _counts(row, words, scope.mean_length, role, kin_at=len(query)))
    }
    shares = {word: _share(query[word]) for word in words}
    weights = {word: share * _rarity(scope.messages, scope.having[word]) for word, share in shares.items()}
    segments = _segments(matching, known, scope, shares)
    weight = sum(weights.values())
    found = [
        Ranked(
            place,
            _saturated(counts, weights)
            + OWN * _saturated(matching.get(place, {}), weights)
            + SEGMENT * segments[place[0], known[place].segment]
            + weight * _bonus(known[place], asked, named, role),
        )
        for place, counts in _passages(matching, known).items()
    ]
    return sorted(found, key=lambda one: (-one.score, -known[one.place].created_at.timestamp(), -one.place[1]))


def _counts(row: Indexed, words: Iterable[int], mean_length: float, meant: Role | None, *, kin_at: int) -> Counts:
    """The message's counts of the words, normalised by its length; words that it lacks are left out."""
    other = OTHERS if meant is Role.USER and row.role is not Role.USER else 1.0
    share = other / _norm(row.length / mean_length)
    counted = ((word, row.counts.get(word) or KIN * (kin_at + word in row.counts)) for word in words)
    return {word: share * count for word, count in counted if count}


def _speakers(query: Sequence[Alternatives], rows: Iterable[Indexed]) -> set[int]:
    """The positions of the query's words that are a speaker's name."""
    names = frozenset[str]().union(*(_name(row.speaker) for row in rows))
    return {word for word, alternatives in enumerate(query) if alternatives & names}


@lru_cache(maxsize=4_096)
def _name(speaker: str | None) -> frozenset[str]:
    return frozenset(terms(speaker or ""))


def _bonus(row: Indexed, asked: frozenset[str], named: Span | None, meant: Role | None) -> float:
    time = TIME if named is not None and named.holds(row.created_at) else 0.0
    if asked:
        return time + (SPEAKER if asked & _name(row.speaker) else 0.0)
    return time + (MEANT if row.counts and row.role is meant else 0.0)


def word_counts(query: Sequence[Alternatives], text: Mapping[str, int]) -> dict[int, int]:
    """How often a text, given by its terms, has each word of the query, by position; words it lacks are left out."""
    counted = ((word, sum(text.get(term, 0) for term in alternatives)) for word, alternatives in enumerate(query))
    return {word: count for word, count in counted if count}


def plain_scores(query: Sequence[Alternatives], texts: Sequence[str]) -> list[float]:
    """The BM25 score of each text by itself; 0 if it has no word of the query."""
    told = [kept_terms(text) for text in texts]
    found = [word_counts(query, text) for text in told]
    having = Counter(word for counts in found for word in counts)
    weights = {word: _share(query[word]) * _rarity(len(texts), having[word]) for word in having}
    lengths = [sum(text.values()) for text in told]
    mean = max(1.0, sum(lengths) / max(1, len(texts)))
    return [
        _saturated({word: count / _norm(length / mean) for word, count in counts.items()}, weights)
        for counts, length in zip(found, lengths, strict=True)
    ]


def _share(word: Alternatives) -> float:
    """The weight of a word of the query, apart from its rarity."""
    if is_grammar(word):
        return GRAMMAR
    return ASKING if word & asking_terms() else 1.0


def _rarity(total: int, having: int) -> float:
    """The inverse document frequency. Two statements count, so ``having`` may exceed ``total`` by newer messages."""
    common = min(having, total)
    return float(log(1 + (total - common + 0.5) / (common + 0.5)) ** RARITY)


def _norm(length: float) -> float:
    """The divisor of a text's counts; ``length`` is in multiples of the mean length."""
    return 1 - NORMALISATION + NORMALISATION * length


def _saturated(counts: Mapping[int, float], weights: Mapping[int, float], saturation: float = SATURATION) -> float:
    return sum(weights[word] * count * (saturation + 1) / (count + saturation) for word, count in counts.items())


def _passages(matching: Mapping[Place, Counts], known: Mapping[Place, Indexed]) -> dict[Place, Counts]:
    """Every message that matches or has a neighbour that does, with shares of its neighbours' counts."""
    passages: dict[Place, Counts] = defaultdict(dict)
    for (session, seq), counts in matching.items():
        for distance, share in NEAR.items():
            place = session, seq + distance
            if _together(known, (session, seq), place):
                _add(passages[place], counts, share)
    return passages


def _add(counts: Counts, more: Counts, share: float = 1.0) -> None:
    for word, count in more.items():
        counts[word] = counts.get(word, 0.0) + share * count


def _together(known: Mapping[Place, Indexed], place: Place, other: Place) -> bool:
    """Whether both are in one segment."""
    return other in known and known[other].segment == known[place].segment


def _segments(
    matching: Mapping[Place, Counts], known: Mapping[Place, Indexed], scope: Scope, shares: Mapping[int, float]
) -> dict[tuple[UUID, int], float]:
    """The BM25 score of each segment, taken as one text."""
    counts: dict[tuple[UUID, int], Counts] = defaultdict(dict)
    for place, own in matching.items():
        _add(counts[place[0], known[place].segment], own)
    having = Counter(word for whole in counts.values() for word in whole)
    weights = {word: shares[word] * _rarity(scope.segments, having[word]) for word in having}
    return {segment: _saturated(whole, weights, SEGMENT_SATURATION) for segment, whole in counts.items()}
