"""The SQL of summary messages, and of the messages that one stands for (compacting.py)."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from app.kit.db import Tx
from app.memory.changing.summary import Summary
from app.memory.ranges import Ranges, ranges_of
from app.memory.records import Locked
from app.sessions.message_store import message_of
from app.sessions.model import Message, Role
from app.sessions.wire import content_hash

SUMMARY = """/* summary */
SELECT * FROM messages WHERE session_id = $1 AND seq = (SELECT summary_seq FROM sessions WHERE id = $1)
"""

# A summary counts neither in the running sum (tables.py) nor for the observer. Its id is no caller's choice, and the
# same when a step is repeated.
ADD_SUMMARY = """/* add_summary */
WITH session AS (
  UPDATE sessions SET next_seq = next_seq + 1, summary_seq = next_seq, compacted_seq = greatest(compacted_seq, $7)
  WHERE id = $1 RETURNING id, summary_seq, total_tokens, anchor_date
)
INSERT INTO messages (session_id, seq, id, kind, role, parts, tokens, tokens_before, content_hash, created_at, observe,
                      trust, anchor_date, up_to_seq, covers)
SELECT id, summary_seq, left(encode(sha256(convert_to(id || '/' || summary_seq, 'UTF8')), 'hex'), 32), 'summary',
       'user', $2, $3, total_tokens, $4, now(), false, 'operator', anchor_date, $5, $6
FROM session RETURNING *
"""

DERIVED = """/* derived */
SELECT id, to_seq, status = 'buffered' AS buffered, current_task, suggested_response FROM observations
WHERE memory_id = $1 AND session_id = $2 AND from_seq <= $4 AND to_seq > $3
  AND (status = 'buffered' OR retired_by = 'deleted')
ORDER BY from_seq
"""

# Up to the one that brings them to $4 bytes.
BETWEEN = """/* between */
SELECT * FROM (
  SELECT *, sum(octet_length(parts::text)) OVER (ORDER BY seq) AS bytes,
         sum(octet_length(parts::text)) OVER (ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
           AS bytes_of_former
  FROM messages WHERE session_id = $1 AND seq BETWEEN $2 AND $3 AND observe
) AS summed WHERE coalesce(bytes_of_former, 0) < $4 ORDER BY seq
"""

OBSERVABLE_TOKENS = """/* observable_tokens */
SELECT coalesce(sum(tokens), 0) FROM messages WHERE session_id = $1 AND seq BETWEEN $2 AND $3 AND observe
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSummary:
    """The summary a tail begins with. ``untold`` are the messages before its end that no note tells."""

    message: Message
    up_to_seq: int
    untold: Ranges


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """A chunk behind the cursor: one observed ahead (``buffered``), or one that was deleted before it was live."""

    id: int
    to_seq: int
    buffered: bool
    current_task: str | None
    suggested_response: str | None


async def summary(tx: Tx, session_id: UUID) -> StoredSummary | None:
    """The summary that the tail begins with, if any."""
    row = await tx.fetchrow(SUMMARY, session_id)
    if row is None:
        return None
    return StoredSummary(message=message_of(row), up_to_seq=row["up_to_seq"], untold=ranges_of(row["covers"]))


async def add_summary(tx: Tx, session_id: UUID, new: Summary) -> Message:
    """Store it as the next message, and begin the tail with it."""
    hashed = content_hash(Role.USER, None, new.parts)
    told = new.up_to_seq if new.tells else 0
    columns = (new.parts, new.tokens, hashed, new.up_to_seq, new.covers, told)
    return message_of(await tx.fetchrow(ADD_SUMMARY, session_id, *columns))


async def derived(tx: Tx, locked: Locked, *, up_to_seq: int) -> list[Derived]:
    """The chunks that begin behind the cursor and not after ``up_to_seq``, oldest first."""
    rows = await tx.fetch(DERIVED, locked.memory_id, locked.session_id, locked.observed_seq, up_to_seq)
    return [Derived(**row) for row in rows]


async def observable(
    tx: Tx, session_id: UUID, *, from_seq: int, to_seq: int, bytes_max: int
) -> Sequence[Message] | None:
    """The messages to be observed; None: they have more than ``bytes_max``."""
    rows = await tx.fetch(BETWEEN, session_id, from_seq, to_seq, bytes_max)
    if rows and rows[-1]["bytes"] > bytes_max:
        return None
    return [message_of(row) for row in rows]


async def observable_tokens(tx: Tx, session_id: UUID, *, from_seq: int, to_seq: int) -> int:
    found: int = await tx.fetchval(OBSERVABLE_TOKENS, session_id, from_seq, to_seq)
    return found
