"""Resources: whose sessions they are, with the config of the memory that these may share (api.md, Sessions)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.kit.db import Database, Row, Tx
from app.kit.errors import Invalid
from app.redaction.model import OFF, Redaction
from app.sessions.errors import ResourceNotFound
from app.sessions.merging import check_metadata, off_of, read_given, set_of, unset_of
from app.sessions.model import Gone, MemoryPort
from app.sessions.sharing import follow, shared_memory_id

SCOPE = "the scope is told of each session, or of all by DAYBOOK_MEMORY__SCOPE; this is the config of a shared memory"

PUT_RESOURCE = """/* put_resource */
INSERT INTO resources AS r (tenant, id, config, metadata) VALUES ($1, $2, $3::jsonb || $4, $6)
ON CONFLICT (tenant, id) DO UPDATE SET
  config = (r.config || $3) - $5::text[] || $4,
  metadata = (r.metadata || excluded.metadata) - $7::text[],
  updated_at = now()
RETURNING *, (xmax = 0) AS created
"""

# One that was never put is there since its first session or fact.
RESOURCE = """/* resource */
SELECT id, config, metadata, created_at, updated_at FROM resources WHERE tenant = $1 AND id = $2
UNION ALL
SELECT $2, '{}', '{}', min(created_at), min(created_at) FROM (
  SELECT created_at FROM sessions WHERE tenant = $1 AND resource_id = $2
  UNION ALL SELECT created_at FROM facts WHERE tenant = $1 AND resource_id = $2 AND text <> ''
) AS known WHERE NOT EXISTS (SELECT FROM resources WHERE tenant = $1 AND id = $2) HAVING count(*) > 0
"""

# One of which nothing was said was made in this transaction, to be locked.
FORGET_RESOURCE = """/* forget_resource */
WITH gone AS (DELETE FROM resources WHERE tenant = $1 AND id = $2 RETURNING created_at)
SELECT count(*) FILTER (WHERE created_at < now()) AS resources FROM gone
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    id: str
    config: dict[str, Any]
    metadata: dict[str, Any]
    created_at: datetime
    updated_at: datetime


class ResourceStore:
    """What is kept of a resource itself is deleted with the resource alone, not with any of its sessions."""

    async def forget(self, tx: Tx, gone: Gone) -> dict[str, int]:
        return dict(await tx.fetchrow(FORGET_RESOURCE, gone.tenant, gone.resource_id))


class Resources:
    def __init__(
        self, *, database: Database, memory: MemoryPort, metadata_bytes_max: int, redaction: Redaction = OFF
    ) -> None:
        self._database = database
        self._memory = memory
        self._metadata_bytes_max = metadata_bytes_max
        self._redaction = redaction

    async def get(self, tenant: str, resource_id: str) -> Resource:
        """Raises ResourceNotFound for one that was never put, and has no session and no fact."""
        async with self._database.connection() as connection:
            row = await connection.fetchrow(RESOURCE, tenant, resource_id)
        if row is None:
            raise ResourceNotFound(f"resource '{resource_id}' was never seen")
        return _resource_of(row)

    async def put(
        self, *, tenant: str, resource_id: str, config: dict[str, Any], metadata: dict[str, Any]
    ) -> tuple[Resource, bool]:
        """Create the resource or merge into it; answers it and whether it is new. Raises Invalid, MetadataTooLarge."""
        redact = self._redaction.of(tenant)
        config, metadata = await read_given(config, metadata, memory=self._memory, redact=redact)
        if "scope" in config:
            raise Invalid.at("/config/scope", SCOPE)
        values = (set_of(config), off_of(config), unset_of(config), set_of(metadata), unset_of(metadata))
        async with self._database.tx() as tx:
            row = await tx.fetchrow(PUT_RESOURCE, tenant, resource_id, *values)
            if metadata:
                check_metadata(row["metadata"], self._metadata_bytes_max)
            shared = bool(config) and await follow(tx, tenant, resource_id, row["config"])
        if shared:
            self._memory.wake(shared_memory_id(tenant, resource_id))
        return _resource_of(row), row["created"]


def _resource_of(row: Row) -> Resource:
    return Resource(
        id=row["id"],
        config=row["config"],
        metadata=row["metadata"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
