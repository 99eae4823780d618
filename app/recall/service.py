"""From a query to its hits: find, rank, read what was found. No model is waited for, or not for long (vectors)."""

import asyncio
import gc
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from uuid import UUID

from app.facts.store import FactStore
from app.kit.clock import Clock
from app.recall.asking import meant_role
from app.recall.facts import fact_hits
from app.recall.figures import LOOKED_AT_MAX, preferred, telling
from app.recall.figures import wanted as wanted_figure
from app.recall.fusion import fused
from app.recall.indexer import Indexer
from app.recall.indexing import Entry, entries, told
from app.recall.kin import kin_of
from app.recall.model import Hit, HitKind, Indexed, Neighbour, Place, Scope, Searched, Span
from app.recall.notes import note_hits
from app.recall.ranking import Ranked, ranked
from app.recall.scope import resource_term, session_term
from app.recall.store import Index, RecallStore
from app.recall.times import named_time
from app.recall.tokens import Alternatives, query_terms
from app.recall.vector_search import VectorSearch
from app.sessions.errors import SessionNotFound
from app.sessions.model import SEQ_MAX, Message, Role
from app.sessions.store import session_id

ALL_KINDS = frozenset(HitKind)
READ_AT_ONCE = 50  # messages
CUT_MARK = "…"  # the end of a text that goes on
TYPICAL_QUERY = "What did I say last May?"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallConfig:
    """How much is looked at: what is over a limit is not found.

    ``candidates_max``: messages that have a word of the query; ``tail_max``: messages that the index does not hold yet,
    within ``tail_tokens``;
    ``sessions_max``: sessions of a resource, those last active; ``notes_max``: chunks of the logs, the newest.
    ``hit_characters_max`` is what a hit tells of a text; the message itself has all of it.
    """

    candidates_max: int = 5_000
    tail_max: int = 5_000
    tail_tokens: int = 250_000
    sessions_max: int = 1_000
    notes_max: int = 500
    hit_characters_max: int = 8_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """``span`` is what the caller wants; the time that the query names is ``now``'s past. ``limit`` counts hits."""

    query: str
    limit: int
    kinds: frozenset[HitKind] = ALL_KINDS
    span: Span = field(default_factory=Span)
    now: datetime | None = None
    neighbours: int = 0
    session: str | None = None  # of a resource, only this one
    before_seq: int | None = None  # of a session, only the messages before this one


@dataclass(frozen=True, slots=True)
class _Said:
    """A message without its parts, and how what it says begins."""

    message: Message
    text: str


class RecallService:
    def __init__(
        self,
        *,
        store: RecallStore,
        facts: FactStore,
        indexer: Indexer,
        clock: Clock,
        config: RecallConfig,
        vectors: VectorSearch | None = None,
    ) -> None:
        """``vectors`` None: words alone."""
        self._store = store
        self._vectors = vectors
        self._facts_of = facts
        self._indexer = indexer
        self._clock = clock
        self._config = config
        self._loading: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Load what a search needs, beside the requests: the first one would wait a second or two for it."""
        self._loading = asyncio.create_task(asyncio.to_thread(_load), name="daybook-recall-load")

    async def stop(self) -> None:
        if self._loading is not None:
            await asyncio.gather(self._loading, return_exceptions=True)

    async def session(self, tenant: str, key: str, ask: Ask) -> list[Hit]:
        """What was said in a session, best first. Raises SessionNotFound."""
        found = await self._store.session(session_id(tenant, key))
        if found is None:
            raise SessionNotFound(f"session '{key}' was never seen")
        hits = await self._recall([found], session_term(found.id), ask)
        if found.resource_id is not None:
            hits += await self._facts(tenant, found.resource_id, ask, besides=hits)
        return self._best(hits, ask)

    async def resource(self, tenant: str, resource_id: str, ask: Ask) -> list[Hit]:
        """What was said in any session of a resource; nothing where there is none."""
        sessions = await self._of_resource(tenant, resource_id, ask.session)
        hits = await self._recall(sessions, resource_term(tenant, resource_id), ask)
        return self._best([*hits, *await self._facts(tenant, resource_id, ask, besides=hits)], ask)

    async def _of_resource(self, tenant: str, resource_id: str, key: str | None) -> list[Searched]:
        """The newest, or the one with the key, if the resource has one."""
        if key is None:
            return await self._store.sessions(tenant, resource_id, self._config.sessions_max)
        found = await self._store.session(session_id(tenant, key))
        return [found] if found is not None and found.resource_id == resource_id else []

    def _best(self, hits: Sequence[Hit], ask: Ask) -> list[Hit]:
        best = sorted(hits, key=lambda hit: -hit.score)[: ask.limit]
        return [_bounded(hit, self._config.hit_characters_max) for hit in best]

    async def _recall(self, sessions: Sequence[Searched], scope: str, ask: Ask) -> list[Hit]:
        named = await asyncio.to_thread(named_time, ask.query, ask.now or self._clock.now())
        query = query_terms(named.text)
        hits: list[Hit] = []
        if sessions and HitKind.MESSAGE in ask.kinds:
            hits += await self._messages(sessions, scope, query, named.span, ask)
        if sessions and HitKind.OBSERVATION in ask.kinds and query:
            hits += await self._notes(sessions, query, ask, besides=hits)
        if not hits and named.span is not None and HitKind.MESSAGE in ask.kinds:
            hits = await self._said_then(sessions, named.span.within(ask.span), ask)
        return hits

    async def _said_then(self, sessions: Sequence[Searched], span: Span, ask: Ask) -> list[Hit]:
        """What was said at the time that a query names of which no word is found: "What did I say last May?"."""
        ids = [session.id for session in sessions]
        before = SEQ_MAX if ask.before_seq is None else ask.before_seq
        places = await self._store.said(ids, span, before_seq=before, limit=ask.limit)
        return await self._read(sessions, [Ranked(place=place, score=0.0) for place in places], ask.neighbours)

    async def _facts(self, tenant: str, resource_id: str, ask: Ask, *, besides: Sequence[Hit]) -> list[Hit]:
        """What is known of the resource, but for what the hits tell in the words that were said."""
        if HitKind.FACT not in ask.kinds:
            return []
        now = ask.now or self._clock.now()
        named = await asyncio.to_thread(named_time, ask.query, now)
        known = await self._facts_of.all(tenant, resource_id)
        work = partial(fact_hits, now=now, named=named.span, session=ask.session)
        found = await asyncio.to_thread(work, query_terms(named.text), known)
        told = {(hit.session, hit.from_seq) for hit in besides if hit.kind is HitKind.MESSAGE}
        return [
            hit
            for hit in found
            if ask.span.holds(hit.created_at) and not any((hit.session, seq) in told for seq in hit.cites)
        ]

    async def _messages(
        self, sessions: Sequence[Searched], scope: str, query: Sequence[Alternatives], named: Span | None, ask: Ask
    ) -> list[Hit]:
        found = await self._ranked(sessions, scope, query, named, ask)
        wanted = await self._preferred([one for one in found if _precedes(one, ask)], ask)
        return await self._read(sessions, wanted[: ask.limit], ask.neighbours)

    async def _preferred(self, found: list[Ranked], ask: Ask) -> list[Ranked]:
        """Where a number or a time is asked for, what tells one before what is as good and does not."""
        figure = wanted_figure(ask.query)
        if figure is None:
            return found
        best = found[:LOOKED_AT_MAX]
        said = await self._said([one.place for one in best])
        of_all = meant_role(ask.query) is not Role.USER  # an assistant's list has numbers anyway
        texts = {place: one.text for place, one in said.items() if of_all or one.message.role is Role.USER}
        weighed = preferred(best, await asyncio.to_thread(telling, texts, figure))
        return [*weighed, *found[LOOKED_AT_MAX:]]

    async def _ranked(
        self, sessions: Sequence[Searched], scope: str, query: Sequence[Alternatives], named: Span | None, ask: Ask
    ) -> list[Ranked]:
        """By words, and by vectors at the same time where there are any."""
        by_words = self._by_words(sessions, scope, query, named, ask)
        if self._vectors is None:
            return await by_words
        words, near = await asyncio.gather(by_words, self._vectors.ranking(sessions, ask.query, ask.span))
        return fused(words, near) if near else words

    async def _by_words(
        self, sessions: Sequence[Searched], scope: str, query: Sequence[Alternatives], named: Span | None, ask: Ask
    ) -> list[Ranked]:
        if not query:
            return []
        ids = [session.id for session in sessions]
        index = await self._store.index(ids, tail_max=self._config.tail_max, tail_tokens=self._config.tail_tokens)
        for session in index.tail:
            self._indexer.ask(session)
        kin = kin_of(query, ask.query)
        rows = await self._store.search(ids, scope, query, ask.span, kin=kin, limit=self._config.candidates_max)
        newest, length, segments = await asyncio.to_thread(_tail_rows, index, [*query, *kin])
        rows += newest
        found = ranked(
            query,
            rows,
            _scope(index, rows, len(query), length=length, segments=segments),
            named=named,
            meant=meant_role(ask.query),
        )
        known = {row.place: row for row in rows}
        return [one for one in found if ask.span.holds(known[one.place].created_at)]

    async def _read(self, sessions: Sequence[Searched], found: Sequence[Ranked], neighbours: int) -> list[Hit]:
        """The hits with their texts; what was erased or deleted since is left out."""
        keys = {session.id: session.key for session in sessions}
        around = {(one.place[0], seq) for one in found for seq in _around(one.place[1], neighbours)}
        said = await self._said(sorted(around))
        return [_hit(one, keys, said, neighbours) for one in found if one.place in said]

    async def _said(self, places: Sequence[Place]) -> dict[Place, _Said]:
        """The messages that are there, a few at a time: one may have a megabyte, of which a hit tells the beginning."""
        most, said = self._config.hit_characters_max, dict[Place, _Said]()
        for at in range(0, len(places), READ_AT_ONCE):
            for place, message in (await self._store.messages(places[at : at + READ_AT_ONCE])).items():
                said[place] = _Said(replace(message, parts=()), _beginning(told(message), most))
        return said

    async def _notes(
        self, sessions: Sequence[Searched], query: Sequence[Alternatives], ask: Ask, *, besides: Sequence[Hit]
    ) -> list[Hit]:
        keys = {session.id: session.key for session in sessions}
        notes = await self._store.observations(sessions, self._config.notes_max)
        found = await asyncio.to_thread(note_hits, query, [(keys[session], note) for session, note in notes])
        known = {(hit.session, hit.from_seq) for hit in besides}
        return [
            hit
            for hit in found
            if ask.span.holds(hit.created_at) and not any((hit.session, seq) in known for seq in hit.cites)
        ][: ask.limit]


def _load() -> None:
    """Search for nothing, which loads the stemmers and what dates are told by."""
    text = named_time(TYPICAL_QUERY, datetime.now(UTC)).text
    kin_of(query_terms(text), text)
    gc.freeze()  # it stays, as what app/serving.py froze before


def _precedes(found: Ranked, ask: Ask) -> bool:
    return ask.before_seq is None or found.place[1] < ask.before_seq


def _tail_rows(index: Index, query: Sequence[Alternatives]) -> tuple[list[Indexed], int, int]:
    """What the index does not hold yet, as it would hold it; how many terms that is, and how many segments."""
    rows, length, segments = [], 0, 0
    for session, messages in index.tail.items():
        last = index.last[session]
        made = list(entries(messages, last))
        rows += [indexed_of(session, entry, query) for entry in made]
        length += sum(entry.length for entry in made)
        segments += made[-1].segment - last.segment
    return rows, length, segments


def indexed_of(session: UUID, entry: Entry, query: Sequence[Alternatives]) -> Indexed:
    counts = {
        word: count
        for word, alternatives in enumerate(query)
        if (count := sum(entry.terms.get(term, 0) for term in alternatives))
    }
    return Indexed(
        session=session,
        seq=entry.seq,
        segment=entry.segment,
        length=entry.length,
        role=entry.role,
        created_at=entry.created_at,
        speaker=entry.speaker,
        counts=counts,
    )


def _scope(index: Index, rows: Iterable[Indexed], words: int, *, length: int, segments: int) -> Scope:
    having = Counter(word for row in rows for word in row.counts)
    return Scope(
        messages=sum(last.seq for last in index.last.values()) + sum(map(len, index.tail.values())),
        length=sum(last.length for last in index.last.values()) + length,
        segments=sum(last.segment for last in index.last.values()) + segments,
        having=[having[word] for word in range(words)],
    )


def _around(seq: int, neighbours: int) -> range:
    return range(seq - neighbours, seq + neighbours + 1)


def _hit(found: Ranked, keys: Mapping[UUID, str], said: Mapping[Place, _Said], neighbours: int) -> Hit:
    session, seq = found.place
    message = said[found.place].message
    beside = [said[session, near] for near in _around(seq, neighbours) if near != seq and (session, near) in said]
    return Hit(
        kind=HitKind.MESSAGE,
        session=keys[session],
        from_seq=seq,
        to_seq=seq,
        score=round(found.score, 4),
        text=said[found.place].text,
        created_at=message.created_at,
        role=message.role,
        name=message.name,
        trust=message.trust,
        neighbours=tuple(_neighbour(one) for one in beside),
    )


def _bounded(hit: Hit, characters_max: int) -> Hit:
    """The hit, with as much of its text as a hit may tell; of a message that was read already."""
    return replace(hit, text=_beginning(hit.text, characters_max))


def _beginning(text: str, characters_max: int) -> str:
    return text if len(text) <= characters_max else text[: characters_max - 1] + CUT_MARK


def _neighbour(said: _Said) -> Neighbour:
    message = said.message
    return Neighbour(seq=message.seq, role=message.role, text=said.text, created_at=message.created_at)
