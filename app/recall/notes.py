"""Lines of the log that answer a query: plain BM25 over lines, each with the messages it cites. Pure."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, time
from functools import lru_cache
from typing import Final

from app.kit.days import parse_day
from app.memory.model import Cite, Item, Observation, Origin
from app.recall.model import Hit, HitKind
from app.recall.ranking import plain_scores
from app.recall.tokens import Alternatives, terms
from app.sessions.model import Trust

LINES_KEPT: Final = 4_096  # of which the terms are remembered
CITED_MAX: Final = 100  # messages told of one line
_TRUST: Final = {None: Trust.USER, Origin.TOOL: Trust.TOOL, Origin.EXTERNAL: Trust.EXTERNAL}


def note_hits(query: Sequence[Alternatives], notes: Sequence[tuple[str, Observation]]) -> list[Hit]:
    """The lines that have a word of the query, best first. ``notes`` are observations, each with its session's key."""
    lines = [(key, note, item) for key, note in notes for item in note.items]
    counted = [text_terms(_text(item)) for _, _, item in lines]
    scores = plain_scores(query, counted)
    found = [_hit(key, note, item, score) for (key, note, item), score in zip(lines, scores, strict=True) if score]
    return sorted(found, key=lambda hit: -hit.score)


def _text(item: Item) -> str:
    return "\n".join([item.text, *(detail.text for detail in item.details)])


@lru_cache(maxsize=LINES_KEPT)
def text_terms(text: str) -> dict[str, int]:
    """How often each term occurs."""
    return dict(terms(text))


def _hit(key: str, note: Observation, item: Item, score: float) -> Hit:
    cites = tuple(dict.fromkeys(_cited([*item.cites, *(cite for detail in item.details for cite in detail.cites)])))
    return Hit(
        kind=HitKind.OBSERVATION,
        session=key,
        from_seq=min(cites, default=note.from_seq),
        to_seq=max(cites, default=note.to_seq),
        score=round(score, 4),
        text=_text(item),
        created_at=_at(item) or note.created_at,
        trust=_TRUST[item.origin],
        cites=cites,
    )


def _cited(cites: Sequence[Cite]) -> Iterator[int]:
    for cite in cites:
        yield from range(cite.first, min(cite.last, cite.first + CITED_MAX - 1) + 1)


def _at(item: Item) -> datetime | None:
    day = parse_day(item.day)
    if day is None:
        return None
    return datetime.combine(day, time.fromisoformat(item.time) if item.time else time(), tzinfo=UTC)
