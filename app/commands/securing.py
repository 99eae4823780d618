"""Row-level security: ``daybook migrate --row-level-security ROLE`` (docs/security.md, docs/decisions/0033).

Postgres then shows a role that does not own the tables only the rows of the tenant that the transaction names
(``app/kit/db.py``), even if a statement forgets to filter by tenant. Background work names every tenant.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

import asyncpg

from app.kit.db import EVERY_TENANT, TENANT_SETTING, UNUSABLE, DatabaseConfig, Tx, connected, one_line
from app.kit.errors import StartError, first_line
from app.recall.preparing import GUARDED_FUNCTION, GUARDED_SIGNATURE

# Changing policies locks a table that the service may be using. Each table has a transaction of its own: one that holds
# a single lock cannot deadlock. All others queue behind a lock that is waited for: so the wait is short, and a pause as
# long follows before the next try. It is longer than ``deadlock_timeout``, 1 s, after which Postgres cancels an
# autovacuum that blocks it.
LOCK_SECONDS: Final = 1.5
ONE_AT_A_TIME: Final = (
    "SELECT pg_advisory_xact_lock(7235013)"  # of two concurrent GRANTs one fails, at a row of a catalogue
)
TRIES_MAX: Final = 20

KEPT_OUT = ("alembic_version",)  # it has no tenant's rows, and every process reads it

TABLES = """
SELECT t.table_name::text AS name, array_agg(c.column_name::text) AS columns
FROM information_schema.tables t JOIN information_schema.columns c USING (table_schema, table_name)
WHERE t.table_schema = current_schema() AND t.table_type = 'BASE TABLE' AND t.table_name <> ALL($1::text[])
GROUP BY t.table_name ORDER BY t.table_name
"""

NAMED = f"(SELECT current_setting('{TENANT_SETTING}', true))"

# The column by which a row belongs to a tenant, and the table with that tenant, which is read by a view, because a view
# has the rights of its owner. The memory comes first: a row with both columns may have no session, and would be visible
# to every tenant.
OWNERS = {"memory_id": "memories", "session_id": "sessions"}


async def secure(config: DatabaseConfig, role: str) -> list[str]:
    """Recreate the policies, table by table, and grant ``role`` the use of the tables. Returns the statements.

    Raises StartError if there is no such role, if the user of the database lacks a right, or if a table stays locked.
    Completed steps are kept, and a table keeps its old policies until it has new ones.
    """
    try:
        async with connected(config.url) as connection:
            steps = await _steps(connection, role)
            for step in steps:
                await _patiently(connection, step)
    except (OSError, asyncpg.PostgresError) as error:
        raise StartError(f"{UNUSABLE}: {one_line(error)}") from error
    return [statement for step in steps for statement in step]


async def _steps(connection: Tx, role: str) -> list[Sequence[str]]:
    """The statements, grouped by transaction. The role gets its rights last, when each table has its policies."""
    try:
        names = "SELECT quote_ident($1)::regrole::text, quote_ident(current_schema())"
        quoted, schema = await connection.fetchrow(names, role)
    except asyncpg.PostgresError as error:
        raise StartError(f"no table was changed: {first_line(error)}") from error
    tables = await connection.fetch(TABLES, KEPT_OUT)
    return [
        *((_view(owner),) for owner in OWNERS.values()),
        (GUARDED_FUNCTION.format(schema=schema), f"REVOKE ALL ON FUNCTION {GUARDED_SIGNATURE} FROM PUBLIC"),
        *(_policies(row["name"], row["columns"]) for row in tables),
        _grants(quoted, schema),
    ]


async def _patiently(connection: Tx, statements: Sequence[str]) -> None:
    """Execute the statements in one transaction, retrying while a table is locked. Raises StartError."""
    for left in reversed(range(TRIES_MAX)):
        try:
            await _at_once(connection, statements)
        except asyncpg.PostgresError as error:
            if not (left and isinstance(error, asyncpg.LockNotAvailableError)):
                raise StartError(
                    f"this and all later statements were not run: {statements[0]}: {first_line(error)}"
                ) from error
        else:
            return
        await asyncio.sleep(LOCK_SECONDS)


async def _at_once(connection: Tx, statements: Sequence[str]) -> None:
    """Execute the statements in one transaction. Raises LockNotAvailableError after LOCK_SECONDS of waiting."""
    async with connection.transaction():
        await connection.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
        for statement in (ONE_AT_A_TIME, *statements):
            await connection.execute(statement)


def _view(owner: str) -> str:
    return f"CREATE OR REPLACE VIEW {owner}_tenants AS SELECT id, tenant FROM {owner}"  # noqa: S608 - our own names


def _policies(table: str, columns: Sequence[str]) -> tuple[str, ...]:
    return (
        f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
        f"DROP POLICY IF EXISTS daybook_every_tenant ON {table}",
        f"CREATE POLICY daybook_every_tenant ON {table} USING ({NAMED} = '{EVERY_TENANT}')",
        f"DROP POLICY IF EXISTS daybook_one_tenant ON {table}",
        f"CREATE POLICY daybook_one_tenant ON {table} USING ({_own(table, columns)})",
    )


def _own(table: str, columns: Sequence[str]) -> str:
    """The SQL condition that a row is the named tenant's, written as a test for NULL.

    Nearly every row that is read is. Postgres estimates so for such a test; for a comparison it estimates one row in
    two hundred, and would sort a session instead of reading it from its end (docs/decisions/0044).
    """
    return f"CASE WHEN {_owner(table, columns)} = {NAMED} THEN true END IS NOT NULL"


def _owner(table: str, columns: Sequence[str]) -> str:
    """The SQL of a row's tenant: the named one if the same statement inserts its session, which it cannot see yet."""
    if "tenant" in columns:
        return "tenant"
    column = next(column for column in OWNERS if column in columns)
    found = f"SELECT tenant FROM {OWNERS[column]}_tenants AS owner WHERE owner.id = {table}.{column}"  # noqa: S608 - our own names
    return f"coalesce(({found}), {NAMED})"


def _grants(role: str, schema: str) -> tuple[str, ...]:
    """The grants. Views are for reading only, because a write through a view has the rights of its owner."""
    views = ", ".join(f"{owner}_tenants" for owner in OWNERS.values())
    return (
        f"GRANT USAGE ON SCHEMA {schema} TO {role}",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}",
        f"REVOKE INSERT, UPDATE, DELETE ON {views} FROM {role}",
        f"GRANT USAGE, UPDATE, SELECT ON ALL SEQUENCES IN SCHEMA {schema} TO {role}",
        f"GRANT EXECUTE ON FUNCTION {GUARDED_SIGNATURE} TO {role}",
    )
