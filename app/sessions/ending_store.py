"""The SQL that ends sessions."""

from uuid import UUID

from app.kit.db import Row, Tx
from app.sessions.store import SILENT_SINCE
from app.sessions.waking import woken

# A session that has ended keeps ``ended_at``. ``$2``: only if it was silent for so many seconds.
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

# Scans a few sessions at a time by id, as an index on ``last_active_at`` would be written at every append.
IDLE = f"""/* idle_sessions */
SELECT CASE WHEN count(*) = $2 THEN (array_agg(id ORDER BY id DESC))[1] END AS last,
       array_agg(id) FILTER (WHERE ended_at IS NULL AND next_seq > 1
                               AND silent_since < now() - make_interval(secs => $3)) AS idle
FROM (SELECT id, ended_at, next_seq, {SILENT_SINCE} AS silent_since FROM sessions
      WHERE id > $1 ORDER BY id LIMIT $2) AS looked
"""  # noqa: S608 - our own text


async def end(tx: Tx, session: UUID, *, idle_seconds: float | None) -> Row | None:
    """End the session. Answers its row; None if there is none, or it was not idle for so long."""
    return await tx.fetchrow(END, session, idle_seconds)


async def idle(tx: Tx, after: UUID, limit: int, *, seconds: float) -> tuple[UUID | None, list[UUID]]:
    """The idle ones among the next ``limit`` sessions by id; before them the id to go on after, None at the end."""
    row = await tx.fetchrow(IDLE, after, limit, seconds)
    return row["last"], row["idle"] or []
