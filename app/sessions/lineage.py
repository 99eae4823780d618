"""Which sessions descend from which, and the order in which several are locked.

A branch that outlives its parent becomes a branch of that one's parent, so that an erasure further up still finds it.
Whoever erases or deletes locks a session with all its descendants. Several sessions are always locked in the order of
their ids: a branch may come before its parent in it, and both may belong to a resource that is being deleted
(docs/decisions/0050).
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from uuid import UUID

from app.kit.db import Tx
from app.sessions.errors import SessionMoved
from app.sessions.model import Gone

# As SQL: the sessions ``$1`` and all branches that descend from them. A key used anew may be the branch of its own
# branch.
FAMILY = """WITH RECURSIVE family AS (
  SELECT id, tenant, key FROM sessions WHERE id = ANY($1::uuid[])
  UNION
  SELECT s.id, s.tenant, s.key FROM family f JOIN sessions s ON s.tenant = f.tenant AND s.branched_from = f.key
)"""

MEMBERS = f"/* family */ {FAMILY} SELECT id FROM family"  # noqa: S608 - our own text

HOLD = "/* hold_sessions */ SELECT id FROM sessions WHERE id = ANY($1::uuid[]) ORDER BY id FOR UPDATE"
HOLD_FREE = "/* hold_free */ SELECT id FROM sessions WHERE id = ANY($1::uuid[]) FOR UPDATE SKIP LOCKED"

LOOKS_MAX = 10  # of which each found one that came and is held by others; then the answer is 503

BRANCHED = """/* branched */
SELECT key, branched_from, branched_at_seq, created_at FROM sessions
WHERE id = ANY($1::uuid[]) AND branched_from IS NOT NULL
"""

# A branch that is older than the session with its parent's key belongs to a former session of that key.
ADOPT = """/* adopt_branches */
UPDATE sessions s SET branched_from = gone.branched_from, branched_at_seq = least(s.branched_at_seq, gone.at_seq)
FROM unnest($2::text[], $3::text[], $4::bigint[], $5::timestamptz[]) AS gone (key, branched_from, at_seq, created_at)
WHERE s.tenant = $1 AND s.branched_from = gone.key AND s.created_at >= gone.created_at
"""


class _Grown(Exception):
    """There are more sessions than are locked, and others hold them."""


async def family(tx: Tx, sessions: Sequence[UUID]) -> set[UUID]:
    """These sessions and all branches that descend from them."""
    return {row["id"] for row in await tx.fetch(MEMBERS, sessions)}


async def hold(tx: Tx, find: Callable[[], Awaitable[set[UUID]]]) -> set[UUID]:
    """Lock the sessions that ``find`` finds, in the order of their ids. Answers those that exist.

    A branch may be made between the look and the locks, or a session replaced by another of its key. So ``find`` is
    asked again under the locks, until there are no more. Those that are free then are locked out of order. To wait for
    one that is not could deadlock: all locks are released, by rolling back to a savepoint, and taken anew with it.
    Raises SessionMoved after LOOKS_MAX such rounds.
    """
    found = await find()
    for _ in range(LOOKS_MAX):
        with suppress(_Grown):
            async with tx.transaction():
                held = await _held(tx, HOLD, found)
                while more := await find() - held:  # also after the last locks: what led to these may have changed
                    found |= more
                    free = await _held(tx, HOLD_FREE, more)
                    if free != more:
                        raise _Grown  # it ends the savepoint
                    held |= free
                return held
    raise SessionMoved("too many branches of the session are being created at this moment")


async def _held(tx: Tx, statement: str, sessions: set[UUID]) -> set[UUID]:
    return {row["id"] for row in await tx.fetch(statement, list(sessions))}


async def adopt(tx: Tx, gone: Gone) -> None:
    """Give the branches of sessions that are being deleted to the sessions that these were branches of."""
    rows = await tx.fetch(BRANCHED, gone.sessions)
    if rows:
        await tx.execute(ADOPT, gone.tenant, *zip(*(row.values() for row in rows), strict=True))
