"""The statements that erase a message's content, and leave a tombstone with its seq and its id.

A branch holds copies of its parent's messages, up to the one at which it began. A copy is recognised by id, seq and the
time at which it was stored too, as a session whose key was used again may pass for the parent.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.kit.db import Tx
from app.sessions.errors import MessageNotFound, SessionNotFound
from app.sessions.model import Kind
from app.sessions.sharing_store import hold_related
from app.sessions.store import session_id

COPIES = """/* copies_to_erase */
WITH RECURSIVE held AS (
  SELECT s.id, s.tenant, s.key, m.seq, m.ingested_at
  FROM sessions s JOIN messages m ON m.session_id = s.id AND m.id = $2 WHERE s.id = $1
  UNION
  SELECT s.id, s.tenant, s.key, h.seq, h.ingested_at FROM held h
  JOIN sessions s ON s.tenant = h.tenant AND s.branched_from = h.key AND s.branched_at_seq >= h.seq
)
SELECT s.id AS session_id, s.key, s.created_at, s.memory_id, s.observed_seq, s.tail_from_seq,
       s.next_seq - 1 AS last_seq, m.seq, m.kind, m.tokens, m.observe, m.ingested_at, m.erased_at IS NOT NULL AS erased,
       CASE WHEN m.seq <= s.expired_seq THEN m.erased_at END AS removed_at
FROM held h JOIN sessions s ON s.id = h.id
JOIN messages m ON m.session_id = h.id AND m.id = $2 AND m.seq = h.seq AND m.ingested_at = h.ingested_at
"""

SUMMED_MAX = 10_000  # messages after an erased one whose running sums are changed, within a quarter of a second

# Running sums are needed only within the tail, for its budget. An erasure before the tail, or far behind the end of a
# long one ($3 is 0), changes none, so that its cost does not grow with the log: the tombstone keeps its tokens.
TOMBSTONE = """/* tombstone */
WITH total AS (
  UPDATE sessions SET total_tokens = total_tokens - $3 WHERE id = $1 AND $3 <> 0
), later AS (
  UPDATE messages SET tokens_before = tokens_before - $3 WHERE session_id = $1 AND seq > $2 AND $3 <> 0
)
UPDATE messages SET parts = '[]', name = NULL, metadata = NULL, content_hash = '', tokens = tokens - $3,
  observe = false, erased_at = coalesce(erased_at, now())
WHERE session_id = $1 AND seq = $2
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A message in one of the sessions that hold it, which is locked. ``erased``: its content is gone already.

    ``created_at`` is the session's. ``removed_at``: when a retention rule took the content.
    """

    session_id: UUID
    key: str
    created_at: datetime
    memory_id: UUID
    seq: int
    kind: Kind
    tokens: int
    observe: bool
    ingested_at: datetime
    erased: bool
    removed_at: datetime | None
    observed_seq: int
    tail_from_seq: int
    last_seq: int


async def copies(tx: Tx, tenant: str, key: str, message_id: str) -> list[Copy]:
    """The message in its session, then in all branches that descend from it. All these sessions are locked.

    Raises SessionNotFound, MessageNotFound.
    """
    session = session_id(tenant, key)
    if await hold_related(tx, session) is None:
        raise SessionNotFound(key)
    rows = await tx.fetch(COPIES, session, message_id)
    if not rows:
        raise MessageNotFound.by_id(key, message_id)
    found = [Copy(**{**row, "kind": Kind(row["kind"])}) for row in rows]
    return sorted(found, key=lambda copy: (copy.session_id != session, copy.created_at))


async def entomb(tx: Tx, copy: Copy) -> None:
    """Make the message a tombstone and, if it is near the end of the tail, take its tokens from the running sums."""
    is_near = copy.seq >= max(copy.tail_from_seq, copy.last_seq - SUMMED_MAX)
    counted = is_near and copy.kind is not Kind.SUMMARY
    await tx.execute(TOMBSTONE, copy.session_id, copy.seq, copy.tokens if counted else 0)
