"""All SQL of the memory's work: claim, load, record, settle (architecture.md 1.2-1.4).

A claim is a lease: ``due_at`` moves into the future and the memory gets a new epoch. Every write carries the epoch and
writes nothing when another took over (fencing). Locks come in the order session, memory, children.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Generic, TypeVar
from uuid import UUID

from app.kit.db import Database, Row, Tx
from app.kit.errors import DomainError
from app.memory.errors import ObservationNotFound, ReflectionNotFound
from app.memory.log import items_from_json, items_to_json
from app.memory.metrics import MemoryMetrics
from app.memory.model import Observation, Ranges, Reflection, Status
from app.memory.policy import Request, Wait
from app.memory.records import (
    FORGOTTEN,
    Derived,
    Fenced,
    Lease,
    Loaded,
    Locked,
    NewObservation,
    NewReflection,
    NewText,
    Run,
    StoredSummary,
    Told,
)
from app.memory.summary import Summary
from app.sessions.model import Gone, Message, Role
from app.sessions.store import message_of
from app.sessions.wire import content_hash

N = TypeVar("N", Observation, Reflection)

PENDING_MESSAGES_MAX = 2_000  # messages one look reads; a span ends there at the latest
EDITED, DELETED = "edited", "deleted"  # by whom a note was retired if not by a reflection; causes of versions too
SOURCES_CHANGED = "sources_changed"  # by which a reflection made ahead was
COMPACTED = "compacted"
ERASED, REBUILT = "erased", "rebuilt"  # the first by whom a note was retired too

CLAIM = """/* claim */
UPDATE memories m SET lease_epoch = nextval('lease_epochs'), lease_owner = $2, lease_step = NULL,
  due_at = now() + make_interval(secs => $3)
FROM (SELECT id, due_at FROM memories WHERE id = $1 AND due_at <= now() FOR UPDATE) AS due
WHERE m.id = due.id RETURNING m.id, m.lease_epoch, extract(epoch FROM now() - due.due_at)::float8 AS waited_seconds
"""

# Of each tenant its oldest, then of each its next: who has much to do takes turns with who has little. It goes from
# tenant to tenant by the index, whatever one of them has due.
DUE = """/* due */
WITH RECURSIVE tenants AS (
  (SELECT tenant FROM memories WHERE due_at <= now() ORDER BY tenant LIMIT 1)
  UNION ALL
  SELECT following.tenant FROM tenants t CROSS JOIN LATERAL (
    SELECT tenant FROM memories WHERE due_at <= now() AND tenant > t.tenant ORDER BY tenant LIMIT 1
  ) AS following
)
SELECT due.id FROM tenants t CROSS JOIN LATERAL (
  SELECT id, due_at, row_number() OVER (ORDER BY due_at) AS turn FROM memories
  WHERE tenant = t.tenant AND due_at <= now() ORDER BY due_at LIMIT $2
) AS due
ORDER BY due.turn, due.due_at LIMIT $1
"""

# Only while it is held: one that crosses its own end on the way would put off what the end said.
RENEW = """/* renew */
UPDATE memories SET due_at = now() + make_interval(secs => $3), lease_step = coalesce($4, lease_step)
WHERE id = $1 AND lease_epoch = $2 AND lease_owner IS NOT NULL RETURNING id
"""

# A step that was asked for is still to be done when a cap on cost forbids it now.
SETTLE = """/* settle */
UPDATE memories SET
  due_at = CASE WHEN pending_tokens >= $3 OR (requested IS NOT NULL AND requested_at IS DISTINCT FROM $5)
                THEN now() ELSE $4 END,
  requested = CASE WHEN requested_at IS DISTINCT FROM $5 OR ($6 AND requested IN ('observe', 'reflect'))
                   THEN requested END,
  paused = $6, wake_tokens = $3, lease_owner = NULL, lease_step = NULL, attempts = 0, last_error = NULL
WHERE id = $1 AND lease_epoch = $2
RETURNING coalesce(due_at <= now(), false) AS due
"""

# What a cap on cost put off under the settings before.
RESUME = "/* resume */ UPDATE memories SET due_at = now() WHERE due_at > now() AND paused AND lease_owner IS NULL"

GIVE_BACK = """/* give_back */
UPDATE memories SET due_at = now(), lease_owner = NULL, lease_step = NULL
WHERE id = $1 AND lease_epoch = $2 AND lease_owner IS NOT NULL
"""

FAIL = """/* fail */
UPDATE memories SET attempts = $3, last_error = $4, due_at = $5, lease_owner = NULL, lease_step = NULL,
  wake_tokens = $6, paused = false
WHERE id = $1 AND lease_epoch = $2 RETURNING id
"""

REQUEST = """/* request */
UPDATE memories SET requested_at = clock_timestamp(),
  requested = CASE WHEN $2 = 'look' THEN coalesce(requested, $2) ELSE $2 END,
  attempts = CASE WHEN lease_owner IS NULL THEN 0 ELSE attempts END,
  due_at = CASE WHEN lease_owner IS NULL THEN now() ELSE due_at END
WHERE id = $1 RETURNING id
"""

REDRIVE = """/* redrive */
WITH redriven AS (
  UPDATE memories SET requested_at = clock_timestamp(), requested = coalesce(requested, 'look'), attempts = 0,
    due_at = now()
  WHERE due_at IS NOT NULL AND attempts > 0 AND lease_owner IS NULL RETURNING id
)
SELECT count(*) FROM redriven
"""

MEMORY = """/* memory */
SELECT m.*, now() AS now, s.id AS session_id, s.key AS session_key, s.next_seq, s.observed_seq,
  s.buffered_seq, s.config
FROM memories m JOIN sessions s ON s.memory_id = m.id WHERE m.id = $1 AND m.lease_epoch = $2
"""

LIVE_OBSERVATIONS = """/* live_observations */
SELECT * FROM observations WHERE memory_id = $1 AND status <> 'retired' ORDER BY from_seq
"""

LIVE_REFLECTIONS = """/* live_reflections */
SELECT * FROM reflections WHERE memory_id = $1 AND status <> 'retired' ORDER BY level DESC, from_seq
"""

PENDING_MESSAGES = """/* pending_messages */
SELECT * FROM messages
WHERE session_id = $1 AND seq >= (
  SELECT seq FROM messages WHERE session_id = $1 AND seq > $2 AND observe ORDER BY seq LIMIT 1)
ORDER BY seq LIMIT $3
"""

AROUND = """/* around */
SELECT * FROM messages WHERE session_id = $1 AND seq BETWEEN $2::bigint - $3 AND $2::bigint + $3 ORDER BY seq
"""

OBSERVATION = "/* observation */ SELECT * FROM observations WHERE memory_id = $1 AND id = $2"

REFLECTION = "/* reflection */ SELECT * FROM reflections WHERE memory_id = $1 AND id = $2"

LOCK_SESSION = """/* lock_session */
SELECT s.id, s.memory_id, s.config, s.next_seq - 1 AS last_seq, s.observed_seq,
       greatest(s.observed_seq, s.buffered_seq) AS buffered_seq, s.tail_from_seq, now() AS now,
       coalesce(m.seq, 0) AS newest_seq, coalesce(m.created_at, now()) AS newest_created_at
FROM sessions s LEFT JOIN LATERAL (
  SELECT seq, created_at FROM messages WHERE session_id = s.id AND kind <> 'summary' ORDER BY seq DESC LIMIT 1
) m ON true
WHERE s.id = $1 FOR UPDATE OF s
"""

FENCE = """/* fence */
SELECT log_version, generation, usage, now() AS now FROM memories WHERE id = $1 AND lease_epoch = $2 FOR UPDATE
"""

LOCK_MEMORY = "/* lock_memory */ SELECT log_version, rebuilding FROM memories WHERE id = $1 FOR UPDATE"

# What the observer was shown of a message: its role, name and parts (the hash), its time and whose word it is.
UNCHANGED = """/* unchanged */
SELECT count(*) = cardinality($4::bigint[]) AND count(*) = count(*) FILTER (
         WHERE m.content_hash = r.content_hash AND m.created_at = r.created_at AND m.trust = r.trust)
FROM messages m LEFT JOIN unnest($4::bigint[], $5::bytea[], $6::timestamptz[], $7::text[])
  AS r (seq, content_hash, created_at, trust) ON m.seq = r.seq
WHERE m.session_id = $1 AND m.seq BETWEEN $2 AND $3 AND m.observe
"""

ADD_OBSERVATION = """/* add_observation */
INSERT INTO observations (memory_id, ordinal, text, items, tokens, message_tokens, session_id, from_seq, to_seq,
                          covers, current_task, suggested_response, status, born_version)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
"""

ACTIVATE = """/* activate */
UPDATE observations SET status = 'active', born_version = $3
WHERE memory_id = $1 AND id = ANY($2::bigint[]) AND status = 'buffered'
"""

ADD_REFLECTION = """/* add_reflection */
INSERT INTO reflections (memory_id, level, generation, text, items, tokens, source_tokens, from_seq, to_seq,
                         covers, sources, status, born_version)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) RETURNING *
"""

ACTIVATE_REFLECTION = """/* activate_reflection */
UPDATE reflections SET status = 'active', born_version = $2, generation = $3
WHERE memory_id = $1 AND status = 'buffered' RETURNING *
"""

DISCARD_AHEAD = """/* discard_ahead */
UPDATE reflections r SET status = 'retired', retired_by = $2
WHERE memory_id = $1 AND status = 'buffered' AND (
  EXISTS (SELECT FROM observations o WHERE o.memory_id = $1 AND o.status = 'retired'
            AND o.id IN (SELECT id::bigint FROM jsonb_array_elements_text(r.sources->'observations') AS s (id)))
  OR EXISTS (SELECT FROM reflections o WHERE o.memory_id = $1 AND o.status = 'retired'
               AND o.id IN (SELECT id::bigint FROM jsonb_array_elements_text(r.sources->'reflections') AS s (id))))
RETURNING id
"""

RETIRE_OBSERVATIONS = """/* retire_observations */
UPDATE observations SET status = 'retired', retired_version = $3, retired_by = $4
WHERE memory_id = $1 AND id = ANY($2::bigint[]) AND status <> 'retired' RETURNING tokens
"""

RETIRE_REFLECTIONS = """/* retire_reflections */
UPDATE reflections SET status = 'retired', retired_version = $3, retired_by = $4
WHERE memory_id = $1 AND id = ANY($2::bigint[]) AND status <> 'retired' RETURNING tokens
"""

EDIT_OBSERVATION = """/* edit_observation */
WITH old AS (
  UPDATE observations SET status = 'retired', retired_version = $3, retired_by = $4
  WHERE memory_id = $1 AND id = $2 AND status <> 'retired' RETURNING *
)
INSERT INTO observations (memory_id, ordinal, text, items, tokens, message_tokens, session_id, from_seq, to_seq,
                          covers, current_task, suggested_response, status, born_version)
SELECT memory_id, ordinal, $5, $6::jsonb, $7::int, message_tokens, session_id, from_seq, to_seq, covers, current_task,
       suggested_response, $8, CASE WHEN born_version IS NOT NULL THEN $3::bigint END
FROM old RETURNING *
"""

EDIT_REFLECTION = """/* edit_reflection */
WITH old AS (
  UPDATE reflections SET status = 'retired', retired_version = $3, retired_by = $4
  WHERE memory_id = $1 AND id = $2 AND status <> 'retired' RETURNING *
)
INSERT INTO reflections (memory_id, level, generation, text, items, tokens, source_tokens, from_seq, to_seq, covers,
                         sources, status, born_version)
SELECT memory_id, level, generation, $5, $6::jsonb, $7::int, source_tokens, from_seq, to_seq, covers, sources, $8, $3
FROM old RETURNING *
"""

# What has left the tail does not come back to it, whatever keep_last is now.
ADVANCE_CURSOR = """/* advance_cursor */
UPDATE sessions SET observed_seq = $2, buffered_seq = greatest(buffered_seq, $2),
  tail_from_seq = greatest(tail_from_seq, $3), anchor_date = $4, activated_seq = next_seq - 1
WHERE id = $1 RETURNING tail_from_seq
"""

SUMMARY = """/* summary */
SELECT m.* FROM sessions s JOIN messages m ON m.session_id = s.id AND m.seq = s.summary_seq WHERE s.id = $1
"""

# The running sum passes a summary by (tables.py), and so does the observer. No caller chooses its id, which is the same
# when a step is done again.
ADD_SUMMARY = """/* add_summary */
WITH session AS (
  UPDATE sessions SET next_seq = next_seq + 1, summary_seq = next_seq, compacted_seq = greatest(compacted_seq, $7)
  WHERE id = $1 RETURNING id, summary_seq, total_tokens, anchor_date
)
INSERT INTO messages (session_id, seq, id, kind, role, parts, tokens, tokens_before, content_hash, created_at, observe,
                      trust, anchor_date, up_to_seq, covers)
SELECT id, summary_seq, left(encode(sha256(convert_to(id || '/' || summary_seq, 'UTF8')), 'hex'), 32), 'summary',
       'user', $2, $3, total_tokens, $4, now(), false, 'operator', anchor_date, $5, $6
FROM session RETURNING *
"""

DERIVED = """/* derived */
SELECT id, to_seq, status = 'buffered' AS buffered, current_task, suggested_response FROM observations
WHERE memory_id = $1 AND session_id = $2 AND from_seq <= $4 AND to_seq > $3
  AND (status = 'buffered' OR status = 'retired' AND retired_by = 'deleted')
ORDER BY from_seq
"""

BETWEEN = """/* between */
SELECT * FROM messages WHERE session_id = $1 AND seq BETWEEN $2 AND $3 AND observe ORDER BY seq
"""

OBSERVABLE_TOKENS = """/* observable_tokens */
SELECT coalesce(sum(tokens), 0) FROM messages WHERE session_id = $1 AND seq BETWEEN $2 AND $3 AND observe
"""

BUFFERED = """/* buffered */
UPDATE memories SET buffered_tokens = buffered_tokens + $2, attempts = 0, last_error = NULL, usage = $3 WHERE id = $1
"""

BUFFERED_SEQ = "/* buffered_seq */ UPDATE sessions SET buffered_seq = $2 WHERE id = $1"

OBSERVED = """/* observed */
UPDATE memories SET pending_tokens = pending_tokens - $2, buffered_tokens = buffered_tokens - $3,
  observation_tokens = observation_tokens + $4, log_version = $5, current_task = $6, suggested_response = $7,
  attempts = 0, last_error = NULL, usage = $8
WHERE id = $1
"""

REFLECTED = """/* reflected */
UPDATE memories SET observation_tokens = observation_tokens - $2, reflection_tokens = reflection_tokens + $3,
  log_version = $4, generation = $5, reflected_at = now(), unhelped_tokens = NULL, attempts = 0, last_error = NULL,
  usage = $6
WHERE id = $1
"""

UNHELPED = """/* unhelped */
UPDATE memories SET unhelped_tokens = $2, reflected_at = now(), usage = $3, attempts = 0, last_error = NULL
WHERE id = $1
"""

CONTROLLED = """/* controlled */
UPDATE memories m SET lease_epoch = nextval('lease_epochs'), lease_owner = NULL, lease_step = NULL, due_at = now(),
  log_version = $2, unhelped_tokens = NULL,
  pending_tokens = m.pending_tokens - m.buffered_tokens + chunks.buffered - $6, buffered_tokens = chunks.buffered,
  observation_tokens = chunks.active, reflection_tokens = condensed.active,
  current_task = CASE WHEN $3 THEN $4 ELSE m.current_task END,
  suggested_response = CASE WHEN $3 THEN $5 ELSE m.suggested_response END
FROM (SELECT coalesce(sum(message_tokens) FILTER (WHERE status = 'buffered'), 0) AS buffered,
             coalesce(sum(tokens) FILTER (WHERE status = 'active'), 0) AS active
      FROM observations WHERE memory_id = $1 AND status <> 'retired') AS chunks,
     (SELECT coalesce(sum(tokens), 0) AS active
      FROM reflections WHERE memory_id = $1 AND status = 'active') AS condensed
WHERE m.id = $1
"""

FORGET_MEMORIES = """/* forget_memories */
WITH gone AS (DELETE FROM memories WHERE id = ANY($1::uuid[]) RETURNING 1),
versions AS (DELETE FROM memory_versions WHERE memory_id = ANY($1::uuid[]) RETURNING 1),
observed AS (DELETE FROM observations WHERE memory_id = ANY($1::uuid[]) RETURNING 1),
condensed AS (DELETE FROM reflections WHERE memory_id = ANY($1::uuid[]) RETURNING 1),
called AS (DELETE FROM runs WHERE memory_id = ANY($1::uuid[]) RETURNING 1),
spent AS (DELETE FROM spending WHERE memory_id = ANY($1::uuid[]) RETURNING 1)
SELECT (SELECT count(*) FROM gone) AS memories, (SELECT count(*) FROM versions) AS memory_versions,
       (SELECT count(*) FROM observed) AS observations, (SELECT count(*) FROM condensed) AS reflections,
       (SELECT count(*) FROM called) AS runs, (SELECT count(*) FROM spent) AS spending
"""

COUNT_USAGE = "/* count_usage */ UPDATE memories SET usage = $2 WHERE id = $1"

ADD_VERSION = """/* add_version */
INSERT INTO memory_versions (memory_id, version, cause, anchor_date, current_task, suggested_response, cursors)
SELECT m.id, m.log_version, $2, s.anchor_date, m.current_task, m.suggested_response,
       jsonb_build_object(s.id::text, jsonb_build_object('last_seq', s.next_seq - 1, 'observed_seq', s.observed_seq,
                                                         'activated_seq', s.activated_seq,
                                                         'tail_from_seq', s.tail_from_seq,
                                                         'summary_seq', s.summary_seq,
                                                         'compacted_seq', s.compacted_seq))
FROM memories m JOIN sessions s ON s.memory_id = m.id WHERE m.id = $1
"""

ADD_RUN = """/* add_run */
INSERT INTO runs (memory_id, kind, provider, model, prompt_version, epoch, from_seq, to_seq, input_tokens,
                  cached_input_tokens, output_tokens, cost_usd, latency_ms, outcome, error, grounded_share,
                  rejected_output)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
"""

IDLE = """/* idle */
SELECT due_at IS NULL OR (lease_owner IS NULL AND due_at > now() AND attempts = 0) FROM memories WHERE id = $1
"""


def observation_of(row: Row) -> Observation:
    return Observation(
        id=row["id"],
        ordinal=row["ordinal"],
        status=Status(row["status"]),
        text=row["text"],
        items=items_from_json(row["items"]),
        tokens=row["tokens"],
        message_tokens=row["message_tokens"],
        from_seq=row["from_seq"],
        to_seq=row["to_seq"],
        covers=ranges_of(row["covers"]),
        current_task=row["current_task"],
        suggested_response=row["suggested_response"],
        born_version=row["born_version"],
        retired_version=row["retired_version"],
        retired_by=row["retired_by"],
        created_at=row["created_at"],
    )


def reflection_of(row: Row) -> Reflection:
    covers: list[list[int]] = next(iter(row["covers"].values()), [])
    return Reflection(
        id=row["id"],
        level=row["level"],
        generation=row["generation"],
        status=Status(row["status"]),
        text=row["text"],
        items=items_from_json(row["items"]),
        tokens=row["tokens"],
        source_tokens=row["source_tokens"],
        covers=ranges_of(covers),
        from_seq=row["from_seq"],
        to_seq=row["to_seq"],
        sources=tuple(row["sources"].get("observations", [])) + tuple(row["sources"].get("reflections", [])),
        born_version=row["born_version"],
        retired_version=row["retired_version"],
        retired_by=row["retired_by"],
        created_at=row["created_at"],
    )


def ranges_of(pairs: Sequence[Sequence[int]]) -> Ranges:
    return tuple((first, last) for first, last in pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes(Generic[N]):
    """One of the two kinds of notes: what one is called, how its row is read, and the statements about it."""

    name: str
    unknown: type[DomainError]
    read: Callable[[Row], N]
    one: str
    live: str
    edit: str
    retire: str


OBSERVATIONS = Notes(
    name="observation",
    unknown=ObservationNotFound,
    read=observation_of,
    one=OBSERVATION,
    live=LIVE_OBSERVATIONS,
    edit=EDIT_OBSERVATION,
    retire=RETIRE_OBSERVATIONS,
)
REFLECTIONS = Notes(
    name="reflection",
    unknown=ReflectionNotFound,
    read=reflection_of,
    one=REFLECTION,
    live=LIVE_REFLECTIONS,
    edit=EDIT_REFLECTION,
    retire=RETIRE_REFLECTIONS,
)


def _loaded_of(row: Row, observations: list[Row], reflections: list[Row]) -> Loaded:
    chunks = [observation_of(found) for found in observations]
    condensed = [reflection_of(found) for found in reflections]
    return Loaded(
        memory_id=row["id"],
        session_id=row["session_id"],
        session_key=row["session_key"],
        tenant=row["tenant"],
        now=row["now"],
        config=row["config"],
        pending_tokens=row["pending_tokens"],
        last_seq=row["next_seq"] - 1,
        observed_seq=row["observed_seq"],
        buffered_seq=max(row["observed_seq"], row["buffered_seq"]),
        requested=Request(row["requested"]) if row["requested"] else None,
        requested_at=row["requested_at"],
        attempts=row["attempts"],
        reflected_at=row["reflected_at"],
        unhelped_tokens=row["unhelped_tokens"],
        current_task=row["current_task"],
        rebuilding=ranges_of(row["rebuilding"]),
        observations=tuple(chunk for chunk in chunks if chunk.status is Status.ACTIVE),
        buffered=tuple(chunk for chunk in chunks if chunk.status is Status.BUFFERED),
        reflections=tuple(note for note in condensed if note.status is Status.ACTIVE),
        ahead=next((note for note in condensed if note.status is Status.BUFFERED), None),
    )


class MemoryStore:
    """Statements that need a transaction take ``tx``; the others are one statement on a connection of their own."""

    def __init__(self, database: Database, metrics: MemoryMetrics | None = None) -> None:
        self._database = database
        self._metrics = metrics or MemoryMetrics()

    async def claim(self, memory_id: UUID, *, owner: str, seconds: float) -> Lease | None:
        """Take the memory if it is due and nobody else has; None otherwise."""
        async with self._database.connection() as connection:
            row = await connection.fetchrow(CLAIM, memory_id, owner, seconds)
        if row is None:
            return None
        self._metrics.claimed(row["waited_seconds"])
        return Lease(memory_id=row["id"], epoch=row["lease_epoch"])

    async def due(self, limit: int, *, of_tenant: int) -> list[UUID]:
        """What is due, as the tenants take turns; at most so many ``of_tenant`` each."""
        async with self._database.connection() as connection:
            return [row["id"] for row in await connection.fetch(DUE, limit, of_tenant)]

    async def renew(self, lease: Lease, *, seconds: float, step: str | None = None) -> bool:
        """Prolong the lease; False when it was lost."""
        async with self._database.connection() as connection:
            found = await connection.fetchval(RENEW, lease.memory_id, lease.epoch, seconds, step)
        return found is not None

    async def settle(self, lease: Lease, wait: Wait, seen_at: datetime | None) -> bool:
        """End the lease: wait as told, or stay due for what came meanwhile. Answers whether there is more to do."""
        async with self._database.connection() as connection:
            due = await connection.fetchval(
                SETTLE, lease.memory_id, lease.epoch, wait.at_tokens, wait.until, seen_at, wait.paused
            )
        return bool(due)

    async def resume(self) -> None:
        """Have every paused memory looked at: the caps may have been raised."""
        async with self._database.connection() as connection:
            await connection.execute(RESUME)

    async def redrive(self) -> int:
        """Have every memory that is stalled or backing off tried again at once; answers how many."""
        async with self._database.connection() as connection:
            count: int = await connection.fetchval(REDRIVE)
        return count

    async def give_back(self, lease: Lease) -> None:
        async with self._database.connection() as connection:
            await connection.execute(GIVE_BACK, lease.memory_id, lease.epoch)

    async def fail(self, tx: Tx, lease: Lease, *, attempts: int, error: dict[str, Any], wait: Wait) -> None:
        await tx.execute(FAIL, lease.memory_id, lease.epoch, attempts, error, wait.until, wait.at_tokens)

    async def request(self, memory_id: UUID, request: Request) -> bool:
        """Ask for a step whatever the thresholds say; a waiting or stalled memory tries again at once."""
        async with self._database.connection() as connection:
            return await connection.fetchval(REQUEST, memory_id, request) is not None

    async def idle(self, memory_id: UUID) -> bool:
        """Whether there is nothing to do now; so it is for a memory that is not there."""
        async with self._database.connection() as connection:
            return await connection.fetchval(IDLE, memory_id) is not False

    async def load(self, lease: Lease) -> Loaded | None:
        """The memory in one snapshot; None when the lease was lost."""
        async with self._database.tx() as tx:
            await tx.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            row = await tx.fetchrow(MEMORY, lease.memory_id, lease.epoch)
            if row is None:
                return None
            observations = await tx.fetch(LIVE_OBSERVATIONS, lease.memory_id)
            reflections = await tx.fetch(LIVE_REFLECTIONS, lease.memory_id)
        return _loaded_of(row, observations, reflections)

    async def pending_messages(self, session_id: UUID, after: int) -> list[Message]:
        """The oldest messages past ``after``, from the first that is to be observed on."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(PENDING_MESSAGES, session_id, after, PENDING_MESSAGES_MAX)
        return [message_of(row) for row in rows]

    async def around(self, tx: Tx, session_id: UUID, seq: int, count: int) -> list[Message]:
        """The messages up to ``count`` before and after ``seq``, and it."""
        return [message_of(row) for row in await tx.fetch(AROUND, session_id, seq, count)]

    async def fence(self, tx: Tx, lease: Lease, session_id: UUID) -> Fenced | None:
        """Lock session, then memory; None when the lease was lost."""
        session = await tx.fetchrow(LOCK_SESSION, session_id)
        memory = await tx.fetchrow(FENCE, lease.memory_id, lease.epoch)
        if session is None or memory is None:
            return None
        return Fenced(
            version=memory["log_version"],
            generation=memory["generation"],
            usage=memory["usage"],
            now=memory["now"],
            observed_seq=session["observed_seq"],
            buffered_seq=session["buffered_seq"],
            newest_seq=session["newest_seq"],
            newest_created_at=session["newest_created_at"],
        )

    async def lock(self, tx: Tx, session_id: UUID) -> Locked | None:
        """Lock session, then memory, whoever has the lease; None for a session never seen."""
        session = await tx.fetchrow(LOCK_SESSION, session_id)
        if session is None:
            return None
        memory = await tx.fetchrow(LOCK_MEMORY, session["memory_id"])
        return Locked(
            session_id=session["id"],
            memory_id=session["memory_id"],
            version=0 if memory is None else memory["log_version"],
            rebuilding=() if memory is None else ranges_of(memory["rebuilding"]),
            now=session["now"],
            last_seq=session["last_seq"],
            observed_seq=session["observed_seq"],
            buffered_seq=session["buffered_seq"],
            tail_from_seq=session["tail_from_seq"],
            newest_seq=session["newest_seq"],
            newest_created_at=session["newest_created_at"],
            config=session["config"],
        )

    async def unchanged(
        self, tx: Tx, session_id: UUID, messages: Sequence[Message], *, from_seq: int, to_seq: int
    ) -> bool:
        """Whether what is to be observed of ``from_seq``..``to_seq`` is still what was read: ``messages``."""
        shown = (
            [m.seq for m in messages],
            [m.content_hash for m in messages],
            [m.created_at for m in messages],
            [m.trust for m in messages],
        )
        return bool(await tx.fetchval(UNCHANGED, session_id, from_seq, to_seq, *shown))

    async def buffer_observation(self, tx: Tx, loaded: Loaded, new: NewObservation, *, usage: dict[str, Any]) -> None:
        """Keep a chunk observed ahead: no new version, and nothing of it in the context."""
        await self.add_observation(tx, loaded, new, born_version=None)
        await tx.execute(BUFFERED_SEQ, loaded.session_id, new.to_seq)
        await tx.execute(BUFFERED, loaded.memory_id, new.message_tokens, usage)

    async def record_observation(
        self, tx: Tx, loaded: Loaded, fenced: Fenced, new: NewObservation, *, usage: dict[str, Any]
    ) -> None:
        """Make the next version: one more live chunk. The cursor is moved by ``advance_cursor``."""
        version = fenced.version + 1
        await self.add_observation(tx, loaded, new, born_version=version)
        await tx.execute(
            OBSERVED,
            loaded.memory_id,
            new.message_tokens,
            0,
            new.tokens,
            version,
            new.current_task,
            new.suggested_response,
            usage,
        )

    async def activate(self, tx: Tx, loaded: Loaded, fenced: Fenced, chunks: Sequence[Observation]) -> None:
        """Make the next version: the buffered ``chunks`` live. The cursor is moved by ``advance_cursor``."""
        version = fenced.version + 1
        message_tokens = sum(chunk.message_tokens for chunk in chunks)
        await self.make_live(tx, loaded.memory_id, [chunk.id for chunk in chunks], version=version)
        await tx.execute(
            OBSERVED,
            loaded.memory_id,
            message_tokens,
            message_tokens,
            sum(chunk.tokens for chunk in chunks),
            version,
            chunks[-1].current_task,
            chunks[-1].suggested_response,
            fenced.usage,
        )

    async def make_live(self, tx: Tx, memory_id: UUID, ids: Sequence[int], *, version: int) -> None:
        await tx.execute(ACTIVATE, memory_id, ids, version)

    async def add_observation(self, tx: Tx, loaded: Loaded, new: NewObservation, *, born_version: int | None) -> None:
        """Live from a version on, or buffered (None)."""
        await tx.execute(
            ADD_OBSERVATION,
            loaded.memory_id,
            new.from_seq,
            new.text,
            items_to_json(new.items),
            new.tokens,
            new.message_tokens,
            loaded.session_id,
            new.from_seq,
            new.to_seq,
            new.covers,
            new.current_task,
            new.suggested_response,
            Status.BUFFERED if born_version is None else Status.ACTIVE,
            born_version,
        )

    async def record_reflection(
        self, tx: Tx, loaded: Loaded, fenced: Fenced, new: NewReflection, *, usage: dict[str, Any]
    ) -> None:
        """Make the next version: one reflection in the place of what it condenses."""
        version = fenced.version + 1
        added = await self._add_reflection(tx, loaded, fenced, new, Status.ACTIVE, born_version=version)
        await self._replace_sources(tx, loaded, fenced, added, usage=usage)
        await self.discard_ahead(tx, loaded.memory_id)

    async def buffer_reflection(
        self, tx: Tx, loaded: Loaded, fenced: Fenced, new: NewReflection, *, usage: dict[str, Any]
    ) -> None:
        """Keep a reflection made ahead: no new version, and its sources stay."""
        await self._add_reflection(tx, loaded, fenced, new, Status.BUFFERED, born_version=None)
        await tx.execute(BUFFERED, loaded.memory_id, 0, usage)

    async def activate_reflection(self, tx: Tx, loaded: Loaded, fenced: Fenced) -> None:
        """Make the next version: the reflection made ahead in the place of what it condenses."""
        row = await tx.fetchrow(ACTIVATE_REFLECTION, loaded.memory_id, fenced.version + 1, fenced.generation + 1)
        await self._replace_sources(tx, loaded, fenced, row, usage=fenced.usage)

    async def discard_ahead(self, tx: Tx, memory_id: UUID) -> bool:
        """Retire the reflection made ahead, which is in no version, if a source of it is. Answers whether it was."""
        return await tx.fetchval(DISCARD_AHEAD, memory_id, SOURCES_CHANGED) is not None

    async def _add_reflection(
        self, tx: Tx, loaded: Loaded, fenced: Fenced, new: NewReflection, status: Status, *, born_version: int | None
    ) -> Row:
        return await tx.fetchrow(
            ADD_REFLECTION,
            loaded.memory_id,
            new.level,
            fenced.generation + 1,
            new.text,
            items_to_json(new.items),
            new.tokens,
            new.source_tokens,
            new.from_seq,
            new.to_seq,
            {str(loaded.session_id): new.covers},
            {"observations": new.observations, "reflections": new.reflections},
            status,
            born_version,
        )

    async def _replace_sources(
        self, tx: Tx, loaded: Loaded, fenced: Fenced, reflection: Row, *, usage: dict[str, Any]
    ) -> None:
        """Retire the sources of a live reflection, and count what that makes of the log."""
        memory_id, version, by = loaded.memory_id, fenced.version + 1, f"reflection:{reflection['id']}"
        sources = reflection["sources"]
        observed = await tx.fetch(RETIRE_OBSERVATIONS, memory_id, sources["observations"], version, by)
        reflected = await tx.fetch(RETIRE_REFLECTIONS, memory_id, sources["reflections"], version, by)
        shrunk = sum(row["tokens"] for row in observed)
        grown = reflection["tokens"] - sum(row["tokens"] for row in reflected)
        await tx.execute(REFLECTED, memory_id, shrunk, grown, version, fenced.generation + 1, usage)

    async def advance_cursor(
        self, tx: Tx, session_id: UUID, *, observed_seq: int, tail_from_seq: int, anchor_date: date
    ) -> int:
        """Answers where the tail starts now: never before where it did."""
        moved: int = await tx.fetchval(ADVANCE_CURSOR, session_id, observed_seq, tail_from_seq, anchor_date)
        return moved

    async def summary(self, tx: Tx, session_id: UUID) -> StoredSummary | None:
        """The one the tail begins with."""
        row = await tx.fetchrow(SUMMARY, session_id)
        if row is None:
            return None
        return StoredSummary(message=message_of(row), up_to_seq=row["up_to_seq"], untold=ranges_of(row["covers"]))

    async def add_summary(self, tx: Tx, session_id: UUID, new: Summary) -> Message:
        """Store it as the next message, and begin the tail with it."""
        hashed = content_hash(Role.USER, None, new.parts)
        told = new.up_to_seq if new.tells else 0
        columns = (new.parts, new.tokens, hashed, new.up_to_seq, new.covers, told)
        return message_of(await tx.fetchrow(ADD_SUMMARY, session_id, *columns))

    async def derived(self, tx: Tx, locked: Locked, *, up_to_seq: int) -> list[Derived]:
        """The chunks that begin behind the cursor and not after ``up_to_seq``, oldest first."""
        rows = await tx.fetch(DERIVED, locked.memory_id, locked.session_id, locked.observed_seq, up_to_seq)
        return [Derived(**row) for row in rows]

    async def observable(self, tx: Tx, session_id: UUID, *, from_seq: int, to_seq: int) -> list[Message]:
        return [message_of(row) for row in await tx.fetch(BETWEEN, session_id, from_seq, to_seq)]

    async def observable_tokens(self, tx: Tx, session_id: UUID, *, from_seq: int, to_seq: int) -> int:
        found: int = await tx.fetchval(OBSERVABLE_TOKENS, session_id, from_seq, to_seq)
        return found

    async def record_unhelped(self, tx: Tx, loaded: Loaded, *, log_tokens: int, usage: dict[str, Any]) -> None:
        """Note that condensing the log at this size gave nothing better."""
        await tx.execute(UNHELPED, loaded.memory_id, log_tokens, usage)

    async def note(self, tx: Tx, notes: Notes[N], memory_id: UUID, note_id: int) -> N | None:
        row = await tx.fetchrow(notes.one, memory_id, note_id)
        return None if row is None else notes.read(row)

    async def live_notes(self, tx: Tx, notes: Notes[N], memory_id: UUID) -> list[N]:
        found = [notes.read(row) for row in await tx.fetch(notes.live, memory_id)]
        return [note for note in found if note.status is Status.ACTIVE]

    async def edit_note(self, tx: Tx, notes: Notes[N], locked: Locked, old: N, new: NewText) -> N:
        """Put a copy with the new text in the place of ``old``, live if it was. Answers the copy."""
        columns = (new.text, items_to_json(new.items), new.tokens, old.status)
        version = locked.version + 1
        return notes.read(await tx.fetchrow(notes.edit, locked.memory_id, old.id, version, EDITED, *columns))

    async def delete_notes(self, tx: Tx, notes: Notes[N], locked: Locked, old: Sequence[N]) -> None:
        ids = [note.id for note in old]
        await tx.execute(notes.retire, locked.memory_id, ids, locked.version + 1, DELETED)

    async def record_control(
        self, tx: Tx, locked: Locked, cause: str, *, told: Told | None = None, left_tokens: int = 0
    ) -> None:
        """Make the next version of the notes as they are now, due at once, and take a new epoch.

        ``told`` None leaves the current task as it is. ``left_tokens`` of messages are pending no more. A reflection
        made ahead of notes that are gone goes with them.
        """
        await self.discard_ahead(tx, locked.memory_id)
        new = told or FORGOTTEN
        tasks = (told is not None, new.current_task, new.suggested_response)
        await tx.execute(CONTROLLED, locked.memory_id, locked.version + 1, *tasks, left_tokens)
        await self.add_version(tx, locked.memory_id, cause)

    async def forget(self, tx: Tx, gone: Gone) -> dict[str, int]:
        """Delete memories with all that was made of them. What the tenant spent stays, for its caps hold on."""
        return dict(await tx.fetchrow(FORGET_MEMORIES, gone.memories))

    async def count_usage(self, tx: Tx, memory_id: UUID, usage: dict[str, Any]) -> None:
        await tx.execute(COUNT_USAGE, memory_id, usage)

    async def add_version(self, tx: Tx, memory_id: UUID, cause: str) -> None:
        """Note what the version just made is beside its lines; call it last, it reads the updated rows."""
        await tx.execute(ADD_VERSION, memory_id, cause)
        self._metrics.versioned(cause)

    async def add_runs(self, tx: Tx, lease: Lease, runs: Sequence[Run]) -> None:
        await tx.executemany(ADD_RUN, [_run_columns(lease, run) for run in runs])
        self._metrics.called(runs)


def _run_columns(lease: Lease, run: Run) -> tuple[Any, ...]:
    return (
        lease.memory_id,
        run.kind,
        run.provider,
        run.model,
        run.prompt_version,
        lease.epoch,
        run.from_seq,
        run.to_seq,
        run.input_tokens,
        run.cached_input_tokens,
        run.output_tokens,
        run.cost_usd,
        run.latency_ms,
        run.outcome,
        run.error,
        run.grounded_share,
        run.rejected_output,
    )
