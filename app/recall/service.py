"""The recall service: finds, ranks and reads what matches a query. Only vectors wait for a model, and not for long."""

import asyncio
import gc
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import UUID

from app.facts.store import FactStore
from app.kit.clock import Clock
from app.recall.candidates import ranked_of
from app.recall.facts import fact_hits
from app.recall.figures import LOOKED_AT_MAX, preferred, telling, wanted_figure
from app.recall.fusion import fused
from app.recall.indexer import Indexer
from app.recall.indexing import resource_term, session_term
from app.recall.messages import Said, around, beginning, message_hit, said_of
from app.recall.model import Copied, Hit, HitKind, Place, Search, Searched, Span
from app.recall.notes import note_hits
from app.recall.querying import Query, understood
from app.recall.ranking import Ranked
from app.recall.store import RecallStore
from app.recall.vector_search import VectorSearch
from app.sessions.errors import SessionNotFound
from app.sessions.model import Role
from app.sessions.store import session_id

READ_AT_ONCE = 50  # messages
COMPARED_AT_ONCE = 500  # messages with their copies in branches
TYPICAL_QUERY = "What did I say last May?"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallConfig:
    """Limits of a search; what exceeds one is not found.

    ``candidates_max``: messages that have a word of the query. ``tail_max``: messages that are not indexed yet, within
    ``tail_tokens``. ``sessions_max``: the last active sessions of a resource. ``notes_max``: the newest observations.
    ``query_words_max``: of a longer query the first half of them and the last half.
    ``hit_characters_max``: of a hit's text; the message itself has all of it. ``timezone``: for sessions without one
    of their own.
    """

    query_words_max: int = 64
    timezone: str = "UTC"
    candidates_max: int = 5_000
    tail_max: int = 5_000
    tail_tokens: int = 250_000
    sessions_max: int = 1_000
    notes_max: int = 500
    hit_characters_max: int = 8_000


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
        """``vectors`` None: search by words alone."""
        self._store = store
        self._vectors = vectors
        self._fact_store = facts
        self._indexer = indexer
        self._clock = clock
        self._config = config
        self._loading: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to load stemmers and date parsers, for which the first search would wait a second or two."""
        self._loading = asyncio.create_task(asyncio.to_thread(_load), name="daybook-recall-load")

    async def stop(self) -> None:
        if self._loading is not None:
            await asyncio.gather(self._loading, return_exceptions=True)

    async def session(self, tenant: str, key: str, search: Search) -> list[Hit]:
        """The hits in a session, best first. Raises SessionNotFound."""
        found = await self._store.session(session_id(tenant, key))
        if found is None:
            raise SessionNotFound(key)
        return await self._best([found], session_term(found.id), search, tenant=tenant, resource_id=found.resource_id)

    async def resource(self, tenant: str, resource_id: str, search: Search) -> list[Hit]:
        """The hits in all sessions of a resource and among its facts, best first; none for an unknown resource."""
        sessions = await self._of_resource(tenant, resource_id, search.session)
        return await self._best(
            sessions, resource_term(tenant, resource_id), search, tenant=tenant, resource_id=resource_id
        )

    async def _of_resource(self, tenant: str, resource_id: str, key: str | None) -> list[Searched]:
        """The last active sessions; with ``key`` that one alone, if it is of the resource."""
        if key is None:
            return await self._store.sessions(tenant, resource_id, self._config.sessions_max)
        found = await self._store.session(session_id(tenant, key))
        return [found] if found is not None and found.resource_id == resource_id else []

    async def _best(
        self, sessions: Sequence[Searched], scope: str, search: Search, *, tenant: str, resource_id: str | None
    ) -> list[Hit]:
        now, most = self._now(sessions, search), self._config.query_words_max
        query = await asyncio.to_thread(understood, search.query, now, words_max=most)
        of_messages = bool(sessions) and HitKind.MESSAGE in search.kinds
        hits: list[Hit] = []
        if of_messages and query.named and query.only_then:
            hits = await self._said_then(sessions, query.named, search)
            query = replace(query, words=(), kin=()) if hits else query
        if of_messages and not hits:
            hits = await self._messages(sessions, scope, query, search)
        if sessions and HitKind.OBSERVATION in search.kinds and query.words:
            hits += _besides(hits, await self._notes(sessions, query), search)
        if of_messages and query.named and not hits:
            hits = await self._said_then(sessions, query.named, search)
        if resource_id is not None and HitKind.FACT in search.kinds:
            hits += _besides(hits, await self._facts(tenant, resource_id, query, search), search)
        best = sorted(hits, key=lambda hit: -hit.score)[: search.limit]
        return [replace(hit, text=beginning(hit.text, self._config.hit_characters_max)) for hit in best]

    def _now(self, sessions: Sequence[Searched], search: Search) -> datetime:
        """The time that "yesterday" is relative to: the caller's, or now in the zone of the last active session."""
        if search.now is not None:
            return search.now
        return self._clock.now().astimezone(sessions[0].zone(self._config.timezone) if sessions else UTC)

    async def _said_then(self, sessions: Sequence[Searched], named: Span, search: Search) -> list[Hit]:
        """The messages of the time that the query names, the newest first: "What did I say last May?"."""
        found = [Ranked(place=place, score=0.0) for place in await self._places_then(sessions, named, search)]
        return await self._read_hits(sessions, await self._distinct(found, sessions, search.limit), search.neighbours)

    async def _places_then(self, sessions: Sequence[Searched], named: Span, search: Search) -> list[Place]:
        ids, span = [session.id for session in sessions], named.within(search.span)
        return await self._store.said(ids, span, before_seq=search.before_seq, limit=search.limit)

    async def _facts(self, tenant: str, resource_id: str, query: Query, search: Search) -> list[Hit]:
        known, only = await self._fact_store.all(tenant, resource_id), search.session
        return await asyncio.to_thread(fact_hits, query.words, known, now=query.now, named=query.named, session=only)

    async def _messages(self, sessions: Sequence[Searched], scope: str, query: Query, search: Search) -> list[Hit]:
        ranked = await self._ranked(sessions, scope, query, search)
        found = await self._distinct(ranked, sessions, max(search.limit, LOOKED_AT_MAX))
        wanted = await self._preferred(found, query, search)
        return await self._read_hits(sessions, wanted[: search.limit], search.neighbours)

    async def _distinct(self, found: list[Ranked], sessions: Sequence[Searched], most: int) -> list[Ranked]:
        """The first ``most`` without copies in branches; of equal scores the last active session's message stays."""
        if len(sessions) == 1 or not any(session.is_branch for session in sessions):
            return found[:most]
        order = _order(sessions)
        kept: dict[Copied, Ranked] = {}
        for at in range(0, len(found), COMPARED_AT_ONCE):
            some = found[at : at + COMPARED_AT_ONCE]
            copied = await self._store.copied([one.place for one in some])
            for one in some:
                if (message := copied.get(one.place)) is not None:
                    kept[message] = _preceding(kept.get(message), one, order)
            if len(kept) >= most:
                break
        return list(kept.values())[:most]

    async def _preferred(self, found: list[Ranked], query: Query, search: Search) -> list[Ranked]:
        """``found``; if the query asks for a number or a time, messages that have one rank higher."""
        figure = wanted_figure(search.query)
        if figure is None:
            return found
        best = found[:LOOKED_AT_MAX]
        said = await self._said([one.place for one in best])
        of_all = query.meant is not Role.USER  # an assistant's list has numbers anyway
        texts = {place: one.text for place, one in said.items() if of_all or one.message.role is Role.USER}
        weighed = preferred(best, await asyncio.to_thread(telling, texts, figure))
        return [*weighed, *found[LOOKED_AT_MAX:]]

    async def _ranked(self, sessions: Sequence[Searched], scope: str, query: Query, search: Search) -> list[Ranked]:
        """The ranking by words, fused with that by vectors if these are on; both run at the same time."""
        by_words = self._by_words(sessions, scope, query, search)
        if self._vectors is None:
            return await by_words
        named = query.named
        words, near = await asyncio.gather(by_words, self._vectors.ranking(sessions, search, named=named))
        places = list(near.places)
        if places and named is not None and not words:  # vectors always find some: messages of that time come first
            places[near.named : near.named] = await self._places_then(sessions, named, search)
        return fused(words, list(dict.fromkeys(places))) if places else words

    async def _by_words(self, sessions: Sequence[Searched], scope: str, query: Query, search: Search) -> list[Ranked]:
        if not query.words:
            return []
        ids, before, config = [session.id for session in sessions], search.before_seq, self._config
        index = await self._store.index(
            ids, before_seq=before, tail_max=config.tail_max, tail_tokens=config.tail_tokens
        )
        for session in index.tail:
            self._indexer.ask(session, searched=True)
        words, kin, most = query.words, query.kin, config.candidates_max
        rows = await self._store.search(ids, scope, words, search.span, kin=kin, before_seq=before, limit=most)
        return await asyncio.to_thread(ranked_of, query, rows, index, search.span)

    async def _read_hits(self, sessions: Sequence[Searched], found: Sequence[Ranked], neighbours: int) -> list[Hit]:
        """The hits with their texts; messages erased or deleted since are left out."""
        keys = {session.id: session.key for session in sessions}
        said = await self._said(sorted({place for one in found for place in around(one.place, neighbours)}))
        there = [one for one in found if one.place in said]
        return [message_hit(one, said, key=keys[one.place[0]], neighbours=neighbours) for one in there]

    async def _said(self, places: Sequence[Place]) -> dict[Place, Said]:
        """The messages that still exist, read a few at a time: one may have a megabyte; its beginning is kept."""
        most, said = self._config.hit_characters_max, dict[Place, Said]()
        for at in range(0, len(places), READ_AT_ONCE):
            found = await self._store.messages(places[at : at + READ_AT_ONCE])
            said |= await asyncio.to_thread(said_of, found, most)  # of one with thousands of parts it takes a while
        return said

    async def _notes(self, sessions: Sequence[Searched], query: Query) -> list[Hit]:
        notes = await self._store.observations(sessions, self._config.notes_max)
        if any(session.is_branch for session in sessions):  # of copies the last active session's counts
            order = _order(sessions)
            notes = sorted(notes, key=lambda one: order[one.session.id])
        return await asyncio.to_thread(note_hits, query.words, notes, timezone=self._config.timezone)


def _load() -> None:
    """Parse a query, which loads the stemmers and the date parsers."""
    understood(TYPICAL_QUERY, datetime.now(UTC), words_max=RecallConfig().query_words_max)
    gc.freeze()  # it stays, as what app/commands/serving.py froze before


def _besides(hits: Sequence[Hit], found: Iterable[Hit], search: Search) -> list[Hit]:
    """The notes or facts within the span, without those that cite a message among ``hits``."""
    told = {(hit.session, hit.from_seq) for hit in hits if hit.kind is HitKind.MESSAGE}
    return [one for one in found if search.span.holds(one.created_at) and told.isdisjoint(one.rests_on)]


def _order(sessions: Sequence[Searched]) -> dict[UUID, int]:
    """The position of each session in the list: the last active come first."""
    return {session.id: place for place, session in enumerate(sessions)}


def _preceding(held: Ranked | None, other: Ranked, order: Mapping[UUID, int]) -> Ranked:
    """The better of two copies; of equals that of the session which comes first."""
    if held is None or (held.score == other.score and order[other.place[0]] < order[held.place[0]]):
        return other
    return held
