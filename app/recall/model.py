"""The values of recall: sessions to search, index rows, spans of time, searches and hits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias
from uuid import UUID
from zoneinfo import ZoneInfo

from app.sessions.model import SEQ_MAX, Role, Trust

Place: TypeAlias = tuple[UUID, int]  # of a message: its session and its seq
Copied: TypeAlias = tuple[str, bytes, datetime]  # id, content hash and time, which copies in branches share


class HitKind(StrEnum):
    MESSAGE = "message"
    OBSERVATION = "observation"
    FACT = "fact"


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """A session to search; ``timezone`` is its own, if it has one."""

    id: UUID
    tenant: str
    key: str
    memory_id: UUID
    resource_id: str | None
    last_seq: int
    timezone: str | None = None
    is_branch: bool = False

    def zone(self, timezone: str) -> ZoneInfo:
        """The session's own zone, or ``timezone``, which is the service's."""
        return ZoneInfo(self.timezone or timezone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """An index row as a search reads it.

    ``segment`` numbers the stretches of a session between long pauses, from 1. ``length``: the number of its terms.
    ``counts``: how often it has each word of the query, by the word's position there; empty if it has none.
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
    """The collection statistics of BM25: the messages searched, their terms together, and their segments.

    ``having``: for each word of the query the number of messages that have it.
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
    """A span of time, ``until`` excluded; None: no bound."""

    since: datetime | None = None
    until: datetime | None = None

    def holds(self, at: datetime) -> bool:
        return (self.since is None or self.since <= at) and (self.until is None or at < self.until)

    def within(self, other: "Span") -> "Span":
        """The intersection of both, which holds no time if they do not overlap."""
        return Span(
            since=max((at for at in (self.since, other.since) if at is not None), default=None),
            until=min((at for at in (self.until, other.until) if at is not None), default=None),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """``limit``: hits at most; ``span``: their times. Times in the query are relative to ``now`` (None: the clock).

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
    """A message, note or fact that was found, at messages ``from_seq``..``to_seq`` of a session.

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
