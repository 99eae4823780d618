"""All SQL of facts.

A writer locks the sessions it needs, then the resource, and reads in a later statement, so that no two merge into the
same facts at once. The lock is the transaction's: it works behind a pooler too.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from app.facts import rereading_store
from app.facts.forgetting import (
    Correction,
    Left,
    corrections,
    derived_since,
    of_message,
    of_session,
    without,
)
from app.facts.model import Author, Category, Fact, NewFact, Source, Validity, source_from_json, source_to_json
from app.facts.rereading import Told
from app.facts.rereading_store import IS_HIDDEN
from app.facts.worth import passes_at, worth
from app.kit.db import Database, Row, Tx
from app.sessions.model import Gone, Trust
from app.sessions.sharing_store import waiting
from app.sessions.waking import woken

LOCK_FACTS = "/* lock_facts */ SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"

FACTS = f"""/* facts */
SELECT * FROM facts
WHERE tenant = $1 AND resource_id = $2 AND NOT {IS_HIDDEN} AND id > $3 AND ($4::text IS NULL OR category = $4)
  AND CASE $5::text
        WHEN 'current' THEN valid_from <= coalesce($6, now()) AND (valid_to IS NULL OR valid_to > coalesce($6, now()))
        WHEN 'past' THEN valid_to <= coalesce($6, now()) ELSE true END
ORDER BY id LIMIT $7
"""  # noqa: S608 - our own text

ALL_FACTS = f"""/* all_facts */
SELECT * FROM facts WHERE tenant = $1 AND resource_id = $2 AND NOT {IS_HIDDEN} ORDER BY id
"""  # noqa: S608 - our own text

FACTS_SAYING = f"""/* facts_saying */
SELECT * FROM facts WHERE tenant = $1 AND resource_id = $2 AND NOT {IS_HIDDEN} AND text = $3 ORDER BY id
"""  # noqa: S608 - our own text

COUNT_FACTS = f"""/* count_facts */
SELECT count(*) FROM facts WHERE tenant = $1 AND resource_id = $2 AND NOT {IS_HIDDEN}
"""  # noqa: S608 - our own text

FACTS_OF_SESSION = f"""/* facts_of_session */
SELECT * FROM facts WHERE tenant = $1 AND resource_id = $2 AND NOT {IS_HIDDEN} AND sources @> $3 ORDER BY id
"""  # noqa: S608 - our own text

FACT = f"""/* fact */
SELECT * FROM facts WHERE tenant = $1 AND resource_id = $2 AND id = $3 AND NOT {IS_HIDDEN}
"""  # noqa: S608 - our own text

ADD_FACT = """/* add_fact */
INSERT INTO facts (tenant, resource_id, text, category, trust, author, sources, valid_from, valid_to, worth, passes_at,
  confirmed_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, CASE WHEN jsonb_array_length($7) > 1 THEN now() END) RETURNING *
"""

CHANGE_FACT = """/* change_fact */
UPDATE facts SET text = $4, category = $5, author = $6, sources = $7, valid_from = $8, valid_to = $9, replaced_by = $10,
  updated_at = now(), worded_at = CASE WHEN $11 OR text <> $4 THEN now() ELSE worded_at END,
  worth = $12, passes_at = $13,
  confirmed_at = CASE WHEN jsonb_array_length($7) > 1 THEN coalesce(confirmed_at, now()) END
WHERE tenant = $1 AND resource_id = $2 AND id = $3 RETURNING *
"""

DELETE_FACTS = """/* delete_facts */
DELETE FROM facts WHERE tenant = $1 AND resource_id = $2 AND id = ANY($3::bigint[])
"""

FORGET_FACTS = f"""/* forget_facts */
WITH gone AS (
  DELETE FROM facts WHERE tenant = $1 AND resource_id = $2 RETURNING {IS_HIDDEN} AS unwanted
)
SELECT count(*) FROM gone WHERE NOT unwanted
"""  # noqa: S608 - our own text

# Held, so that none of their messages is erased before what cites it is written; in the order of all who lock sessions.
HOLD_CITED = """/* hold_cited */
SELECT id FROM sessions WHERE id = ANY($1::uuid[]) AND resource_id = $2 ORDER BY id FOR KEY SHARE
"""

CITED = """/* cited */
SELECT m.session_id, m.seq FROM unnest($1::uuid[], $2::bigint[]) AS c (session_id, seq)
JOIN messages m USING (session_id, seq) WHERE m.erased_at IS NULL
"""

# A session that shares a memory is found by its ``waiting``.
AGAIN = "least(facts_seq, $2::bigint)"
READ_AGAIN = f"""/* read_again */
UPDATE sessions SET facts_seq = {AGAIN}, waiting = {waiting(facts_seq=AGAIN)} WHERE id = $1 AND facts_seq > $2::bigint
"""  # noqa: S608 - our own statement

# The branches that begin with what a session says, before they are given to its own parent.
HEIRS = """/* heirs */
SELECT s.id, s.key, s.branched_at_seq AS last_seq FROM sessions p
JOIN sessions s ON s.tenant = p.tenant AND s.branched_from = p.key AND s.created_at >= p.created_at
WHERE p.id = $1 AND s.resource_id = p.resource_id ORDER BY s.id
"""

# Messages that say the same in both. One that retention removed from the session alone counts as the same too: nothing
# tells that it is not.
SAID_ALIKE = """/* said_alike */
SELECT b.seq FROM messages p JOIN messages b ON b.session_id = $2 AND b.seq = p.seq
WHERE p.session_id = $1 AND p.seq = ANY($3::bigint[]) AND p.seq <= $4
  AND (b.content_hash = p.content_hash OR p.erased_at IS NOT NULL) AND b.erased_at IS NULL
"""

# As the end of a session asks for it.
LOOK_AGAIN = f"""/* look_for_facts */
UPDATE memories m SET {woken()}
FROM sessions s WHERE s.id = $1 AND m.id = s.memory_id AND s.ended_at IS NOT NULL AND s.facts_seq < s.next_seq - 1
"""  # noqa: S608 - our own text

OWNER = """/* owner_of_facts */
SELECT tenant, resource_id FROM sessions WHERE id = $1 AND resource_id IS NOT NULL
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactFilter:
    """``at``: when it is to be current, or past; None is now."""

    category: Category | None
    validity: Validity
    at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """How many facts of a resource were deleted or changed, and what is left of them.

    ``first`` is the first message of what was read for one of them.
    """

    tenant: str
    resource_id: str
    facts: int
    first: int | None
    corrections: tuple[Correction, ...]


class FactStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, tenant: str, resource_id: str, wanted: FactFilter, *, after: int, limit: int) -> list[Fact]:
        """Those after the id ``after``, by id."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                FACTS, tenant, resource_id, after, wanted.category, wanted.validity, wanted.at, limit
            )
        return await _facts_of(rows)

    async def all(self, tenant: str, resource_id: str) -> list[Fact]:
        """Every fact of the resource, past ones too."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(ALL_FACTS, tenant, resource_id)
        return await _facts_of(rows)

    async def fact(self, tenant: str, resource_id: str, fact_id: int) -> Fact | None:
        async with self._database.connection() as connection:
            row = await connection.fetchrow(FACT, tenant, resource_id, fact_id)
        return None if row is None else fact_of(row)

    async def locked(self, tx: Tx, tenant: str, resource_id: str) -> list[Fact]:
        """All facts of the resource. Nobody else writes them until the transaction ends, here and in the next two."""
        await _lock(tx, tenant, resource_id)
        return await _facts_of(await tx.fetch(ALL_FACTS, tenant, resource_id))

    async def locked_one(self, tx: Tx, tenant: str, resource_id: str, fact_id: int) -> Fact | None:
        await _lock(tx, tenant, resource_id)
        row = await tx.fetchrow(FACT, tenant, resource_id, fact_id)
        return None if row is None else fact_of(row)

    async def locked_saying(self, tx: Tx, tenant: str, resource_id: str, text: str) -> tuple[list[Fact], int]:
        """Those in these words, and how many the resource has in all."""
        await _lock(tx, tenant, resource_id)
        rows = await tx.fetch(FACTS_SAYING, tenant, resource_id, text)
        return [fact_of(row) for row in rows], await tx.fetchval(COUNT_FACTS, tenant, resource_id)

    async def cited(self, tx: Tx, resource_id: str, cites: Mapping[UUID, Collection[int]]) -> set[tuple[UUID, int]]:
        """Those of the messages that are there, in sessions of the resource, and were not erased; they are held."""
        held = {row["id"] for row in await tx.fetch(HOLD_CITED, list(cites), resource_id)}
        places = [(session, seq) for session, seqs in cites.items() if session in held for seq in seqs]
        rows = await tx.fetch(CITED, [session for session, _ in places], [seq for _, seq in places])
        return {(row["session_id"], row["seq"]) for row in rows}

    async def add(self, tx: Tx, tenant: str, resource_id: str, new: NewFact) -> Fact:
        columns = (new.text, new.category, new.trust, new.author, _sources_json(new.sources))
        validity = (new.valid_from, new.valid_to)
        return fact_of(await tx.fetchrow(ADD_FACT, tenant, resource_id, *columns, *validity, *_weighed(new)))

    async def change(self, tx: Tx, tenant: str, resource_id: str, fact: Fact, *, by_hand: bool = False) -> Fact:
        """Write what can change of a fact: all but whose word it is.

        Changed ``by_hand``, or given other words, it counts as worded now: no earlier session was told it so.
        """
        columns = (fact.text, fact.category, fact.author, _sources_json(fact.sources))
        validity = (fact.valid_from, fact.valid_to, fact.replaced_by)
        row = await tx.fetchrow(
            CHANGE_FACT, tenant, resource_id, fact.id, *columns, *validity, by_hand, *_weighed(fact)
        )
        return fact_of(row)

    async def leave(self, tx: Tx, tenant: str, resource_id: str, left: Left) -> None:
        """Write what is left of facts: some are deleted, others changed."""
        await tx.execute(DELETE_FACTS, tenant, resource_id, left.deleted)
        for fact in left.changed:
            await self.change(tx, tenant, resource_id, fact)

    async def forget_message(
        self, tx: Tx, session: UUID, seq: int, *, derived_from: int, noted_until: datetime | None = None
    ) -> int:
        """Forget, for good, what rests on an erased message, or on what was derived from it (from a seq on).

        What was noted after ``noted_until`` does not. What else was read with it is read again when the session is.
        Answers how many facts were deleted or changed. The caller holds the session's lock, here and below.
        """
        is_gone = of_message(session, seq, derived_from=derived_from)
        return await self._reread(tx, session, is_gone, changed_seq=seq, noted_until=noted_until)

    async def forget_from(self, tx: Tx, session: UUID, seq: int) -> None:
        """Forget what was taken from the messages from ``seq`` on, as that one was replaced; they are read again."""
        await self._reread(tx, session, of_message(session, seq, derived_from=seq), since=seq, changed_seq=seq)
        await rereading_store.allow(tx, session, seq)

    async def _reread(
        self,
        tx: Tx,
        session: UUID,
        is_gone: Callable[[Source], bool],
        *,
        since: int | None = None,
        changed_seq: int | None = None,
        noted_until: datetime | None = None,
    ) -> int:
        """Forget facts, and have the session read again for what they rested on, or at least from ``since`` on.

        What somebody has corrected holds again then, but for corrections of the message ``changed_seq``, which was
        erased or replaced. Answers how many facts were deleted or changed.
        """
        dropped = await self._drop(tx, session, is_gone, noted_until=noted_until)
        if dropped is None:
            return 0
        if changed_seq is not None:
            await rereading_store.forget_corrections(tx, session, changed_seq)
        kept = [one for one in dropped.corrections if changed_seq not in one.source.cites]
        await rereading_store.add(tx, dropped.tenant, dropped.resource_id, kept)
        again = min((seq for seq in (dropped.first, since) if seq is not None), default=None)
        if again is not None:
            await tx.execute(READ_AGAIN, session, again - 1)
        return dropped.facts

    async def _drop(
        self, tx: Tx, session: UUID, is_gone: Callable[[Source], bool], *, noted_until: datetime | None = None
    ) -> Dropped | None:
        """Forget what rests on sources of the session that are gone; None if it is of no resource."""
        owner = await _owner(tx, session)
        if owner is None:
            return None
        tenant, resource_id = owner
        facts = await self.locked(tx, tenant, resource_id)
        known = [fact for fact in facts if noted_until is None or fact.created_at <= noted_until]
        left = without(known, is_gone)
        await self.leave(tx, tenant, resource_id, left)
        read = [one.from_seq for fact in known for one in fact.sources if one.text is not None and is_gone(one)]
        return Dropped(
            tenant=tenant,
            resource_id=resource_id,
            facts=len(left.deleted) + len(left.changed),
            first=min(read, default=None),
            corrections=tuple(corrections(known, is_gone)),
        )

    async def told(self, tx: Tx, session: UUID) -> Told:
        """What would hold if the session were read from its beginning, as after an import."""
        owner = await _owner(tx, session)
        if owner is None:
            return Told()
        tenant, resource_id = owner
        of_it = [{"session_id": str(session)}]
        known = await _facts_of(await tx.fetch(FACTS_OF_SESSION, tenant, resource_id, of_it))
        told = await rereading_store.told(tx, tenant, resource_id, session)
        return replace(told, corrections=(*told.corrections, *corrections(known, of_session(session))))

    async def bring(self, tx: Tx, session: UUID, key: str, told: Told) -> None:
        """Have ``told`` hold for an imported session of a resource, and have the session read if it has ended."""
        owner = await _owner(tx, session)
        if owner is not None:
            tenant, resource_id = owner
            await _lock(tx, tenant, resource_id)
            await rereading_store.restore(tx, tenant, resource_id, session, key, told)
            await tx.execute(LOOK_AGAIN, session)

    async def forget(self, tx: Tx, gone: Gone) -> dict[str, int]:
        """Delete what rests on sessions that are deleted, and all facts of their resource if it is.

        What branches of a deleted session say too is noted again from these.
        """
        if gone.resource_id is not None:
            await _lock(tx, gone.tenant, gone.resource_id)
            return {"facts": await tx.fetchval(FORGET_FACTS, gone.tenant, gone.resource_id)}
        facts = 0
        for session in gone.sessions:
            dropped = await self._drop(tx, session, of_session(session))
            if dropped is not None:
                await self._inherit(tx, session, dropped)
                facts += dropped.facts
        await rereading_store.forget_sessions(tx, gone.sessions)
        return {"facts": facts}

    async def _inherit(self, tx: Tx, session: UUID, dropped: Dropped) -> None:
        """Have the branches of a deleted session read for what was taken from it; what held of it holds of them."""
        heirs = await tx.fetch(HEIRS, session)
        if not heirs:
            return
        tenant, resource_id = dropped.tenant, dropped.resource_id
        told = await rereading_store.told(tx, tenant, resource_id, session)
        told = replace(told, corrections=(*told.corrections, *dropped.corrections))
        cited = told.unwanted.union(*(one.source.cites for one in told.corrections))
        for heir in heirs:
            branch, since = heir["id"], dropped.first
            if since is not None and since <= heir["last_seq"]:
                await self._reread(tx, branch, derived_since(branch, since), since=since)
            rows = await tx.fetch(SAID_ALIKE, session, branch, list(cited), heir["last_seq"])
            inherited = told.of(branch, heir["key"], within={row["seq"] for row in rows})
            await rereading_store.restore(tx, tenant, resource_id, branch, heir["key"], inherited)
            await tx.execute(LOOK_AGAIN, branch)


async def _lock(tx: Tx, tenant: str, resource_id: str) -> None:
    await tx.execute(LOCK_FACTS, f"facts/{tenant}/{resource_id}")


async def _owner(tx: Tx, session: UUID) -> tuple[str, str] | None:
    """Tenant and resource of a session; None if it is of no resource."""
    row = await tx.fetchrow(OWNER, session)
    return None if row is None else (row["tenant"], row["resource_id"])


def _weighed(fact: Fact | NewFact) -> tuple[int, datetime | None]:
    """What its words tell of its place in a profile: its worth, and when it is over."""
    return worth(fact.text, fact.category), passes_at(fact.text, fact.category)


def _sources_json(sources: Sequence[Source]) -> list[dict[str, Any]]:
    return [source_to_json(source) for source in sources]


async def _facts_of(rows: Sequence[Row]) -> list[Fact]:
    """In a thread: 1,000 with 20 sources each would hold up all requests for 0.2 s."""
    return await asyncio.to_thread(lambda: [fact_of(row) for row in rows])


def fact_of(row: Row) -> Fact:
    return Fact(
        id=row["id"],
        text=row["text"],
        category=Category(row["category"]),
        trust=Trust(row["trust"]),
        author=Author(row["author"]),
        sources=tuple(source_from_json(source) for source in row["sources"]),
        valid_from=row["valid_from"],
        valid_to=row["valid_to"],
        replaced_by=row["replaced_by"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
