"""The SQL of a message that is replaced: its log is locked, what is pending counted anew, the message put."""

from dataclasses import dataclass
from uuid import UUID

from app.kit.db import Tx
from app.sessions.message_store import message_of
from app.sessions.model import Message, NewMessage
from app.sessions.waking import DUE, woken

LOCK_LOG = """/* lock_log */
SELECT id AS session_id, memory_id, ended_at IS NOT NULL AS ended FROM sessions WHERE id = $1 FOR UPDATE
"""

# A look is asked for where an append would make none, as nothing grew: what waited may be no longer what it was.
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
    """None for a session never seen."""
    row = await tx.fetchrow(LOCK_LOG, session)
    return None if row is None else LockedLog(**row)


async def recount(tx: Tx, log: LockedLog, *, pending_tokens: int, look: bool) -> bool:
    """Change the pending tokens by so many, as an append would. Answers whether the memory is due now."""
    return bool(await tx.fetchval(RECOUNT, log.memory_id, pending_tokens, look))


async def replace(tx: Tx, log: LockedLog, old: Message, new: NewMessage) -> Message:
    """Put ``new`` in the place of ``old``, which is not sealed. The running sums after it move with its size."""
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
