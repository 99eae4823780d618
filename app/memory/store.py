"""The SQL of a step: look at the counters, load the notes, record the result (architecture.md 1.2-1.4).

Every record is made under ``fence`` or ``lock`` (locking_store.py). Claims and leases are in queue_store.py.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, NamedTuple
from uuid import UUID

from app.kit.db import Database, Tx
from app.memory.cursor_store import LOOK_BACK
from app.memory.locking_store import GAPS
from app.memory.log import items_to_json, render
from app.memory.metrics import MemoryMetrics
from app.memory.model import Observation, Status
from app.memory.note_store import LIVE_OBSERVATIONS, LIVE_REFLECTIONS
from app.memory.records import FORGOTTEN, Fenced, Hints, Lease, Loaded, Locked, NewObservation, Run, Standing
from app.memory.reflection_store import discard_ahead
from app.memory.rows import loaded_of, standing_of
from app.memory.spans import readable
from app.memory.steps import NEVER, UNFINISHED
from app.memory.version_store import ADD_SHARED_VERSION, ADD_VERSION
from app.sessions.message_store import message_of
from app.sessions.model import Message

CONVERSATIONS_MAX = 100  # of a shared memory, looked at for one step: those that waited longest
UNTIL_SETTLED = 0  # wake_tokens: the step that was recorded is not the last of its run
SPANS_READ = 2  # as much as this many spans hold: where a topic ends is told by what follows too
# Of pending messages read at once: reasoning counts no tokens, nor does a part whose sender says so, and a call that
# waits for its result holds back all that follows.
PENDING_BYTES_MAX = 16 * 1024 * 1024

# Most looks find nothing to do, so they read the sizes of the notes alone. The memory is hidden from the planner, which
# would plan each call anew (context/store.py).
MEMORY = """/* memory */
SELECT m.id, m.tenant, m.pending_tokens, m.requested, m.requested_at, m.attempts, m.last_error, m.reflected_at,
  m.unhelped_tokens, m.wake_tokens, m.current_task, m.rebuilding, now() AS now, s.id AS session_id,
  s.key AS session_key, s.next_seq, s.observed_seq, s.buffered_seq, s.config, s.resource_id, s.facts_seq, s.ended_at,
  observed.*, condensed.*
FROM memories m JOIN sessions s ON s.memory_id = m.id
CROSS JOIN (
  SELECT count(*) FILTER (WHERE status = 'active') AS observations,
         coalesce(sum(tokens) FILTER (WHERE status = 'active'), 0) AS observation_tokens,
         array_agg(message_tokens ORDER BY ordinal) FILTER (WHERE status = 'buffered') AS buffered
  FROM observations WHERE memory_id = (SELECT $1::uuid) AND status <> 'retired'
) observed CROSS JOIN (
  SELECT array_agg(level ORDER BY level DESC, from_seq) FILTER (WHERE status = 'active') AS reflection_levels,
         array_agg(tokens ORDER BY level DESC, from_seq) FILTER (WHERE status = 'active') AS reflection_sizes,
         bool_or(status = 'buffered') AS ahead
  FROM reflections WHERE memory_id = (SELECT $1::uuid) AND status <> 'retired'
) condensed
WHERE m.id = $1 AND m.lease_epoch = $2 LIMIT 1
"""

HELD = "/* held */ SELECT id FROM memories WHERE id = $1 AND lease_epoch = $2"

# Sessions take turns by the time of their oldest unobserved message, which is that of its transaction. Only sessions
# with something to do are read, and messages only of those with some to observe. However many wait, one that has ended
# is among them.
CONVERSATIONS = """/* conversations */
WITH found AS (
  SELECT s.id AS session_id, s.key AS session_key, s.next_seq, s.observed_seq, s.buffered_seq, s.facts_seq, s.ended_at,
         oldest.ingested_at AS since, oldest.ingested_at IS NOT NULL AS waits
  FROM sessions s LEFT JOIN LATERAL (
    SELECT ingested_at FROM messages
    WHERE s.next_seq - 1 > greatest(s.observed_seq, s.buffered_seq) AND session_id = s.id
      AND seq > greatest(s.observed_seq, s.buffered_seq) AND observe ORDER BY seq LIMIT 1
  ) oldest ON true
  WHERE s.memory_id = $1 AND s.waiting
), waiting AS (
  SELECT * FROM found WHERE waits ORDER BY since, session_id LIMIT $2
), ended AS (
  SELECT * FROM found WHERE ended_at IS NOT NULL AND facts_seq < next_seq - 1 ORDER BY ended_at, session_id LIMIT 1
)
SELECT * FROM waiting UNION SELECT * FROM ended ORDER BY since, session_id
"""

# One message after the other is read until these have enough tokens to be observed, or bytes, as Postgres has to read a
# json to tell its length. ``so_far`` and ``bytes`` are of a message and those before it.
PENDING_MESSAGES = """/* pending_messages */
WITH RECURSIVE read AS (
  SELECT greatest($2, first.seq - $4::bigint - 1) AS seq, 0 AS place, 0::bigint AS so_far, 0::bigint AS bytes
  FROM (SELECT seq FROM messages WHERE session_id = $1 AND seq > $2 AND observe ORDER BY seq LIMIT 1) first
  UNION ALL
  SELECT m.seq, read.place + 1, read.so_far + m.tokens, read.bytes + m.bytes
  FROM read, LATERAL (
    SELECT seq, CASE WHEN observe THEN tokens ELSE 0 END AS tokens, octet_length(parts::text) AS bytes FROM messages
    WHERE session_id = (SELECT $1) AND seq > read.seq ORDER BY seq LIMIT 1
  ) m
  WHERE read.place < $3 AND read.so_far < $5 AND read.bytes < $6
)
SELECT m.*, read.so_far, read.bytes FROM read JOIN messages m ON m.session_id = (SELECT $1) AND m.seq = read.seq
WHERE read.place > 0 ORDER BY read.place
"""

ADD_OBSERVATION = """/* add_observation */
INSERT INTO observations (memory_id, ordinal, text, items, tokens, message_tokens, session_id, from_seq, to_seq,
                          covers, current_task, suggested_response, status, born_version)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
RETURNING (SELECT extract(epoch FROM now() - ingested_at)::float8 FROM messages
           WHERE session_id = $7 AND seq = $8) AS waited_seconds
"""

ACTIVATE = """/* activate */
UPDATE observations SET status = 'active', born_version = $3
WHERE memory_id = $1 AND id = ANY($2::bigint[]) AND status = 'buffered'
"""

BUFFERED = """/* buffered */
UPDATE memories SET buffered_tokens = buffered_tokens + $2, attempts = 0, last_error = NULL, usage = $3 WHERE id = $1
"""

BUFFERED_SEQ = "/* buffered_seq */ UPDATE sessions SET buffered_seq = $2 WHERE id = $1"

OBSERVED = """/* observed */
UPDATE memories SET pending_tokens = pending_tokens - $2, buffered_tokens = buffered_tokens - $3,
  observation_tokens = observation_tokens + $4, log_version = $5, current_task = $6, suggested_response = $7,
  attempts = 0, last_error = NULL, usage = $8, wake_tokens = $9
WHERE id = $1
"""

CONTROLLED = """/* controlled */
UPDATE memories m SET lease_epoch = nextval('lease_epochs'), lease_owner = NULL, lease_step = NULL, due_at = now(),
  log_version = $2, unhelped_tokens = NULL,
  last_error = CASE WHEN m.last_error->>'kind' IS DISTINCT FROM 'unhelped' THEN m.last_error END,
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

COUNT_USAGE = "/* count_usage */ UPDATE memories SET usage = $2 WHERE id = $1"

OF_RUN = [field.name for field in fields(Run)]  # each is a column

ADD_RUN = f"""/* add_run */
INSERT INTO runs (memory_id, epoch, session_id, {", ".join(OF_RUN)})
VALUES ($1, $2, $3, {", ".join(f"${at}" for at, _ in enumerate(OF_RUN, start=4))})
"""  # noqa: S608 - our own names


class Pending(NamedTuple):
    """Messages that wait to be observed. ``full``: no more are read at once, though more wait."""

    messages: Sequence[Message]
    full: bool


class MemoryStore:
    """Statements that need a transaction take ``tx``; the others are one statement on a connection of their own."""

    def __init__(
        self,
        database: Database,
        metrics: MemoryMetrics | None = None,
        *,
        pending_messages_max: int = 2_000,
        pending_bytes_max: int = PENDING_BYTES_MAX,
    ) -> None:
        """``pending_messages_max``, ``pending_bytes_max``: of pending messages read at once, and so of a span."""
        self._messages_max = pending_messages_max
        self._bytes_max = pending_bytes_max
        self._database = database
        self._metrics = metrics or MemoryMetrics()

    async def look(self, lease: Lease) -> Standing | None:
        """The memory's counters; None if the lease is lost.

        The sessions of a shared memory are read in a later statement; ``settle`` sees what was appended in between.
        """
        async with self._database.connection() as connection:
            row = await connection.fetchrow(MEMORY, lease.memory_id, lease.epoch)
            if row is None:
                return None
            shared = row["session_id"] != row["id"]
            sharing = await connection.fetch(CONVERSATIONS, lease.memory_id, CONVERSATIONS_MAX) if shared else ()
            gaps = await connection.fetch(GAPS, lease.memory_id) if row["rebuilding"] else ()
        return standing_of(row, gaps=gaps, conversations=sharing)

    async def holds(self, lease: Lease) -> bool:
        """Whether nobody took the memory over, to work on it or to change it."""
        return await self._database.fetchval(HELD, lease.memory_id, lease.epoch) is not None

    async def load(self, lease: Lease, standing: Standing) -> Loaded | None:
        """The same with its notes, which do not change while the lease is held; None if the lease is lost."""
        async with self._database.snapshot() as tx:
            if await tx.fetchval(HELD, lease.memory_id, lease.epoch) is None:
                return None
            observations = await tx.fetch(LIVE_OBSERVATIONS, lease.memory_id)
            reflections = await tx.fetch(LIVE_REFLECTIONS, lease.memory_id)
        return loaded_of(standing, observations, reflections)

    async def pending_messages(self, session_id: UUID, after: int, *, limit_tokens: int | None) -> Pending:
        """The oldest messages after seq ``after``, from LOOK_BACK before the first observable one on.

        Those before it are read so that no call is parted from its result. Ends as ``spans.readable`` says.
        """
        limit = NEVER // SPANS_READ if limit_tokens is None else limit_tokens
        most = SPANS_READ * limit
        while True:
            rows = await self._database.fetch(
                PENDING_MESSAGES, session_id, after, self._messages_max, LOOK_BACK, most, self._bytes_max
            )
            found = [message_of(row) for row in rows]
            full = len(rows) == self._messages_max or (bool(rows) and rows[-1]["bytes"] >= self._bytes_max)
            if not full and (not rows or rows[-1]["so_far"] < most):
                return Pending(found, full=False)
            enough = await asyncio.to_thread(readable, found, limit_tokens=limit, full=full)
            if enough is not None:
                return Pending(enough, full=full)
            most *= 2

    async def buffer_observation(self, tx: Tx, loaded: Loaded, new: NewObservation, *, usage: dict[str, Any]) -> None:
        """Record a buffered observation: it makes no version and is in no context."""
        self._metrics.observed(await add_observation(tx, loaded, new, born_version=None))
        await tx.execute(BUFFERED_SEQ, loaded.session_id, new.to_seq)
        await tx.execute(BUFFERED, loaded.memory_id, new.message_tokens, usage)

    async def record_observation(
        self, tx: Tx, loaded: Loaded, fenced: Fenced, new: NewObservation, *, usage: dict[str, Any], unfinished: bool
    ) -> None:
        """Record a live observation in the next version. The caller moves the cursor (``cursor.advance``).

        ``unfinished``: the rest of its span is still to be observed.
        """
        version = fenced.version + 1
        self._metrics.observed(await add_observation(tx, loaded, new, born_version=version))
        counts, told = (new.message_tokens, 0, new.tokens), (new.current_task, new.suggested_response)
        wake = UNFINISHED if unfinished else UNTIL_SETTLED
        await tx.execute(OBSERVED, loaded.memory_id, *counts, version, *told, usage, wake)

    async def activate(self, tx: Tx, loaded: Loaded, fenced: Fenced, chunks: Sequence[Observation]) -> None:
        """Make the buffered ``chunks`` live in the next version. The caller moves the cursor (``cursor.advance``)."""
        version = fenced.version + 1
        message_tokens = sum(chunk.message_tokens for chunk in chunks)
        await make_live(tx, loaded.memory_id, [chunk.id for chunk in chunks], version=version)
        counts = (message_tokens, message_tokens, sum(chunk.tokens for chunk in chunks))
        told = (chunks[-1].current_task, chunks[-1].suggested_response)
        await tx.execute(OBSERVED, loaded.memory_id, *counts, version, *told, fenced.usage, UNTIL_SETTLED)

    async def record_control(
        self, tx: Tx, locked: Locked, cause: str, *, told: Hints | None = None, left_tokens: int = 0
    ) -> None:
        """Make the next version of the notes as they are now, take a new epoch, and make the memory due.

        ``told`` None leaves the current task as it is. ``left_tokens``: tokens of messages that are no longer pending.
        A buffered reflection is discarded if one of its sources is retired.
        """
        await discard_ahead(tx, locked.memory_id)
        new = told or FORGOTTEN
        tasks = (told is not None, new.current_task, new.suggested_response)
        await tx.execute(CONTROLLED, locked.memory_id, locked.version + 1, *tasks, left_tokens)
        await self.add_version(tx, locked.memory_id, cause, [locked.session_id])

    async def count_usage(self, tx: Tx, memory_id: UUID, usage: dict[str, Any]) -> None:
        await tx.execute(COUNT_USAGE, memory_id, usage)

    async def add_version(self, tx: Tx, memory_id: UUID, cause: str, moved: Sequence[UUID]) -> None:
        """Record what the version just made was: its cause and cursors. Call it last: it reads the updated rows.

        ``moved``: at least one session of the memory, and every one whose cursor or tail has moved.
        """
        if memory_id in moved:
            await tx.execute(ADD_VERSION, memory_id, cause)
        else:
            await tx.execute(ADD_SHARED_VERSION, memory_id, cause, moved)
        self._metrics.versioned(cause)

    async def add_runs(self, tx: Tx, lease: Lease, runs: Sequence[Run], *, shown: UUID | None = None) -> None:
        """``shown``: in a shared memory the session whose messages the calls were shown."""
        rows = [(lease.memory_id, lease.epoch, shown, *(getattr(run, name) for name in OF_RUN)) for run in runs]
        await tx.executemany(ADD_RUN, rows)
        self._metrics.called(runs)


async def make_live(tx: Tx, memory_id: UUID, ids: Sequence[int], *, version: int) -> None:
    await tx.execute(ACTIVATE, memory_id, ids, version)


async def add_observation(tx: Tx, loaded: Loaded, new: NewObservation, *, born_version: int | None) -> float:
    """Add an observation, live from ``born_version`` on (None: buffered).

    Answers the age of its oldest message in seconds.
    """
    waited: float = await tx.fetchval(
        ADD_OBSERVATION,
        loaded.memory_id,
        new.ordinal,
        render(new.items),
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
    return waited
