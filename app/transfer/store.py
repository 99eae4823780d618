"""The SQL of exports and imports: rows as JSON texts, read by a cursor and written in batches.

``row_to_json`` writes a row and ``json_populate_recordset`` reads it, so that json values keep the order of their keys,
and a column that is not in the file gets its default.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from app.facts.rereading_store import IS_HIDDEN
from app.kit.db import Row, Tx
from app.kit.json import dumps
from app.transfer.lines import Place

ROWS_AT_ONCE = 8  # of a cursor: a message may have a megabyte; 50 at once would take a quarter less time

# $1 is the session or the memory, $2 the session's key, $3 the tenant, $4 the resource; NULL if not used.
_LINE = """/* export_{name} */
SELECT json_build_object('type', '{table}', 'session', given.key, 'data', row_to_json(found))::text
FROM (SELECT $1::uuid, $2::text, $3::text, $4::text) AS given (id, key, tenant, resource), LATERAL ({rows}) AS found
"""
_ROWS = {
    "sessions": "SELECT * FROM sessions WHERE id = $1",
    "session_configs": "SELECT * FROM session_configs WHERE session_id = $1 ORDER BY number",
    "messages": "SELECT * FROM messages WHERE session_id = $1 ORDER BY seq",
    "memories": "SELECT * FROM memories WHERE id = $1",
    "memory_versions": "SELECT * FROM memory_versions WHERE memory_id = $1 ORDER BY version",
    "session_cursors": "SELECT * FROM session_cursors WHERE memory_id = $1 ORDER BY version, session_id",
    "observations": "SELECT * FROM observations WHERE memory_id = $1 ORDER BY id",
    "reflections": "SELECT * FROM reflections WHERE memory_id = $1 ORDER BY id",
    "runs": "SELECT * FROM runs WHERE memory_id = $1 ORDER BY id",
    "state_entries": """SELECT * FROM state_entries
      WHERE tenant = $3 AND scope = 'session' AND owner = $2 ORDER BY version""",
}
_ROWS_OF_RESOURCE = {
    "resources": "SELECT * FROM resources WHERE tenant = $3 AND id = $4",
    "state_entries": """SELECT * FROM state_entries
      WHERE tenant = $3 AND scope = 'user' AND owner = $4 ORDER BY version""",
    "facts": f"SELECT * FROM facts WHERE tenant = $3 AND resource_id = $4 AND NOT {IS_HIDDEN} ORDER BY id",  # noqa: S608 - our own text
}
_LINES = {table: _LINE.format(name=table, table=table, rows=rows) for table, rows in _ROWS.items()}

OF_SESSION = [*_LINES.values()]
OF_MEMORY = [
    _LINES[table] for table in ("memories", "memory_versions", "session_cursors", "observations", "reflections", "runs")
]
OF_RESOURCE = [
    _LINE.format(name=f"{table}_of_resource", table=table, rows=rows) for table, rows in _ROWS_OF_RESOURCE.items()
]

ARTIFACTS = """/* export_artifacts */
SELECT session_id::text, name, version, media_type, size, encode(sha256, 'hex') AS sha256, created_at, content,
       object_key, deleted_at
FROM artifacts WHERE session_id = $1 ORDER BY name, version
"""

IS_THERE = """/* artifact_is_there */
SELECT true FROM artifacts WHERE session_id = $1 AND name = $2 AND version = $3 AND deleted_at IS NULL
"""

NAMES_OBJECTS = """/* names_objects */
SELECT EXISTS (
  SELECT FROM sessions s JOIN artifacts a ON a.session_id = s.id
  WHERE s.tenant = $1 AND s.resource_id = $2 AND a.object_key IS NOT NULL)
"""

SESSIONS = """/* export_sessions */
SELECT id, key FROM sessions WHERE tenant = $1 AND resource_id = $2 ORDER BY key
"""

COLUMNS = """/* columns */
SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = $1
"""

TAKEN = "/* taken */ SELECT true FROM sessions WHERE id = $1"

NULL_IS_A_VALUE = ("state_entries", '"value"')  # JSON's null, which would come in as SQL's NULL

# Ids drawn later are above the imported ones, as ids are in the order of time. A sequence is only ever set forward, so
# the ends of imports wait for each other: one that has read it before another sets it would set it back, to ids that
# the other's notes have.
LOCK_IDS = "/* lock_ids */ SELECT pg_advisory_xact_lock(hashtextextended('import/ids', 0))"
IDS_BEYOND = """/* ids_beyond */
SELECT setval(s.name, $2) FROM (SELECT pg_get_serial_sequence($1, 'id')::regclass AS name) AS s
WHERE coalesce(pg_sequence_last_value(s.name), 0) < $2
"""

PUT_ARTIFACT = """/* import_artifact */
INSERT INTO artifacts (session_id, name, version, media_type, size, sha256, created_at, content, object_key)
VALUES ($1::text::uuid, $2, $3, $4, $5, decode($6, 'hex'), $7::text::timestamptz, $8, $9)
"""

# As the deletion of an artifact leaves it (artifacts/store.py).
PUT_DELETED_ARTIFACT = """/* import_deleted_artifact */
INSERT INTO artifacts (session_id, name, version, media_type, size, sha256, created_at, deleted_at)
VALUES ($1::text::uuid, $2, $3, '', 0, '', $4::text::timestamptz, coalesce($5::text::timestamptz, now()))
"""

DUE = "/* import_due */ UPDATE memories SET due_at = now() WHERE id = $1 AND due_at IS NOT NULL"


KEEP_ALIVE = "/* export_keep_alive */ SELECT"


async def set_stall_timeout(tx: Tx, *, stall_seconds: float) -> None:
    """End the snapshot if its reader stops for so long: the time runs from the last statement."""
    await tx.execute(f"SET LOCAL idle_in_transaction_session_timeout = {round(stall_seconds * 1_000)}")


async def keep_alive(tx: Tx) -> None:
    """Restart the time of ``set_stall_timeout``."""
    await tx.execute(KEEP_ALIVE)


async def _read(tx: Tx, statement: str, *values: Any, at_once: int = ROWS_AT_ONCE) -> AsyncIterator[Row]:
    """The rows through a cursor.

    The statement has no name: behind a pooler, another client may have given the driver's name for it on the same
    connection of the server.
    """
    prepared = await tx.prepare(statement, name="")
    async for row in prepared.cursor(*values, prefetch=at_once):
        yield row


def sessions(tx: Tx, tenant: str, resource_id: str) -> AsyncIterator[Row]:
    return _read(tx, SESSIONS, tenant, resource_id)


async def _lines(tx: Tx, statements: Sequence[str], *values: Any) -> AsyncIterator[bytes]:
    for statement in statements:
        async for row in _read(tx, statement, *values):
            yield row[0].encode() + b"\n"


def of_resource(tx: Tx, tenant: str, resource_id: str) -> AsyncIterator[bytes]:
    """The lines of a resource apart from its sessions: itself, its state, its facts."""
    return _lines(tx, OF_RESOURCE, None, None, tenant, resource_id)


def lines(tx: Tx, place: Place) -> AsyncIterator[bytes]:
    """The lines of a session, table by table, without its artifacts."""
    return _lines(tx, OF_SESSION, place.id, place.key, place.tenant, None)


def shared(tx: Tx, memory: UUID) -> AsyncIterator[bytes]:
    """The lines of the memory that the sessions of a resource share, table by table."""
    return _lines(tx, OF_MEMORY, memory, None, None, None)


def artifacts(tx: Tx, session: UUID) -> AsyncIterator[Row]:
    """Every version with its bytes, or with their key in the object store. One row is fetched at a time."""
    return _read(tx, ARTIFACTS, session, at_once=1)


async def is_there(tx: Tx, session: UUID, *, name: str, version: int) -> bool:
    return await tx.fetchval(IS_THERE, session, name, version) is not None


async def names_objects(tx: Tx, tenant: str, resource_id: str) -> bool:
    """Whether bytes of artifacts of the resource's sessions are in an object store."""
    return bool(await tx.fetchval(NAMES_OBJECTS, tenant, resource_id))


async def put_artifact(tx: Tx, row: Mapping[str, Any], *, content: bytes | None, object_key: str | None) -> None:
    described = (row[name] for name in ("session_id", "name", "version", "media_type", "size", "sha256"))
    await tx.execute(PUT_ARTIFACT, *described, row["created_at"], content, object_key)


async def put_deleted_artifact(tx: Tx, row: Mapping[str, Any]) -> None:
    described = (row[name] for name in ("session_id", "name", "version", "created_at"))
    await tx.execute(PUT_DELETED_ARTIFACT, *described, row.get("deleted_at"))


async def columns(tx: Tx, table: str) -> dict[str, str]:
    """The table's columns, each with its type."""
    return {row["column_name"]: row["data_type"] for row in await tx.fetch(COLUMNS, table)}


async def taken(tx: Tx, session: UUID) -> bool:
    return await tx.fetchval(TAKEN, session) is not None


async def put(tx: Tx, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows that have the same columns, which were compared with the table's."""
    names = [f'"{name}"' for name in rows[0]]
    values = [f"coalesce({name}, 'null')" if (table, name) == NULL_IS_A_VALUE else name for name in names]
    statement = f"""/* import_rows */
INSERT INTO {table} ({", ".join(names)}) SELECT {", ".join(values)}
FROM json_populate_recordset(NULL::{table}, $1::text::json)
"""  # noqa: S608 - our own tables, and columns that were compared with theirs
    await tx.execute(statement, dumps(rows).decode())


async def end(tx: Tx, session: UUID, highest: Mapping[str, int]) -> None:
    """Let later ids be above the imported ones, and work that was due be due now. The last of an import."""
    await tx.execute(LOCK_IDS)
    for table, number in highest.items():
        await tx.fetchval(IDS_BEYOND, table, number)
    await tx.execute(DUE, session)
