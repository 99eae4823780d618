"""The SQL of a resource's own row. The module is a ``Keeper``, which deletes the row with the resource."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.kit.db import Tx
from app.sessions.merging import merged_config, off_of, set_of, unset_of
from app.sessions.model import Gone

PUT_RESOURCE = f"""/* put_resource */
INSERT INTO resources AS r (tenant, id, config, metadata) VALUES ($1, $2, $3::jsonb || $4, $6)
ON CONFLICT (tenant, id) DO UPDATE SET
  config = {merged_config("r", given="$3", off="$4", unset="$5")},
  metadata = (r.metadata || excluded.metadata) - $7::text[],
  updated_at = now()
RETURNING id AS resource_id, config, metadata, created_at, updated_at, (xmax = 0) AS created
"""  # noqa: S608 - our own text

# A resource that was never put exists since its first session or fact.
RESOURCE = """/* resource */
SELECT id AS resource_id, config, metadata, created_at, updated_at FROM resources WHERE tenant = $1 AND id = $2
UNION ALL
SELECT $2, '{}', '{}', min(created_at), min(created_at) FROM (
  SELECT created_at FROM sessions WHERE tenant = $1 AND resource_id = $2
  UNION ALL SELECT created_at FROM facts WHERE tenant = $1 AND resource_id = $2
) AS known WHERE NOT EXISTS (SELECT FROM resources WHERE tenant = $1 AND id = $2) HAVING count(*) > 0
"""

# A row that this transaction made, only to lock it, is not counted.
FORGET_RESOURCE = """/* forget_resource */
WITH gone AS (DELETE FROM resources WHERE tenant = $1 AND id = $2 RETURNING created_at)
SELECT count(*) FILTER (WHERE created_at < now()) AS resources FROM gone
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    resource_id: str
    config: dict[str, Any]
    metadata: dict[str, Any]
    created_at: datetime
    updated_at: datetime


async def resource(tx: Tx, tenant: str, resource_id: str) -> Resource | None:
    row = await tx.fetchrow(RESOURCE, tenant, resource_id)
    return None if row is None else Resource(**row)


async def put(
    tx: Tx, tenant: str, resource_id: str, *, config: dict[str, Any], metadata: dict[str, Any]
) -> tuple[Resource, bool]:
    """Create the resource or merge into it; answers it and whether it is new."""
    values = (set_of(config), off_of(config), unset_of(config), set_of(metadata), unset_of(metadata))
    row = dict(await tx.fetchrow(PUT_RESOURCE, tenant, resource_id, *values))
    created: bool = row.pop("created")
    return Resource(**row), created


async def forget(tx: Tx, gone: Gone) -> dict[str, int]:
    """Delete the row if the resource itself is deleted, not just sessions. Answers the number of rows by table."""
    return dict(await tx.fetchrow(FORGET_RESOURCE, gone.tenant, gone.resource_id))
