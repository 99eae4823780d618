"""Distributing the schema over the nodes of a Citus cluster: ``daybook migrate --distribute`` (docs/scale.md).

A table is distributed by the column that leads its key, so that what belongs to a session or a memory lies on one
node. Tables of one kind are placed alike (``colocate_with``): in session scope a memory has its session's id.
"""

from dataclasses import dataclass
from enum import StrEnum

import asyncpg

from app.kit.db import DatabaseConfig, Tx, plain_dsn
from app.kit.errors import StartError, first_line


class Place(StrEnum):
    """Where the rows of a table are."""

    BY_SESSION = "sessions"  # with the session of their first column; the value is the table they are placed with
    BY_ITSELF = "none"  # by their first column, with no other table
    EVERYWHERE = "everywhere"  # a copy on every node: small, and read by all


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """``column`` is what the rows are distributed by, None for those that are everywhere."""

    table: str
    place: Place
    column: str | None = None


def _of(place: Place, column: str | None, *tables: str) -> tuple[Distribution, ...]:
    return tuple(Distribution(table=table, place=place, column=column) for table in tables)


# In the order of their distribution: the first of those that are placed alike is the one they are placed with.
DISTRIBUTIONS = (
    *_of(Place.BY_SESSION, "id", "sessions", "memories"),
    *_of(Place.BY_SESSION, "session_id", "messages", "message_terms", "message_vectors"),
    *_of(Place.BY_SESSION, "session_id", "session_configs", "artifacts"),
    *_of(
        Place.BY_SESSION,
        "memory_id",
        "memory_versions",
        "session_cursors",
        "observations",
        "reflections",
        "runs",
        "spending",
    ),
    *_of(Place.BY_ITSELF, "owner", "state_entries"),
    *_of(Place.BY_ITSELF, "resource_id", "facts"),
    *_of(Place.BY_ITSELF, "id", "resources"),
    *_of(Place.BY_ITSELF, "tenant", "tenant_spending"),
    *_of(Place.EVERYWHERE, None, "api_keys"),
)

HAS_CITUS = "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')"
# A policy of ours asks whose a row is by a subquery, which Citus refuses of a distributed table (its policy.c).
HAS_POLICIES = "SELECT EXISTS (SELECT FROM pg_policies WHERE schemaname = current_schema())"
DISTRIBUTED = "SELECT table_name::text AS name FROM citus_tables"


def statement(distribution: Distribution) -> str:
    """The call that distributes one table; its rows are moved."""
    table = distribution.table
    if distribution.column is None:
        return f"SELECT create_reference_table('{table}')"
    placed = Place.BY_ITSELF if distribution.place == table else distribution.place
    return f"SELECT create_distributed_table('{table}', '{distribution.column}', colocate_with => '{placed}')"


async def distribute(config: DatabaseConfig) -> list[str]:
    """Distribute what is not yet, in one transaction; answers the statements.

    Raises StartError: no Citus, or row-level security, which does not go with it.
    """
    try:
        connection = await asyncpg.connect(plain_dsn(config.url), statement_cache_size=0)
    except (OSError, asyncpg.PostgresError) as error:
        raise StartError(f"cannot use the database of DAYBOOK_DATABASE_URL: {error}") from error
    try:
        async with connection.transaction():
            return await _distribute(connection)
    except asyncpg.PostgresError as error:
        raise StartError(f"the tables are as they were: {first_line(error)}") from error
    finally:
        await connection.close()


async def _distribute(tx: Tx) -> list[str]:
    if await tx.fetchval(HAS_POLICIES):
        raise StartError("row-level security and Citus do not go together: drop its policies first (docs/scale.md)")
    if not await tx.fetchval(HAS_CITUS):
        raise StartError(
            "this database has no Citus extension, so there is nothing to distribute over:"
            " CREATE EXTENSION citus as its superuser, or go on without --distribute (docs/scale.md)"
        )
    done = {row["name"] for row in await tx.fetch(DISTRIBUTED)}
    statements = [statement(one) for one in DISTRIBUTIONS if one.table not in done]
    for one in statements:
        await tx.execute(one)
    return statements
