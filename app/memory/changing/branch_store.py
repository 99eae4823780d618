"""The SQL that copies a session as it was at a moment (docs/decisions/0024).

Every column of the tables is named here, as copied or as beginning anew; a test compares.
"""

from uuid import UUID

from app.kit.db import Row, Tx
from app.memory.changing.moments import moment
from app.memory.changing.own_memory_store import begin_anew

LOOK_AT_BRANCH = """/* look_at_branch */
SELECT (SELECT next_seq - 1 FROM sessions WHERE id = $1) AS last_seq,
       EXISTS (SELECT FROM sessions WHERE id = $2) AS taken
"""

# Held until the caller commits: recorded steps, controls, replacements and erasures of the parent wait for the copy, so
# that it misses none; appends do not wait.
LOCK_PARENT = "/* lock_parent */ SELECT next_seq - 1 AS last_seq, memory_id FROM sessions WHERE id = $1 FOR KEY SHARE"

# Notes are copied as they were: a later retirement does not count, and a chunk that became live later is buffered,
# whenever its call was made, because it saw no later messages. Of a chunk that was edited later the first text counts.
# Chunks follow one another without a gap, so none counts after messages that a later compaction left to its summary.
# The first reflection made later of nothing but notes that were live then is the buffered one.
COPY = """/* branch */
WITH {moment}, parent AS (
  SELECT t.*, s.tenant, s.key, s.resource_id, s.metadata, s.facts_seq, s.facts_again_seq, s.expired_seq,
         coalesce(s.began_at, s.created_at) AS began_at,
         m.scope, m.log_version, m.unhelped_tokens, m.reflected_at,
         (SELECT ingested_at FROM messages WHERE session_id = t.id AND seq = t.seq) AS last_active_at,
         (SELECT coalesce(max(number), 0) FROM session_configs
          WHERE session_id = t.id AND from_seq - 1 <= t.seq AND version <= t.version) AS config_changes
  FROM moment t JOIN sessions s ON s.id = t.id JOIN memories m ON m.id = t.memory_id
), later AS (
  SELECT o.* FROM observations o, parent p
  WHERE o.memory_id = p.memory_id AND o.session_id = p.id AND o.from_seq > p.observed_seq AND o.to_seq <= p.seq
    AND coalesce(least(o.born_version, o.retired_version) > p.version, true)
    AND NOT EXISTS (SELECT FROM observations e WHERE e.memory_id = o.memory_id AND e.session_id = o.session_id
                      AND e.from_seq = o.from_seq AND e.id < o.id
                      AND coalesce(least(e.born_version, e.retired_version) > p.version, true))
), gap AS (
  SELECT min(l.from_seq) AS seq FROM later l, parent p
  WHERE l.from_seq > p.observed_seq + 1 AND NOT EXISTS (
    SELECT FROM observations e WHERE e.memory_id = l.memory_id AND e.session_id = l.session_id
      AND e.to_seq = l.from_seq - 1)
), chunk AS (
  SELECT o.*, CASE WHEN o.retired_version <= p.version THEN 'retired' ELSE 'active' END AS status_then
  FROM observations o, parent p
  WHERE o.memory_id = p.memory_id AND o.session_id = p.id AND least(o.born_version, o.retired_version) <= p.version
  UNION ALL
  SELECT l.*, 'buffered' FROM later l, gap WHERE gap.seq IS NULL OR l.from_seq < gap.seq
), ahead AS (
  SELECT min(r.id) AS id FROM reflections r, parent p
  WHERE r.memory_id = p.memory_id AND coalesce(r.born_version > p.version, true) AND r.sources->'observations' <> '[]'
    AND NOT EXISTS (SELECT FROM jsonb_array_elements_text(r.sources->'observations') AS of (id)
                    LEFT JOIN chunk c ON c.id = of.id::bigint AND c.status_then = 'active' WHERE c.id IS NULL)
    AND NOT EXISTS (SELECT FROM jsonb_array_elements_text(r.sources->'reflections') AS of (id)
                    LEFT JOIN reflections c ON c.memory_id = r.memory_id AND c.id = of.id::bigint
                      AND c.born_version <= p.version AND coalesce(c.retired_version > p.version, true)
                    WHERE c.id IS NULL)
), condensed AS (
  SELECT r.*, CASE WHEN r.retired_version <= p.version THEN 'retired' WHEN r.born_version <= p.version THEN 'active'
                   ELSE 'buffered' END AS status_then
  FROM reflections r, parent p, ahead
  WHERE r.memory_id = p.memory_id AND (r.born_version <= p.version OR r.id = ahead.id)
), put AS (
  INSERT INTO sessions (id, tenant, key, resource_id, memory_id, next_seq, total_tokens, observed_seq, buffered_seq,
                        activated_seq, tail_from_seq, summary_seq, compacted_seq, anchor_date, last_active_at, config,
                        config_changes, metadata, facts_seq, facts_again_seq, expired_seq, began_at, branched_from,
                        branched_at_seq)
  SELECT $2, tenant, $3, resource_id, $2, seq + 1, total_tokens, observed_seq,
         greatest(observed_seq, (SELECT max(to_seq) FROM chunk)), activated_seq, tail_from_seq, summary_seq,
         compacted_seq, anchor_date, last_active_at, config, config_changes, metadata,
         least(facts_seq, seq), least(facts_again_seq, seq), least(expired_seq, seq), began_at, key, seq
  FROM parent ON CONFLICT (id) DO NOTHING RETURNING *
), message AS (
  INSERT INTO messages (session_id, seq, id, kind, role, name, parts, tokens, tokens_before, content_hash, created_at,
                        ingested_at, metadata, observe, trust, anchor_date, up_to_seq, covers, erased_at)
  SELECT put.id, m.seq, m.id, m.kind, m.role, m.name, m.parts, m.tokens, m.tokens_before, m.content_hash, m.created_at,
         m.ingested_at, m.metadata, m.observe AND (m.erased_at IS NULL OR m.seq <= put.buffered_seq), m.trust,
         m.anchor_date, m.up_to_seq, m.covers, m.erased_at
  FROM put, parent p, messages m WHERE m.session_id = p.id AND m.seq <= p.seq
), memory AS (
  INSERT INTO memories (id, tenant, scope, pending_tokens, wake_tokens, buffered_tokens, observation_tokens,
                        reflection_tokens, log_version, generation, current_task, suggested_response, reflected_at,
                        unhelped_tokens)
  SELECT put.id, p.tenant, p.scope,
         (SELECT coalesce(sum(tokens), 0) FROM messages
          WHERE session_id = p.id AND seq > p.observed_seq AND seq <= p.seq AND observe
            AND (erased_at IS NULL OR seq <= put.buffered_seq)
            AND NOT coalesce((SELECT range_agg(int8range(from_seq, to_seq, '[]')) FROM chunk
                              WHERE status_then = 'retired' AND retired_by = 'deleted') @> seq, false)), 0,
         (SELECT coalesce(sum(message_tokens), 0) FROM chunk WHERE status_then = 'buffered'),
         (SELECT coalesce(sum(tokens), 0) FROM chunk WHERE status_then = 'active'),
         (SELECT coalesce(sum(tokens), 0) FROM condensed WHERE status_then = 'active'),
         p.version, (SELECT coalesce(max(generation), 0) FROM condensed WHERE status_then <> 'buffered'),
         p.current_task, p.suggested_response,
         CASE WHEN p.version = p.log_version THEN p.reflected_at ELSE (
           SELECT max(at) FROM memory_versions WHERE memory_id = p.memory_id AND version <= p.version
             AND cause IN ('reflected', 'consolidated')) END,
         CASE WHEN p.version = p.log_version THEN p.unhelped_tokens END
  FROM put, parent p
), version AS (
  INSERT INTO memory_versions (memory_id, version, cause, at, anchor_date, current_task, suggested_response, cursors)
  SELECT put.id, v.version, v.cause, v.at, v.anchor_date, v.current_task, v.suggested_response,
         jsonb_build_object(put.id::text, v.cursors->p.id::text)
  FROM put, parent p, memory_versions v WHERE v.memory_id = p.memory_id AND v.version <= p.version
), observation AS (
  INSERT INTO observations (memory_id, id, ordinal, status, text, items, tokens, message_tokens, session_id, from_seq,
                            to_seq, covers, current_task, suggested_response, born_version, retired_version,
                            retired_by, created_at, erased_at)
  SELECT put.id, c.id, c.ordinal, c.status_then, c.text, c.items, c.tokens, c.message_tokens, put.id, c.from_seq,
         c.to_seq, c.covers, c.current_task, c.suggested_response,
         CASE WHEN c.born_version <= p.version THEN c.born_version END,
         CASE WHEN c.status_then = 'retired' THEN c.retired_version END,
         CASE WHEN c.status_then = 'retired' THEN c.retired_by END, c.created_at, c.erased_at
  FROM put, parent p, chunk c
), reflection AS (
  INSERT INTO reflections (memory_id, id, level, generation, status, text, items, tokens, source_tokens, from_seq,
                           to_seq, covers, sources, born_version, retired_version, retired_by, created_at, erased_at)
  SELECT put.id, c.id, c.level, c.generation, c.status_then, c.text, c.items, c.tokens, c.source_tokens, c.from_seq,
         c.to_seq, jsonb_build_object(put.id::text, c.covers->p.id::text), c.sources,
         CASE WHEN c.born_version <= p.version THEN c.born_version END,
         CASE WHEN c.status_then = 'retired' THEN c.retired_version END,
         CASE WHEN c.status_then = 'retired' THEN c.retired_by END, c.created_at, c.erased_at
  FROM put, parent p, condensed c
), config AS (
  INSERT INTO session_configs (session_id, number, changed_at, from_seq, version, config)
  SELECT put.id, c.number, c.changed_at, c.from_seq, c.version, c.config
  FROM put, parent p, session_configs c WHERE c.session_id = p.id AND c.number <= p.config_changes
)
SELECT * FROM put
"""

# Copies the messages and configs of a session in a shared memory; the rest is as ``begin_anew`` makes it.
BRANCH_APART = """/* branch_apart */
WITH parent AS (
  SELECT s.*, m.tokens_before + CASE WHEN m.kind = 'summary' THEN 0 ELSE m.tokens END AS tokens,
         m.ingested_at AS said_at, m.anchor_date AS dated,
         (SELECT coalesce(max(number), 0) FROM session_configs
          WHERE session_id = s.id AND from_seq - 1 <= m.seq) AS number
  FROM sessions s JOIN messages m ON m.session_id = s.id AND m.seq = $4 WHERE s.id = $1
), put AS (
  INSERT INTO sessions (id, tenant, key, resource_id, memory_id, next_seq, total_tokens, anchor_date, last_active_at,
                        config, config_changes, metadata, facts_seq, facts_again_seq, expired_seq, began_at,
                        branched_from, branched_at_seq)
  SELECT $2, tenant, $3, resource_id, $2, $4 + 1, tokens, dated, said_at,
         coalesce((SELECT config FROM session_configs c WHERE c.session_id = p.id AND c.number = p.number), '{}'),
         number, metadata, least(facts_seq, $4), least(facts_again_seq, $4), least(expired_seq, $4),
         coalesce(began_at, created_at), key, $4
  FROM parent p ON CONFLICT (id) DO NOTHING RETURNING *
), message AS (
  INSERT INTO messages (session_id, seq, id, kind, role, name, parts, tokens, tokens_before, content_hash, created_at,
                        ingested_at, metadata, observe, trust, anchor_date, up_to_seq, covers, erased_at)
  SELECT put.id, m.seq, m.id, m.kind, m.role, m.name, m.parts, m.tokens, m.tokens_before, m.content_hash, m.created_at,
         m.ingested_at, m.metadata, m.observe, m.trust, m.anchor_date, m.up_to_seq, m.covers, m.erased_at
  FROM put, messages m WHERE m.session_id = $1 AND m.seq <= $4
), config AS (
  INSERT INTO session_configs (session_id, number, changed_at, from_seq, version, config)
  SELECT put.id, c.number, c.changed_at, c.from_seq, c.version, c.config
  FROM put, parent p, session_configs c WHERE c.session_id = p.id AND c.number <= p.number
)
SELECT id FROM put
"""

BRANCH = COPY.format(moment=moment(session="$1::uuid", version="NULL::bigint", seq="$4::bigint", timezone="$5"))


async def look(tx: Tx, parent: UUID, branch: UUID) -> tuple[int | None, bool]:
    """The parent's newest seq, None for a session never seen, and whether the branch's key is taken."""
    row = await tx.fetchrow(LOOK_AT_BRANCH, parent, branch)
    return row["last_seq"], row["taken"]


async def lock_parent(tx: Tx, parent: UUID) -> tuple[int, UUID] | None:
    """Lock the parent; answers its newest seq and its memory, None for a session never seen."""
    row = await tx.fetchrow(LOCK_PARENT, parent)
    return None if row is None else (row["last_seq"], row["memory_id"])


async def copy(tx: Tx, parent: UUID, branch: UUID, key: str, *, at_seq: int, shared: bool, timezone: str) -> Row | None:
    """Copy the parent as it was before the message after ``at_seq`` came; of a ``shared`` memory nothing.

    Answers the branch's row, None if the ``key`` is taken.
    """
    if not shared:
        return await tx.fetchrow(BRANCH, parent, branch, key, at_seq, timezone)
    apart = await tx.fetchval(BRANCH_APART, parent, branch, key, at_seq)
    return None if apart is None else await begin_anew(tx, branch)
