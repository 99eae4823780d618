"""All SQL of facts.

Who writes takes the resource's lock first, after the sessions it needs, and reads in a statement after it, so that no
two merge into the same facts at once. The lock is the transaction's: it works behind a pooler too.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from app.facts.forgetting import Left, derived_since, of_message, of_sessions, without
from app.facts.model import Author, Category, Fact, NewFact, Source, Validity, source_from_json, source_to_json
from app.facts.worth import passes_at, worth
from app.kit.db import Database, Row, Tx
from app.sessions.model import Gone, Trust
from app.sessions.sharing import waiting

# Not a fact, but the messages of one session of which somebody has deleted or changed what was noted: they are its
# cites. Were it not kept, it would be noted again when the session is read again.
IS_UNWANTED = "(author = 'extractor' AND text = '')"

LOCK_FACTS = "/* lock_facts */ SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"

FACTS = f"""/* facts */
SELECT * FROM facts
WHERE tenant = $1 AND resource_id = $2 AND NOT {IS_UNWANTED} AND id > $3 AND ($4::text IS NULL OR category = $4)
  AND CASE $5::text
        WHEN 'current' THEN valid_from <= coalesce($6, now()) AND (valid_to IS NULL OR valid_to > coalesce($6, now()))
        WHEN 'past' THEN valid_to <= coalesce($6, now()) ELSE true END
ORDER BY id LIMIT $7
"""  # noqa: S608 - our own text

ALL_FACTS = f"""/* all_facts */
SELECT * FROM facts WHERE tenant = $1 AND resource_id = $2 AND NOT {IS_UNWANTED} ORDER BY id
"""  # noqa: S608 - our own text

FACT = f"""/* fact */
SELECT * FROM facts WHERE tenant = $1 AND resource_id = $2 AND id = $3 AND NOT {IS_UNWANTED}
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
  DELETE FROM facts WHERE tenant = $1 AND resource_id = $2 RETURNING {IS_UNWANTED} AS unwanted
)
SELECT count(*) FROM gone WHERE NOT unwanted
"""  # noqa: S608 - our own text

UNWANTED = f"""/* unwanted */
SELECT id, sources FROM facts
WHERE tenant = $1 AND resource_id = $2 AND {IS_UNWANTED} AND sources->0->>'session_id' = ANY($3::text[])
"""  # noqa: S608 - our own text

# A message that is replaced says something else.
WANTED_AGAIN = f"""/* wanted_again */
UPDATE facts f SET sources = jsonb_set(f.sources, '{{0,cites}}', (
  SELECT coalesce(jsonb_agg(seq), '[]') FROM jsonb_array_elements(f.sources->0->'cites') AS seq
  WHERE seq <> to_jsonb($2::bigint)))
FROM sessions s
WHERE s.id = $1 AND f.tenant = s.tenant AND f.resource_id = s.resource_id AND {IS_UNWANTED}
  AND f.sources->0->>'session_id' = s.id::text AND f.sources->0->'cites' @> to_jsonb($2::bigint)
"""  # noqa: S608 - our own text

FORGET_UNWANTED = f"""/* forget_unwanted */
DELETE FROM facts f USING sessions s
WHERE s.id = ANY($1::uuid[]) AND f.tenant = s.tenant AND f.resource_id = s.resource_id AND {IS_UNWANTED}
  AND f.sources->0->>'session_id' = s.id::text
"""  # noqa: S608 - our own text

# Held, so that none of their messages is erased before what cites it is written; in the order of all who lock sessions.
HOLD_CITED = """/* hold_cited */
SELECT id FROM sessions WHERE id = ANY($1::uuid[]) AND resource_id = $2 ORDER BY id FOR KEY SHARE
"""

CITED = """/* cited */
SELECT m.session_id, m.seq FROM unnest($1::uuid[], $2::bigint[]) AS c (session_id, seq)
JOIN messages m USING (session_id, seq) WHERE m.erased_at IS NULL
"""

# Who shares a memory is looked for by ``waiting``.
AGAIN = "least(facts_seq, $2::bigint)"
READ_AGAIN = f"""/* read_again */
UPDATE sessions SET facts_seq = {AGAIN}, waiting = {waiting(facts_seq=AGAIN)} WHERE id = $1 AND facts_seq > $2::bigint
"""  # noqa: S608 - our own statement

RESOURCES = """/* resources_of */
SELECT DISTINCT tenant, resource_id FROM sessions
WHERE id = ANY($1::uuid[]) AND resource_id IS NOT NULL ORDER BY resource_id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactFilter:
    """``at``: when it is to be current, or past; None is now."""

    category: Category | None
    validity: Validity
    at: datetime | None


class FactStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, tenant: str, resource_id: str, wanted: FactFilter, *, after: int, limit: int) -> list[Fact]:
        """Those after the id ``after``, by id."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                FACTS, tenant, resource_id, after, wanted.category, wanted.validity, wanted.at, limit
            )
        return [fact_of(row) for row in rows]

    async def all(self, tenant: str, resource_id: str) -> list[Fact]:
        """Every fact of the resource, past ones too."""
        async with self._database.connection() as connection:
            return [fact_of(row) for row in await connection.fetch(ALL_FACTS, tenant, resource_id)]

    async def fact(self, tenant: str, resource_id: str, fact_id: int) -> Fact | None:
        async with self._database.connection() as connection:
            row = await connection.fetchrow(FACT, tenant, resource_id, fact_id)
        return None if row is None else fact_of(row)

    async def locked(self, tx: Tx, tenant: str, resource_id: str) -> list[Fact]:
        """All facts of the resource. Nobody else writes them until the transaction ends."""
        await tx.execute(LOCK_FACTS, f"facts/{tenant}/{resource_id}")
        return [fact_of(row) for row in await tx.fetch(ALL_FACTS, tenant, resource_id)]

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

        ``by_hand`` or in other words, it is no more what anybody was told of it.
        """
        columns = (fact.text, fact.category, fact.author, _sources_json(fact.sources))
        validity = (fact.valid_from, fact.valid_to, fact.replaced_by)
        row = await tx.fetchrow(
            CHANGE_FACT, tenant, resource_id, fact.id, *columns, *validity, by_hand, *_weighed(fact)
        )
        return fact_of(row)

    async def unwanted(self, tx: Tx, tenant: str, resource_id: str, session: UUID) -> frozenset[int]:
        """The messages of the session of which nothing is to be noted again; the caller has locked the facts."""
        known = await self._unwanted(tx, tenant, resource_id, [session])
        return frozenset(seq for _, source in known for seq in source.cites)

    async def refuse(self, tx: Tx, tenant: str, resource_id: str, fact: Fact, *, now: datetime) -> None:
        """Have nothing noted again of the messages that it was taken from, however often they are read."""
        taken = [source for source in fact.sources if source.text is not None and source.cites]
        sessions = {source.session_id: source for source in taken}
        if not sessions:
            return
        former = await self._unwanted(tx, tenant, resource_id, list(sessions))
        await tx.execute(DELETE_FACTS, tenant, resource_id, [id_ for id_, _ in former])
        of = [*taken, *(source for _, source in former)]
        for session, source in sessions.items():
            cites = sorted({seq for one in of if one.session_id == session for seq in one.cites})
            await self.add(tx, tenant, resource_id, _refusal(source, cites, now))

    @staticmethod
    async def _unwanted(tx: Tx, tenant: str, resource_id: str, sessions: Sequence[UUID]) -> list[tuple[int, Source]]:
        rows = await tx.fetch(UNWANTED, tenant, resource_id, [str(session) for session in sessions])
        return [(row["id"], source_from_json(source)) for row in rows for source in row["sources"]]

    async def leave(self, tx: Tx, tenant: str, resource_id: str, left: Left) -> None:
        await tx.execute(DELETE_FACTS, tenant, resource_id, left.deleted)
        for fact in left.changed:
            await self.change(tx, tenant, resource_id, fact)

    async def forget_message(self, tx: Tx, session: UUID, seq: int, *, derived_from: int) -> int:
        """Forget, for good, what rests on a message, or was taken from what was derived of it, from a seq on.

        What else was read with it is read again when the session is read. Answers how many facts are deleted or others.
        The caller holds the session's lock, here and below.
        """
        return await self._reread(tx, session, of_message(session, seq, derived_from=derived_from))

    async def forget_from(self, tx: Tx, session: UUID, seq: int) -> None:
        """Forget what was taken from the messages from ``seq`` on, which is another now; they are read anew."""
        await self._reread(tx, session, derived_since(session, seq), since=seq)
        await tx.execute(WANTED_AGAIN, session, seq)

    async def _reread(
        self, tx: Tx, session: UUID, is_gone: Callable[[Source], bool], *, since: int | None = None
    ) -> int:
        dropped, first = await self._drop(tx, [session], is_gone)
        again = min((seq for seq in (first, since) if seq is not None), default=None)
        if again is not None:
            await tx.execute(READ_AGAIN, session, again - 1)
        return dropped

    async def _drop(
        self, tx: Tx, sessions: Sequence[UUID], is_gone: Callable[[Source], bool]
    ) -> tuple[int, int | None]:
        """Forget what rests on sources of these sessions that are gone.

        Answers how many facts are deleted or others now, and the first message of what was read for one of them.
        """
        dropped, first = 0, None
        for row in await tx.fetch(RESOURCES, sessions):
            known = await self.locked(tx, row["tenant"], row["resource_id"])
            left = without(known, is_gone)
            await self.leave(tx, row["tenant"], row["resource_id"], left)
            dropped += len(left.deleted) + len(left.changed)
            read = [one.from_seq for fact in known for one in fact.sources if one.text is not None and is_gone(one)]
            first = min([*read, *([] if first is None else [first])], default=None)
        return dropped, first

    async def forget(self, tx: Tx, gone: Gone) -> dict[str, int]:
        """Delete what rests on sessions that are deleted, and all facts of their resource if it is."""
        if gone.resource_id is not None:
            await tx.execute(LOCK_FACTS, f"facts/{gone.tenant}/{gone.resource_id}")
            return {"facts": await tx.fetchval(FORGET_FACTS, gone.tenant, gone.resource_id)}
        dropped, _ = await self._drop(tx, gone.sessions, of_sessions(gone.sessions))
        await tx.execute(FORGET_UNWANTED, gone.sessions)
        return {"facts": dropped}


def _refusal(source: Source, cites: Sequence[int], now: datetime) -> NewFact:
    """As a fact that is of no profile and never true."""
    refused = replace(source, from_seq=cites[0], to_seq=cites[-1], cites=tuple(cites), observations=(), text="")
    return NewFact(
        text="",
        category=Category.INSIGHT,
        trust=Trust.TOOL,
        author=Author.EXTRACTOR,
        sources=(refused,),
        valid_from=now,
        valid_to=now,
    )


def _weighed(fact: Fact | NewFact) -> tuple[int, datetime | None]:
    """What its words tell of its place in a profile."""
    return worth(fact.text, fact.category), passes_at(fact.text, fact.category)


def _sources_json(sources: Sequence[Source]) -> list[dict[str, Any]]:
    return [source_to_json(source) for source in sources]


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
