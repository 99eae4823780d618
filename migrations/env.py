"""Alembic's environment: our SQLModel metadata, and the DSN the caller puts into the config (app/kit/migrate.py)."""

import asyncio
from functools import partial

import asyncpg
from alembic import context
from sqlalchemy import Connection, pool
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


def run(connection: Connection) -> None:
    context.configure(connection=connection, target_metadata=SQLModel.metadata, compare_server_default=False)
    with context.begin_transaction():
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOCK})")
        context.run_migrations()


async def run_online() -> None:
    # No statement has a name on the server, where a pooler may have given another client the same one. And asyncpg
    # itself reads the DSN, as for the service: SQLAlchemy knows nothing of ``sslmode`` or ``options`` in one.
    arguments = {
        "statement_cache_size": 0,
        "prepared_statement_name_func": str,
        "async_creator_fn": partial(asyncpg.connect, context.config.attributes["dsn"]),
    }
    engine = create_async_engine("postgresql+asyncpg://", poolclass=pool.NullPool, connect_args=arguments)
    async with engine.connect() as connection:
        await connection.run_sync(run)
        await connection.commit()
    await engine.dispose()


asyncio.run(run_online())
