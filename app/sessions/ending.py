"""A session is ended by its caller, and goes on with the next message that is appended to it (api.md, Sessions)."""

from app.kit.db import Database
from app.sessions.errors import SessionNotFound
from app.sessions.store import SessionRecord, session_id, session_of

END = """/* end_session */
UPDATE sessions SET ended_at = coalesce(ended_at, now()) WHERE id = $1 RETURNING *
"""


class Ending:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def end(self, tenant: str, key: str) -> SessionRecord:
        """Note that it ended; one that has ended already keeps its time. Raises SessionNotFound."""
        async with self._database.connection() as connection:
            row = await connection.fetchrow(END, session_id(tenant, key))
        if row is None:
            raise SessionNotFound(f"session '{key}' was never seen")
        return session_of(row)
