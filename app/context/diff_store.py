"""The SQL of a diff: two versions of a log and the notes that differ (``diff.py``)."""

from uuid import UUID

from app.context.diff import Change, Span
from app.kit.db import Database, Row
from app.memory.changing.moments import cursor

CURSOR = cursor(version="v", session="a.id")

# At version 0, of which nothing was recorded, a session's tail is empty.
SPAN = f"""/* span */
WITH asked AS MATERIALIZED (
  SELECT s.id, s.memory_id, coalesce(m.log_version, 0) AS newest, coalesce($3, m.log_version, 0) AS until,
         coalesce($2, greatest(coalesce($3, m.log_version, 0) - 1, 0)) AS since
  FROM sessions s LEFT JOIN memories m ON m.id = s.memory_id WHERE s.id = $1
)
SELECT a.memory_id, a.newest, a.since, a.until,
       coalesce((o.cursor->>'tail_from_seq')::bigint, 1) AS since_from,
       coalesce((o.cursor->>'last_seq')::bigint, 0) AS since_to,
       coalesce((n.cursor->>'tail_from_seq')::bigint, 1) AS until_from,
       coalesce((n.cursor->>'last_seq')::bigint, 0) AS until_to
FROM asked a
LEFT JOIN LATERAL (
  SELECT {CURSOR} AS cursor FROM memory_versions v WHERE v.memory_id = a.memory_id AND v.version = a.since
) o ON true
LEFT JOIN LATERAL (
  SELECT {CURSOR} AS cursor FROM memory_versions v WHERE v.memory_id = a.memory_id AND v.version = a.until
) n ON true
"""  # noqa: S608 - our own statement

CHANGES = """/* changes */
SELECT n.kind, n.id, n.entered, CASE WHEN n.entered THEN n.born_version ELSE n.retired_version END AS version,
       CASE WHEN n.entered THEN v.cause ELSE n.retired_by END AS why, n.text, n.tokens, n.from_seq, n.to_seq
FROM (
  SELECT 'reflection' AS kind, id, born_version > $2 AS entered, born_version, retired_version, retired_by,
         text, tokens, from_seq, to_seq
  FROM reflections WHERE memory_id = (SELECT $1::uuid)
  UNION ALL
  SELECT 'observation', id, born_version > $2, born_version, retired_version, retired_by,
         text, tokens, from_seq, to_seq
  FROM observations WHERE memory_id = (SELECT $1::uuid)
) n LEFT JOIN memory_versions v ON v.memory_id = (SELECT $1::uuid) AND v.version = n.born_version
WHERE n.born_version <= $3 AND (n.entered AND coalesce(n.retired_version > $3, true)
                                OR NOT n.entered AND n.retired_version > $2 AND n.retired_version <= $3)
ORDER BY n.kind DESC, n.from_seq, n.id
"""


class DiffStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def changes(
        self, session: UUID, *, since: int | None, until: int | None
    ) -> tuple[Span, tuple[Change, ...]] | None:
        """Two versions and the notes that differ, reflections first, then by message; None: a session never seen.

        ``until`` is by default the newest, ``since`` the one before it.
        """
        async with self._database.snapshot() as tx:
            row = await tx.fetchrow(SPAN, session, since, until)
            if row is None:
                return None
            rows = await tx.fetch(CHANGES, row["memory_id"], row["since"], row["until"])
        return _span_of(row), tuple(Change(**found) for found in rows)


def _span_of(row: Row) -> Span:
    return Span(
        newest=row["newest"],
        since=row["since"],
        until=row["until"],
        tail_since=(row["since_from"], row["since_to"]),
        tail_until=(row["until_from"], row["until_to"]),
    )
