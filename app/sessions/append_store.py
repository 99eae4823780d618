"""The statements of an append: one, and one round trip (architecture.md section 3).

The locks come in the order session, memory, messages. Having waited for a row lock a statement still sees its old
snapshot, so two tries of one request in flight do not see each other's messages: the second meets the unique index on
(session_id, id), which rolls the whole statement back; run again, it finds the messages stored.

Nearly every append is of one message that is new, to a session that is there. For that there is a statement of a third
of the nodes, which does nothing for any other; then the general one is made (docs/benchmarks/profile.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import asyncpg

from app.kit.db import Database, Row
from app.kit.json import dumps
from app.sessions.model import ActorUsage, MemoryCounters, MemoryDefaults, NewMessage
from app.sessions.store import counters_of, session_id

APPEND_TRIES = 3
PARTS = 4  # the place of that column

# Both statements have the message's columns as $1 to $11 (lists in the general one), and then $12 the session, $13 its
# resource, $14 the service's time zone and $15 its cache_ttl, $16-$22 the agent's usage, $23 early_tokens.
_GROWN = """
    next_seq = s.next_seq + {messages},
    total_tokens = s.total_tokens + {tokens},
    resource_id = coalesce(s.resource_id, $13),
    anchor_date = CASE
      WHEN now() - s.last_active_at > make_interval(secs => coalesce((s.config->>'cache_ttl')::float8, $15))
      THEN ({newest} AT TIME ZONE coalesce(s.config->>'timezone', $14))::date
      ELSE s.anchor_date END,
    cold_at = CASE
      WHEN now() - s.last_active_at > make_interval(secs => coalesce((s.config->>'cache_ttl')::float8, $15))
        OR s.actor_model <> $16
      THEN now() ELSE s.cold_at END,
    last_active_at = now(),
    ended_at = NULL,
    actor_model = coalesce($16, s.actor_model),
    actor_turns = s.actor_turns + $17,
    actor_input_tokens = s.actor_input_tokens + $18,
    actor_cached_tokens = s.actor_cached_tokens + $19,
    actor_written_tokens = s.actor_written_tokens + $20,
    actor_output_tokens = s.actor_output_tokens + $21,
    actor_cost_usd = coalesce(s.actor_cost_usd + $22, $22, s.actor_cost_usd)"""
_OF_RESOURCE = "($13::text IS NULL OR s.next_seq = 1 OR s.resource_id = $13)"
_PUT = """s.next_seq, s.total_tokens, s.resource_id, s.config, s.anchor_date,
            coalesce(s.cold_at = now(), false) AS cold"""

# What ``closes`` may end the wait for a tool's result without adding a token (memory-rules.md section 3, groups), so it
# is a reason to look. It is also noted as a wish, for the engine that has already looked and is about to settle. A
# reason to look ends a wait, but neither a lease nor a back-off.
_CLOSES = "{kind} = 'boundary' OR NOT {observe} AND {kind} IN ('user_message', 'tool_call', 'tool_result')"
_WOKEN = """
    pending_tokens = m.pending_tokens + {pending},
    requested = CASE WHEN m.buffered_tokens >= $23 AND {cold} THEN coalesce(nullif(m.requested, 'look'), 'activate')
                     WHEN {closes} THEN coalesce(m.requested, 'look') ELSE m.requested END,
    requested_at = CASE WHEN m.buffered_tokens >= $23 AND {cold} OR {closes} THEN now() ELSE m.requested_at END,
    due_at = CASE WHEN m.pending_tokens + {pending} >= m.wake_tokens OR {closes}
                    OR (m.buffered_tokens >= $23 AND {cold})
                  THEN CASE WHEN m.lease_owner IS NULL AND m.attempts = 0 THEN least(m.due_at, now())
                            ELSE coalesce(m.due_at, now()) END
                  ELSE m.due_at END"""
_MEMORY = """m.pending_tokens, m.observation_tokens, m.reflection_tokens, m.due_at,
       coalesce(m.due_at <= now(), false) AS due, m.lease_owner, m.lease_step, m.attempts, m.paused, m.last_error"""
_COLUMNS = """(session_id, seq, id, kind, role, name, parts, tokens, tokens_before, content_hash,
                        created_at, metadata, observe, trust, anchor_date)"""

_GENERAL = """/* append */
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
         greatest(now(), max(created_at)) AS newest, bool_or({closes}) AS closes
  FROM fresh HAVING count(*) > 0
), put AS (
  INSERT INTO sessions AS s (id, tenant, key, resource_id, memory_id, next_seq, total_tokens, anchor_date, actor_model,
                             actor_turns, actor_input_tokens, actor_cached_tokens, actor_written_tokens,
                             actor_output_tokens, actor_cost_usd)
  SELECT $12, $24, $25, $13, $12, 1 + n, tokens, (newest AT TIME ZONE $14)::date, $16, $17, $18, $19, $20, $21, $22
  FROM total
  ON CONFLICT (id) DO UPDATE SET {grown}
  WHERE {of_resource}
  RETURNING s.id, s.memory_id, {put}
), wake AS (
  INSERT INTO memories AS m (id, tenant, pending_tokens, wake_tokens, due_at)
  SELECT put.memory_id, $24, pending, $26, CASE WHEN pending >= $26 THEN now() END FROM put, total
  ON CONFLICT (id) DO UPDATE SET {woken}
  RETURNING m.*
), stored AS (
  INSERT INTO messages {columns}
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
       {memory}
FROM input i LEFT JOIN known k ON k.id = i.id LEFT JOIN stored f ON f.id = i.id
LEFT JOIN session ON true LEFT JOIN memory m ON true ORDER BY i.ord
"""

# ``m`` beside the session: without its memory nothing may be stored. No list is among the values: the generic plan
# would look dearer than one for the values given, and Postgres would plan anew for each append.
_OF_ONE = """/* append_one */
WITH put AS (
  UPDATE sessions s SET {grown}
  FROM memories m
  WHERE s.id = $12 AND m.id = s.memory_id AND {of_resource}
    AND NOT EXISTS (SELECT FROM messages WHERE session_id = $12 AND id = $1)
  RETURNING s.memory_id, {put}
), wake AS (
  UPDATE memories m SET {woken}
  FROM put WHERE m.id = put.memory_id
  RETURNING m.*
), stored AS (
  INSERT INTO messages {columns}
  SELECT $12, next_seq - 1, $1, $2, $3, $4, $5, $6, total_tokens - $6, $7, coalesce($8, now()), $9, $10, $11,
         anchor_date
  FROM put
)
SELECT $1 AS id, put.next_seq - 1 AS seq, $2 AS kind, $6 AS tokens, false AS replayed, false AS differs,
       false AS erased, put.resource_id, put.config, m.id AS memory_id,
       {memory}
FROM put, wake m
"""

_SHARED = {"of_resource": _OF_RESOURCE, "put": _PUT, "columns": _COLUMNS, "memory": _MEMORY}

APPEND = _GENERAL.format(
    **_SHARED,
    closes=_CLOSES.format(kind="kind", observe="observe"),
    grown=_GROWN.format(
        messages="excluded.next_seq - 1", tokens="excluded.total_tokens", newest="(SELECT newest FROM total)"
    ),
    woken=_WOKEN.format(
        pending="excluded.pending_tokens", cold="(SELECT cold FROM put)", closes="(SELECT closes FROM total)"
    ),
)

APPEND_ONE = _OF_ONE.format(
    **_SHARED,
    grown=_GROWN.format(messages="1", tokens="$6", newest="greatest(now(), $8)"),
    woken=_WOKEN.format(
        pending="CASE WHEN $10 THEN $6 ELSE 0 END",
        cold="put.cold",
        closes=f"({_CLOSES.format(kind='$2', observe='$10')})",
    ),
)


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


class AppendStore:
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
        shared = (
            session_id(tenant, key),
            resource_id,
            defaults.timezone,
            defaults.cache_ttl,
            actor.model,
            0 if usage is None else 1,
            actor.input_tokens,
            actor.cached_input_tokens,
            actor.cache_write_tokens,
            actor.output_tokens,
            actor.cost_usd,
            defaults.early_tokens,
        )
        rows = await self._fetch(APPEND_ONE, *_columns(messages[0]), *shared) if len(messages) == 1 else []
        if not rows:
            lists = _lists(messages)
            rows = await self._fetch(APPEND, *lists, *shared, tenant, key, defaults.wake_tokens)
        return AppendResult(
            messages=tuple(map(_appended_of, rows)),
            resource_id=rows[0]["resource_id"],
            memory=counters_of(rows[0]),
        )

    async def _fetch(self, statement: str, *arguments: Any) -> list[Row]:
        for left in reversed(range(APPEND_TRIES)):
            try:
                async with self._database.connection() as connection:
                    rows: list[Row] = await connection.fetch(statement, *arguments)
                    return rows
            except asyncpg.UniqueViolationError:
                if not left:
                    raise
        raise AssertionError  # the last try returns or raises


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


def _columns(message: NewMessage) -> tuple[Any, ...]:
    return (
        message.id,
        message.kind,
        message.role,
        message.name,
        message.parts,
        message.tokens,
        message.content_hash,
        message.created_at,
        message.metadata,
        message.observe,
        message.trust,
    )


def _lists(messages: Sequence[NewMessage]) -> list[list[Any]]:
    """The columns of all of them; a list of lists would be a matrix to asyncpg, so parts are told as text."""
    lists = [list(column) for column in zip(*map(_columns, messages), strict=True)]
    lists[PARTS] = [dumps(parts).decode() for parts in lists[PARTS]]
    return lists
