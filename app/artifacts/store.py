"""All SQL of artifacts. A version never changes, so that what two statements read of one belongs together.

A put locks the session's row against its deletion, as a foreign key would, and lets appends pass. Changes of one name
wait for each other, before the statement that finds the newest version: at once they would choose the same number, or
each find the version that it expects. The module implements ``Keeper``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app.artifacts.model import Artifact, NewArtifact, PartAt
from app.artifacts.parts import JSON_TYPE, TEXT_TYPE, VERSION, part_name
from app.kit.conditions import Conditions
from app.kit.db import Database, Tx
from app.sessions.model import Gone

COLUMNS = "session_id, name, version, media_type, size, sha256, object_key, created_at"

SESSION_EXISTS = "/* session_exists */ SELECT EXISTS (SELECT FROM sessions WHERE id = $1)"

LOCK_NAME = "/* lock_name */ SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"

PUT = f"""/* put_artifact */
WITH session AS (
  SELECT id FROM sessions WHERE id = $1 FOR KEY SHARE
), newest AS (
  SELECT {COLUMNS} FROM artifacts WHERE session_id = $1 AND name = $2 ORDER BY version DESC LIMIT 1
), same AS (
  SELECT * FROM newest WHERE sha256 = $5 AND media_type = $3
), kept AS (
  SELECT count(*) AS total, count(*) FILTER (WHERE name = $2) AS versions FROM artifacts
  WHERE session_id = $1 AND deleted_at IS NULL
), put AS (
  INSERT INTO artifacts (session_id, name, version, media_type, size, sha256, content, object_key)
  SELECT session.id, $2, coalesce((SELECT version FROM newest), 0) + 1, $3, $4, $5, $6, $7 FROM session, kept
  WHERE total < $8 AND versions < $9 AND NOT EXISTS (SELECT FROM same)
  RETURNING {COLUMNS}
), found AS (
  SELECT *, true AS created FROM put UNION ALL SELECT *, false FROM same
)
SELECT versions, found.* FROM session CROSS JOIN kept LEFT JOIN found ON true
"""  # noqa: S608 - our own column names

ARTIFACT = f"""/* artifact */
SELECT {COLUMNS} FROM artifacts
WHERE session_id = $1 AND name = $2 AND ($3::bigint IS NULL OR version = $3) AND deleted_at IS NULL
ORDER BY version DESC LIMIT 1
"""  # noqa: S608 - our own column names

NEWEST = f"""/* newest_artifacts */
SELECT DISTINCT ON (name) {COLUMNS} FROM artifacts
WHERE session_id = $1 AND name > $2 AND deleted_at IS NULL ORDER BY name, version DESC LIMIT $3
"""  # noqa: S608 - our own column names

NAMED = f"""/* named_artifacts */
SELECT DISTINCT ON (name) {COLUMNS} FROM artifacts
WHERE session_id = $1 AND name = ANY($2::text[]) AND deleted_at IS NULL ORDER BY name, version DESC
"""  # noqa: S608 - our own column names

VERSIONS = f"""/* artifact_versions */
SELECT {COLUMNS} FROM artifacts
WHERE session_id = $1 AND name = $2 AND version < $3 AND deleted_at IS NULL ORDER BY version DESC LIMIT $4
"""  # noqa: S608 - our own column names

CONTENT = """/* artifact_content */
SELECT substring(content FROM $4::int + 1 FOR $5::int - $4::int) FROM artifacts
WHERE session_id = $1 AND name = $2 AND version = $3
"""

# The newest row stays, emptied: no later version has the number of a deleted one. No payload has its hash.
DELETE = """/* delete_artifact */
WITH old AS (
  SELECT version, object_key FROM artifacts
  WHERE session_id = $1 AND name = $2 AND deleted_at IS NULL ORDER BY version FOR UPDATE
), newest AS (
  SELECT max(version) AS version FROM old
), emptied AS (
  UPDATE artifacts a SET content = NULL, object_key = NULL, deleted_at = now(), media_type = '', size = 0, sha256 = ''
  FROM newest WHERE a.session_id = $1 AND a.name = $2 AND a.version = newest.version
), gone AS (
  DELETE FROM artifacts a USING newest WHERE a.session_id = $1 AND a.name = $2 AND a.version < newest.version
)
SELECT object_key FROM old
"""

OBJECTS_OF = """/* objects_of */
SELECT object_key FROM artifacts WHERE session_id = ANY($1::uuid[]) AND object_key IS NOT NULL
"""

FORGET_ARTIFACTS = """/* forget_artifacts */
WITH gone AS (DELETE FROM artifacts WHERE session_id = ANY($1::uuid[]) RETURNING 1)
SELECT count(*) AS artifacts FROM gone
"""

# The content of parts, as in app/artifacts/parts.py. The condition on their size is an index's (sessions/tables.py).
_PARTS = """
SELECT m.seq, said.n, m.created_at, said.media_type, octet_length(said.content) AS size,
       sha256(said.content) AS sha256, said.content
FROM messages m, LATERAL (
  SELECT n, CASE json_typeof(value) WHEN 'string' THEN $2 ELSE $3 END AS media_type,
         convert_to(value #>> '{}', 'UTF8') AS content
  FROM json_array_elements(m.parts) WITH ORDINALITY AS p (part, n), LATERAL (
    SELECT CASE part->>'type' WHEN 'text' THEN part->'text' WHEN 'tool_call' THEN part->'arguments'
                              WHEN 'tool_result' THEN part->'output'
                              WHEN 'file' THEN part->'content' END AS value
  ) AS own WHERE json_typeof(value) <> 'null'
) AS said
WHERE m.session_id = $1"""

PART = f"/* message_part */ {_PARTS} AND m.seq = $4 AND said.n = $5"

LARGE_PARTS = f"""/* large_parts */
WITH said AS ({_PARTS} AND octet_length(m.parts::text) > 4096 AND m.seq >= $4)
SELECT seq, n, created_at, media_type, size, sha256 FROM said
WHERE size > $6 AND (seq, n) > ($4, $5) ORDER BY seq, n LIMIT $7
"""  # noqa: S608 - our own statement


KNOWN_OBJECTS = """/* known_objects */
SELECT a.object_key FROM unnest($1::uuid[], $2::text[]) AS o (session_id, key)
JOIN artifacts a ON a.session_id = o.session_id AND a.object_key = o.key
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """The version that a put found or made; ``artifact`` None: the limits left no room beside its ``versions``."""

    artifact: Artifact | None
    created: bool
    versions: int


class ArtifactStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def session_exists(self, session: UUID) -> bool:
        return bool(await self._database.fetchval(SESSION_EXISTS, session))

    async def put(
        self, session: UUID, new: NewArtifact, *, expected: Conditions, session_max: int, versions_max: int
    ) -> Put | None:
        """Keep ``new`` as the next version, unless the newest one is the same; None: the session was never seen.

        Raises PreconditionFailed.
        """
        async with self._database.tx(of=session) as tx:
            await _hold(tx, session, new.name, expected)
            row = await tx.fetchrow(
                PUT,
                session,
                new.name,
                new.media_type,
                new.size,
                new.sha256,
                new.content,
                new.object_key,
                session_max,
                versions_max,
            )
        if row is None:
            return None
        found = None if row["version"] is None else _artifact_of(row)
        return Put(artifact=found, created=bool(row["created"]), versions=row["versions"])

    async def get(self, session: UUID, name: str, version: int | None) -> Artifact | None:
        """A version, or the newest one."""
        row = await self._database.fetchrow(ARTIFACT, session, name, version)
        return None if row is None else _artifact_of(row)

    async def content(self, artifact: Artifact, start: int, end: int) -> bytes | None:
        """The bytes from ``start`` up to ``end`` of one that is in the database; None: it was deleted meanwhile."""
        session = artifact.session_id
        if artifact.part is not None:
            row = await self._database.fetchrow(PART, session, TEXT_TYPE, JSON_TYPE, *_place(artifact.part))
            return None if row is None else row["content"][start:end]
        found: bytes | None = await self._database.fetchval(
            CONTENT, session, artifact.name, artifact.version, start, end
        )
        return found

    async def newest(self, session: UUID, *, after: str, limit: int) -> list[Artifact]:
        """The newest version of each artifact that callers named, by name."""
        return [_artifact_of(row) for row in await self._database.fetch(NEWEST, session, after, limit)]

    async def named(self, session: UUID, names: Sequence[str]) -> list[Artifact]:
        return [_artifact_of(row) for row in await self._database.fetch(NAMED, session, names)]

    async def versions(self, session: UUID, name: str, *, before: int, limit: int) -> list[Artifact]:
        return [_artifact_of(row) for row in await self._database.fetch(VERSIONS, session, name, before, limit)]

    async def delete(self, session: UUID, name: str, expected: Conditions) -> list[str | None]:
        """Delete every version; answers the object keys they had, None for those whose bytes were in the database.

        Raises PreconditionFailed.
        """
        async with self._database.tx() as tx:
            await _hold(tx, session, name, expected)
            return [row["object_key"] for row in await tx.fetch(DELETE, session, name)]

    async def known_objects(self, objects: Sequence[tuple[UUID, str]]) -> set[str]:
        """Those of the object keys, each given with its session, that an artifact has."""
        sessions, keys = [session for session, _ in objects], [key for _, key in objects]
        return {row["object_key"] for row in await self._database.fetch(KNOWN_OBJECTS, sessions, keys)}

    async def part(self, session: UUID, at: PartAt) -> Artifact | None:
        """A message's part as an artifact; None if it has no text."""
        row = await self._database.fetchrow(PART, session, TEXT_TYPE, JSON_TYPE, *_place(at))
        return None if row is None else _part_of(session, row)

    async def large_parts(self, session: UUID, *, after: PartAt, bytes_min: int, limit: int) -> list[Artifact]:
        """The parts of more than ``bytes_min`` bytes after the part ``after``, in their order."""
        rows = await self._database.fetch(LARGE_PARTS, session, TEXT_TYPE, JSON_TYPE, *_place(after), bytes_min, limit)
        return [_part_of(session, row) for row in rows]


async def objects_of(tx: Tx, sessions: Sequence[UUID]) -> list[str]:
    """The objects of all artifacts of these sessions."""
    return [row["object_key"] for row in await tx.fetch(OBJECTS_OF, sessions)]


async def forget(tx: Tx, gone: Gone) -> dict[str, int]:
    """Delete every artifact of sessions that are deleted."""
    return dict(await tx.fetchrow(FORGET_ARTIFACTS, gone.sessions))


async def _hold(tx: Tx, session: UUID, name: str, expected: Conditions) -> None:
    """Lock the name against other changes. Raises PreconditionFailed if the newest version is not the one expected."""
    await tx.execute(LOCK_NAME, f"artifact:{session}:{name}")
    if expected.are_any:
        newest = await tx.fetchrow(ARTIFACT, session, name, None)
        expected.check(None if newest is None else _artifact_of(newest).etag)


def _place(at: PartAt) -> tuple[int, int]:
    """The seq and the place as the database counts parts, from 1."""
    return at.seq, at.place + 1


def _artifact_of(row: Mapping[str, Any]) -> Artifact:
    return Artifact(
        session_id=row["session_id"],
        name=row["name"],
        version=row["version"],
        media_type=row["media_type"],
        size=row["size"],
        sha256=row["sha256"].hex(),
        created_at=row["created_at"],
        object_key=row["object_key"],
    )


def _part_of(session: UUID, row: Mapping[str, Any]) -> Artifact:
    at = PartAt(row["seq"], row["n"] - 1)
    return Artifact(
        session_id=session,
        name=part_name(at),
        version=VERSION,
        media_type=row["media_type"],
        size=row["size"],
        sha256=row["sha256"].hex(),
        created_at=row["created_at"],
        part=at,
    )
