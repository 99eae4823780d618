"""The database's schema, brought up to date by Alembic (migrations/)."""

import asyncio
from pathlib import Path

import asyncpg
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy.exc import SQLAlchemyError

from app.kit.db import Row, Tx, plain_dsn
from app.kit.errors import StartError

SCRIPTS = Path(__file__).parents[2] / "migrations"

CURRENT_REVISION = "/* current_revision */ SELECT version_num FROM alembic_version"


def alembic_config(url: str) -> Config:
    """Alembic's configuration for a database. SQLAlchemy names its asyncpg driver in the DSN's scheme."""
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    _, _, address = plain_dsn(url).partition("://")
    config.attributes["url"] = f"postgresql+asyncpg://{address}"
    return config


async def upgrade(url: str) -> None:
    """Run what is missing of the migrations; any number of processes may call this at once. Raises StartError."""
    try:
        await asyncio.to_thread(command.upgrade, alembic_config(url), "head")
    except (SQLAlchemyError, asyncpg.PostgresError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise StartError(f"the migrations did not run: {reason}") from error


def head_revision() -> str:
    """The revision this code needs."""
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    return ScriptDirectory.from_config(config).get_current_head() or ""


async def current_revision(connection: Tx) -> str | None:
    """The revision the database has, None before the first migration."""
    try:
        row: Row | None = await connection.fetchrow(CURRENT_REVISION)
    except asyncpg.UndefinedTableError:
        return None
    return None if row is None else row["version_num"]
