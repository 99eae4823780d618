"""Row-level security: ``daybook migrate --row-level-security ROLE`` (docs/security.md, docs/decisions/0033).

Postgres then shows a role that does not own the tables only the rows of the tenant that the transaction names
(``app/kit/db.py``), whatever a statement forgets to ask. The service's own work names every tenant.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

import asyncpg

from app.kit.db import EVERY_TENANT, TENANT_SETTING, DatabaseConfig, Tx, connected
from app.kit.errors import StartError, first_line
from app.recall.preparing import GUARDED_FUNCTION, GUARDED_SIGNATURE

# To change its policies locks a table, on which the service may be at work. Each table has a transaction of its own:
# who holds a lock and waits for no other is in no deadlock. While a lock is waited for, everybody else waits behind it:
# so the wait is short, and as long a pause follows before the next try. It is longer than ``deadlock_timeout``, 1 s,
# after which Postgres ends an autovacuum that stands in the way.
LOCK_SECONDS: Final = 1.5
ONE_AT_A_TIME: Final = (
    "SELECT pg_advisory_xact_lock(7235013)"  # of two GRANTs at once one fails, at a row of a catalogue
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

# By which column a row belongs to a tenant, and the table that knows its tenant, which is read by a view: that has the
# rights of its owner. The memory comes first: a row with both columns may have no session, and would be everybody's.
OWNERS = {"memory_id": "memories", "session_id": "sessions"}


async def secure(config: DatabaseConfig, role: str) -> list[str]:
    """Make the policies anew, table by table, and let ``role`` use the tables. Answers the statements.

    Raises StartError if there is no such role, if the user of the database lacks a right, or if a table is never free.
    What was done before stays, and a table keeps its policies until it has new ones.
    """
    try:
        async with connected(config.url) as connection:
            steps = await _steps(connection, role)
            for step in steps:
                await _patiently(connection, step)
    except (OSError, asyncpg.PostgresError) as error:
        raise StartError(f"cannot use the database of DAYBOOK_DATABASE_URL: {error}") from error
    return [statement for step in steps for statement in step]


async def _steps(connection: Tx, role: str) -> list[Sequence[str]]:
    """The statements, by what is done at once. The role gets its rights once each table has its policies."""
    try:
        names = "SELECT quote_ident($1)::regrole::text, quote_ident(current_schema())"
        quoted, schema = await connection.fetchrow(names, role)
    except asyncpg.PostgresError as error:
        raise StartError(f"the tables are as they were: {first_line(error)}") from error
    tables = await connection.fetch(TABLES, KEPT_OUT)
    return [
        *((_view(owner),) for owner in OWNERS.values()),
        (GUARDED_FUNCTION.format(schema=schema), f"REVOKE ALL ON FUNCTION {GUARDED_SIGNATURE} FROM PUBLIC"),
        *(_policies(row["name"], row["columns"]) for row in tables),
        _grants(quoted, schema),
    ]


async def _patiently(connection: Tx, statements: Sequence[str]) -> None:
    """Execute the statements at once, again and again while a table is locked. Raises StartError."""
    for left in reversed(range(TRIES_MAX)):
        try:
            await _at_once(connection, statements)
        except asyncpg.PostgresError as error:
            if not (left and isinstance(error, asyncpg.LockNotAvailableError)):
                raise StartError(f"not done, nor what comes after it: {statements[0]}: {first_line(error)}") from error
        else:
            return
        await asyncio.sleep(LOCK_SECONDS)


async def _at_once(connection: Tx, statements: Sequence[str]) -> None:
    """In one transaction. Raises LockNotAvailableError where a table is locked for longer than it waits."""
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
    """Whether a row is the named tenant's, as a test for NULL.

    Nearly every row that is looked at is. Postgres expects so of such a test; of a comparison it would expect one row
    in two hundred, and sort a session rather than read it from its end (docs/decisions/0044).
    """
    return f"CASE WHEN {_owner(table, columns)} = {NAMED} THEN true END IS NOT NULL"


def _owner(table: str, columns: Sequence[str]) -> str:
    """Whose a row is: the named tenant's too if it comes in the same statement as its session, which it cannot see."""
    if "tenant" in columns:
        return "tenant"
    column = next(column for column in OWNERS if column in columns)
    found = f"SELECT tenant FROM {OWNERS[column]}_tenants AS owner WHERE owner.id = {table}.{column}"  # noqa: S608 - our own names
    return f"coalesce(({found}), {NAMED})"


def _grants(role: str, schema: str) -> tuple[str, ...]:
    """Rights are given on views as on tables, but what is written into one its owner writes: they are for reading."""
    views = ", ".join(f"{owner}_tenants" for owner in OWNERS.values())
    return (
        f"GRANT USAGE ON SCHEMA {schema} TO {role}",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}",
        f"REVOKE INSERT, UPDATE, DELETE ON {views} FROM {role}",
        f"GRANT USAGE, UPDATE, SELECT ON ALL SEQUENCES IN SCHEMA {schema} TO {role}",
        f"GRANT EXECUTE ON FUNCTION {GUARDED_SIGNATURE} TO {role}",
    )
