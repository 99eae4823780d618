"""The SQL of sessions that share the memory of their resource: how one joins or leaves it, and the config of all.

A config that ``PUT /sessions/{key}`` gives one of them is merged into the resource's, and every session gets a copy of
the result. So readers of a session's config need not know of sharing, and a past context has the config of then.

The resource's row is locked first, then sessions in the order of their ids, then the memory.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from app.kit.db import Row, Tx
from app.sessions.errors import SessionMoved
from app.sessions.lineage import family, hold
from app.sessions.merging import merged_config, off_of, set_of, unset_of
from app.sessions.sharing import RESOURCE, Sharer, shared_memory_id
from app.sessions.store import SessionRecord
from app.sessions.waking import ruled_anew

MOVES_MAX = 20  # of a session by others while its lock is waited for; then the answer is 503
SHARED = {"scope": RESOURCE}

_MERGED = merged_config("r", given="$3", off="$4", unset="$5")
MERGE_RULES = f"""/* merge_rules */
INSERT INTO resources AS r (tenant, id, config) VALUES ($1, $2, $3::jsonb || $4)
ON CONFLICT (tenant, id) DO UPDATE SET config = {_MERGED},
  updated_at = CASE WHEN {_MERGED} <> r.config THEN now() ELSE r.updated_at END
RETURNING config, updated_at = now() AS changed
"""  # noqa: S608 - our own text

# Locks the sessions whose config is to change, and the one that joins; others can only join once the resource's row is
# free. If the config is what it was, no session has to follow it, and no memory is passed.
LOCK_SHARING = """/* lock_sharing */
SELECT id FROM sessions WHERE memory_id = $1 AND config <> $3 OR id = $2 ORDER BY id FOR UPDATE
"""

# Locked before its sessions, as by all who change what these share.
LOCK_OWNER = "/* lock_owner */ SELECT id FROM resources WHERE tenant = $1 AND id = $2 FOR UPDATE"

SHARED_WITH = """/* shared_with */
SELECT tenant, resource_id, memory_id FROM sessions WHERE id = $1 AND memory_id <> id
"""

SHARERS = "/* sharers */ SELECT id FROM sessions WHERE memory_id = $1"

# Refused if the session no longer has the memory ``$7``, or if it has messages and would get another memory.
PLACE = """/* place_session */
INSERT INTO sessions AS s (id, tenant, key, resource_id, memory_id, anchor_date, waiting)
VALUES ($1, $2, $3, $4, $5, (now() AT TIME ZONE $6)::date, true)
ON CONFLICT (id) DO UPDATE SET resource_id = excluded.resource_id, memory_id = excluded.memory_id,
  waiting = s.waiting OR s.next_seq = 1
WHERE s.memory_id = $7 AND (s.next_seq = 1 OR s.memory_id = excluded.memory_id)
RETURNING (xmax = 0) AS created
"""

LOOK = f"""/* look_at_shared */
INSERT INTO memories AS m (id, tenant, scope, wake_tokens, requested, requested_at, due_at)
VALUES ($1, $2, 'resource', 0, 'look', now(), now())
ON CONFLICT (id) DO UPDATE SET {ruled_anew(off="$3::bool")}
"""  # noqa: S608 - our own text

FOLLOW = """/* follow_rules */
WITH put AS (
  UPDATE sessions SET config = $2, config_changes = config_changes + 1 WHERE id = ANY($3::uuid[]) AND config <> $2
  RETURNING id, next_seq, config, config_changes
)
INSERT INTO session_configs (session_id, number, changed_at, from_seq, version, config)
SELECT put.id, put.config_changes, clock_timestamp(), put.next_seq, m.log_version, put.config
FROM put, memories m WHERE m.id = $1
"""

LEAVE = """/* leave_shared */
WITH gone AS (
  UPDATE sessions SET memory_id = id, config = '{}', config_changes = 0, waiting = false
  WHERE id = $1 AND memory_id = $2 AND next_seq = 1 RETURNING id
), configs AS (
  DELETE FROM session_configs c USING gone WHERE c.session_id = gone.id
)
SELECT id FROM gone
"""

# Deletes a memory that no session has any more, with the notes of deleted sessions: a new one may get its id.
FORGET_LONELY = """/* forget_lonely */
WITH gone AS (
  DELETE FROM memories m WHERE id = $1 AND NOT EXISTS (SELECT FROM sessions WHERE memory_id = m.id) RETURNING id
), versions AS (DELETE FROM memory_versions WHERE memory_id IN (SELECT id FROM gone)),
stood AS (DELETE FROM session_cursors WHERE memory_id IN (SELECT id FROM gone)),
observed AS (DELETE FROM observations WHERE memory_id IN (SELECT id FROM gone)),
condensed AS (DELETE FROM reflections WHERE memory_id IN (SELECT id FROM gone)),
called AS (DELETE FROM runs WHERE memory_id IN (SELECT id FROM gone)),
spent AS (DELETE FROM spending WHERE memory_id IN (SELECT id FROM gone))
SELECT count(*) FROM gone
"""


# Whether a session that shares its memory needs a look. A summary right after the cursor alone needs none: the cursor
# passes it with the messages after it.
_WAITING = """memory_id <> id AND (
    next_seq - 1 > {observed_seq} + CASE WHEN summary_seq > {observed_seq} THEN 1 ELSE 0 END
    OR ended_at IS NOT NULL AND next_seq - 1 > {facts_seq})"""


def scoping(
    tenant: str, sharer: Sharer | None, found: SessionRecord | None, config: dict[str, Any], *, timezone: str
) -> Callable[[Tx], Awaitable[bool]] | None:
    """What ``SessionStore.put`` has to do first so that the session gets the right memory; None: nothing."""
    if sharer is None:
        return partial(leave, tenant=tenant, found=found) if found is not None and found.is_shared else None
    if found is not None and found.memory_id == sharer.memory and not config:
        return None
    return partial(share, sharer=sharer, found=found, config=config, timezone=timezone)


async def share(
    tx: Tx, sharer: Sharer, config: dict[str, Any], *, found: SessionRecord | None = None, timezone: str
) -> bool:
    """Place the session in its resource's memory, and merge ``config`` into the resource's.

    ``found`` is the session as it was read. Without messages it may leave the memory of another resource; from a memory
    of its own it brings its config. Answers whether the session is new. Raises SessionMoved, also if what was found
    was deleted meanwhile: a new session has nothing of it, not even its resource.
    """
    left = found if found is not None and found.memory_id not in {found.id, sharer.memory} else None
    told = found.config if found is not None and not found.is_shared else {}
    merged = await _held_and_merged(tx, sharer, told | config, left)
    rules, changed = merged["config"] | SHARED, merged["changed"]
    following = await tx.fetch(LOCK_SHARING, sharer.memory if changed else None, sharer.session, rules)
    if left is not None:
        await _part(tx, left)
    columns = (sharer.session, sharer.tenant, sharer.key, sharer.resource_id, sharer.memory)
    memory = None if found is None else sharer.session if left is not None else found.memory_id
    created = await tx.fetchval(PLACE, *columns, timezone, memory)
    if created is None or (created and found is not None):
        raise _moved(sharer.key)
    await tx.execute(FORGET_LONELY, sharer.session)
    await tx.execute(LOOK, sharer.memory, sharer.tenant, rules.get("enabled") is False)
    await tx.execute(FOLLOW, sharer.memory, rules, [sharer.session, *(row["id"] for row in following)])
    return bool(created)


async def leave(tx: Tx, tenant: str, found: SessionRecord) -> bool:
    """Give a session without messages a memory of its own again. Answers that it was there. Raises SessionMoved."""
    await _hold_owner(tx, tenant, found.resource_id)
    await _part(tx, found)
    return False


async def _part(tx: Tx, found: SessionRecord) -> None:
    """Take the session out of a shared memory, whose resource is locked."""
    if await tx.fetchval(LEAVE, found.id, found.memory_id) is None:
        raise _moved(found.key)
    await tx.execute(FORGET_LONELY, found.memory_id)


def _moved(key: str) -> SessionMoved:
    return SessionMoved(f"session '{key}' is changing its memory at this moment")


def waiting(*, observed_seq: str = "observed_seq", facts_seq: str = "facts_seq") -> str:
    """The new value of the column ``waiting``, as SQL, when one of these columns changes."""
    return _WAITING.format(observed_seq=observed_seq, facts_seq=facts_seq)


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A locked session. ``shared``: its memory, if others have it too."""

    shared: UUID | None


async def hold_related(tx: Tx, session: UUID) -> Held | None:
    """Lock the session, all that share its memory, and the branches that descend from it.

    A deletion or an erasure may change their notes. None for a session never seen; one that is made afterwards is not
    locked. Raises SessionMoved.
    """
    for _ in range(MOVES_MAX - 1):
        with suppress(SessionMoved):
            return await _held_related(tx, session)
    return await _held_related(tx, session)


async def _held_related(tx: Tx, session: UUID) -> Held | None:
    """Raises SessionMoved, with none of them locked, if the session moves to another memory meanwhile."""
    async with tx.transaction():  # a savepoint: its rollback frees the resource that the session has left
        memory = await _held_memory(tx, session)
        sharers = set() if memory is None else {sharer["id"] for sharer in await tx.fetch(SHARERS, memory)}

        async def related() -> set[UUID]:
            row = await tx.fetchrow(SHARED_WITH, session)
            if memory != (None if row is None else row["memory_id"]):
                raise SessionMoved("the session is changing its memory at this moment")
            return sharers | await family(tx, [session])

        if session not in await hold(tx, related):
            return None
        return Held(shared=memory if sharers - {session} else None)


async def follow(tx: Tx, tenant: str, resource_id: str, rules: dict[str, Any]) -> bool:
    """Have the sessions that share the resource's memory follow its config; answers whether there are any."""
    memory = shared_memory_id(tenant, resource_id)
    following = await tx.fetch(LOCK_SHARING, memory, None, rules | SHARED)
    if not following:
        return False
    await tx.execute(LOOK, memory, tenant, rules.get("enabled") is False)
    await tx.execute(FOLLOW, memory, rules | SHARED, [row["id"] for row in following])
    return True


async def _held_memory(tx: Tx, session: UUID) -> UUID | None:
    """The memory that this session shares, which none can join until the transaction ends; None: it has its own."""
    row = await tx.fetchrow(SHARED_WITH, session)
    if row is None:
        return None
    await _hold_owner(tx, row["tenant"], row["resource_id"])
    memory: UUID = row["memory_id"]
    return memory


async def _hold_owner(tx: Tx, tenant: str, resource_id: str | None) -> None:
    """Lock the resource whose memory a session shares. Raises SessionMoved if it is gone; it may be made anew."""
    if await tx.fetchval(LOCK_OWNER, tenant, resource_id) is None:
        raise SessionMoved("the session is changing its memory at this moment")


async def _held_and_merged(tx: Tx, sharer: Sharer, config: dict[str, Any], left: SessionRecord | None) -> Row:
    """The resource's config with ``config`` merged. Locks its row and that of the resource that is left, by their ids.

    Raises SessionMoved.
    """
    other = None if left is None else left.resource_id
    if other is not None and other < sharer.resource_id:
        await _hold_owner(tx, sharer.tenant, other)
    own = {name: value for name, value in config.items() if name != "scope"}
    values = (set_of(own), off_of(own), unset_of(own))
    merged = await tx.fetchrow(MERGE_RULES, sharer.tenant, sharer.resource_id, *values)
    if other is not None and other > sharer.resource_id:
        await _hold_owner(tx, sharer.tenant, other)
    return merged
