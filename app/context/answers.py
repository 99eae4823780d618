"""An in-process cache of contexts as they are sent (docs/decisions/0032).

No answer is reused without asking the database: the statement that reads a session is given the mark of the state that
the answer was compiled from, and tells from its own snapshot whether that still holds.
"""

from collections.abc import Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, tzinfo
from hashlib import blake2b
from operator import attrgetter
from typing import Any, TypeAlias
from uuid import UUID

from cachetools import LRUCache

from app.context.cache import compared
from app.context.model import Cache, Compiled, Format, Prefix, Snapshot
from app.context.previous import PreviousCalls
from app.context.schemas import ContextIn, ContextQuery
from app.kit.json import dumps
from app.state.templates import Scope

Asked: TypeAlias = Hashable
Names: TypeAlias = Mapping[Scope, Mapping[str, int]]  # of values that templates use, each with its first template

NOTHING = ContextIn()
NOT_OF_THE_ANSWER = frozenset({"min_seq", "wait_ms", "now"})  # when to answer; of ``now`` only the day counts
PIECE_BYTES = 24  # of a prefix: two numbers, and a reference to its section
ANSWER_BYTES = 2_048  # what keeping one takes beside its text


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The body (``ContextOut``) as JSON in two pieces, between which ``cache`` stands: it compares with the last call.

    The ETag covers all but that comparison, so that a repeated request is answered 304.
    """

    etag: str
    before: bytes
    cache: Cache
    after: bytes

    @property
    def body(self) -> bytes:
        return b"".join((self.before, dumps(self.cache), self.after))


def answer(snapshot: Snapshot, compiled: Compiled, query: ContextQuery) -> Answer:
    """Serialised once, because a payload may hold a thousand messages."""
    head = {
        "session": snapshot.key,
        "as_of_seq": snapshot.last_seq,
        "memory_version": snapshot.version,
        "format": query.format,
        "payload": compiled.payload,
        "tokens": compiled.tokens,
    }
    rest: dict[str, Any] = {"omitted": compiled.omitted, "notices": compiled.notices}
    if query.explain:
        rest |= {"segments": compiled.segments, "decisions": compiled.decisions}
    before, after = dumps(head)[:-1] + b',"cache":', b"," + dumps(rest)[1:]
    digest = blake2b(before, digest_size=16)
    digest.update(dumps(compiled.cache))
    digest.update(after)
    return Answer(etag=f'"{digest.hexdigest()}"', before=before, cache=compiled.cache, after=after)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """An answer that holds while the session has this ``mark``, on this ``day`` in its ``zone``.

    Without a mark it is not cached. ``names``: the template values that the mark covers. ``prefix``, ``causes``: what
    the next answer is compared with. ``held``: it was valid for another request, and so is likely to be again.
    """

    answer: Answer
    mark: str | None
    day: date
    zone: tzinfo
    newest_created_at: datetime | None
    names: Names
    prefix: Prefix
    causes: Mapping[int, str]
    held: bool = False

    def holds_at(self, now: datetime) -> bool:
        return day_of(now, self.zone) == self.day

    @property
    def bytes(self) -> int:
        """Its approximate size."""
        text = len(self.answer.before) + len(self.answer.after)
        return ANSWER_BYTES + text + PIECE_BYTES * len(self.prefix)


def kept_of(snapshot: Snapshot, compiled: Compiled, query: ContextQuery, *, names: Names, now: datetime) -> Kept:
    zone = snapshot.rules.zone
    return Kept(
        answer=answer(snapshot, compiled, query),
        mark=snapshot.mark,
        day=day_of(now, zone),
        zone=zone,
        newest_created_at=snapshot.newest_created_at,
        names=names,
        prefix=compiled.prefix,
        causes=snapshot.causes,
    )


def asked(session: UUID, query: ContextQuery, body: ContextIn) -> Asked | None:
    """Everything in a request that the answer depends on, except the day; None if the answer is not kept.

    Answers about the past, with a search, or with messages that are not stored are not kept.
    """
    once = query.as_of_version is not None or query.as_of_seq is not None or query.query is not None or body.incoming
    if once:
        return None
    given = tuple(value for name, value in query if name not in NOT_OF_THE_ANSWER)
    own = b"" if body is NOTHING else blake2b(body.model_dump_json(exclude={"now"}).encode()).digest()
    return session, given, own, (body.now or query.now) is None


def day_of(now: datetime, zone: tzinfo) -> date:
    return now.astimezone(zone).date()


class Answers:
    """An LRU cache by question, of at most ``bytes_max``; 0: nothing is cached."""

    def __init__(self, previous: PreviousCalls, *, bytes_max: int) -> None:
        self._previous = previous
        self._kept = LRUCache[Asked, Kept](bytes_max, getsizeof=attrgetter("bytes"))

    def get(self, question: Asked) -> Kept | None:
        return self._kept.get(question)

    def put(self, question: Asked, kept: Kept) -> None:
        self._kept.pop(question, None)
        with suppress(ValueError):  # it alone has more bytes than are kept
            self._kept[question] = kept

    def with_comparison(self, session: UUID, shape: Format, kept: Kept) -> Answer:
        """The answer with what it shares with the session's last call, if that is known."""
        before = self._previous.swap(session, shape, kept.prefix)
        if before is None:
            return kept.answer
        return replace(kept.answer, cache=compared(kept.answer.cache, before, kept.prefix, kept.causes))
