"""The SQL that gives a session its own memory outside of a shared one: to a branch or an import (docs/sharing.md).

The shared log belongs to all of its sessions and stays with them. The session has its messages, none of which counts as
observed, and its first append wakes the new memory.
"""

from uuid import UUID

from app.kit.db import Row, Tx

# Messages that a retention rule has emptied cannot be observed any more.
BEGIN_ANEW = """/* begin_anew */
WITH session AS (
  UPDATE sessions SET memory_id = id, observed_seq = 0, buffered_seq = 0, activated_seq = 0, tail_from_seq = 1,
    summary_seq = NULL, compacted_seq = 0, waiting = false, config = config - 'scope'
  WHERE id = $1 RETURNING *
), configs AS (
  UPDATE session_configs SET version = 0, config = config - 'scope' WHERE session_id = $1
), lost AS (
  UPDATE messages SET observe = false WHERE session_id = $1 AND erased_at IS NOT NULL AND observe
), memory AS (
  INSERT INTO memories (id, tenant, pending_tokens, wake_tokens)
  SELECT id, tenant, (SELECT coalesce(sum(tokens), 0) FROM messages
                      WHERE session_id = $1 AND observe AND erased_at IS NULL), 0
  FROM session
)
SELECT * FROM session
"""


async def begin_anew(tx: Tx, session: UUID) -> Row:
    """Give the session, whose rows exist, a memory of its own. Answers its row."""
    return await tx.fetchrow(BEGIN_ANEW, session)
