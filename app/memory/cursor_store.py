"""The statements of ``cursor.py``: read the messages around one, and move the cursor, the tail and the anchor date."""

from uuid import UUID

from app.kit.db import Tx
from app.sessions.message_store import message_of
from app.sessions.model import Message
from app.sessions.sharing_store import waiting

LOOK_BACK = 200  # messages searched for the start of a group, or for the newest time

# The parts of a message that is neither a call nor a result tell nothing of a group.
AROUND = """/* around */
SELECT seq, id, kind, role, name, tokens, created_at, metadata, observe, trust, content_hash, up_to_seq, erased_at,
       CASE WHEN kind IN ('tool_call', 'tool_result') THEN parts ELSE '[]' END AS parts
FROM messages WHERE session_id = $1 AND seq BETWEEN $2::bigint - $3 AND $2::bigint + $3 ORDER BY seq
"""

# A message that has left the tail does not come back to it, whatever keep_last is now. The anchor is the later of now
# and the newest time in the tail, which is not always that of its last message: another may come from a clock that is
# ahead.
ADVANCE_CURSOR = f"""/* advance_cursor */
UPDATE sessions SET observed_seq = $2, buffered_seq = greatest(buffered_seq, $2),
  tail_from_seq = greatest(tail_from_seq, $3), anchor_date = (greatest(now(), (
    SELECT max(created_at) FROM messages
    WHERE session_id = $1 AND seq >= greatest(tail_from_seq, $3, next_seq - {LOOK_BACK}))) AT TIME ZONE $4)::date,
  activated_seq = next_seq - 1,
  waiting = {waiting(observed_seq="$2::bigint")}
WHERE id = $1 RETURNING tail_from_seq
"""  # noqa: S608 - our own statement


async def around(tx: Tx, session_id: UUID, seq: int) -> list[Message]:
    """The messages from LOOK_BACK before ``seq`` to as many after it; only calls and results have their parts."""
    return [message_of(row) for row in await tx.fetch(AROUND, session_id, seq, LOOK_BACK)]


async def advance_cursor(tx: Tx, session_id: UUID, *, observed_seq: int, tail_from_seq: int, timezone: str) -> int:
    """Answers where the tail starts now: never earlier than before. The anchor date is today in ``timezone``."""
    moved: int = await tx.fetchval(ADVANCE_CURSOR, session_id, observed_seq, tail_from_seq, timezone)
    return moved
