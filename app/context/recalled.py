"""Selects search hits for the volatile part: the best within a budget, oldest first. Pure."""

from collections.abc import Iterator, Sequence
from datetime import date, tzinfo
from itertools import groupby

from app.context.model import Recalled
from app.context.wording import BARE_MARK, by_name, marked, recalled, recalled_from
from app.kit.tokens import text_tokens
from app.recall.model import Hit

LEAST_CHARS = 80  # of a cut text: less is useless


def within(hits: Sequence[Hit], *, tokens_max: int, zone: tzinfo) -> tuple[Recalled, ...]:
    """The best of ``hits``, which come best first, in no more than ``tokens_max``, ordered by day and seq.

    They are dated in ``zone``, as the notes are. Only the first message of a day has the day above it: dates on all
    would take a third of the budget. A text that is longer than what is left keeps its beginning.
    """
    kept: list[tuple[date, Recalled]] = []
    left = tokens_max
    for hit in hits:
        day = hit.created_at.astimezone(zone).date()
        heading = 0 if any(day == other for other, _ in kept) else _cost(recalled_from(day))
        told = _fitting(hit, tokens_max=left - heading, zone=zone)
        if told is not None:
            kept.append((day, told))
            left -= heading + _cost(told.text)
    return tuple(_headed(kept))


def _headed(kept: Sequence[tuple[date, Recalled]]) -> Iterator[Recalled]:
    by_day = sorted(kept, key=lambda pair: (pair[0], pair[1].seq))
    for day, of_day in groupby(by_day, key=lambda pair: pair[0]):
        (_, first), *others = of_day
        yield Recalled(seq=first.seq, text=f"{recalled_from(day)}\n{first.text}")
        yield from (told for _, told in others)


def _cost(text: str) -> int:
    return text_tokens(text) + 1  # the line break


def _fitting(hit: Hit, *, tokens_max: int, zone: tzinfo) -> Recalled | None:
    """The hit as it is, or with as much of its text as fits; None if that is too little."""
    length, told = len(hit.text), _told(hit, hit.text, zone)
    while _cost(told) > tokens_max:
        length = length * 3 // 4
        if length < LEAST_CHARS:
            return None
        told = _told(hit, hit.text[:length] + BARE_MARK, zone)
    return Recalled(seq=hit.from_seq, text=told)


def _told(hit: Hit, text: str, zone: tzinfo) -> str:
    said_at = hit.created_at.astimezone(zone)
    told = marked(text, role=hit.role, trust=hit.trust)
    return recalled(seq=hit.from_seq, said_at=said_at, by=by_name(str(hit.role), hit.name), text=told)
