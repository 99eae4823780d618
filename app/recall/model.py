"""What is searched, and what is found, as values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias
from uuid import UUID
from zoneinfo import ZoneInfo

from app.sessions.model import SEQ_MAX, Role, Trust

Place: TypeAlias = tuple[UUID, int]  # a session and a seq of it
Copied: TypeAlias = tuple[str, bytes, datetime]  # what a message and its copies in branches share


class HitKind(StrEnum):
    MESSAGE = "message"
    OBSERVATION = "observation"
    FACT = "fact"


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """A session that is searched; ``timezone`` is its own, if it has one."""

    id: UUID
    tenant: str
    key: str
    memory_id: UUID
    resource_id: str | None
    last_seq: int
    timezone: str | None = None
    is_branch: bool = False

    def zone(self, timezone: str) -> ZoneInfo:
        """Its own, or ``timezone``, which is the service's."""
        return ZoneInfo(self.timezone or timezone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """A message as search sees it.

    ``segment`` numbers the stretches of a session between long pauses, from 1. ``length`` is how many terms it has.
    ``counts``: how often it has each word of the query, by the word's place there; empty where it has none.
    """

    session: UUID
    seq: int
    segment: int
    length: int
    role: Role
    created_at: datetime
    speaker: str | None = None
    counts: Mapping[int, int] = field(default_factory=dict)

    @property
    def place(self) -> Place:
        return self.session, self.seq


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """All that is searched, in numbers: messages, the terms they have together, segments.

    ``having`` tells of each word of the query how many messages have it.
    """

    messages: int
    length: int
    segments: int
    having: Sequence[int]

    @property
    def mean_length(self) -> float:
        return max(1.0, self.length / max(1, self.messages))


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of time, its end excluded; None is no bound."""

    since: datetime | None = None
    until: datetime | None = None

    def holds(self, at: datetime) -> bool:
        return (self.since is None or self.since <= at) and (self.until is None or at < self.until)

    def within(self, other: "Span") -> "Span":
        """What both hold; nothing where that is no time at all."""
        return Span(
            since=max((at for at in (self.since, other.since) if at is not None), default=None),
            until=min((at for at in (self.until, other.until) if at is not None), default=None),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """``limit`` counts hits, ``span`` bounds them. Times in the query are seen from ``now`` (None: the clock).

    ``neighbours``: messages shown on each side of a hit. ``session``: the key of the only session of the resource to
    search. ``before_seq``: only messages before this one, in a search of one session.
    """

    query: str
    limit: int
    kinds: frozenset[HitKind] = frozenset(HitKind)
    span: Span = Span()
    now: datetime | None = None
    neighbours: int = 0
    session: str | None = None
    before_seq: int = SEQ_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A message beside a hit."""

    seq: int
    role: str
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """What was found, and where: messages ``from_seq``..``to_seq`` of a session, or a note that cites messages.

    A fact that rests on no session has None for it, and 0 for both seqs; its ``created_at`` is when it became true.
    ``rests_on``: all messages that a note or a fact cites, by the keys of their sessions, which may be several.
    """

    kind: HitKind
    session: str | None
    from_seq: int
    to_seq: int
    score: float
    text: str
    created_at: datetime
    role: str | None = None
    name: str | None = None
    trust: Trust | None = None
    cites: tuple[int, ...] = ()
    rests_on: frozenset[tuple[str, int]] = frozenset()
    neighbours: tuple[Neighbour, ...] = ()
