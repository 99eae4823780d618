"""Whether the service can do its work: the database answers, and has the schema this code needs."""

from functools import cache

from app.diagnostics.schemas import ReadyOut
from app.kit.db import Database
from app.kit.errors import Unavailable
from app.kit.migrate import current_revision, head_revision


async def readiness(database: Database, name: str) -> ReadyOut:
    """Raises Unavailable when the schema is not the one this code needs; the database's own errors pass."""
    async with database.connection() as connection:
        revision = await current_revision(connection)
    if revision != _needed():
        raise Unavailable(f"the database is at migration {revision}, {_needed()} is needed: run 'daybook migrate'")
    return ReadyOut(status="ready", database=name, migration=revision)


@cache
def _needed() -> str:
    return head_revision()
