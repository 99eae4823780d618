"""The SQL that deletes sessions: finds and locks them, and deletes their logs."""

from collections.abc import Iterable
from uuid import UUID

from app.kit.db import Tx
from app.sessions.lineage import family, hold
from app.sessions.model import Gone

# The resource's row is locked before its sessions, as by all who change what these share. A missing row is made: else
# another transaction could make it, and hold it while it waits for sessions that are locked here.
HOLD_OWNER = """/* hold_owner */
INSERT INTO resources (tenant, id) VALUES ($1, $2) ON CONFLICT (tenant, id) DO UPDATE SET id = excluded.id
"""

OF_RESOURCE = "/* of_resource */ SELECT id FROM sessions WHERE tenant = $1 AND resource_id = $2"

# Only sessions that are locked: one that came to the resource since counts as made after the deletion.
HELD = """/* held_to_delete */
SELECT id, key, memory_id FROM sessions
WHERE id = ANY($1::uuid[]) AND tenant = $2 AND ($3::text IS NULL OR resource_id = $3) ORDER BY id
"""

FORGET_LOG = """/* forget_log */
WITH said AS (DELETE FROM messages WHERE session_id = ANY($1::uuid[]) RETURNING 1),
configs AS (DELETE FROM session_configs WHERE session_id = ANY($1::uuid[]) RETURNING 1),
gone AS (DELETE FROM sessions WHERE id = ANY($1::uuid[]) RETURNING 1)
SELECT (SELECT count(*) FROM said) AS messages, (SELECT count(*) FROM configs) AS session_configs,
       (SELECT count(*) FROM gone) AS sessions
"""


async def lock_resource(tx: Tx, tenant: str, resource_id: str) -> Gone:
    """Lock a resource, its sessions and the branches that descend from them. Answers its sessions."""
    await tx.execute(HOLD_OWNER, tenant, resource_id)

    async def related() -> set[UUID]:
        return await family(tx, [row["id"] for row in await tx.fetch(OF_RESOURCE, tenant, resource_id)])

    return await held(tx, tenant, await hold(tx, related), resource_id=resource_id)


async def held(tx: Tx, tenant: str, sessions: Iterable[UUID], *, resource_id: str | None = None) -> Gone:
    """These locked sessions as ``Gone``; with ``resource_id`` only those that belong to it."""
    rows = await tx.fetch(HELD, list(sessions), tenant, resource_id)
    return Gone(
        tenant=tenant,
        sessions=tuple(row["id"] for row in rows),
        keys=tuple(row["key"] for row in rows),
        memories=tuple(row["memory_id"] for row in rows),
        resource_id=resource_id,
    )


async def forget(tx: Tx, gone: Gone) -> dict[str, int]:
    """Delete the sessions with their logs and configs. Answers the number of rows by table."""
    return dict(await tx.fetchrow(FORGET_LOG, gone.sessions))
