"""Builds the hits of messages, with the texts that are shown and the messages beside them. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from app.recall.indexing import UNSEARCHED, shown_text
from app.recall.model import Hit, HitKind, Neighbour, Place
from app.recall.ranking import Ranked
from app.sessions.model import Message

CUT_MARK: Final = "…"  # the end of a text that goes on


@dataclass(frozen=True, slots=True)
class Said:
    """A message without its parts, and the beginning of its text."""

    message: Message
    text: str


def said_of(found: Mapping[Place, Message], characters_max: int) -> dict[Place, Said]:
    return {
        place: Said(replace(message, parts=()), beginning(shown_text(message), characters_max))
        for place, message in found.items()
    }


def beginning(text: str, characters_max: int) -> str:
    return text if len(text) <= characters_max else text[: characters_max - 1] + CUT_MARK


def around(place: Place, neighbours: int) -> list[Place]:
    """The place itself, and ``neighbours`` places before and after it."""
    session, seq = place
    return [(session, other) for other in range(seq - neighbours, seq + neighbours + 1)]


def message_hit(found: Ranked, said: Mapping[Place, Said], *, key: str, neighbours: int) -> Hit:
    """The hit of a place, with its neighbours; ``said`` has the messages to show, ``key`` is its session's."""
    place, own = found.place, said[found.place]
    near = [said[other] for other in around(place, neighbours) if other != place and other in said]
    return Hit(
        kind=HitKind.MESSAGE,
        session=key,
        from_seq=own.message.seq,
        to_seq=own.message.seq,
        score=round(found.score, 4),
        text=own.text,
        created_at=own.message.created_at,
        role=own.message.role,
        name=own.message.name,
        trust=own.message.trust,
        neighbours=tuple(_neighbour(one) for one in near if one.message.kind not in UNSEARCHED),
    )


def _neighbour(said: Said) -> Neighbour:
    message = said.message
    return Neighbour(seq=message.seq, role=message.role, text=said.text, created_at=message.created_at)
