"""The SQL that reads facts; writing_store.py writes them, and forgetting_store.py removes them with their sources."""

import asyncio
from collections.abc import Sequence

from app.facts.model import Author, Category, Fact, FactFilter, source_from_json
from app.facts.rereading_store import IS_HIDDEN
from app.kit.db import Database, Row
from app.sessions.model import Trust

# Without the refusals and corrections, which are in the same table.
OF_RESOURCE = f"tenant = $1 AND resource_id = $2 AND NOT {IS_HIDDEN}"

FACTS = f"""/* facts */
SELECT * FROM facts WHERE {OF_RESOURCE} AND id > $3 AND ($4::text IS NULL OR category = $4)
  AND CASE $5::text
        WHEN 'current' THEN valid_from <= coalesce($6, now()) AND (valid_to IS NULL OR valid_to > coalesce($6, now()))
        WHEN 'past' THEN valid_to <= coalesce($6, now()) ELSE true END
ORDER BY id LIMIT $7
"""  # noqa: S608 - our own text

ALL_FACTS = f"""/* all_facts */
SELECT * FROM facts WHERE {OF_RESOURCE} ORDER BY id
"""  # noqa: S608 - our own text

FACT = f"/* fact */ SELECT * FROM facts WHERE {OF_RESOURCE} AND id = $3"  # noqa: S608 - our own text


class FactStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, tenant: str, resource_id: str, wanted: FactFilter, *, after: int, limit: int) -> list[Fact]:
        """The wanted facts after the id ``after``, by id."""
        rows = await self._database.fetch(
            FACTS, tenant, resource_id, after, wanted.category, wanted.validity, wanted.at, limit
        )
        return await facts_of(rows)

    async def all(self, tenant: str, resource_id: str) -> list[Fact]:
        """Every fact of the resource, past ones too."""
        rows = await self._database.fetch(ALL_FACTS, tenant, resource_id)
        return await facts_of(rows)

    async def fact(self, tenant: str, resource_id: str, fact_id: int) -> Fact | None:
        row = await self._database.fetchrow(FACT, tenant, resource_id, fact_id)
        return None if row is None else fact_of(row)


async def facts_of(rows: Sequence[Row]) -> list[Fact]:
    """The facts of rows, made in a thread: 1,000 with 20 sources each would hold up all requests for 0.2 s."""
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
