"""A session is ended by its caller, or by a long silence, and goes on with its next message.

The end makes the session's memory due, which takes facts from what was said (api.md, Sessions; docs/facts.md).
"""

from dataclasses import dataclass
from uuid import UUID

import structlog

from app.kit.db import AWAY, Database, Row
from app.kit.repeating import Repeated
from app.sessions.errors import SessionNotFound
from app.sessions.model import MemoryPort
from app.sessions.store import SILENT_SINCE, SessionRecord, session_id, session_of
from app.sessions.waking import woken

FIRST = UUID(int=0)

log = structlog.get_logger("daybook.background")

# One that has ended keeps its time. ``$2``: only if nothing was said for so many seconds.
END = f"""/* end_session */
WITH ended AS (
  UPDATE sessions SET ended_at = coalesce(ended_at, now()), waiting = waiting OR memory_id <> id
  WHERE id = $1 AND ($2::float8 IS NULL OR {SILENT_SINCE} < now() - make_interval(secs => $2)) RETURNING *
), look AS (
  UPDATE memories m SET {woken()}
  FROM ended WHERE m.id = ended.memory_id AND ended.resource_id IS NOT NULL AND ended.facts_seq < ended.next_seq - 1
)
SELECT * FROM ended
"""  # noqa: S608 - our own text

# In the order of ids, a few at a time: an index on when sessions were last active would be written at every append.
IDLE = f"""/* idle_sessions */
SELECT CASE WHEN count(*) = $2 THEN (array_agg(id ORDER BY id DESC))[1] END AS last,
       array_agg(id) FILTER (WHERE ended_at IS NULL AND next_seq > 1
                               AND silent_since < now() - make_interval(secs => $3)) AS idle
FROM (SELECT id, ended_at, next_seq, {SILENT_SINCE} AS silent_since FROM sessions
      WHERE id > $1 ORDER BY id LIMIT $2) AS looked
"""  # noqa: S608 - our own text


@dataclass(frozen=True, slots=True, kw_only=True)
class EndingConfig:
    """``ended_after``: seconds without a message that end a session; 0: never.

    Every ``look_seconds`` the next ``look_sessions`` of all sessions are looked at.
    """

    ended_after: float = 86_400.0
    look_seconds: float = 5.0
    look_sessions: int = 500


class Ending:
    def __init__(self, *, database: Database, memory: MemoryPort, config: EndingConfig) -> None:
        self._database = database
        self._memory = memory
        self._config = config
        self._looked = FIRST
        self._repeated = Repeated(self.look, seconds=config.look_seconds, name="daybook-ending")

    def start(self) -> None:
        if self._config.ended_after:
            self._repeated.start()

    async def stop(self) -> None:
        await self._repeated.stop()

    async def end(self, tenant: str, key: str) -> SessionRecord:
        """Note that it ended. Raises SessionNotFound."""
        row = await self._end(session_id(tenant, key))
        if row is None:
            raise SessionNotFound(key)
        return session_of(row)

    async def look(self) -> int:
        """End what was idle for too long among the next few sessions. Answers how many those were."""
        async with self._database.connection() as connection:
            looking = (self._looked, self._config.look_sessions, self._config.ended_after)
            row = await connection.fetchrow(IDLE, *looking)
        self._looked = row["last"] or FIRST
        idle: list[UUID] = row["idle"] or []
        for session in idle:
            try:
                await self._end(session, idle_seconds=self._config.ended_after)
            except AWAY as error:  # as where somebody holds it: one that fails keeps back no other, and is found again
                log.warning("session_not_ended", session=str(session), error=type(error).__name__)
        return len(idle)

    async def _end(self, session: UUID, *, idle_seconds: float | None = None) -> Row | None:
        async with self._database.connection(of=session) as connection:
            row = await connection.fetchrow(END, session, idle_seconds)
        if row is not None:
            self._memory.wake(row["memory_id"])
        return row
