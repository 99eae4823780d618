"""Reciprocal rank fusion of the rankings by words and by dense vectors (figures: docs/recall.md). Pure.

The scores of the two cannot be compared, but their ranks can (Cormack, Clarke and Buettcher 2009).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final, TypeAlias

from app.recall.model import Place
from app.recall.ranking import Ranked

FLATNESS: Final = 20  # the paper's k; its 60 is for lists of documents that several systems find
VECTORS: Final = 0.4  # weight of a rank by vectors; a rank by words has 1
FIRST: Final = 3  # ranks by words that stay: moving these put the answers of long chats in a worse order
VECTORS_MAX: Final = 200  # ranks by vectors that count; later ones would change nothing
BESIDE: Final = {-2: 0.25, -1: 0.5, 1: 0.5, 2: 0.25}  # weights of the neighbours' cosines, as in ranking.py


@dataclass(frozen=True, slots=True)
class Likeness:
    """The cosine of a message with the query, its segment, and whether it falls in the time that the query names."""

    cosine: float
    segment: int
    is_named: bool = False


Likenesses: TypeAlias = Mapping[Place, Likeness]


@dataclass(frozen=True, slots=True)
class Near:
    """The messages nearest to a query, best first; the first ``named`` fall in the time that the query names."""

    places: Sequence[Place] = ()
    named: int = 0


def by_likeness(found: Likenesses) -> Near:
    """The nearest messages, each scored by its cosine plus shares of its neighbours' in the same segment.

    A neighbour's cosine counts relative to the mean of all, so that a neighbour below the mean lowers the score.
    """
    mean = fmean(one.cosine for one in found.values()) if found else 0.0
    scores = {
        place: own.cosine + sum(share * (near.cosine - mean) for near, share in _beside(place, own, found))
        for place, own in found.items()
    }
    best = sorted(scores, key=lambda place: (not found[place].is_named, -scores[place]))[:VECTORS_MAX]
    return Near(best, sum(found[place].is_named for place in best))


def fused(by_words: Sequence[Ranked], by_vectors: Sequence[Place]) -> list[Ranked]:
    """Both rankings merged: the ``FIRST`` by words keep their ranks; the others follow by fused score.

    A message may be missing in either ranking, and is in neither twice. Each rank keeps its score by words, whichever
    message has it now, so that scores can be compared with those of facts and notes.
    """
    shares: dict[Place, float] = defaultdict(float)
    for share, places in ((1.0, [one.place for one in by_words]), (VECTORS, by_vectors)):
        for rank, place in enumerate(places, start=1):
            shares[place] += share / (FLATNESS + rank)
    kept = [one.place for one in by_words[:FIRST]]
    behind = [place for place in shares if place not in kept]
    order = kept + sorted(behind, key=lambda place: -shares[place])
    return [Ranked(place, _score(by_words, rank)) for rank, place in enumerate(order)]


def _score(by_words: Sequence[Ranked], rank: int) -> float:
    """The score of a rank (from 0) by words; after the last one it decreases."""
    if rank < len(by_words):
        return by_words[rank].score
    last = by_words[-1].score if by_words else 1.0
    return last * FLATNESS / (FLATNESS + rank - len(by_words) + 1)


def _beside(place: Place, own: Likeness, found: Likenesses) -> list[tuple[Likeness, float]]:
    session, seq = place
    near = ((found.get((session, seq + distance)), share) for distance, share in BESIDE.items())
    return [(one, share) for one, share in near if one is not None and one.segment == own.segment]
