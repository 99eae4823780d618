"""The SQL that writes facts: by hand (service.py), from an ended session (noting.py), and when sources are removed.

A writer locks the sessions it needs, then the resource, and reads in a later statement, so that no two merge into the
same facts at once. The lock is the transaction's, so that it works behind a pooler too.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from app.facts.forgetting import FactChanges
from app.facts.model import Fact, NewFact, Source, source_to_json
from app.facts.store import ALL_FACTS, FACT, OF_RESOURCE, fact_of, facts_of
from app.facts.worth import passes_at, worth
from app.kit.db import Tx

LOCK_FACTS = "/* lock_facts */ SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"

FACTS_SAYING = f"""/* facts_saying */
SELECT * FROM facts WHERE {OF_RESOURCE} AND text = $3 ORDER BY id
"""  # noqa: S608 - our own text

COUNT_FACTS = f"/* count_facts */ SELECT count(*) FROM facts WHERE {OF_RESOURCE}"  # noqa: S608 - our own text

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

# Locks the sessions, so that no cited message is erased before the fact is written; in the order of all such locks.
HOLD_CITED = """/* hold_cited */
SELECT id FROM sessions WHERE id = ANY($1::uuid[]) AND resource_id = $2 ORDER BY id FOR KEY SHARE
"""

CITED = """/* cited */
SELECT m.session_id, m.seq FROM unnest($1::uuid[], $2::bigint[]) AS c (session_id, seq)
JOIN messages m USING (session_id, seq) WHERE m.erased_at IS NULL
"""


async def lock(tx: Tx, tenant: str, resource_id: str) -> None:
    await tx.execute(LOCK_FACTS, f"facts/{tenant}/{resource_id}")


async def locked(tx: Tx, tenant: str, resource_id: str) -> list[Fact]:
    """All facts of the resource. It is locked until the transaction ends, as in the next two functions."""
    await lock(tx, tenant, resource_id)
    return await facts_of(await tx.fetch(ALL_FACTS, tenant, resource_id))


async def locked_one(tx: Tx, tenant: str, resource_id: str, fact_id: int) -> Fact | None:
    await lock(tx, tenant, resource_id)
    row = await tx.fetchrow(FACT, tenant, resource_id, fact_id)
    return None if row is None else fact_of(row)


async def locked_saying(tx: Tx, tenant: str, resource_id: str, text: str) -> tuple[list[Fact], int]:
    """The facts in these words, and how many facts the resource has in all."""
    await lock(tx, tenant, resource_id)
    rows = await tx.fetch(FACTS_SAYING, tenant, resource_id, text)
    return [fact_of(row) for row in rows], await tx.fetchval(COUNT_FACTS, tenant, resource_id)


async def cited(tx: Tx, resource_id: str, cites: Mapping[UUID, Collection[int]]) -> set[tuple[UUID, int]]:
    """The cited messages that exist in sessions of the resource and were not erased; their sessions are locked."""
    held = {row["id"] for row in await tx.fetch(HOLD_CITED, list(cites), resource_id)}
    places = [(session, seq) for session, seqs in cites.items() if session in held for seq in seqs]
    rows = await tx.fetch(CITED, [session for session, _ in places], [seq for _, seq in places])
    return {(row["session_id"], row["seq"]) for row in rows}


async def add(tx: Tx, tenant: str, resource_id: str, new: NewFact) -> Fact:
    columns = (new.text, new.category, new.trust, new.author, _sources_json(new.sources))
    validity = (new.valid_from, new.valid_to)
    return fact_of(await tx.fetchrow(ADD_FACT, tenant, resource_id, *columns, *validity, *_weighed(new)))


async def change(tx: Tx, tenant: str, resource_id: str, fact: Fact, *, by_hand: bool = False) -> Fact:
    """Write what can change of a fact: all but its trust.

    A fact changed ``by_hand``, or given other words, counts as worded now: no earlier session was told it so.
    """
    columns = (fact.text, fact.category, fact.author, _sources_json(fact.sources))
    validity = (fact.valid_from, fact.valid_to, fact.replaced_by)
    row = await tx.fetchrow(CHANGE_FACT, tenant, resource_id, fact.id, *columns, *validity, by_hand, *_weighed(fact))
    return fact_of(row)


async def apply(tx: Tx, tenant: str, resource_id: str, changes: FactChanges) -> None:
    """Write the changes: some facts are deleted, others changed."""
    await tx.execute(DELETE_FACTS, tenant, resource_id, changes.deleted)
    for fact in changes.changed:
        await change(tx, tenant, resource_id, fact)


def _weighed(fact: Fact | NewFact) -> tuple[int, datetime | None]:
    """The worth of a fact in a profile, and when it is over, by its words and category."""
    return worth(fact.text, fact.category), passes_at(fact.text, fact.category)


def _sources_json(sources: Sequence[Source]) -> list[dict[str, Any]]:
    return [source_to_json(source) for source in sources]
