"""The SQL that deletes what a memory keeps of deleted sessions."""

from collections.abc import Sequence
from uuid import UUID

from app.kit.db import Row, Tx

FORGET_MEMORIES = """/* forget_memories */
WITH gone AS (DELETE FROM memories WHERE id = ANY($1::uuid[]) RETURNING 1),
versions AS (DELETE FROM memory_versions WHERE memory_id = ANY($1::uuid[]) RETURNING 1),
stood AS (DELETE FROM session_cursors WHERE memory_id = ANY($1::uuid[]) RETURNING 1),
observed AS (DELETE FROM observations WHERE memory_id = ANY($1::uuid[]) RETURNING 1),
condensed AS (DELETE FROM reflections WHERE memory_id = ANY($1::uuid[]) RETURNING 1),
called AS (DELETE FROM runs WHERE memory_id = ANY($1::uuid[]) RETURNING 1),
spent AS (DELETE FROM spending WHERE memory_id = ANY($1::uuid[]) RETURNING 1)
SELECT (SELECT count(*) FROM gone) AS memories, (SELECT count(*) FROM versions) AS memory_versions,
       (SELECT count(*) FROM stood) AS session_cursors,
       (SELECT count(*) FROM observed) AS observations, (SELECT count(*) FROM condensed) AS reflections,
       (SELECT count(*) FROM called) AS runs, (SELECT count(*) FROM spent) AS spending
"""

# For one session of a shared memory: the place of its first note, the time of its first message, its pending tokens.
OF_SESSION = """/* of_session */
SELECT (SELECT min(ordinal) FROM observations
        WHERE memory_id = s.memory_id AND session_id = s.id AND erased_at IS NULL) AS place,
       coalesce((SELECT min(ingested_at) FROM messages WHERE session_id = s.id), now()) AS since,
       (SELECT coalesce(sum(m.tokens), 0) FROM messages m
        WHERE m.session_id = s.id AND m.seq > s.observed_seq AND m.observe AND NOT EXISTS (
          SELECT FROM observations o WHERE o.memory_id = s.memory_id AND o.session_id = s.id
            AND o.retired_by = 'deleted' AND m.seq BETWEEN o.from_seq AND o.to_seq)) AS tokens
FROM sessions s WHERE s.id = $1
"""

# Another session may get the key, and with it the same id.
PART = """/* part_from_memory */
WITH observed AS (
  DELETE FROM observations WHERE memory_id = $1 AND session_id = $2
), called AS (
  UPDATE runs SET session_id = NULL WHERE memory_id = $1 AND session_id = $2
), failed AS (
  UPDATE memories SET last_error = last_error - 'session'
  WHERE id = $1 AND last_error->>'session' = (SELECT key FROM sessions WHERE id = $2)
), condensed AS (
  UPDATE reflections SET covers = covers - $2::uuid::text WHERE memory_id = $1 AND covers ? $2::uuid::text
)
DELETE FROM session_cursors WHERE memory_id = $1 AND session_id = $2
"""


async def forget(tx: Tx, memories: Sequence[UUID]) -> dict[str, int]:
    """Delete whole memories; answers how many rows, by their tables."""
    return dict(await tx.fetchrow(FORGET_MEMORIES, memories))


async def of_session(tx: Tx, session: UUID) -> Row:
    return await tx.fetchrow(OF_SESSION, session)


async def part(tx: Tx, memory_id: UUID, session: UUID) -> None:
    """Delete what a shared memory has of this session alone, its name included."""
    await tx.execute(PART, memory_id, session)
