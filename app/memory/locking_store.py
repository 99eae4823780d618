"""The statements that lock a session and its memory before a write, and compare the messages with what was read.

``fence`` is for workers, and finds nothing once the lease is lost (architecture.md 1.2); ``lock`` is for requests.
Locks are taken in the order session, memory, children.
"""

from collections.abc import Iterable, Sequence
from uuid import UUID

from app.kit.db import Tx
from app.memory.records import Fenced, Gap, Lease, Locked
from app.sessions.errors import SessionNotFound
from app.sessions.model import Message

LOCK_SESSION = """/* lock_session */
SELECT s.id AS session_id, s.memory_id, s.config, s.next_seq - 1 AS last_seq, s.observed_seq,
       greatest(s.observed_seq, s.buffered_seq) AS buffered_seq, s.tail_from_seq,
       coalesce(m.seq, 0) AS newest_seq
FROM sessions s LEFT JOIN LATERAL (
  SELECT seq FROM messages WHERE session_id = s.id AND kind <> 'summary' ORDER BY seq DESC LIMIT 1
) m ON true
WHERE s.id = $1 FOR UPDATE OF s
"""

FENCE = """/* fence */
SELECT log_version AS version, generation, usage, now() AS now FROM memories
WHERE id = $1 AND lease_epoch = $2 FOR UPDATE
"""

LOCK_MEMORY = "/* lock_memory */ SELECT log_version, rebuilding FROM memories WHERE id = $1 FOR UPDATE"

# First those behind the cursor, which become live at once; then by the time of their first message.
GAPS = """/* gaps */
SELECT s.id AS session_id, s.key AS session_key, first, last
FROM memories m CROSS JOIN jsonb_array_elements(m.rebuilding) AS gap
CROSS JOIN LATERAL (SELECT (gap->>0)::bigint AS first, (gap->>1)::bigint AS last) bounds
CROSS JOIN LATERAL (
  SELECT * FROM sessions WHERE id = CASE WHEN gap->>2 IS NULL THEN m.id ELSE (gap->>2)::uuid END LIMIT 1
) s
CROSS JOIN LATERAL (SELECT ingested_at FROM messages WHERE session_id = s.id AND seq = first LIMIT 1) f
WHERE m.id = $1 ORDER BY first > s.observed_seq, f.ingested_at, s.id, first
"""

# Compares what the observer was shown of each message: role, name and parts (the hash), time and trust.
UNCHANGED = """/* unchanged */
SELECT count(*) = cardinality($4::bigint[]) AND count(*) = count(*) FILTER (
         WHERE m.content_hash = r.content_hash AND m.created_at = r.created_at AND m.trust = r.trust)
FROM messages m LEFT JOIN unnest($4::bigint[], $5::bytea[], $6::timestamptz[], $7::text[])
  AS r (seq, content_hash, created_at, trust) ON m.seq = r.seq
WHERE m.session_id = $1 AND m.seq BETWEEN $2 AND $3 AND m.observe
"""


async def fence(tx: Tx, lease: Lease, session_id: UUID) -> Fenced | None:
    """Lock session, then memory; None when the lease was lost."""
    fenced = await fence_all(tx, lease, [session_id])
    return None if fenced is None else fenced[session_id]


async def fence_all(tx: Tx, lease: Lease, session_ids: Iterable[UUID]) -> dict[UUID, Fenced] | None:
    """Lock sessions in the order of their ids, then their memory; None when the lease was lost."""
    sessions = {found: await tx.fetchrow(LOCK_SESSION, found) for found in sorted(session_ids)}
    memory = await tx.fetchrow(FENCE, lease.memory_id, lease.epoch)
    if memory is None or None in sessions.values():
        return None
    return {
        found: Fenced(
            **memory,
            observed_seq=session["observed_seq"],
            buffered_seq=session["buffered_seq"],
            newest_seq=session["newest_seq"],
        )
        for found, session in sessions.items()
    }


async def lock(tx: Tx, session_id: UUID, key: str) -> Locked:
    """Lock session, then memory, regardless of a lease. Raises SessionNotFound, naming ``key``."""
    session = await tx.fetchrow(LOCK_SESSION, session_id)
    if session is None:
        raise SessionNotFound(key)
    memory = await tx.fetchrow(LOCK_MEMORY, session["memory_id"])
    gaps = await tx.fetch(GAPS, session["memory_id"]) if memory and memory["rebuilding"] else ()
    version = 0 if memory is None else memory["log_version"]
    return Locked(**session, version=version, rebuilding=tuple(Gap(**gap) for gap in gaps))


async def unchanged(tx: Tx, session_id: UUID, messages: Sequence[Message], *, from_seq: int, to_seq: int) -> bool:
    """Whether the observable messages in ``from_seq``..``to_seq`` still are ``messages``, unchanged."""
    shown = (
        [m.seq for m in messages],
        [m.content_hash for m in messages],
        [m.created_at for m in messages],
        [m.trust for m in messages],
    )
    return bool(await tx.fetchval(UNCHANGED, session_id, from_seq, to_seq, *shown))


async def still_said(tx: Tx, session_id: UUID, shown: Sequence[Message]) -> bool:
    """``unchanged`` from the first to the last message of ``shown``; True if there is none."""
    if not shown:
        return True
    return await unchanged(tx, session_id, shown, from_seq=shown[0].seq, to_seq=shown[-1].seq)
