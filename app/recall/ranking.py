"""Which messages answer a query best: BM25 over a message with its neighbours (how it was found: docs/recall.md). Pure.

What a message is about often stands in the one before it, so each is scored as a passage: its counts and length with
shares of its neighbours' in the same segment. To that come its own score, that of its segment, and a bonus where the
query means who speaks.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log
from typing import Final, TypeAlias
from uuid import UUID

from app.memory.extractive.cues import is_first_person, is_second_person
from app.recall.model import Indexed, Place, Scope, Span
from app.recall.tokens import Alternatives, terms
from app.sessions.model import Role

Counts: TypeAlias = dict[int, float]  # of the query's words, by their place in it

# Saturation and length normalisation of Robertson and Zaragoza's BM25; short turns of a talk want less of both than
# documents do. A segment is not normalised: a longer one says more.
SATURATION: Final = 0.9
NORMALISATION: Final = 0.4
SEGMENT_SATURATION: Final = 1.2

# Shares of the neighbours at a distance, of the other scores beside the passage's, and what a speaker counts.
NEAR: Final = {-2: 0.5, -1: 1.0, 1: 1.0, 2: 0.5}
NEAR_MAX: Final = max(NEAR)
OWN: Final = 0.5
SEGMENT: Final = 1.0

# Bonuses, in shares of what the query's words weigh together: for the word of whom the query means, and for the time
# that it names.
SPEAKER: Final = 0.35
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
    """The messages that match, or stand beside one that does, best first; of equals the newest.

    ``rows`` are all that have a word of the query, as many as are looked at, and their neighbours. ``named`` is the
    time that the query names, ``meant`` who speaks of it where it names nobody.
    """
    known = {row.place: row for row in rows}
    speakers = _speakers(query, known.values())
    words = [word for word in range(len(query)) if word not in speakers] or list(speakers)
    matching = {place: _counts(row, words) for place, row in known.items() if any(word in row.counts for word in words)}
    weights = {word: _rarity(scope.messages, scope.having[word]) for word in words}
    passages = _passages(matching, known, scope.mean_length)
    segments = _segments(matching, known, scope)
    asked = frozenset[str]().union(*(query[word] for word in speakers))
    weight = sum(weights.values())
    found = [
        Ranked(
            place,
            _saturated(passage.counts, weights, passage.length / scope.mean_length / passage.share)
            + OWN * _saturated(matching.get(place, {}), weights, known[place].length / scope.mean_length)
            + SEGMENT * segments[place[0], known[place].segment]
            + weight * _bonus(known[place], asked, named, meant),
        )
        for place, passage in passages.items()
    ]
    return sorted(found, key=lambda one: (-one.score, -known[one.place].created_at.timestamp(), -one.place[1]))


@dataclass(slots=True)
class _Passage:
    """A message with shares of its neighbours; ``share`` is how many messages' worth it is."""

    counts: Counts
    length: float
    share: float


def _counts(row: Indexed, words: Iterable[int]) -> Counts:
    return {word: row.counts[word] for word in words if word in row.counts}


def _speakers(query: Sequence[Alternatives], rows: Iterable[Indexed]) -> set[int]:
    """The words that are a speaker's name."""
    names = frozenset[str]().union(*(_name(row.speaker) for row in rows))
    return {word for word, alternatives in enumerate(query) if alternatives & names}


@lru_cache(maxsize=4_096)
def _name(speaker: str | None) -> frozenset[str]:
    return frozenset(terms(speaker or ""))


def meant_role(query: str) -> Role | None:
    """Of whom the query speaks: of "my sister" the user knows best, of "what did you tell me" not the user alone."""
    return Role.USER if is_first_person(query) and not is_second_person(query) else None


def _bonus(row: Indexed, asked: frozenset[str], named: Span | None, meant: Role | None) -> float:
    time = TIME if named is not None and named.holds(row.created_at) else 0.0
    if asked:
        return time + (SPEAKER if asked & _name(row.speaker) else 0.0)
    return time + (SPEAKER if row.counts and row.role is meant else 0.0)


def plain_scores(query: Sequence[Alternatives], texts: Sequence[Mapping[str, int]]) -> list[float]:
    """BM25 of each text by itself, given by its terms; 0 where it has no word of the query."""
    found = [
        {
            word: count
            for word, alternatives in enumerate(query)
            if (count := sum(text.get(term, 0) for term in alternatives))
        }
        for text in texts
    ]
    having = Counter(word for counts in found for word in counts)
    weights = {word: _rarity(len(texts), having[word]) for word in having}
    lengths = [sum(text.values()) for text in texts]
    mean = max(1.0, sum(lengths) / max(1, len(texts)))
    return [_saturated(counts, weights, length / mean) for counts, length in zip(found, lengths, strict=True)]


def _rarity(total: int, having: int) -> float:
    return log(1 + (total - having + 0.5) / (having + 0.5))


def _saturated(counts: Mapping[int, float], weights: Mapping[int, float], length: float) -> float:
    """``length`` is in means of its kind."""
    norm = SATURATION * (1 - NORMALISATION + NORMALISATION * length)
    return sum(weights[word] * count * (SATURATION + 1) / (count + norm) for word, count in counts.items())


def _passages(
    matching: Mapping[Place, Counts], known: Mapping[Place, Indexed], mean_length: float
) -> dict[Place, _Passage]:
    """Every message that matches or has a neighbour that does. One that does not is taken to be of mean length."""
    passages: dict[Place, _Passage] = {}
    for session, seq in matching:
        for distance in (0, *NEAR):
            place = session, seq + distance
            if place not in passages and _together(known, (session, seq), place):
                passages[place] = _passage(place, matching, known, mean_length)
    return passages


def _passage(
    place: Place, matching: Mapping[Place, Counts], known: Mapping[Place, Indexed], mean_length: float
) -> _Passage:
    session, seq = place
    own = matching.get(place)
    passage = _Passage(dict(own or {}), known[place].length if own else mean_length, 1.0 + sum(NEAR.values()))
    for distance, share in NEAR.items():
        near = session, seq + distance
        counts = matching.get(near) if _together(known, place, near) else None
        passage.length += share * (known[near].length if counts else mean_length)
        for word, count in (counts or {}).items():
            passage.counts[word] = passage.counts.get(word, 0.0) + share * count
    return passage


def _together(known: Mapping[Place, Indexed], place: Place, other: Place) -> bool:
    """Whether they stand in one segment."""
    return other in known and known[other].segment == known[place].segment


def _segments(
    matching: Mapping[Place, Counts], known: Mapping[Place, Indexed], scope: Scope
) -> dict[tuple[UUID, int], float]:
    """The score of each segment, as one text."""
    counts: dict[tuple[UUID, int], Counts] = defaultdict(dict)
    for place, own in matching.items():
        whole = counts[place[0], known[place].segment]
        for word, count in own.items():
            whole[word] = whole.get(word, 0.0) + count
    having = Counter(word for whole in counts.values() for word in whole)
    weights = {word: _rarity(scope.segments, having[word]) for word in having}
    return {
        segment: sum(
            weights[word] * count * (SEGMENT_SATURATION + 1) / (count + SEGMENT_SATURATION)
            for word, count in whole.items()
        )
        for segment, whole in counts.items()
    }
