"""The readiness check: the database answers, and has the schema this code needs, or a newer one."""

from app.diagnostics.operation_schemas import ReadyOut
from app.kit.db import Database
from app.kit.errors import Unavailable
from app.kit.migrate import current_revision, head_revision, is_newer, lacking, warn_newer


async def readiness(database: Database, name: str) -> ReadyOut:
    """The readiness. Raises Unavailable if the schema is older than this code needs; the database's own errors pass.

    A newer schema is ready, because an upgrade replaces one process after the other (docs/decisions/0051).
    """
    async with database.connection() as connection:
        revision = await current_revision(connection)
    if wrong := lacking(revision):
        raise Unavailable(wrong)
    if is_newer(revision):
        warn_newer(revision)
    return ReadyOut(status="ready", database=name, migration=revision, known=head_revision())
