"""The SQL of the end of a session."""

from uuid import UUID

from app.kit.db import Row, Tx
from app.sessions.store import SILENT_SINCE
from app.sessions.waking import woken

# One that has ended keeps its time. ``$2``: only if nothing was said for so many seconds.
END = f"""/* end_session */
WITH ended AS (
  UPDATE sessions SET ended_at = coalesce(ended_at, now()), waiting = memory_id <> id
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


async def end(tx: Tx, session: UUID, *, idle_seconds: float | None) -> Row | None:
    """The session's row; None where there is none that was idle for so long."""
    return await tx.fetchrow(END, session, idle_seconds)


async def idle(tx: Tx, after: UUID, limit: int, *, seconds: float) -> tuple[UUID | None, list[UUID]]:
    """Those of so many sessions, by id, that were idle for so long; before them the last of all, if others follow."""
    row = await tx.fetchrow(IDLE, after, limit, seconds)
    return row["last"], row["idle"] or []
