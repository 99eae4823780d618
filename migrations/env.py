"""Alembic's environment: our SQLModel metadata, and the DSN the caller puts into the config (app/kit/migrate.py)."""

import asyncio
import time
from functools import partial

import asyncpg
from alembic import context
from sqlalchemy import Connection, inspect, pool
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlmodel import SQLModel

import app.artifacts.tables
import app.facts.tables
import app.keys.tables
import app.memory.tables
import app.recall.tables
import app.sessions.tables
import app.state.tables  # noqa: F401 - fills the metadata

LOCK = 7_235_011  # any number of processes may start at once: one migrates, the others wait
DEADLOCK, NOT_FREE = "40P01", "55P03"  # SQLSTATEs
LOCK_SECONDS = 1.5  # of a wait for tables, behind which the service waits, and of the pause after it (securing.py)


def run(connection: Connection, *, alone: bool) -> None:
    """``alone``: with all tables from the start. Raises DBAPIError."""
    context.configure(connection=connection, target_metadata=SQLModel.metadata, compare_server_default=False)
    with context.begin_transaction():
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOCK})")
        if alone:
            hold_every_table(connection)
        context.run_migrations()


def hold_every_table(connection: Connection) -> None:
    """Take all there are of ours, or none for as long as one is in use."""
    tables = ", ".join(sorted(SQLModel.metadata.tables.keys() & inspect(connection).get_table_names()))
    while tables:
        try:
            with connection.begin_nested():
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
                connection.exec_driver_sql(f"LOCK TABLE {tables}")
                connection.exec_driver_sql("SET LOCAL lock_timeout = DEFAULT")
                return
        except DBAPIError as error:
            if sqlstate(error) not in {DEADLOCK, NOT_FREE}:
                raise
        time.sleep(LOCK_SECONDS)


def sqlstate(error: DBAPIError) -> str | None:
    return getattr(error.orig, "sqlstate", None)


async def run_online() -> None:
    # No statement has a name on the server, where a pooler may have given another client the same one. And asyncpg
    # itself reads the DSN, as for the service: SQLAlchemy knows nothing of ``sslmode`` or ``options`` in one.
    arguments = {
        "statement_cache_size": 0,
        "prepared_statement_name_func": str,
        "async_creator_fn": partial(asyncpg.connect, context.config.attributes["dsn"]),
    }
    engine = create_async_engine("postgresql+asyncpg://", poolclass=pool.NullPool, connect_args=arguments)
    for alone in (False, True):
        try:
            async with engine.connect() as connection:
                await connection.run_sync(partial(run, alone=alone))
                await connection.commit()
            break
        except DBAPIError as error:
            # Requests of a running service wait for one table and hold another. Postgres ends who waits last.
            if alone or sqlstate(error) != DEADLOCK:
                raise
    await engine.dispose()


asyncio.run(run_online())
