"""The SQL of diagnostics, which crosses domains. ``/memory`` is one statement over live and deleted notes."""

from collections.abc import Sequence
from dataclasses import astuple
from typing import Any
from uuid import UUID

from app.diagnostics.events import NUMBERS, Place
from app.kit.db import Database, Row
from app.memory.changing.moments import cursor
from app.memory.model import Observation, Reflection
from app.memory.rows import CONVERSATION, LIVE_NOW, LIVE_THEN, REFLECTION, observation_of, reflection_of
from app.sessions.waking import DUE, PENDING_SECONDS

MEMORY = f"""/* diagnose */
SELECT s.id, s.memory_id, s.key, s.next_seq - 1 AS last_seq, s.expired_seq, s.observed_seq, s.buffered_seq,
  s.tail_from_seq, s.config, s.actor_turns, s.actor_input_tokens, s.actor_cached_tokens,
  s.actor_written_tokens, s.actor_output_tokens, s.actor_cost_usd,
  m.scope, m.pending_tokens, m.log_version, m.generation, m.due_at,
  {DUE}, m.lease_owner, m.lease_epoch, m.lease_step, m.attempts, m.last_error,
  m.paused, m.current_task, m.suggested_response, m.usage, coalesce(m.rebuilding, '[]') AS rebuilding,
  (SELECT count(*) FROM messages
   WHERE session_id = s.id AND kind = 'summary' AND seq > s.observed_seq AND erased_at IS NULL) AS pending_summaries,
  (SELECT jsonb_build_object('seq', seq, 'covers', covers) FROM messages
   WHERE session_id = s.id AND seq = s.summary_seq) AS summary,
  {PENDING_SECONDS},
  (SELECT coalesce(jsonb_agg(jsonb_build_object('id', id, 'status', status, 'from', from_seq, 'to', to_seq,
     'covers', covers, 'tokens', tokens, 'message_tokens', message_tokens, 'chars', length(text),
     'own', session_id = s.id)), '[]')
   FROM observations WHERE memory_id = m.id AND (status <> 'retired' OR retired_by = 'deleted')) AS observations,
  (SELECT coalesce(jsonb_agg(jsonb_build_object('id', id, 'status', status, 'from', from_seq, 'to', to_seq,
     'covers', covers->s.id::text, 'tokens', tokens, 'message_tokens', source_tokens, 'chars', length(text),
     'own', covers ? s.id::text)), '[]')
   FROM reflections WHERE memory_id = m.id AND (status = 'active' OR retired_by = 'deleted')) AS reflections,
  CASE WHEN s.memory_id <> s.id THEN (
    SELECT jsonb_agg(jsonb_build_array(from_seq, to_seq)) FROM observations
    WHERE memory_id = m.id AND session_id = s.id AND retired_by LIKE 'reflection:%') END AS condensed,
  (SELECT coalesce(jsonb_agg(seq ORDER BY seq), '[]')
   FROM messages WHERE session_id = s.id AND erased_at IS NOT NULL AND NOT observe) AS erased,
  s.memory_id <> s.id AND EXISTS (
    SELECT FROM observations WHERE memory_id = m.id AND session_id = s.id AND erased_at IS NOT NULL) AS blanked,
  (SELECT to_jsonb(r) FROM runs r WHERE memory_id = m.id AND kind = 'observe' ORDER BY id DESC LIMIT 1) AS observer_run,
  (SELECT to_jsonb(r) FROM (
     (SELECT * FROM runs WHERE memory_id = m.id AND kind = 'reflect' ORDER BY id DESC LIMIT 1) UNION ALL
     (SELECT * FROM runs WHERE memory_id = m.id AND kind = 'consolidate' ORDER BY id DESC LIMIT 1)
     ORDER BY id DESC LIMIT 1) r) AS reflector_run
FROM sessions s LEFT JOIN memories m ON m.id = s.memory_id WHERE s.id = $1
"""  # noqa: S608 - our own text

VERSION = """/* version */
SELECT s.memory_id, coalesce(m.log_version, 0) AS log_version, v.anchor_date, s.anchor_date AS anchor_now
FROM sessions s LEFT JOIN memories m ON m.id = s.memory_id
LEFT JOIN memory_versions v ON v.memory_id = m.id
  AND v.version = CASE WHEN $2::bigint IS NULL THEN m.log_version ELSE $2 END
WHERE s.id = $1
"""

VERSIONS = f"""/* versions */
SELECT version, cause, at, anchor_date, coalesce(c.last_seq, 0) AS last_seq,
       coalesce(c.observed_seq, 0) AS observed_seq, coalesce(c.tail_from_seq, 1) AS tail_from_seq
FROM (SELECT *, {cursor(version="v", session="$2::uuid")} AS cursor FROM memory_versions v
      WHERE memory_id = $1 AND version < $3 ORDER BY version DESC LIMIT $4) v,
     jsonb_to_record(cursor) AS c (last_seq bigint, observed_seq bigint, tail_from_seq bigint)
ORDER BY version DESC
"""  # noqa: S608 - our own statement

# Memory and version are hidden from the planner, which would otherwise plan each call anew (context/store.py).
_LOG_OBSERVATIONS = """/* {name} */
SELECT o.*, {conversation} FROM observations o
WHERE memory_id = (SELECT $1::uuid) AND {live} ORDER BY ordinal
"""

_LOG_REFLECTIONS = """/* {name} */
SELECT {reflection}, (SELECT scope = 'resource' FROM memories WHERE id = r.memory_id) AS shared FROM reflections r
WHERE memory_id = (SELECT $1::uuid) AND {live} ORDER BY level DESC, from_seq
"""

# Notes live at a past version are found among all notes there ever were.
_WAS_LIVE = LIVE_THEN.format(version="(SELECT $2::bigint)")

LOG_OBSERVATIONS = _LOG_OBSERVATIONS.format(name="log_observations", conversation=CONVERSATION, live=LIVE_NOW)
LOG_REFLECTIONS = _LOG_REFLECTIONS.format(name="log_reflections", reflection=REFLECTION, live=LIVE_NOW)
PAST_OBSERVATIONS = _LOG_OBSERVATIONS.format(name="past_observations", conversation=CONVERSATION, live=_WAS_LIVE)
PAST_REFLECTIONS = _LOG_REFLECTIONS.format(name="past_reflections", reflection=REFLECTION, live=_WAS_LIVE)

# The next notes, up to the one that brings their texts to $5 bytes. ``found``: how many there are within the limit and
# one over it, to tell whether more follow.
_NOTES = """/* {table} */
SELECT {columns} FROM (
  SELECT *, count(*) OVER () AS found,
    sum(octet_length(text)) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
  FROM (SELECT * FROM {table} WHERE memory_id = $1 AND id > $2 AND ($3::text IS NULL OR status = $3)
        ORDER BY id LIMIT $4 + 1) AS next
) AS {alias} WHERE coalesce(bytes_before, 0) < $5 ORDER BY id LIMIT $4
"""

OBSERVATIONS = _NOTES.format(table="observations", columns=f"o.*, {CONVERSATION}", alias="o")
REFLECTIONS = _NOTES.format(table="reflections", columns=f"{REFLECTION}, found", alias="r")

RUNS = """/* runs */
SELECT r.*, CASE WHEN r.session_id IS NOT NULL THEN (SELECT key FROM sessions WHERE id = r.session_id) END AS session
FROM runs r WHERE memory_id = $1 AND id < $2 AND ($3::text IS NULL OR outcome = $3) ORDER BY id DESC LIMIT $4
"""


# The rows after a place ($2 to $7, its numbers in order; null: from now on), of each kind the first $8. A place of
# another life, or beyond the newest message or version, is from a deleted session with this key, or from before the
# restore of an older backup, whose numbers are used again: all rows are returned. A chunk was buffered if it is older
# than the version it was born in. Facts are counted for the run that was recorded with them.
EVENTS = """/* events */
WITH memory AS (
  SELECT m.*, s.last_seq, s.total_tokens, s.expired_seq, s.resource_id, s.life,
    coalesce($7::bigint NOT IN (0, s.life) OR $2::bigint > s.last_seq OR $3::bigint > coalesce(m.log_version, 0), false)
      AS anew
  FROM (SELECT *, next_seq - 1 AS last_seq, (extract(epoch FROM created_at) * 1000000)::bigint AS life FROM sessions) s
  LEFT JOIN memories m ON m.id = s.memory_id WHERE s.id = $1
), place AS MATERIALIZED (
  SELECT CASE WHEN anew THEN 0 ELSE coalesce($2, last_seq) END AS seq,
    CASE WHEN anew THEN 0 ELSE coalesce($3, log_version, 0) END AS version,
    CASE WHEN anew THEN 0
      ELSE coalesce($4, (SELECT max(id) FROM observations WHERE memory_id = memory.id), 0) END AS observation,
    CASE WHEN anew THEN 0
      ELSE coalesce($5, (SELECT max(id) FROM runs WHERE memory_id = memory.id), 0) END AS run,
    CASE WHEN anew THEN 0 ELSE coalesce($6, expired_seq) END AS expired, life
  FROM memory
)
SELECT p.*, now() AS now, m.last_seq, m.expired_seq, p.seq + 1 AS first_seq, m.last_seq > p.seq AS appended,
  m.total_tokens - (SELECT tokens_before FROM messages WHERE session_id = $1 AND seq = p.seq + 1) AS appended_tokens,
  (SELECT ingested_at FROM messages WHERE session_id = $1 AND seq = m.last_seq) AS appended_at,
  coalesce(m.pending_tokens, 0) AS pending_tokens, coalesce(m.observation_tokens, 0) AS observation_tokens,
  coalesce(m.reflection_tokens, 0) AS reflection_tokens,
  coalesce(m.due_at <= now() AND m.lease_owner IS NULL, false) AS due,
  (SELECT coalesce(jsonb_agg(e ORDER BY e.id), '[]') FROM (
     SELECT o.id, o.from_seq, o.to_seq, o.tokens, o.message_tokens, o.created_at AS at,
            CASE WHEN o.session_id <> o.memory_id THEN (SELECT key FROM sessions WHERE id = o.session_id) END AS session
     FROM observations o
     LEFT JOIN memory_versions v ON v.memory_id = o.memory_id AND v.version = o.born_version
     WHERE o.memory_id = m.id AND o.id > p.observation AND (o.status = 'buffered' OR o.created_at < v.at)
     ORDER BY o.id LIMIT $8) e) AS buffered,
  (SELECT coalesce(jsonb_agg(e ORDER BY e.version), '[]') FROM (
     SELECT version, cause, at FROM memory_versions WHERE memory_id = m.id AND version > p.version
     ORDER BY version LIMIT $8) e) AS versions,
  (SELECT coalesce(jsonb_agg(e ORDER BY e.id), '[]') FROM (
     SELECT r.id, r.kind, r.outcome, r.error, r.from_seq, r.to_seq, n.facts, r.at,
            CASE WHEN r.session_id IS NOT NULL THEN (SELECT key FROM sessions WHERE id = r.session_id) END AS session
     FROM runs r CROSS JOIN LATERAL (
       SELECT count(*) AS facts FROM facts f
       WHERE r.kind = 'note_facts' AND r.outcome = 'recorded'
         AND f.tenant = m.tenant AND f.resource_id = m.resource_id AND f.created_at = r.at) n
     WHERE r.memory_id = m.id AND r.id > p.run AND (r.outcome <> 'recorded' OR n.facts > 0)
     ORDER BY r.id LIMIT $8) e) AS runs
FROM memory m, place p
"""

NOTES_BYTES_MAX = 512 * 1024  # of the texts in one page: with their lines they are answered within a tenth of a second
EVENTS_MAX = 200  # of each kind that one poll returns; the next poll continues after them


MEMORY_OF = "/* memory_of */ SELECT memory_id FROM sessions WHERE id = $1"


class DiagnosticsStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def memory(self, session: UUID) -> Row | None:
        return await self._database.fetchrow(MEMORY, session)

    async def memory_of(self, session: UUID) -> UUID | None:
        """The session's memory; None for a session never seen."""
        found: UUID | None = await self._database.fetchval(MEMORY_OF, session)
        return found

    async def events(self, session: UUID, place: Place | None) -> tuple[Place, Row] | None:
        """The place and the row of events after it; None for a session never seen. ``place`` None: from now on."""
        numbers = (None,) * len(NUMBERS) if place is None else astuple(place)
        row = await self._database.fetchrow(EVENTS, session, *numbers, EVENTS_MAX)
        if row is None:
            return None
        return Place(**{name: row[name] for name in NUMBERS}), row

    async def log(self, session: UUID, version: int | None) -> tuple[Row, list[Observation], list[Reflection]] | None:
        """The version's row, and the notes live at it; None for a session never seen. ``version`` None: the newest."""
        async with self._database.snapshot() as tx:
            row = await tx.fetchrow(VERSION, session, version)
            if row is None:
                return None
            memory = row["memory_id"]
            if version is None:
                observations = await tx.fetch(LOG_OBSERVATIONS, memory)
                reflections = await tx.fetch(LOG_REFLECTIONS, memory)
            else:
                observations = await tx.fetch(PAST_OBSERVATIONS, memory, version)
                reflections = await tx.fetch(PAST_REFLECTIONS, memory, version)
        return row, [observation_of(found) for found in observations], [reflection_of(found) for found in reflections]

    async def versions(self, session: UUID, memory: UUID, *, before: int, limit: int) -> list[dict[str, Any]]:
        return [dict(row) for row in await self._database.fetch(VERSIONS, memory, session, before, limit)]

    async def observations(
        self, memory: UUID, *, after: int, status: str | None, limit: int
    ) -> tuple[list[Observation], bool]:
        """The observations after this id, and whether more follow."""
        rows = await self._database.fetch(OBSERVATIONS, memory, after, status, limit, NOTES_BYTES_MAX)
        return [observation_of(row) for row in rows], _more(rows)

    async def reflections(
        self, memory: UUID, *, after: int, status: str | None, limit: int
    ) -> tuple[list[Reflection], bool]:
        """The reflections after this id, and whether more follow."""
        rows = await self._database.fetch(REFLECTIONS, memory, after, status, limit, NOTES_BYTES_MAX)
        return [reflection_of(row) for row in rows], _more(rows)

    async def runs(self, memory: UUID, *, before: int, outcome: str | None, limit: int) -> list[dict[str, Any]]:
        rows = await self._database.fetch(RUNS, memory, before, outcome, limit)
        return [dict(row) for row in rows]


def _more(rows: Sequence[Row]) -> bool:
    return bool(rows) and len(rows) < rows[0]["found"]
