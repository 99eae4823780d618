"""The statements that erase a message's own content: what stays is a tombstone, with its seq and its id.

A branch holds copies of its parent's messages. A copy is known by id, seq and the time it was stored, so that a key
which was used anew, or a branch made before the message came, has none.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.kit.db import Row, Tx
from app.sessions.errors import MessageNotFound, SessionNotFound
from app.sessions.model import Kind
from app.sessions.sharing import hold_related
from app.sessions.store import session_id

LOCK = "/* lock_to_erase */ SELECT id, tenant, key FROM sessions WHERE id = $1 FOR UPDATE"

MESSAGE = """/* message_to_erase */
SELECT s.id AS session_id, s.key, s.memory_id, s.observed_seq, s.tail_from_seq, m.seq, m.kind, m.tokens, m.observe,
       m.ingested_at, m.erased_at IS NOT NULL AS erased
FROM sessions s JOIN messages m ON m.session_id = s.id WHERE s.id = $1 AND m.id = $2
"""

BRANCHES = """/* branches_to_erase */
SELECT s.id, s.key FROM sessions s
JOIN messages m ON m.session_id = s.id AND m.seq = $3 AND m.id = $4 AND m.ingested_at = $5
WHERE s.tenant = $1 AND s.branched_from = ANY($2::text[]) AND s.id <> ALL($6::uuid[]) ORDER BY s.id FOR UPDATE OF s
"""

# What is in a tail counts for its budget, and what lies before it no longer: there the sums stay as they are, however
# long the log is.
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
    """A message in one of the sessions that hold it, which is locked. ``erased``: its content is gone already."""

    session_id: UUID
    key: str
    memory_id: UUID
    seq: int
    kind: Kind
    tokens: int
    observe: bool
    ingested_at: datetime
    erased: bool
    observed_seq: int
    tail_from_seq: int


class ErasingLog:
    @staticmethod
    async def copies(tx: Tx, tenant: str, key: str, message_id: str) -> list[Copy]:
        """The message in its session, and in the branches of it and of those. All are locked.

        Raises SessionNotFound, MessageNotFound.
        """
        await hold_related(tx, session_id(tenant, key))
        root = await tx.fetchrow(LOCK, session_id(tenant, key))
        if root is None:
            raise SessionNotFound(f"session '{key}' was never seen")
        found = await tx.fetchrow(MESSAGE, root["id"], message_id)
        if found is None:
            raise MessageNotFound(f"session '{key}' has no message '{message_id}'")
        copies, keys = [_copy_of(found)], [key]
        while keys:
            identity = (found["seq"], message_id, found["ingested_at"])
            known = [copy.session_id for copy in copies]  # a key used anew may be the branch of its own branch
            branches = await tx.fetch(BRANCHES, tenant, keys, *identity, known)
            copies += [_copy_of(await tx.fetchrow(MESSAGE, branch["id"], message_id)) for branch in branches]
            keys = [branch["key"] for branch in branches]
        return copies

    @staticmethod
    async def entomb(tx: Tx, copy: Copy) -> None:
        """Empty the message. The running sums of a tail move with it."""
        counted = copy.seq >= copy.tail_from_seq and copy.kind is not Kind.SUMMARY and not copy.erased
        await tx.execute(TOMBSTONE, copy.session_id, copy.seq, copy.tokens if counted else 0)


def _copy_of(row: Row) -> Copy:
    return Copy(**{**row, "kind": Kind(row["kind"])})
