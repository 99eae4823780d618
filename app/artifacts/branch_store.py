"""The SQL that copies a session's artifacts into a branch of it (docs/decisions/0024)."""

from collections.abc import Mapping
from uuid import UUID

from app.kit.db import Tx

# The artifacts kept before the first message that the branch lacks was stored; $2 NULL: all that there are now.
_THEN = """a.session_id = $1 AND a.deleted_at IS NULL AND a.created_at < coalesce(
  (SELECT ingested_at FROM messages WHERE session_id = $1 AND seq = $2::bigint + 1), 'infinity')"""

SIZE = f"/* artifacts_to_branch */ SELECT coalesce(sum(a.size), 0)::bigint FROM artifacts a WHERE {_THEN}"  # noqa: S608 - our own condition

OBJECTS = f"""/* objects_to_branch */
SELECT a.object_key FROM artifacts a WHERE {_THEN} AND a.object_key IS NOT NULL ORDER BY a.name, a.version
"""  # noqa: S608 - our own condition

# An artifact whose object was put after the objects were copied is left out.
COPY = f"""/* branch_artifacts */
INSERT INTO artifacts (session_id, name, version, media_type, size, sha256, content, object_key, created_at)
SELECT $3, a.name, a.version, a.media_type, a.size, a.sha256, a.content, o.copy, a.created_at
FROM artifacts a LEFT JOIN unnest($4::text[], $5::text[]) AS o (key, copy) ON o.key = a.object_key
WHERE {_THEN} AND (a.object_key IS NULL OR o.copy IS NOT NULL)
"""  # noqa: S608 - our own condition


async def size(tx: Tx, session: UUID, at_seq: int | None) -> int:
    """The bytes of the artifacts to copy, together."""
    found: int = await tx.fetchval(SIZE, session, at_seq)
    return found


async def objects(tx: Tx, session: UUID, at_seq: int | None) -> list[str]:
    """The object keys of the artifacts to copy."""
    return [row["object_key"] for row in await tx.fetch(OBJECTS, session, at_seq)]


async def copy(tx: Tx, session: UUID, at_seq: int, into: UUID, copies: Mapping[str, str]) -> None:
    """Copy the rows. ``copies``: the new key of each object, by its key."""
    await tx.execute(COPY, session, at_seq, into, [*copies], [*copies.values()])
