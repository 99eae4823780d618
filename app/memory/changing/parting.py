"""What the memory keeps of sessions that are deleted; where others share it, what is theirs stays (docs/sharing.md).

Where a session is deleted whose memory others share, every note that tells of it or was written with such a one in view
is emptied, as for one message (erasing.py): the others' messages among them are observed again.
"""

from uuid import UUID

from app.kit.db import Tx
from app.memory.changing.erasing import Mending, untold_since
from app.memory.changing.erasing_store import ErasingStore
from app.memory.records import FORGOTTEN
from app.memory.store import MemoryStore
from app.sessions.model import Gone

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

# Of one session of a shared memory: where its notes begin in the log, since when it speaks, and what of it is pending.
OF_SESSION = """/* of_session */
SELECT (SELECT min(ordinal) FROM observations
        WHERE memory_id = s.memory_id AND session_id = s.id AND erased_at IS NULL) AS place,
       coalesce((SELECT min(ingested_at) FROM messages WHERE session_id = s.id), now()) AS since,
       (SELECT coalesce(sum(m.tokens), 0) FROM messages m
        WHERE m.session_id = s.id AND m.seq > s.observed_seq AND m.observe AND NOT EXISTS (
          SELECT FROM observations o WHERE o.memory_id = s.memory_id AND o.session_id = s.id
            AND o.status = 'retired' AND o.retired_by = 'deleted' AND m.seq BETWEEN o.from_seq AND o.to_seq)) AS tokens
FROM sessions s WHERE s.id = $1
"""

# The key may be used anew, by another session of the same id.
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


class Parting:
    """Implements the sessions' ``Keeper``."""

    def __init__(self, *, store: MemoryStore, erasing: ErasingStore) -> None:
        self._store = store
        self._erasing = erasing
        self._mending = Mending(store=store, erasing=erasing)

    async def forget(self, tx: Tx, gone: Gone) -> dict[str, int]:
        """Delete memories with their sessions, and of one that others share what is of its session.

        What the tenant spent stays, for its caps hold on.
        """
        rows = dict(await tx.fetchrow(FORGET_MEMORIES, gone.memories))
        if gone.shared_memory is not None:
            rows |= await self._part(tx, gone.sessions[0])
        return rows

    async def _part(self, tx: Tx, session: UUID) -> dict[str, int]:
        """Answers how many rows were emptied or deleted."""
        locked = await self._store.lock(tx, session)
        if locked is None:
            raise AssertionError  # its row is locked
        own = await tx.fetchrow(OF_SESSION, session)
        edits = await self._erasing.edits(tx, locked.memory_id)
        blanked = await self._erasing.blank(tx, locked.memory_id, place=own["place"])
        outputs = await self._erasing.forget_outputs(tx, locked.memory_id, since=own["since"])
        others = untold_since(locked, blanked)
        others.pop(session, None)
        told = FORGOTTEN if blanked.live else None
        await self._mending.mend(tx, locked, since=others, edits=edits, told=told, left_tokens=own["tokens"])
        await tx.execute(PART, locked.memory_id, session)
        return blanked.rows | {"runs": outputs}
