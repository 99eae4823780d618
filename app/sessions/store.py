"""The SQL of sessions: put, get, list. An append, an end, an erasure and a deletion have stores of their own."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID, uuid5

from app.kit.db import Database, Row, Tx
from app.sessions.errors import SessionMoved
from app.sessions.merging import check_metadata, merged_config, off_of, set_of, unset_of
from app.sessions.model import MemoryCounters, QueueState
from app.sessions.waking import DUE, PENDING_SECONDS, ruled_anew

NAMESPACE = UUID("6f2e6f0e-5c43-4a0c-9d2b-6c0f7a1f9b5e")
LOOKED_AT_ONCE = 200  # sessions that one statement of a list examines
# Since when a session is silent. The last message of a branch or an import may be older than the session itself.
SILENT_SINCE = "greatest(last_active_at, created_at)"
IDS_KEPT = 4_096  # of the sessions used last, at most a kilobyte each

_MERGED = merged_config("s", given="$5", off="$6", unset="$9")

# A PUT that changes the config raises ``config_changes``; one that leaves it as it was does not. So two at once, of
# which the second does not see what the first stored, record one change each.
PUT_SESSION = f"""/* put_session */
WITH put AS (
  INSERT INTO sessions AS s (id, tenant, key, resource_id, memory_id, config, config_changes, metadata, anchor_date)
  VALUES ($1, $2, $3, $4, $1, $5::jsonb || $6, ($5::jsonb || $6 <> '{{}}')::int, $7, (now() AT TIME ZONE $8)::date)
  ON CONFLICT (id) DO UPDATE SET
    resource_id = coalesce(excluded.resource_id, s.resource_id),
    config = {_MERGED},
    config_changes = s.config_changes + ({_MERGED} <> s.config)::int,
    metadata = (s.metadata || excluded.metadata) - $11::text[]
  WHERE (excluded.resource_id IS NULL OR s.resource_id = excluded.resource_id OR s.next_seq = 1 AND s.memory_id = s.id)
    AND (NOT $10 OR s.memory_id = s.id)
  RETURNING s.*, (xmax = 0) AS created
), look AS (
  INSERT INTO memories AS m (id, tenant, wake_tokens, requested, requested_at, due_at)
  SELECT memory_id, $2, 0, 'look', now(), now() FROM put
  ON CONFLICT (id) DO UPDATE SET {ruled_anew(off="(SELECT config->'enabled' = 'false' FROM put)")}
  WHERE $10::bool
  RETURNING m.id, m.log_version
), changed AS (
  INSERT INTO session_configs (session_id, number, changed_at, from_seq, version, config)
  SELECT put.id, put.config_changes, clock_timestamp(), put.next_seq, look.log_version, put.config FROM put, look
  WHERE put.config_changes > 0 ON CONFLICT DO NOTHING
)
SELECT * FROM put
"""  # noqa: S608 - our own text

SESSION = "/* session */ SELECT * FROM sessions WHERE id = $1"

# The columns of a memory ``m`` that ``counters_of`` reads, beside its id and a config, also if there is no memory.
COUNTED = f"m.pending_tokens, m.observation_tokens, m.due_at, {DUE}, m.lease_owner, m.lease_step, m.attempts, m.paused"

# Of the next sessions by key those that are wanted, and the last one examined, after which the next look begins. Their
# number is a literal, as the planner takes an unknown limit for a tenth of all rows; the tenant is hidden from it
# (context/store.py).
SESSIONS = f"""/* sessions */
SELECT s.*, {COUNTED}, m.last_error - 'failed' AS last_error, {PENDING_SECONDS}, found.wanted
FROM (
  SELECT *, row_number() OVER (ORDER BY key) AS number FROM (
    (SELECT * FROM sessions
     WHERE (SELECT $2::text) IS NULL AND tenant = (SELECT $1::text) AND key > (SELECT $3::text)
     ORDER BY key LIMIT {LOOKED_AT_ONCE})
    UNION ALL
    (SELECT * FROM sessions
     WHERE tenant = (SELECT $1) AND resource_id = (SELECT $2) AND key > (SELECT $3) ORDER BY key LIMIT {LOOKED_AT_ONCE})
  ) AS looked
) AS s
LEFT JOIN LATERAL (SELECT * FROM memories WHERE id = s.memory_id LIMIT 1) AS m ON true
CROSS JOIN LATERAL (
  SELECT ((SELECT $4::text) IS NULL OR position(lower((SELECT $4)) IN lower(s.key)) > 0)
     AND (NOT (SELECT $5::bool) OR m.due_at IS NOT NULL) AS wanted
) AS found
WHERE found.wanted OR s.number = {LOOKED_AT_ONCE}
ORDER BY s.key LIMIT $6
"""  # noqa: S608 - our own number

CONFIGS = """/* configs */
SELECT number, changed_at, from_seq, version AS memory_version, config FROM session_configs
WHERE session_id = $1 AND number > $2 ORDER BY number LIMIT $3
"""

COUNTERS = f"""/* counters */
SELECT m.id AS memory_id, s.config, {COUNTED}
FROM memories m JOIN sessions s ON s.memory_id = m.id WHERE m.id = $1 LIMIT 1
"""  # noqa: S608 - our own text


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """A session as stored. ``sealed_seq``: the messages up to it are observed or buffered."""

    id: UUID
    key: str
    resource_id: str | None
    memory_id: UUID
    last_seq: int
    sealed_seq: int
    config: dict[str, Any]
    metadata: dict[str, Any]
    created_at: datetime
    last_active_at: datetime
    ended_at: datetime | None
    branched_from: str | None
    branched_at_seq: int | None

    @property
    def is_shared(self) -> bool:
        """Whether its memory is that of its resource."""
        return self.memory_id != self.id


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSession:
    """A session and its memory's state; ``pending_seconds`` is the age of the oldest message not observed."""

    session: SessionRecord
    memory: MemoryCounters
    pending_seconds: float
    last_error: dict[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """The matches among the sessions examined. ``last``: the key of the last examined; None: there are no more."""

    found: tuple[ListedSession, ...]
    last: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigChange:
    """A session's config after a change, and the seq and the version of the log from which it holds."""

    number: int
    changed_at: datetime
    from_seq: int
    memory_version: int
    config: dict[str, Any]


@lru_cache(maxsize=IDS_KEPT)
def session_id(tenant: str, key: str) -> UUID:
    """The id of a session: made of tenant and key, so that it needs no look-up (architecture.md section 3)."""
    return uuid5(NAMESPACE, f"{tenant}/{key}")


def counters_of(row: Row) -> MemoryCounters:
    return MemoryCounters(
        memory_id=row["memory_id"],
        config=row["config"],
        pending_tokens=row["pending_tokens"] or 0,
        observation_tokens=row["observation_tokens"] or 0,
        queue=queue_state_of(row),
    )


def queue_state_of(row: Row) -> QueueState:
    """The queue state of a row, also of one without a memory, whose columns are NULL."""
    return QueueState(
        due=row["due"],
        due_at=row["due_at"],
        leased=row["lease_owner"] is not None,
        lease_step=row["lease_step"],
        attempts=row["attempts"] or 0,
        paused=bool(row["paused"]),
    )


def session_of(row: Row) -> SessionRecord:
    return SessionRecord(
        id=row["id"],
        key=row["key"],
        resource_id=row["resource_id"],
        memory_id=row["memory_id"],
        last_seq=row["next_seq"] - 1,
        sealed_seq=max(row["observed_seq"], row["buffered_seq"]),
        config=row["config"],
        metadata=row["metadata"],
        created_at=row["created_at"],
        last_active_at=row["last_active_at"],
        ended_at=row["ended_at"],
        branched_from=row["branched_from"],
        branched_at_seq=row["branched_at_seq"],
    )


def _listed_of(row: Row) -> ListedSession:
    return ListedSession(
        session=session_of(row),
        memory=counters_of(row),
        pending_seconds=row["pending_seconds"],
        last_error=row["last_error"],
    )


class SessionStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(
        self,
        *,
        tenant: str,
        key: str,
        resource_id: str | None,
        config: dict[str, Any],
        metadata: dict[str, Any],
        metadata_bytes_max: int,
        timezone: str,
        first: Callable[[Tx], Awaitable[bool]] | None = None,
    ) -> tuple[SessionRecord, bool]:
        """Create or merge (``merging.py``).

        Answers the session and whether it is new. Raises SessionMoved if it belongs to another resource, or if there is
        a config and it shares its memory; MetadataTooLarge if the merged metadata is over ``metadata_bytes_max``.
        ``first`` runs before, in the same transaction, and answers whether it made the session.
        """
        async with self._database.tx(of=session_id(tenant, key)) as tx:
            made = first is not None and await first(tx)
            row = await tx.fetchrow(
                PUT_SESSION,
                session_id(tenant, key),
                tenant,
                key,
                resource_id,
                set_of(config),
                off_of(config),
                set_of(metadata),
                timezone,
                unset_of(config),
                bool(config),
                unset_of(metadata),
            )
            if row is None:
                raise SessionMoved(f"session '{key}' is changing its resource at this moment")
            if metadata:
                check_metadata(row["metadata"], metadata_bytes_max)
        return session_of(row), row["created"] or made

    async def counters(self, memory: UUID) -> MemoryCounters | None:
        """The counters of a memory; None: no session has it any more."""
        row = await self._database.fetchrow(COUNTERS, memory)
        return None if row is None else counters_of(row)

    async def get(self, tenant: str, key: str) -> SessionRecord | None:
        row = await self._database.fetchrow(SESSION, session_id(tenant, key))
        return None if row is None else session_of(row)

    async def page(
        self, tenant: str, *, resource_id: str | None, search: str | None, scheduled: bool, after: str, limit: int
    ) -> Looked:
        """Up to ``limit`` sessions by key, of the ``LOOKED_AT_ONCE`` after ``after``.

        ``search`` is a part of the key, in any case. ``scheduled``: only those whose memory has a ``due_at``.
        """
        rows = await self._database.fetch(SESSIONS, tenant, resource_id, after, search, scheduled, limit)
        more = rows and (len(rows) == limit or rows[-1]["number"] == LOOKED_AT_ONCE)
        found = tuple(_listed_of(row) for row in rows if row["wanted"])
        return Looked(found=found, last=rows[-1]["key"] if more else None)

    async def configs(self, session: UUID, *, after: int, limit: int) -> list[ConfigChange]:
        """The changes of a session's config, oldest first, those after number ``after``."""
        rows = await self._database.fetch(CONFIGS, session, after, limit)
        return [ConfigChange(**row) for row in rows]
