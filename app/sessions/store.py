"""All SQL of sessions and messages. Append is one statement and one round trip (architecture.md section 3).

The locks come in the order session, memory, messages. Having waited for a row lock a statement still sees its old
snapshot, so two tries of one request in flight do not see each other's messages: the second meets the unique index on
(session_id, id), which rolls the whole statement back; run again, it finds the messages stored.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

import asyncpg

from app.kit.db import Database, Row, Tx
from app.kit.json import dumps
from app.sessions.model import (
    ActorUsage,
    Gone,
    Kind,
    MemoryCounters,
    MemoryDefaults,
    Message,
    MessageFilter,
    NewMessage,
    Role,
    Trust,
)

NAMESPACE = UUID("6f2e6f0e-5c43-4a0c-9d2b-6c0f7a1f9b5e")
APPEND_TRIES = 3
# By their values: a look-up takes a fifth of an enum's call, and a context makes three for each message.
KINDS = {kind.value: kind for kind in Kind}
ROLES = {role.value: role for role in Role}
TRUSTS = {trust.value: trust for trust in Trust}

# What ``closes`` may end the wait for a tool's result without adding a token (memory-rules.md section 3, groups), so it
# is a reason to look. It is also noted as a wish, for the engine that has already looked and is about to settle. A
# reason to look ends a wait, but neither a lease nor a back-off.
APPEND = """/* append */
WITH input AS (
  SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::int[], $7::bytea[],
                       $8::timestamptz[], $9::jsonb[], $10::bool[], $11::text[])
    WITH ORDINALITY AS i (id, kind, role, name, parts, tokens, content_hash, created_at, metadata, observe, trust, ord)
), known AS (
  SELECT m.id, m.seq, m.kind, m.tokens, m.erased_at IS NOT NULL AS erased, m.content_hash <> i.content_hash AS differs
  FROM messages m JOIN input i ON i.id = m.id WHERE m.session_id = $12
), fresh AS (
  SELECT i.*, row_number() OVER w AS n, sum(i.tokens) OVER w - i.tokens AS tokens_before
  FROM input i LEFT JOIN known k ON k.id = i.id
  WHERE k.id IS NULL AND NOT EXISTS (SELECT FROM known WHERE differs OR erased)
  WINDOW w AS (ORDER BY i.ord)
), total AS (
  SELECT count(*) AS n, sum(tokens) AS tokens, coalesce(sum(tokens) FILTER (WHERE observe), 0) AS pending,
         greatest(now(), max(created_at)) AS newest,
         bool_or(kind = 'boundary' OR NOT observe AND kind IN ('user_message', 'tool_call', 'tool_result')) AS closes
  FROM fresh HAVING count(*) > 0
), put AS (
  INSERT INTO sessions AS s (id, tenant, key, resource_id, memory_id, next_seq, total_tokens, anchor_date,
                             actor_turns, actor_input_tokens, actor_cached_tokens, actor_written_tokens,
                             actor_output_tokens, actor_cost_usd, actor_model)
  SELECT $12, $13, $14, $15, $12, 1 + n, tokens, (newest AT TIME ZONE $16)::date, $17, $18, $19, $25, $20, $26, $23
  FROM total
  ON CONFLICT (id) DO UPDATE SET
    next_seq = s.next_seq + excluded.next_seq - 1,
    total_tokens = s.total_tokens + excluded.total_tokens,
    resource_id = coalesce(s.resource_id, excluded.resource_id),
    anchor_date = CASE
      WHEN now() - s.last_active_at > make_interval(secs => coalesce((s.config->>'cache_ttl')::float8, $21))
      THEN ((SELECT newest FROM total) AT TIME ZONE coalesce(s.config->>'timezone', $16))::date
      ELSE s.anchor_date END,
    cold_at = CASE
      WHEN now() - s.last_active_at > make_interval(secs => coalesce((s.config->>'cache_ttl')::float8, $21))
        OR s.actor_model <> excluded.actor_model
      THEN now() ELSE s.cold_at END,
    last_active_at = now(),
    ended_at = NULL,
    actor_model = coalesce(excluded.actor_model, s.actor_model),
    actor_turns = s.actor_turns + excluded.actor_turns,
    actor_input_tokens = s.actor_input_tokens + excluded.actor_input_tokens,
    actor_cached_tokens = s.actor_cached_tokens + excluded.actor_cached_tokens,
    actor_written_tokens = s.actor_written_tokens + excluded.actor_written_tokens,
    actor_output_tokens = s.actor_output_tokens + excluded.actor_output_tokens,
    actor_cost_usd = coalesce(s.actor_cost_usd + excluded.actor_cost_usd, excluded.actor_cost_usd, s.actor_cost_usd)
  WHERE excluded.resource_id IS NULL OR s.next_seq = 1 OR s.resource_id = excluded.resource_id
  RETURNING s.id, s.memory_id, s.next_seq, s.total_tokens, s.resource_id, s.config, s.anchor_date,
            coalesce(s.cold_at = now(), false) AS cold
), wake AS (
  INSERT INTO memories AS m (id, tenant, pending_tokens, wake_tokens, due_at)
  SELECT put.memory_id, $13, pending, $22, CASE WHEN pending >= $22 THEN now() END FROM put, total
  ON CONFLICT (id) DO UPDATE SET
    pending_tokens = m.pending_tokens + excluded.pending_tokens,
    requested = CASE WHEN m.buffered_tokens >= $24 AND (SELECT cold FROM put)
                     THEN coalesce(nullif(m.requested, 'look'), 'activate')
                     WHEN (SELECT closes FROM total) THEN coalesce(m.requested, 'look') ELSE m.requested END,
    requested_at = CASE WHEN m.buffered_tokens >= $24 AND (SELECT cold FROM put) OR (SELECT closes FROM total)
                        THEN now() ELSE m.requested_at END,
    due_at = CASE WHEN m.pending_tokens + excluded.pending_tokens >= m.wake_tokens OR (SELECT closes FROM total)
                    OR (m.buffered_tokens >= $24 AND (SELECT cold FROM put))
                  THEN CASE WHEN m.lease_owner IS NULL AND m.attempts = 0 THEN least(m.due_at, now())
                            ELSE coalesce(m.due_at, now()) END
                  ELSE m.due_at END
  RETURNING m.*
), stored AS (
  INSERT INTO messages (session_id, seq, id, kind, role, name, parts, tokens, tokens_before, content_hash,
                        created_at, metadata, observe, trust, anchor_date)
  SELECT put.id, put.next_seq - total.n + f.n - 1, f.id, f.kind, f.role, f.name, f.parts::json, f.tokens,
         put.total_tokens - total.tokens + f.tokens_before, f.content_hash,
         coalesce(f.created_at, now()), f.metadata, f.observe, f.trust, put.anchor_date
  FROM fresh f, put, total
  RETURNING id, seq
), session AS (
  SELECT * FROM put
  UNION ALL
  SELECT id, memory_id, next_seq, total_tokens, resource_id, config, anchor_date, false FROM sessions
  WHERE id = $12 AND NOT EXISTS (SELECT FROM put)
), memory AS (
  SELECT * FROM wake
  UNION ALL
  SELECT m.* FROM memories m, session WHERE m.id = session.memory_id AND NOT EXISTS (SELECT FROM wake)
)
SELECT i.id, coalesce(k.seq, f.seq) AS seq, coalesce(k.kind, i.kind) AS kind, coalesce(k.tokens, i.tokens) AS tokens,
       k.id IS NOT NULL AS replayed, k.differs, k.erased, session.resource_id, session.config, m.id AS memory_id,
       m.pending_tokens, m.observation_tokens, m.reflection_tokens, m.due_at, coalesce(m.due_at <= now(), false) AS due,
       m.lease_owner, m.lease_step, m.attempts, m.paused, m.last_error
FROM input i LEFT JOIN known k ON k.id = i.id LEFT JOIN stored f ON f.id = i.id
LEFT JOIN session ON true LEFT JOIN memory m ON true ORDER BY i.ord
"""

# A change of the config is told from a PUT that leaves it as it was by the number it gets, so that two in flight, of
# which the second does not see what the first stored, record one change each.
PUT_SESSION = """/* put_session */
WITH put AS (
  INSERT INTO sessions AS s (id, tenant, key, resource_id, memory_id, config, config_changes, metadata, anchor_date)
  VALUES ($1, $2, $3, $4, $1, $5::jsonb || $6, ($5::jsonb || $6 <> '{}')::int, $7, (now() AT TIME ZONE $8)::date)
  ON CONFLICT (id) DO UPDATE SET
    resource_id = coalesce(excluded.resource_id, s.resource_id),
    config = (s.config || $5) - $9::text[] || $6,
    config_changes = s.config_changes + ((s.config || $5) - $9::text[] || $6 <> s.config)::int,
    metadata = (s.metadata || excluded.metadata) - $11::text[]
  WHERE excluded.resource_id IS NULL OR s.next_seq = 1 OR s.resource_id = excluded.resource_id
  RETURNING s.*, (xmax = 0) AS created
), look AS (
  INSERT INTO memories AS m (id, tenant, wake_tokens, requested, requested_at, due_at)
  SELECT memory_id, $2, 0, 'look', now(), now() FROM put
  ON CONFLICT (id) DO UPDATE SET
    requested = coalesce(m.requested, 'look'),
    requested_at = now(),
    due_at = CASE WHEN m.lease_owner IS NULL THEN now() ELSE m.due_at END
  WHERE $10::bool
  RETURNING m.id, m.log_version
), changed AS (
  INSERT INTO session_configs (session_id, number, changed_at, from_seq, version, config)
  SELECT put.id, put.config_changes, clock_timestamp(), put.next_seq, look.log_version, put.config FROM put, look
  WHERE put.config_changes > 0 ON CONFLICT DO NOTHING
)
SELECT put.*, (SELECT count(*) FROM look) AS due FROM put
"""

SESSION = "/* session */ SELECT * FROM sessions WHERE id = $1"

SESSIONS = """/* sessions */
SELECT s.*, coalesce(m.pending_tokens, 0) AS pending_tokens, coalesce(m.observation_tokens, 0) AS observation_tokens,
       coalesce(m.reflection_tokens, 0) AS reflection_tokens, m.due_at, coalesce(m.due_at <= now(), false) AS due,
       m.lease_owner, m.lease_step, coalesce(m.attempts, 0) AS attempts, m.last_error,
       coalesce(m.paused, false) AS paused,
       coalesce((SELECT extract(epoch FROM now() - ingested_at) FROM messages
                 WHERE session_id = s.id AND seq = s.observed_seq + 1), 0)::float8 AS pending_seconds
FROM sessions s LEFT JOIN memories m ON m.id = s.memory_id
WHERE s.tenant = $1 AND ($2::text IS NULL OR s.resource_id = $2) AND s.key > $3
  AND ($4::text IS NULL OR position(lower($4) IN lower(s.key)) > 0)
  AND ($5::bool IS NULL OR (m.due_at IS NOT NULL) = $5)
ORDER BY s.key LIMIT $6
"""

CONFIGS = """/* configs */
SELECT * FROM session_configs WHERE session_id = $1 AND number > $2 ORDER BY number LIMIT $3
"""

MESSAGES = """/* messages */
SELECT * FROM messages
WHERE session_id = $1 AND seq > $2 AND seq < $3
  AND ($4::timestamptz IS NULL OR created_at >= $4) AND ($5::timestamptz IS NULL OR created_at < $5)
  AND ($6::text IS NULL OR kind = $6)
  AND ($7::text IS NULL OR parts::jsonb @> jsonb_build_array(jsonb_build_object('type', 'tool_call', 'name', $7::text)))
ORDER BY seq {order} LIMIT $8
"""

COUNTERS = """/* counters */
SELECT m.id AS memory_id, s.config, m.pending_tokens, m.observation_tokens, m.reflection_tokens, m.due_at,
       coalesce(m.due_at <= now(), false) AS due, m.lease_owner, m.lease_step, m.attempts, m.paused, m.last_error
FROM memories m JOIN sessions s ON s.id = m.id WHERE m.id = $1
"""

MESSAGE = "/* message */ SELECT * FROM messages WHERE session_id = $1 AND id = $2"

LOCK_LOG = """/* lock_log */
SELECT memory_id, greatest(observed_seq, buffered_seq) AS sealed_seq FROM sessions WHERE id = $1 FOR UPDATE
"""

# A look is asked for where an append would make none, as nothing grew: what waited may be no longer what it was.
RECOUNT = """/* recount */
UPDATE memories SET pending_tokens = pending_tokens + $2,
  requested = CASE WHEN $3 THEN coalesce(requested, 'look') ELSE requested END,
  requested_at = CASE WHEN $3 THEN now() ELSE requested_at END,
  due_at = CASE WHEN $3 OR pending_tokens + $2 >= wake_tokens THEN coalesce(due_at, now()) ELSE due_at END
WHERE id = $1 RETURNING coalesce(due_at <= now(), false) AS due
"""

REPLACE = """/* replace */
WITH total AS (
  UPDATE sessions SET total_tokens = total_tokens + $13 WHERE id = $1 AND $13 <> 0
), later AS (
  UPDATE messages SET tokens_before = tokens_before + $13 WHERE session_id = $1 AND seq > $2 AND $13 <> 0
)
UPDATE messages SET kind = $3, role = $4, name = $5, parts = $6, tokens = $7, content_hash = $8,
  created_at = coalesce($9, created_at), metadata = $10, observe = $11, trust = $12
WHERE session_id = $1 AND seq = $2 RETURNING *
"""

LOCK_SESSION = """/* lock_session_to_delete */
SELECT id, key, memory_id FROM sessions WHERE id = $1 FOR UPDATE
"""

LOCK_RESOURCE = """/* lock_resource_to_delete */
SELECT id, key, memory_id FROM sessions WHERE tenant = $1 AND resource_id = $2 ORDER BY key FOR UPDATE
"""

FORGET_LOG = """/* forget_log */
WITH said AS (DELETE FROM messages WHERE session_id = ANY($1::uuid[]) RETURNING 1),
configs AS (DELETE FROM session_configs WHERE session_id = ANY($1::uuid[]) RETURNING 1),
gone AS (DELETE FROM sessions WHERE id = ANY($1::uuid[]) RETURNING 1)
SELECT (SELECT count(*) FROM said) AS messages, (SELECT count(*) FROM configs) AS session_configs,
       (SELECT count(*) FROM gone) AS sessions
"""

CURSOR = "/* cursor */ SELECT greatest(observed_seq, buffered_seq) AS sealed_seq FROM sessions WHERE id = $1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """One message of an append as it is stored. ``seq`` is None when the request was refused."""

    id: str
    seq: int | None
    kind: str
    tokens: int
    replayed: bool
    differs: bool
    erased: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendResult:
    messages: tuple[Appended, ...]
    resource_id: str | None
    memory: MemoryCounters


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedLog:
    """A session's row, locked: nothing is appended, observed or replaced meanwhile. What is sealed ends at a seq."""

    session_id: UUID
    memory_id: UUID
    sealed_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    id: UUID
    key: str
    resource_id: str | None
    memory_id: UUID
    last_seq: int
    config: dict[str, Any]
    metadata: dict[str, Any]
    created_at: datetime
    last_active_at: datetime
    ended_at: datetime | None
    branched_from: str | None
    branched_at_seq: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFilter:
    """``search`` is a part of the key, in any case. ``scheduled``: whether its memory has a time to be looked at."""

    resource_id: str | None = None
    search: str | None = None
    scheduled: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSession:
    """A session and where its memory stands; ``pending_seconds`` is the age of the oldest message not observed."""

    session: SessionRecord
    memory: MemoryCounters
    pending_seconds: float
    last_error: dict[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigChange:
    """What a session's config was changed to, and from which message and version of the log on."""

    number: int
    changed_at: datetime
    from_seq: int
    version: int
    config: dict[str, Any]


def session_id(tenant: str, key: str) -> UUID:
    """The id of a session: made of tenant and key, so that it needs no look-up (architecture.md section 3)."""
    return uuid5(NAMESPACE, f"{tenant}/{key}")


def message_of(row: Row, *, sealed_seq: int = 0) -> Message:
    return Message(
        seq=row["seq"],
        id=row["id"],
        kind=KINDS[row["kind"]],
        role=ROLES[row["role"]],
        parts=tuple(row["parts"]),
        tokens=row["tokens"],
        created_at=row["created_at"],
        name=row["name"],
        observe=row["observe"],
        sealed=row["seq"] <= sealed_seq,
        trust=TRUSTS[row["trust"]],
        metadata=row["metadata"] or {},
        content_hash=row["content_hash"],
        up_to_seq=row["up_to_seq"],
        erased_at=row["erased_at"],
    )


def counters_of(row: Row) -> MemoryCounters:
    return MemoryCounters(
        memory_id=row["memory_id"],
        config=row["config"],
        pending_tokens=row["pending_tokens"],
        observation_tokens=row["observation_tokens"],
        reflection_tokens=row["reflection_tokens"],
        due=row["due"],
        due_at=row["due_at"],
        lease_owner=row["lease_owner"],
        lease_step=row["lease_step"],
        attempts=row["attempts"],
        retryable=(row["last_error"] or {}).get("retryable", True),
        paused=row["paused"],
    )


def session_of(row: Row) -> SessionRecord:
    return SessionRecord(
        id=row["id"],
        key=row["key"],
        resource_id=row["resource_id"],
        memory_id=row["memory_id"],
        last_seq=row["next_seq"] - 1,
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


def _change_of(row: Row) -> ConfigChange:
    return ConfigChange(
        number=row["number"],
        changed_at=row["changed_at"],
        from_seq=row["from_seq"],
        version=row["version"],
        config=row["config"],
    )


def _appended_of(row: Row) -> Appended:
    return Appended(
        id=row["id"],
        seq=row["seq"],
        kind=row["kind"],
        tokens=row["tokens"],
        replayed=row["replayed"],
        differs=bool(row["differs"]),
        erased=bool(row["erased"]),
    )


class SessionStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def append(
        self,
        *,
        tenant: str,
        key: str,
        messages: Sequence[NewMessage],
        resource_id: str | None,
        usage: ActorUsage | None,
        defaults: MemoryDefaults,
    ) -> AppendResult:
        """Store what is new of ``messages``, in their order, and count it. Nothing is stored when one conflicts."""
        actor = usage or ActorUsage()
        arguments = (
            *_columns(messages),
            session_id(tenant, key),
            tenant,
            key,
            resource_id,
            defaults.timezone,
            0 if usage is None else 1,
            actor.input_tokens,
            actor.cached_input_tokens,
            actor.output_tokens,
            defaults.cache_ttl,
            defaults.wake_tokens,
            actor.model,
            defaults.early_tokens,
            actor.cache_write_tokens,
            actor.cost_usd,
        )
        rows = await self._append(arguments)
        return AppendResult(
            messages=tuple(_appended_of(row) for row in rows),
            resource_id=rows[0]["resource_id"],
            memory=counters_of(rows[0]),
        )

    async def _append(self, arguments: tuple[Any, ...]) -> list[Row]:
        for left in reversed(range(APPEND_TRIES)):
            try:
                async with self._database.connection() as connection:
                    rows: list[Row] = await connection.fetch(APPEND, *arguments)
                    return rows
            except asyncpg.UniqueViolationError:
                if not left:
                    raise
        raise AssertionError  # the last try returns or raises

    async def put(
        self,
        *,
        tenant: str,
        key: str,
        resource_id: str | None,
        config: dict[str, Any],
        metadata: dict[str, Any],
        timezone: str,
    ) -> tuple[SessionRecord, bool] | None:
        """Create or merge: a null unsets its key, but for ``buffer_every`` of the config, where null is a value.

        Answers the session and whether it is new; None when it belongs to another resource.
        """
        off = {name: value for name, value in config.items() if value is None and name == "buffer_every"}
        async with self._database.connection() as connection:
            row = await connection.fetchrow(
                PUT_SESSION,
                session_id(tenant, key),
                tenant,
                key,
                resource_id,
                _set(config),
                off,
                _set(metadata),
                timezone,
                _unset(config),
                bool(config),
                _unset(metadata),
            )
        return None if row is None else (session_of(row), row["created"])

    async def counters(self, memory: UUID) -> MemoryCounters:
        async with self._database.connection() as connection:
            return counters_of(await connection.fetchrow(COUNTERS, memory))

    async def get(self, tenant: str, key: str) -> SessionRecord | None:
        async with self._database.connection() as connection:
            row = await connection.fetchrow(SESSION, session_id(tenant, key))
        return None if row is None else session_of(row)

    async def page(self, tenant: str, wanted: SessionFilter, *, after: str, limit: int) -> list[ListedSession]:
        """Sessions by key, those after ``after``."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                SESSIONS, tenant, wanted.resource_id, after, wanted.search, wanted.scheduled, limit
            )
        return [_listed_of(row) for row in rows]

    async def configs(self, session: UUID, *, after: int, limit: int) -> list[ConfigChange]:
        """The changes of a session's config, oldest first, those after number ``after``."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(CONFIGS, session, after, limit)
        return [_change_of(row) for row in rows]

    async def messages(self, session: UUID, wanted: MessageFilter, limit: int) -> list[Message]:
        statement = MESSAGES.format(order="DESC" if wanted.descending else "ASC")
        async with self._database.connection() as connection:
            sealed = await connection.fetchval(CURSOR, session)
            rows = await connection.fetch(
                statement,
                session,
                wanted.after,
                wanted.before,
                wanted.since,
                wanted.until,
                wanted.kind,
                wanted.tool,
                limit,
            )
        return [message_of(row, sealed_seq=sealed or 0) for row in rows]

    async def message(self, session: UUID, message_id: str) -> Message | None:
        async with self._database.connection() as connection:
            sealed = await connection.fetchval(CURSOR, session)
            row = await connection.fetchrow(MESSAGE, session, message_id)
        return None if row is None else message_of(row, sealed_seq=sealed or 0)

    async def lock(self, tx: Tx, session: UUID) -> LockedLog | None:
        """None for a session never seen."""
        row = await tx.fetchrow(LOCK_LOG, session)
        if row is None:
            return None
        return LockedLog(session_id=session, memory_id=row["memory_id"], sealed_seq=row["sealed_seq"])

    async def locked_message(self, tx: Tx, log: LockedLog, message_id: str) -> Message | None:
        row = await tx.fetchrow(MESSAGE, log.session_id, message_id)
        return None if row is None else message_of(row, sealed_seq=log.sealed_seq)

    async def recount(self, tx: Tx, log: LockedLog, *, pending_tokens: int, look: bool) -> bool:
        """Move what is pending by so much, as an append would. Answers whether the memory is due now."""
        return bool(await tx.fetchval(RECOUNT, log.memory_id, pending_tokens, look))

    async def replace(self, tx: Tx, log: LockedLog, old: Message, new: NewMessage) -> Message:
        """Put ``new`` in the place of ``old``; the running sums of the messages after it move with its size."""
        row = await tx.fetchrow(
            REPLACE,
            log.session_id,
            old.seq,
            new.kind,
            new.role,
            new.name,
            new.parts,
            new.tokens,
            new.content_hash,
            new.created_at,
            new.metadata,
            new.observe,
            new.trust,
            new.tokens - old.tokens,
        )
        return message_of(row, sealed_seq=log.sealed_seq)

    async def lock_session(self, tx: Tx, tenant: str, key: str) -> Gone:
        """The session alone; no session in it where the key was never seen."""
        return _gone(tenant, await tx.fetch(LOCK_SESSION, session_id(tenant, key)), resource_id=None)

    async def lock_resource(self, tx: Tx, tenant: str, resource_id: str) -> Gone:
        """All sessions of the resource, locked in one order."""
        return _gone(tenant, await tx.fetch(LOCK_RESOURCE, tenant, resource_id), resource_id=resource_id)

    async def forget(self, tx: Tx, gone: Gone) -> dict[str, int]:
        """Delete the sessions with their logs and configs. Answers how many rows, by their tables."""
        return dict(await tx.fetchrow(FORGET_LOG, gone.sessions))


def _gone(tenant: str, rows: Sequence[Row], *, resource_id: str | None) -> Gone:
    return Gone(
        tenant=tenant,
        sessions=tuple(row["id"] for row in rows),
        keys=tuple(row["key"] for row in rows),
        memories=tuple(row["memory_id"] for row in rows),
        resource_id=resource_id,
    )


def _set(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _unset(values: dict[str, Any]) -> list[str]:
    return [name for name, value in values.items() if value is None]


def _columns(messages: Sequence[NewMessage]) -> tuple[list[Any], ...]:
    return (
        [message.id for message in messages],
        [message.kind for message in messages],
        [message.role for message in messages],
        [message.name for message in messages],
        [dumps(message.parts).decode() for message in messages],  # a list of lists would be a matrix to asyncpg
        [message.tokens for message in messages],
        [message.content_hash for message in messages],
        [message.created_at for message in messages],
        [message.metadata for message in messages],
        [message.observe for message in messages],
        [message.trust for message in messages],
    )
