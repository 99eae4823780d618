"""An append: one statement, one round trip (architecture.md section 3).

Locks are taken in the order session, memory, messages. A statement that waited for a row lock still sees the snapshot
from before the wait. So of two concurrent copies of a request the second does not see the messages of the first: it
violates the unique index on (session_id, id), is rolled back and retried, and then finds them stored. Others may store
more of the messages meanwhile, so the last try locks the session before its statement begins. Two more changes are not
in the old snapshot: the session left its memory and came back to a new row of the same id, or it was deleted and made
anew. Then the statement fails by a division by zero, and is retried too.

Nearly every append stores new messages in an existing session. A short statement with a third of the plan's nodes does
that, in one form for a single message and one for several. In any other case, and while another transaction holds the
session or its memory, it does nothing, and the general statement follows (docs/benchmarks/profile.md). Appends of one
message each that arrive at once share a transaction (group_commit.py).
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple
from uuid import UUID

import asyncpg

from app.kit.db import Database, Row
from app.kit.json import dumps
from app.kit.offload import offloaded
from app.sessions.group_commit import GroupCommit
from app.sessions.model import ActorUsage, MemoryCounters, MemoryDefaults, NewMessage
from app.sessions.store import COUNTED, counters_of, session_id
from app.sessions.waking import is_reason_to_look, woken

APPEND_TRIES = 3
STALE_SNAPSHOT = (asyncpg.UniqueViolationError, asyncpg.DivisionByZeroError)  # of messages; of session and memory
HOLD_SESSION = "/* hold_session */ SELECT FROM sessions WHERE id = $1 FOR NO KEY UPDATE"
GROUP_CHARS = 16 * 1024  # of the largest message, as JSON, in a group commit: a larger one delays the others
PARTS, LOOK = 4, 11  # their indexes among the arguments of a message

# Both statements have the messages' columns as $1 to $13, then $14 the session, $15 its resource, $16 the service's
# time zone and $17 its cache_ttl, $18-$24 the agent's usage, $25 early_tokens.
_INPUT = """unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::int[], $7::bytea[],
              $8::timestamptz[], $9::jsonb[], $10::bool[], $11::text[], $12::bool[], $13::bigint[])
    WITH ORDINALITY AS i (id, kind, role, name, parts, tokens, content_hash, created_at, metadata, observe, trust,
                          look, before, ord)"""
# The same for one message, as plain values: lists of one element make the statement a tenth slower.
_INPUT_OF_ONE = """(SELECT $1::text AS id, $2::text AS kind, $3::text AS role, $4::text AS name, $5::text AS parts,
                       $6::int AS tokens, $7::bytea AS content_hash, $8::timestamptz AS created_at,
                       $9::jsonb AS metadata, $10::bool AS observe, $11::text AS trust, $12::bool AS look,
                       $13::bigint AS before, 1 AS ord) AS i"""
# The provider's cache has expired.
_IDLE = "now() - s.last_active_at > make_interval(secs => coalesce((s.config->>'cache_ttl')::float8, $17))"
# An anchor date that lies ahead of today everywhere on earth is that of a message, which may still be shown: it does
# not go back.
_GROWN = """
    next_seq = s.next_seq + {messages},
    total_tokens = s.total_tokens + {tokens},
    resource_id = coalesce($15, s.resource_id),
    anchor_date = CASE
      WHEN {idle}
        OR s.next_seq = 1
      THEN greatest(({newest} AT TIME ZONE coalesce(s.config->>'timezone', $16))::date,
                    CASE WHEN s.anchor_date > (now() AT TIME ZONE 'Pacific/Kiritimati')::date THEN s.anchor_date END)
      ELSE s.anchor_date END,
    cold_at = CASE
      WHEN {idle}
        OR s.actor_model <> $18
      THEN now() ELSE s.cold_at END,
    last_active_at = now(),
    ended_at = NULL,
    waiting = s.memory_id <> s.id,
    actor_model = coalesce($18, s.actor_model),
    actor_turns = s.actor_turns + $19,
    actor_input_tokens = s.actor_input_tokens + $20,
    actor_cached_tokens = s.actor_cached_tokens + $21,
    actor_written_tokens = s.actor_written_tokens + $22,
    actor_output_tokens = s.actor_output_tokens + $23,
    actor_cost_usd = coalesce(s.actor_cost_usd + $24, $24, s.actor_cost_usd)"""
_PUT = """s.next_seq, s.total_tokens, s.resource_id, s.config, s.anchor_date,
            coalesce(s.cold_at = now(), false) AS cold"""
_COLUMNS = """(session_id, seq, id, kind, role, name, parts, tokens, tokens_before, content_hash,
                        created_at, metadata, observe, trust, anchor_date)"""


def _grown(*, messages: str, tokens: str, newest: str) -> str:
    return _GROWN.format(messages=messages, tokens=tokens, newest=newest, idle=_IDLE)


def _woken(*, grown: str, look: str, cold: str) -> str:
    early = f"m.buffered_tokens >= $25 AND {cold}"
    return f"\n    pending_tokens = m.pending_tokens + {grown}," + woken(grown=grown, look=look, early=early)


# And $26 the tenant, $27 the session's key, $28 wake_tokens. A message that a retention rule has removed counts as
# stored, with nothing left to compare (docs/decisions/0031). ``known`` is of the session that was there when the
# statement began: if another has taken its place, the statement divides by zero. (On a violated constraint Postgres
# would write the message to its log.) A session without messages may get another resource, unless it would leave a
# shared memory.
_GENERAL = """/* append */
WITH input AS (
  SELECT * FROM {input}
), known AS (
  SELECT m.id, m.seq, m.kind, m.tokens, m.erased_at IS NOT NULL AND m.seq > s.expired_seq AS erased,
         m.erased_at IS NULL AND m.content_hash <> i.content_hash AS differs
  FROM input i CROSS JOIN LATERAL (SELECT * FROM messages WHERE session_id = $14 AND id = i.id LIMIT 1) AS m
  JOIN sessions s ON s.id = m.session_id
), fresh AS (
  SELECT i.*, row_number() OVER w AS n, sum(i.tokens) OVER w - i.tokens AS tokens_before
  FROM input i LEFT JOIN known k ON k.id = i.id
  WHERE k.id IS NULL AND NOT EXISTS (SELECT FROM known WHERE differs OR erased)
  WINDOW w AS (ORDER BY i.ord)
), total AS (
  SELECT count(*) AS n, sum(tokens) AS tokens, coalesce(sum(tokens) FILTER (WHERE observe), 0) AS pending,
         greatest(now(), max(created_at)) AS newest, bool_or(look) AS look
  FROM fresh HAVING count(*) > 0
), put AS (
  INSERT INTO sessions AS s (id, tenant, key, resource_id, memory_id, next_seq, total_tokens, anchor_date, actor_model,
                             actor_turns, actor_input_tokens, actor_cached_tokens, actor_written_tokens,
                             actor_output_tokens, actor_cost_usd)
  SELECT $14, $26, $27, $15, $14, 1 + n, tokens, (newest AT TIME ZONE $16)::date, $18, $19, $20, $21, $22, $23, $24
  FROM total
  ON CONFLICT (id) DO UPDATE SET {grown}
  WHERE $15::text IS NULL OR s.resource_id = $15 OR s.next_seq = 1 AND s.memory_id = s.id
  RETURNING s.id, s.memory_id, {put}, s.created_at
), wake AS (
  INSERT INTO memories AS m (id, tenant, pending_tokens, wake_tokens, due_at)
  SELECT put.memory_id, $26, pending, $28, CASE WHEN pending >= $28 THEN now() END FROM put, total
  ON CONFLICT (id) DO UPDATE SET {woken}
  RETURNING m.*
), stored AS (
  INSERT INTO messages {columns}
  SELECT put.id, put.next_seq - total.n + f.n - 1 / CASE
           WHEN NOT EXISTS (SELECT FROM known) OR put.created_at = (SELECT created_at FROM sessions WHERE id = $14)
           THEN 1 ELSE 0 END, f.id, f.kind, f.role, f.name, f.parts::json, f.tokens,
         put.total_tokens - total.tokens + f.tokens_before, f.content_hash,
         coalesce(f.created_at, now()), f.metadata, f.observe, f.trust, put.anchor_date
  FROM fresh f, put, total
  RETURNING id, seq
), session AS (
  SELECT * FROM put
  UNION ALL
  SELECT id, memory_id, next_seq, total_tokens, resource_id, config, anchor_date, false, created_at FROM sessions
  WHERE id = $14 AND NOT EXISTS (SELECT FROM put)
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

# And of all messages together: $26 their number, $27 their tokens, $28 their newest time, $29 their observed tokens,
# $30 whether one is a reason to look. ``m`` is joined, as nothing may be stored without the memory. Of the messages
# only the first's seq is answered, NULL if nothing was stored; the caller knows the rest. A session that gets its
# resource with its first message may get another memory too: the general statement does that. If the memory did not
# count the messages, the statement divides by zero as above.
_OF_NEW = """/* append_new */
WITH put AS (
  UPDATE sessions s SET {grown}
  FROM (
    SELECT s.id FROM sessions s JOIN memories m ON m.id = s.memory_id WHERE s.id = $14 FOR NO KEY UPDATE SKIP LOCKED
  ) AS held
  WHERE s.id = $14 AND s.id = held.id AND ($15::text IS NULL OR s.resource_id = $15)
    AND NOT EXISTS (SELECT FROM messages WHERE session_id = {session} AND id = {ids})
  RETURNING s.memory_id, {put}
), wake AS (
  UPDATE memories m SET {woken}
  FROM put WHERE m.id = put.memory_id
  RETURNING m.*
), stored AS (
  INSERT INTO messages {columns}
  SELECT $14::uuid, put.next_seq - $26::bigint + i.ord - 1 / coalesce((SELECT 1 FROM wake), 0), i.id, i.kind, i.role,
         i.name, i.parts::json, i.tokens, put.total_tokens - $27::bigint + i.before, i.content_hash,
         coalesce(i.created_at, now()), i.metadata, i.observe, i.trust, put.anchor_date
  FROM put, {input}
)
SELECT put.next_seq - $26::bigint AS seq, put.resource_id, put.config, m.id AS memory_id,
       {memory}
FROM (SELECT) AS asked LEFT JOIN (put CROSS JOIN wake m) ON true
"""

_SHARED = {"put": _PUT, "columns": _COLUMNS, "memory": COUNTED}

APPEND = _GENERAL.format(
    **_SHARED,
    input=_INPUT,
    grown=_grown(messages="excluded.next_seq - 1", tokens="excluded.total_tokens", newest="(SELECT newest FROM total)"),
    woken=_woken(grown="excluded.pending_tokens", look="(SELECT look FROM total)", cold="(SELECT cold FROM put)"),
)

_NEW = _SHARED | {
    "grown": _grown(messages="$26::bigint", tokens="$27::bigint", newest="greatest(now(), $28::timestamptz)"),
    "woken": _woken(grown="$29::bigint", look="$30::bool", cold="put.cold"),
}
# ``(SELECT $14)`` hides the session from the planner, which would plan each call with a list anew (context/store.py).
APPEND_NEW = _OF_NEW.format(**_NEW, input=_INPUT, session="(SELECT $14)", ids="ANY($1::text[])")
APPEND_ONE = _OF_NEW.format(**_NEW, input=_INPUT_OF_ONE, session="$14", ids="$1::text")
APPEND_ONE = APPEND_ONE.replace("append_new", "append_one", 1)


class Appended(NamedTuple):
    """One message of an append as it is stored. ``seq`` is None when the request was refused."""

    id: str
    seq: int | None
    kind: str
    tokens: int
    replayed: bool = False
    differs: bool = False
    erased: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendResult:
    messages: tuple[Appended, ...]
    resource_id: str | None
    memory: MemoryCounters


class AppendStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._ones = GroupCommit(database, APPEND_ONE)

    async def append(
        self,
        *,
        tenant: str,
        key: str,
        messages: Sequence[NewMessage],
        resource_id: str | None,
        usage: ActorUsage | None,
        defaults: MemoryDefaults,
        prepare: Callable[[], Awaitable[object]] | None = None,
        body_bytes: int = 0,
    ) -> AppendResult:
        """Store those of ``messages`` that are new, in their order; none if one of them conflicts.

        ``prepare`` is awaited before the general statement, which may create the session: it makes what a new session
        needs besides its first message. ``body_bytes``: the size of the request.
        """
        session = session_id(tenant, key)
        values = await offloaded(partial(_values, messages), size=body_bytes)
        shared = _shared(session, resource_id, usage, defaults)
        totals = _totals(messages, look=any(value[LOOK] for value in values))
        if len(messages) == 1:
            row = await self._one(session, (*values[0], *shared, *totals))
        else:
            (row,) = await self._fetch(session, APPEND_NEW, *zip(*values, strict=True), *shared, *totals)
        if row["seq"] is not None:
            return _result(row, _stored(messages, row["seq"]))
        if prepare is not None:
            await prepare()
        rows = await self._fetch(
            session, APPEND, *zip(*values, strict=True), *shared, tenant, key, defaults.wake_tokens, waits=True
        )
        return _result(rows[0], map(_appended_of, rows))

    async def _one(self, session: UUID, arguments: Sequence[Any]) -> Row:
        """The answer of the short statement for one message, in a group commit if others arrive with it."""
        row = await self._ones.row(arguments) if len(arguments[PARTS]) <= GROUP_CHARS else None
        return (await self._fetch(session, APPEND_ONE, *arguments))[0] if row is None else row

    async def _fetch(self, session: UUID, statement: str, *arguments: Any, waits: bool = False) -> list[Row]:
        """``waits``: the statement may wait for the session's lock; the short one never does."""
        for _ in range(APPEND_TRIES - 1):
            with suppress(*STALE_SNAPSHOT):
                async with self._database.connection(of=session if waits else None) as connection:
                    rows: list[Row] = await connection.fetch(statement, *arguments)
                    return rows
        async with self._database.tx(of=session) as tx:
            await tx.execute(HOLD_SESSION, session)
            return list(await tx.fetch(statement, *arguments))


def _result(row: Row, messages: Iterable[Appended]) -> AppendResult:
    return AppendResult(messages=tuple(messages), resource_id=row["resource_id"], memory=counters_of(row))


def _stored(messages: Sequence[NewMessage], first_seq: int) -> Iterator[Appended]:
    for seq, new in enumerate(messages, start=first_seq):
        yield Appended(id=new.id, seq=seq, kind=new.kind, tokens=new.tokens)


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


def _values(messages: Sequence[NewMessage]) -> list[tuple[Any, ...]]:
    """The columns of each message, as ``_INPUT`` names them. Parts are text: to asyncpg nested lists are a matrix."""
    before = accumulate((new.tokens for new in messages), initial=0)
    return [_value(new, tokens) for new, tokens in zip(messages, before, strict=False)]


def _value(new: NewMessage, before: int) -> tuple[Any, ...]:
    return (
        new.id,
        new.kind,
        new.role,
        new.name,
        dumps(new.parts).decode(),
        new.tokens,
        new.content_hash,
        new.created_at,
        new.metadata,
        new.observe,
        new.trust,
        is_reason_to_look(new),
        before,
    )


def _shared(
    session: UUID, resource_id: str | None, usage: ActorUsage | None, defaults: MemoryDefaults
) -> tuple[Any, ...]:
    """The arguments $14 to $25 of both statements."""
    actor = usage or ActorUsage()
    return (
        session,
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


def _totals(messages: Sequence[NewMessage], *, look: bool) -> tuple[Any, ...]:
    """The arguments $26 to $30 of the short statement."""
    return (
        len(messages),
        sum(new.tokens for new in messages),
        max((new.created_at for new in messages if new.created_at), default=None),
        sum(new.tokens for new in messages if new.observe),
        look,
    )
