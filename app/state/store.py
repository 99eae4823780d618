"""All SQL of the state. The module implements ``Keeper``.

A writer locks the session and the owners first, and reads in a later statement: a statement that waited for a lock
still sees what was there when it began. The locks are those of the transaction, so that they work behind a pooler too.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

from app.kit.db import Database, Row, Tx
from app.kit.json import dumps
from app.sessions.model import Gone
from app.sessions.store import session_id
from app.state.model import Changes, Entry, State
from app.state.templates import Scope, scope_of

Owners: TypeAlias = Mapping[Scope, str]

STATE = """/* state */
SELECT e.scope, e.name, e.value, e.version, octet_length(e.value::text) AS size
FROM sessions s
CROSS JOIN LATERAL (VALUES ('session', s.key), ('user', s.resource_id), ('app', '')) AS o (scope, owner)
LEFT JOIN state_entries e ON e.tenant = s.tenant AND e.scope = o.scope AND e.owner = o.owner
WHERE s.id = $1 ORDER BY e.scope, e.name COLLATE "C"
"""

STATE_ENTRY = """/* state_entry */
SELECT e.scope, e.name, e.value, e.version, octet_length(e.value::text) AS size
FROM sessions s LEFT JOIN state_entries e ON e.tenant = s.tenant AND e.scope = $2 AND e.name = $3
  AND e.owner = CASE $2 WHEN 'session' THEN s.key WHEN 'user' THEN s.resource_id ELSE '' END
WHERE s.id = $1
"""

# The values that a context's templates use, for the statement that reads the rest of it (app/context/store.py).
VALUES = """
SELECT json_object_agg(CASE w.scope WHEN 'session' THEN '' ELSE w.scope || ':' END || w.name, e.value)
FROM sessions s CROSS JOIN unnest({scopes}::text[], {names}::text[]) AS w (scope, name)
JOIN state_entries e ON e.tenant = s.tenant AND e.scope = w.scope AND e.name = w.name
  AND e.owner = CASE w.scope WHEN 'session' THEN s.key WHEN 'user' THEN s.resource_id ELSE '' END
WHERE s.id = {session}
"""

TENANT_VALUES = """/* tenant_values */
SELECT name, value FROM state_entries WHERE tenant = $1 AND scope = 'app' AND owner = '' AND name = ANY($2::text[])
"""

HOLD_SESSION = "/* hold_session_for_state */ SELECT resource_id FROM sessions WHERE id = $1 FOR KEY SHARE"

LOCK_OWNERS = """/* lock_owners */
SELECT pg_advisory_xact_lock(hashtextextended(owner, 0)) FROM unnest($1::text[]) AS o (owner)
"""

WRITE_STATE = """/* write_state */
WITH deleted AS (
  DELETE FROM state_entries e USING unnest($2::text[], $3::text[], $4::text[]) AS d (scope, owner, name)
  WHERE e.tenant = $1 AND e.scope = d.scope AND e.owner = d.owner AND e.name = d.name
)
INSERT INTO state_entries AS e (tenant, scope, owner, name, value)
SELECT $1, p.scope, p.owner, p.name, p.value::json
FROM unnest($5::text[], $6::text[], $7::text[], $8::text[]) AS p (scope, owner, name, value)
ON CONFLICT (tenant, scope, owner, name) DO UPDATE SET value = excluded.value, version = excluded.version
RETURNING e.scope, e.name, e.value, e.version, octet_length(e.value::text) AS size
"""

BRANCH_STATE = """/* branch_state */
INSERT INTO state_entries (tenant, scope, owner, name, value)
SELECT tenant, scope, $3, name, value FROM state_entries WHERE tenant = $1 AND scope = 'session' AND owner = $2
"""

FORGET_STATE = """/* forget_state */
WITH gone AS (
  DELETE FROM state_entries
  WHERE tenant = $1 AND (scope = 'session' AND owner = ANY($2::text[]) OR scope = 'user' AND owner = $3) RETURNING 1
)
SELECT count(*) AS state_entries FROM gone
"""


class StateStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def state(self, tenant: str, key: str) -> State | None:
        """All that the session sees; None: the session was never seen."""
        return _state_of(await self._database.fetch(STATE, session_id(tenant, key)))

    async def entry(self, tenant: str, key: str, name: str) -> State | None:
        """The same, but for one name."""
        rows = await self._database.fetch(STATE_ENTRY, session_id(tenant, key), scope_of(name), _bare(name))
        return _state_of(rows)

    async def tenant_values(self, tenant: str, names: Collection[str]) -> dict[str, Any]:
        """The values of the tenant among these names: all that a session not seen yet can see."""
        bare = [_bare(name) for name in names if scope_of(name) is Scope.APP]
        rows = await self._database.fetch(TENANT_VALUES, tenant, bare)
        return {f"{Scope.APP}:{row['name']}": row["value"] for row in rows}


async def hold(tx: Tx, tenant: str, key: str) -> Owners | None:
    """Lock the session against deletion; answers the owners whose state it sees. None: it was never seen."""
    session = await tx.fetchrow(HOLD_SESSION, session_id(tenant, key))
    if session is None:
        return None
    resource = session["resource_id"]
    return {Scope.SESSION: key, Scope.APP: ""} | ({} if resource is None else {Scope.USER: resource})


async def locked(tx: Tx, tenant: str, key: str, owners: Owners) -> State:
    """The state of a locked session. Nobody else writes that of these owners until the transaction ends.

    The locks are taken in one order, so that no two wait for each other.
    """
    await tx.execute(LOCK_OWNERS, sorted(f"{tenant}/{scope}/{owner}" for scope, owner in owners.items()))
    return _state_of(await tx.fetch(STATE, session_id(tenant, key))) or State(entries={})


async def write(tx: Tx, tenant: str, owners: Owners, changes: Changes) -> dict[str, Entry]:
    """Answers the entries put, by name."""
    values = [dumps(value).decode() for value in changes.put.values()]
    columns = (*_columns(changes.deleted, owners), *_columns(changes.put, owners), values)
    return {entry.name: entry for entry in map(_entry_of, await tx.fetch(WRITE_STATE, tenant, *columns))}


async def branch(tx: Tx, tenant: str, key: str, into: str) -> None:
    """Give a new session the values of another, as they are now: past values are not kept."""
    await tx.execute(BRANCH_STATE, tenant, key, into)


async def forget(tx: Tx, gone: Gone) -> dict[str, int]:
    """Delete the state of sessions that are deleted, and of their resource if it is. The tenant's stays."""
    return dict(await tx.fetchrow(FORGET_STATE, gone.tenant, gone.keys, gone.resource_id))


def _columns(names: Collection[str], owners: Owners) -> tuple[list[str], list[str], list[str]]:
    scopes, bare = scopes_and_names(names)
    return scopes, [owners[Scope(scope)] for scope in scopes], bare


def scopes_and_names(names: Collection[str]) -> tuple[list[str], list[str]]:
    """The scopes and the names without their prefixes, as two columns."""
    return [scope_of(name).value for name in names], [_bare(name) for name in names]


def _bare(name: str) -> str:
    return name.rpartition(":")[2]


def _state_of(rows: Sequence[Row]) -> State | None:
    if not rows:
        return None
    entries = [_entry_of(row) for row in rows if row["name"] is not None]
    return State(entries={entry.name: entry for entry in entries})


def _entry_of(row: Row) -> Entry:
    prefix = "" if row["scope"] == Scope.SESSION else f"{row['scope']}:"
    return Entry(name=prefix + row["name"], value=row["value"], version=row["version"], size=row["size"])
