"""What a search found, for the volatile part: the best within a budget, told oldest first. Pure."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import tzinfo

from app.context.model import Recalled
from app.context.wording import BARE_MARK, recalled
from app.kit.tokens import text_tokens
from app.recall.model import Hit

LEAST_CHARS = 80  # of a text that is cut: less tells nothing


def within(hits: Sequence[Hit], *, tokens_max: int, zone: tzinfo) -> tuple[Recalled, ...]:
    """The best of ``hits``, which come best first, in no more than ``tokens_max``; each once, by their seqs.

    They are dated in ``zone``, as the notes are. A text that is longer than what is left keeps its beginning.
    """
    kept: list[Recalled] = []
    left = tokens_max
    for hit in (replace(hit, created_at=hit.created_at.astimezone(zone)) for hit in hits):
        told = _fitting(Recalled(seq=hit.from_seq, text=_text(hit, hit.text)), hit, tokens_max=left)
        if told is not None:
            kept.append(told)
            left -= text_tokens(told.text) + 1  # the line's end
    return tuple(sorted(kept, key=lambda one: one.seq))


def _fitting(told: Recalled, hit: Hit, *, tokens_max: int) -> Recalled | None:
    """As it is, or with as much of its text as fits; None where that is too little."""
    length = len(hit.text)
    while text_tokens(told.text) >= tokens_max:
        length = length * 3 // 4
        if length < LEAST_CHARS:
            return None
        told = replace(told, text=_text(hit, hit.text[:length] + BARE_MARK))
    return told


def _text(hit: Hit, text: str) -> str:
    return recalled(seq=hit.from_seq, said_at=hit.created_at, by=hit.name or str(hit.role), text=text)
