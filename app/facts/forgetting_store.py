"""The SQL that removes facts with their sources, and has the messages that remain of these read again.

The module implements ``Keeper`` and ``DerivedStore``. Locks are taken as in writing_store.py.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from app.facts import rereading_store, writing_store
from app.facts.forgetting import Correction, corrections, derived_since, of_message, of_session, without
from app.facts.model import Source
from app.facts.rereading import Overrides
from app.facts.rereading_store import IS_HIDDEN
from app.facts.store import OF_RESOURCE, facts_of
from app.kit.db import Tx
from app.sessions.model import Gone
from app.sessions.sharing_store import waiting
from app.sessions.waking import woken

FACTS_OF_SESSION = f"""/* facts_of_session */
SELECT * FROM facts WHERE {OF_RESOURCE} AND sources @> $3 ORDER BY id
"""  # noqa: S608 - our own text

FORGET_FACTS = f"""/* forget_facts */
WITH gone AS (
  DELETE FROM facts WHERE tenant = $1 AND resource_id = $2 RETURNING {IS_HIDDEN} AS unwanted
)
SELECT count(*) FROM gone WHERE NOT unwanted
"""  # noqa: S608 - our own text

# A session that shares a memory is found by its ``waiting``.
READ_AGAIN = f"""/* read_again */
UPDATE sessions SET facts_seq = $2, facts_again_seq = greatest(facts_again_seq, facts_seq),
       waiting = {waiting(facts_seq="$2::bigint")} WHERE id = $1 AND facts_seq > $2
"""  # noqa: S608 - our own statement

# What was read of a deleted session is, in its branch, to be read again.
WAS_READ = """/* was_read */
UPDATE sessions SET facts_again_seq = $2 WHERE id = $1 AND facts_again_seq < $2
"""

# The branches of a session that is deleted, before they are given to its own parent. ``unread``: the first message of
# the session that is not read, unless the branch has read it. A branch has a memory of its own.
HEIRS = """/* heirs */
SELECT s.id, s.branched_at_seq AS last_seq,
       least(greatest(p.facts_seq, p.facts_again_seq), s.branched_at_seq) AS read_seq, CASE WHEN NOT EXISTS (
         SELECT FROM runs r WHERE r.memory_id = s.id AND r.kind = 'note_facts' AND r.outcome = 'recorded'
           AND r.from_seq <= p.facts_seq + 1
       ) THEN p.facts_seq + 1 END AS unread
FROM sessions p
JOIN sessions s ON s.tenant = p.tenant AND s.branched_from = p.key AND s.created_at >= p.created_at
WHERE p.id = $1 ORDER BY s.id
"""

# Asks for a reading, as the end of a session does.
LOOK_AGAIN = f"""/* look_for_facts */
UPDATE memories m SET {woken()} FROM sessions s WHERE s.id = $1 AND m.id = s.memory_id
"""  # noqa: S608 - our own text

OWNER = """/* owner_of_facts */
SELECT tenant, resource_id FROM sessions WHERE id = $1 AND resource_id IS NOT NULL
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """How many facts of a resource were deleted or changed, and the corrections of them that are kept.

    ``first``: the first message that was read for one of them.
    """

    tenant: str
    resource_id: str
    facts: int
    first: int | None
    corrections: tuple[Correction, ...]


async def forget_message(tx: Tx, session: UUID, seq: int, *, noted_until: datetime | None = None) -> int:
    """Remove, for good, what rests on an erased message, or on what was derived from it.

    Facts noted after ``noted_until`` stay. Messages that were read with it are read again when the session is. Answers
    how many facts were deleted or changed. The caller holds the session's lock, here and below.
    """
    return await _reread(tx, session, of_message(session, seq), changed_seq=seq, noted_until=noted_until)


async def forget_from(tx: Tx, session: UUID, seq: int) -> None:
    """Remove what was taken from messages from ``seq`` on, as that one is being replaced; they are read again."""
    await _reread(tx, session, of_message(session, seq), since=seq, changed_seq=seq)
    await rereading_store.allow(tx, session, seq)


async def _reread(
    tx: Tx,
    session: UUID,
    is_gone: Callable[[Source], bool],
    *,
    since: int | None = None,
    changed_seq: int | None = None,
    noted_until: datetime | None = None,
) -> int:
    """Remove facts, and have the session read again from the messages that they rested on, or from ``since`` on.

    Corrections apply again then, except those of the message ``changed_seq``, which was erased or replaced. Answers
    how many facts were deleted or changed.
    """
    dropped = await _drop(tx, session, is_gone, noted_until=noted_until)
    if dropped is None:
        return 0
    if changed_seq is not None:
        await rereading_store.forget_corrections(tx, session, changed_seq)
    kept = [one for one in dropped.corrections if changed_seq not in one.source.cites]
    await rereading_store.add(tx, dropped.tenant, dropped.resource_id, kept)
    again = min((seq for seq in (dropped.first, since) if seq is not None), default=None)
    if again is not None:
        await tx.execute(READ_AGAIN, session, again - 1)
    return dropped.facts


async def _drop(
    tx: Tx, session: UUID, is_gone: Callable[[Source], bool], *, noted_until: datetime | None = None
) -> Dropped | None:
    """Remove the session's sources that are gone from the facts; None if it is of no resource."""
    owner = await _owner(tx, session)
    if owner is None:
        return None
    tenant, resource_id = owner
    facts = await writing_store.locked(tx, tenant, resource_id)
    known = [fact for fact in facts if noted_until is None or fact.created_at <= noted_until]
    changes = without(known, is_gone)
    await writing_store.apply(tx, tenant, resource_id, changes)
    read = [one.from_seq for fact in known for one in fact.sources if one.text is not None and is_gone(one)]
    return Dropped(
        tenant=tenant,
        resource_id=resource_id,
        facts=len(changes.deleted) + len(changes.changed),
        first=min(read, default=None),
        corrections=tuple(corrections(known, is_gone)),
    )


async def overrides_of(tx: Tx, session: UUID) -> Overrides:
    """The refusals and corrections that apply if the session is read from its beginning, as after an import."""
    owner = await _owner(tx, session)
    if owner is None:
        return Overrides()
    tenant, resource_id = owner
    of_it = [{"session_id": str(session)}]
    known = await facts_of(await tx.fetch(FACTS_OF_SESSION, tenant, resource_id, of_it))
    overrides = await rereading_store.overrides_of(tx, tenant, resource_id, session)
    return replace(overrides, corrections=(*overrides.corrections, *corrections(known, of_session(session))))


async def import_overrides(tx: Tx, session: UUID, key: str, overrides: Overrides) -> None:
    """Store the overrides of an imported session of a resource, and have the session read if it has ended."""
    owner = await _owner(tx, session)
    if owner is not None:
        tenant, resource_id = owner
        await writing_store.lock(tx, tenant, resource_id)
        await rereading_store.restore(tx, tenant, resource_id, session, key, overrides)
        await tx.execute(LOOK_AGAIN, session)


async def forget(tx: Tx, gone: Gone) -> dict[str, int]:
    """Remove the facts that rest on deleted sessions, or all facts of their resource if that is deleted.

    What branches of a deleted session contain too is noted again from these. Answers how many, by table.
    """
    if gone.resource_id is not None:
        await writing_store.lock(tx, gone.tenant, gone.resource_id)
        return {"facts": await tx.fetchval(FORGET_FACTS, gone.tenant, gone.resource_id)}
    facts = 0
    for session in gone.sessions:
        dropped = await _drop(tx, session, of_session(session))
        if dropped is not None:
            await _inherit(tx, session, dropped)
            facts += dropped.facts
    await rereading_store.forget_sessions(tx, gone.sessions)
    return {"facts": facts}


async def _inherit(tx: Tx, session: UUID, dropped: Dropped) -> None:
    """Have the branches of a deleted session read for its facts; its refusals and corrections pass to all below it."""
    heirs = await tx.fetch(HEIRS, session)
    if not heirs:
        return
    tenant, resource_id = dropped.tenant, dropped.resource_id
    overrides = await rereading_store.overrides_of(tx, tenant, resource_id, session)
    overrides = replace(overrides, corrections=(*overrides.corrections, *dropped.corrections))
    cited = overrides.unwanted.union(*(one.source.cites for one in overrides.corrections))
    for row in await rereading_store.alike(tx, session, cited):
        inherited = overrides.of(row["id"], row["key"], within=row["seqs"])
        await rereading_store.restore(tx, tenant, resource_id, row["id"], row["key"], inherited)
    for heir in heirs:
        branch = heir["id"]
        since = min((seq for seq in (dropped.first, heir["unread"]) if seq is not None), default=None)
        if since is not None and since <= heir["last_seq"]:
            await _reread(tx, branch, derived_since(branch, since), since=since)
        await tx.execute(WAS_READ, branch, heir["read_seq"])
        await tx.execute(LOOK_AGAIN, branch)


async def _owner(tx: Tx, session: UUID) -> tuple[str, str] | None:
    """Tenant and resource of a session; None if it is of no resource."""
    row = await tx.fetchrow(OWNER, session)
    return None if row is None else (row["tenant"], row["resource_id"])
