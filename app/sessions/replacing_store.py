"""The SQL that replaces a message: locks its log, adjusts the pending tokens, and stores the new content."""

from dataclasses import dataclass
from uuid import UUID

from app.kit.db import Tx
from app.sessions.message_store import message_of
from app.sessions.model import Message, NewMessage
from app.sessions.waking import DUE, woken

LOCK_LOG = """/* lock_log */
SELECT id AS session_id, memory_id, ended_at IS NOT NULL AS ended FROM sessions WHERE id = $1 FOR UPDATE
"""

# ``look`` makes the memory due though no tokens were added: the pending messages may have changed.
RECOUNT = f"""/* recount */
UPDATE memories m SET pending_tokens = m.pending_tokens + $2,{woken(grown="$2", look="$3")}
WHERE id = $1 RETURNING {DUE}
"""  # noqa: S608 - our own text

REPLACE = """/* replace */
WITH total AS (
  UPDATE sessions SET total_tokens = total_tokens + $13 WHERE id = $1 AND $13 <> 0
), later AS (
  UPDATE messages SET tokens_before = tokens_before + $13 WHERE session_id = $1 AND seq > $2 AND $13 <> 0
)
UPDATE messages SET kind = $3, role = $4, name = $5, parts = $6, tokens = $7, content_hash = $8,
  created_at = coalesce($9, created_at), metadata = $10, observe = $11, trust = $12
WHERE session_id = $1 AND seq = $2 RETURNING *
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedLog:
    """A session's row, locked: nothing is appended, observed or replaced meanwhile."""

    session_id: UUID
    memory_id: UUID
    ended: bool


async def lock(tx: Tx, session: UUID) -> LockedLog | None:
    """Lock the session's row; None for a session never seen."""
    row = await tx.fetchrow(LOCK_LOG, session)
    return None if row is None else LockedLog(**row)


async def recount(tx: Tx, log: LockedLog, *, pending_tokens: int, look: bool) -> bool:
    """Add ``pending_tokens``, which may be negative, as an append would. Answers whether the memory is due now."""
    return bool(await tx.fetchval(RECOUNT, log.memory_id, pending_tokens, look))


async def replace(tx: Tx, log: LockedLog, old: Message, new: NewMessage) -> Message:
    """Replace ``old``, which is not sealed, by ``new``, and adjust the running sums after it."""
    row = await tx.fetchrow(
        REPLACE,
        log.session_id,
        old.seq,
        new.kind,
        new.role,
        new.name,
        new.parts,
        new.tokens,
        new.content_hash,
        new.created_at,
        new.metadata,
        new.observe,
        new.trust,
        new.tokens - old.tokens,
    )
    return message_of(row)
