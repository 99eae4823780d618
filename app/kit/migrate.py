"""Brings the database's schema up to date with Alembic (migrations/).

Alembic and SQLAlchemy take half a second to import, so they are imported only when there is something to migrate.
"""

import asyncio
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import asyncpg
import structlog

from app.kit.db import Row, Tx, connected, plain_dsn
from app.kit.errors import StartError, first_line

if TYPE_CHECKING:
    from alembic.config import Config

log = structlog.get_logger("daybook.migrate")

MIGRATE = "run 'daybook migrate'"
SCRIPTS = Path(__file__).parents[2] / "migrations"

CURRENT_REVISION = "/* current_revision */ SELECT version_num FROM alembic_version"


def alembic_config(url: str) -> "Config":
    """Alembic's configuration for a database."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.attributes["dsn"] = plain_dsn(url)
    return config


async def upgrade(url: str) -> None:
    """Run the missing migrations; any number of processes may call this at once. Raises StartError.

    A database that a newer version has migrated is left as it is (docs/decisions/0051).
    """
    try:
        async with connected(url) as connection:
            revision = await current_revision(connection)
        if is_newer(revision):
            warn_newer(revision)
        elif revision != head_revision():
            await asyncio.to_thread(_upgrade, url)
    except (asyncpg.PostgresError, OSError) as error:
        raise StartError(f"the migrations did not run: {first_line(error)}") from error


def _upgrade(url: str) -> None:
    from alembic import command
    from alembic.util import CommandError
    from sqlalchemy.exc import SQLAlchemyError

    try:
        command.upgrade(alembic_config(url), "head")
    except (SQLAlchemyError, CommandError) as error:
        raise StartError(f"the migrations did not run: {first_line(error)}") from error


@cache
def head_revision() -> str:
    """The revision this code needs: the number of the last script."""
    return max(script.name.partition("_")[0] for script in (SCRIPTS / "versions").glob("[0-9]*.py"))


def is_newer(revision: str | None) -> bool:
    """Whether a newer version of the service has migrated the database, beyond the last script of this code."""
    return revision is not None and revision.isdecimal() and int(revision) > int(head_revision())


def lacking(revision: str | None) -> str | None:
    """Why this code cannot use a database of this revision, and what to do; None if it can."""
    if revision == head_revision() or is_newer(revision):
        return None
    found = "has no tables of Daybook" if revision is None else f"is at migration {revision}"
    return f"the database {found}, {head_revision()} is needed: {MIGRATE}"


@cache
def warn_newer(revision: str | None) -> None:
    """Log that the database is newer than this code, once in a process."""
    log.warning("database_newer", migration=revision, known=head_revision())


async def current_revision(connection: Tx) -> str | None:
    """The revision of the database, None before the first migration."""
    try:
        row: Row | None = await connection.fetchrow(CURRENT_REVISION)
    except asyncpg.UndefinedTableError:
        return None
    return None if row is None else row["version_num"]
