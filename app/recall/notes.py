"""Lines of the log that match a query: BM25 over lines, each with the messages it cites. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from typing import TypeAlias
from zoneinfo import ZoneInfo

from app.kit.days import parse_day
from app.memory.edits import Edit, TakenOut
from app.memory.model import Item, Observation
from app.memory.trust import FRAME
from app.recall.model import Hit, HitKind, Searched
from app.recall.ranking import plain_scores
from app.recall.tokens import Alternatives, kept_terms

_Line: TypeAlias = tuple[str, Observation, Item, datetime]


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """An observation of a session; ``edits``: those of the reflections it was condensed into, in their order."""

    session: Searched
    observation: Observation
    edits: tuple[Edit, ...] = ()


def note_hits(query: Sequence[Alternatives], notes: Sequence[Note], *, timezone: str) -> list[Hit]:
    """The lines with a word of the query, in their order, without lines that have a word which an edit took out.

    A line and its copies in branches are one hit, of the first note. ``timezone``: for sessions without one.
    """
    taken_out = TakenOut(kept_terms, frame=kept_terms(" ".join(FRAME)))
    once: dict[tuple[int, datetime, int], _Line] = {}
    for note in notes:
        told = note.observation
        for number, (item, at) in enumerate(_dated(told, note.session.zone(timezone))):
            if not taken_out.is_of(item, note.edits):
                once.setdefault((told.id, told.created_at, number), (note.session.key, told, item, at))
    lines = list(once.values())
    scores = plain_scores(query, [item.whole_text for _, _, item, _ in lines])
    return [_hit(*line, score) for line, score in zip(lines, scores, strict=True) if score]


def _dated(note: Observation, zone: ZoneInfo) -> Iterator[tuple[Item, datetime]]:
    """Each line with its time; one without a time of day has that of the line before it (extractive/observer.py)."""
    shown: datetime | None = None
    for item in note.items:
        day = parse_day(item.day)
        if day is None:
            yield item, note.created_at
            continue
        if shown is None or item.time or shown.date() != day:
            shown = datetime.combine(day, time.fromisoformat(item.time) if item.time else time(), tzinfo=zone)
        yield item, shown


def _hit(key: str, note: Observation, item: Item, at: datetime, score: float) -> Hit:
    cites = item.cited
    return Hit(
        kind=HitKind.OBSERVATION,
        session=key,
        from_seq=min(cites, default=note.from_seq),
        to_seq=max(cites, default=note.to_seq),
        score=round(score, 4),
        text=item.whole_text,
        created_at=at,
        trust=item.trust,
        cites=cites,
        rests_on=frozenset((key, seq) for seq in cites),
    )
