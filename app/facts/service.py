"""What a caller can do with the facts of a resource: read them, note, correct and delete them by hand."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from app.facts import writing_store
from app.facts.errors import FactNotFound, FactTooLarge, TooManyFacts
from app.facts.forgetting import without_facts
from app.facts.model import (
    FOREIGN,
    OWN_WORD,
    SOURCES_MAX,
    Author,
    Category,
    Fact,
    FactConfig,
    FactFilter,
    NewFact,
    Source,
)
from app.facts.rereading_store import refuse, to_read_again
from app.facts.store import FactStore
from app.kit.clock import Clock
from app.kit.db import Database, Tx
from app.kit.errors import Invalid
from app.redaction.model import Redaction
from app.sessions.model import Trust
from app.sessions.store import session_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """A fact as a caller tells it; ``cites`` are messages by their session's key. ``valid_from`` None is now."""

    text: str
    category: Category
    trust: Trust
    valid_from: datetime | None
    valid_to: datetime | None
    cites: Sequence[tuple[str, tuple[int, ...]]]


class FactService:
    def __init__(
        self, *, database: Database, store: FactStore, clock: Clock, config: FactConfig, redaction: Redaction
    ) -> None:
        self._database = database
        self._store = store
        self._clock = clock
        self._config = config
        self._redaction = redaction

    async def page(self, tenant: str, resource_id: str, wanted: FactFilter, *, after: int, limit: int) -> list[Fact]:
        return await self._store.page(tenant, resource_id, wanted, after=after, limit=limit)

    async def get(self, tenant: str, resource_id: str, fact_id: int) -> Fact:
        fact = await self._store.fact(tenant, resource_id, fact_id)
        if fact is None:
            raise _not_found(resource_id, fact_id)
        return fact

    async def note(self, tenant: str, resource_id: str, noted: Noted) -> tuple[Fact, bool]:
        """Store a fact, once for the same words until the same time; answers it and whether it is new.

        A known fact then rests on the cited messages too, and is erased with them. If nothing is cited, the caller's
        fact replaces one of the memory.
        """
        new = NewFact(
            text=await self._read(tenant, noted.text),
            category=noted.category,
            trust=noted.trust,
            author=Author.CALLER,
            sources=tuple(Source.citing(session_id(tenant, key), key, cites, text=None) for key, cites in noted.cites),
            valid_from=noted.valid_from or self._clock.now(),
            valid_to=noted.valid_to,
        )
        _check(new.category, new.trust, valid_from=new.valid_from, valid_to=new.valid_to)
        async with self._database.tx() as tx:
            await _check_cited(tx, resource_id, new.sources)
            known, count = await writing_store.locked_saying(tx, tenant, resource_id, new.text)
            same = next((fact for fact in known if _is_noted(fact, new)), None)
            if same is not None:
                cited = _citing(same, new.sources)
                return (same if cited == same else await writing_store.change(tx, tenant, resource_id, cited)), False
            if count >= self._config.facts_max:
                limit = self._config.facts_max
                raise TooManyFacts(f"resource '{resource_id}' has {limit} facts already (DAYBOOK_FACTS__FACTS_MAX)")
            added = await writing_store.add(tx, tenant, resource_id, new)
            for fact in _replaced(known, new):
                await writing_store.change(tx, tenant, resource_id, fact.ended(by=added))
            return added, True

    async def change(self, tenant: str, resource_id: str, fact_id: int, fields: Mapping[str, Any]) -> Fact:
        """Correct a fact: its ``text``, ``category``, ``valid_from`` or ``valid_to``, those that are given."""
        fields = dict(fields)
        if "text" in fields:
            fields |= {"text": await self._read(tenant, fields["text"]), "author": Author.CALLER}
        if "valid_to" in fields:
            fields["replaced_by"] = None  # it ends when the caller says, whatever follows it
        async with self._database.tx() as tx:
            old = await writing_store.locked_one(tx, tenant, resource_id, fact_id)
            if old is None:
                raise _not_found(resource_id, fact_id)
            new = replace(old, **fields)
            if "text" in fields:
                new = _unworded(new)
            _check(new.category, new.trust, valid_from=new.valid_from, valid_to=new.valid_to)
            if new == old:
                return old
            if new.text != old.text:
                await refuse(tx, tenant, resource_id, old.sources)
            return await writing_store.change(tx, tenant, resource_id, new, by_hand=True)

    async def delete(self, tenant: str, resource_id: str, fact_id: int | None = None) -> int:
        """Delete one fact, or all of them. Answers how many.

        A fact that a deleted one had replaced is valid again, for as long as the deleted one was. What the memory noted
        is not noted again from the same messages; if all are deleted, nor is what waits to be noted again.
        """
        async with self._database.tx() as tx:
            known = await writing_store.locked(tx, tenant, resource_id)
            ids = {fact.id for fact in known if fact_id in {None, fact.id}}
            changes = without_facts(known, ids)
            sources = [source for fact in known if fact.id in ids for source in fact.sources]
            if fact_id is None:
                sources += await to_read_again(tx, tenant, resource_id)
            await refuse(tx, tenant, resource_id, sources)
            await writing_store.apply(tx, tenant, resource_id, changes)
        return len(changes.deleted)

    async def _read(self, tenant: str, text: str) -> str:
        if len(text) > self._config.text_characters_max:
            limit = self._config.text_characters_max
            detail = f"a fact may have at most {limit} characters (DAYBOOK_FACTS__TEXT_CHARACTERS_MAX)"
            raise FactTooLarge.at("/text", detail)
        redact = self._redaction.of(tenant)
        return text if redact is None else await asyncio.to_thread(redact, text)


async def _check_cited(tx: Tx, resource_id: str, sources: Sequence[Source]) -> None:
    """Raises Invalid for a cited message that is not the resource's, or was erased."""
    cites: dict[UUID, set[int]] = {}
    for source in sources:
        cites.setdefault(source.session_id, set()).update(source.cites)
    found = await writing_store.cited(tx, resource_id, cites)
    for at, source in enumerate(sources):
        missing = [seq for seq in source.cites if (source.session_id, seq) not in found]
        if missing:
            detail = f"resource '{resource_id}' has no session '{source.session}' with a message {missing[0]}"
            raise Invalid.at(f"/sources/{at}/cites", detail)


def _is_noted(fact: Fact, new: NewFact) -> bool:
    """Whether ``fact`` is what the caller notes. One of the memory goes with its sessions: ``new`` must cite some."""
    return fact.says(new) and (fact.author is Author.CALLER or bool(new.sources))


def _replaced(known: Sequence[Fact], new: NewFact) -> list[Fact]:
    """The open-ended facts that say the same, of the memory, or of a tool or a stranger if the new one is not."""
    of_weight = [fact for fact in known if fact.trust in FOREIGN or new.trust not in FOREIGN]
    return [fact for fact in of_weight if fact.valid_to is None and fact.says(replace(new, trust=fact.trust))]


def _citing(fact: Fact, sources: Sequence[Source]) -> Fact:
    """The fact with these sources too. If they are too many, the extractor's last ones go: its words are the first's.

    Raises Invalid for more than a fact may rest on.
    """
    others = fact.lacking(sources)
    over = max(0, len(fact.sources) + len(others) - SOURCES_MAX) if others else 0
    taken = [source for source in fact.sources if source.text is not None and fact.author is Author.EXTRACTOR]
    if over > len(taken):
        raise Invalid.at("/sources", f"the fact exists already, and would have more than {SOURCES_MAX} sources")
    dropped = taken[len(taken) - over :]
    return replace(fact, sources=(*(source for source in fact.sources if source not in dropped), *others))


def _unworded(fact: Fact) -> Fact:
    """A fact that a caller has put in other words, without the words of its sources."""
    blank = (source if source.text is None else replace(source, text="") for source in fact.sources)
    return replace(fact, sources=tuple(blank))


def _check(category: Category, trust: Trust, *, valid_from: datetime, valid_to: datetime | None) -> None:
    if trust in FOREIGN and category in OWN_WORD:
        raise Invalid.at("/category", f"a {category} has trust 'user' or 'operator', not '{trust}'")
    if valid_to is not None and valid_to < valid_from:
        raise Invalid.at("/valid_to", "valid_to is before valid_from")


def _not_found(resource_id: str, fact_id: int) -> FactNotFound:
    return FactNotFound(f"resource '{resource_id}' has no fact {fact_id}")
