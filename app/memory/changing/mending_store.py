"""The SQL that repairs a log with blank notes: retires them, brings back their sources, notes what to observe again."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from app.kit.db import Row, Tx
from app.kit.json import dumps
from app.kit.tokens import text_tokens
from app.memory.changing.mending_plan import Lines, MendingPlan, Note
from app.memory.edits import Edit
from app.memory.log import items_from_json, items_to_json, render
from app.memory.model import Status
from app.memory.note_store import ERASED, RETIRE_OBSERVATIONS, RETIRE_REFLECTIONS
from app.memory.records import Gap, Locked, NewObservation

OBSERVED = """/* observed_lineage */
SELECT id, status, erased_at IS NOT NULL AS blank, message_tokens FROM observations WHERE memory_id = $1 ORDER BY id
"""

CONDENSED = """/* condensed_lineage */
SELECT id, status, erased_at IS NOT NULL AS blank, sources FROM reflections WHERE memory_id = $1 ORDER BY id
"""

# The result of an edit, by somebody or by RETURN for them, is the next reflection of the same sources. After an erasure
# neither old nor new lines are left: they only tell a branch that there was an edit.
EDITS = """/* edits */
SELECT e.id AS reflection, e.items AS old, n.items AS new
FROM reflections e CROSS JOIN LATERAL (
  SELECT items FROM reflections WHERE memory_id = e.memory_id AND sources = e.sources AND id > e.id ORDER BY id LIMIT 1
) n WHERE e.memory_id = $1 AND e.retired_by = 'edited' ORDER BY e.retired_version
"""

LINES = """/* lines_of_notes */
SELECT id, items, true AS observed FROM observations WHERE memory_id = $1 AND id = ANY($2::bigint[])
UNION ALL
SELECT id, items, false FROM reflections WHERE memory_id = $1 AND id = ANY($3::bigint[])
"""

# The copies of these notes that RETURN made.
RETURNED = """/* lines_returned */
SELECT o.id, c.items, true AS observed FROM observations o CROSS JOIN LATERAL (
  SELECT items FROM observations
  WHERE memory_id = o.memory_id AND session_id = o.session_id AND ordinal = o.ordinal AND id > o.id ORDER BY id LIMIT 1
) c WHERE o.memory_id = $1 AND o.id = ANY($2::bigint[])
UNION ALL
SELECT r.id, c.items, false FROM reflections r CROSS JOIN LATERAL (
  SELECT items FROM reflections WHERE memory_id = r.memory_id AND sources = r.sources AND id > r.id ORDER BY id LIMIT 1
) c WHERE r.memory_id = $1 AND r.id = ANY($3::bigint[])
"""

# A note returns as a copy, as in an edit: the versions between do not have it. Of some ($5 to $8 and $9 to $12: ids,
# texts, lines, tokens) not every line returns, because somebody took it out since: then the first text counts as
# edited, and if no line is left the copy as deleted.
RETURN = """/* return_notes */
WITH changed_observations AS (
  SELECT * FROM unnest($5::bigint[], $6::text[], $7::text[], $8::int[]) AS c (id, text, items, tokens)
), changed_reflections AS (
  SELECT * FROM unnest($9::bigint[], $10::text[], $11::text[], $12::int[]) AS c (id, text, items, tokens)
), edited AS (
  UPDATE observations SET retired_by = 'edited' WHERE memory_id = $1 AND id = ANY($5::bigint[])
), edited_reflections AS (
  UPDATE reflections SET retired_by = 'edited' WHERE memory_id = $1 AND id = ANY($9::bigint[])
), observed AS (
  INSERT INTO observations (memory_id, ordinal, status, text, items, tokens, message_tokens, session_id, from_seq,
                            to_seq, covers, current_task, suggested_response, born_version, retired_version, retired_by)
  SELECT o.memory_id, o.ordinal, CASE WHEN c.text = '' THEN 'retired' ELSE 'active' END, coalesce(c.text, o.text),
         coalesce(c.items::jsonb, o.items), coalesce(c.tokens, o.tokens), o.message_tokens, o.session_id, o.from_seq,
         o.to_seq, o.covers, o.current_task, o.suggested_response, $4::bigint,
         CASE WHEN c.text = '' THEN $4::bigint END, CASE WHEN c.text = '' THEN 'deleted' END
  FROM observations o LEFT JOIN changed_observations c USING (id)
  WHERE o.memory_id = $1 AND o.id = ANY($2::bigint[]) ORDER BY o.id
)
INSERT INTO reflections (memory_id, level, generation, status, text, items, tokens, source_tokens, from_seq, to_seq,
                         covers, sources, born_version, retired_version, retired_by)
SELECT r.memory_id, r.level, r.generation, CASE WHEN c.text = '' THEN 'retired' ELSE 'active' END,
       coalesce(c.text, r.text), coalesce(c.items::jsonb, r.items), coalesce(c.tokens, r.tokens), r.source_tokens,
       r.from_seq, r.to_seq, r.covers, r.sources, $4::bigint,
       CASE WHEN c.text = '' THEN $4::bigint END, CASE WHEN c.text = '' THEN 'deleted' END
FROM reflections r LEFT JOIN changed_reflections c USING (id)
WHERE r.memory_id = $1 AND r.id = ANY($3::bigint[]) ORDER BY r.id
"""

# The observable messages behind the cursors, from a seq of each session on, that neither a note nor the summary alone
# tells. Such messages with only skipped or removed ones between them are one range; those to be observed ahead are
# ranges of their own. Messages that a retention rule has emptied are lost with their notes, which may be buffered in a
# branch of a moment before they were live.
UNREMEMBERED = """/* unremembered */
WITH since AS (
  SELECT s.id, s.observed_seq, s.summary_seq, greatest(s.observed_seq, s.buffered_seq) AS derived_seq, i.seq
  FROM unnest($2::uuid[], $3::bigint[]) AS i (id, seq) JOIN sessions s USING (id)
), told AS (
  SELECT id, range_agg(int8range((pair->>0)::bigint, (pair->>1)::bigint, '[]')) AS seqs FROM (
    SELECT session_id AS id, jsonb_array_elements(covers) AS pair FROM observations
    WHERE memory_id = $1 AND (status <> 'retired' OR retired_by = 'deleted')
    UNION ALL
    SELECT since.id, jsonb_array_elements(covers->since.id::text) FROM since, reflections
    WHERE memory_id = $1 AND (status = 'active' OR retired_by = 'deleted')
    UNION ALL
    SELECT since.id, jsonb_array_elements(m.covers) FROM since
    JOIN messages m ON m.session_id = since.id AND m.seq = since.summary_seq
  ) AS covered GROUP BY id
), behind AS (
  SELECT m.session_id, m.seq, m.seq <= since.observed_seq AS passed, m.erased_at IS NOT NULL AS removed,
         coalesce(NOT told.seqs @> m.seq, true) AS lost
  FROM since LEFT JOIN told USING (id) CROSS JOIN LATERAL (
    SELECT session_id, seq, erased_at FROM messages
    WHERE session_id = since.id AND seq BETWEEN since.seq AND since.derived_seq AND observe OFFSET 0
  ) AS m
), gone AS (
  UPDATE messages m SET observe = false FROM behind b
  WHERE m.session_id = b.session_id AND m.seq = b.seq AND b.lost AND b.removed
  RETURNING m.tokens, b.passed
), counted AS (
  UPDATE memories SET pending_tokens = pending_tokens - (SELECT sum(tokens) FROM gone WHERE NOT passed)
  WHERE id = $1 AND EXISTS (SELECT FROM gone WHERE NOT passed)
), said AS (
  SELECT *, row_number() OVER (PARTITION BY session_id ORDER BY seq) AS number FROM behind WHERE NOT (lost AND removed)
)
SELECT session_id, min(seq) AS first, max(seq) AS last
FROM (SELECT session_id, seq, passed, number - row_number() OVER (PARTITION BY session_id ORDER BY seq) AS island
      FROM said WHERE lost) AS lost
GROUP BY session_id, passed, island ORDER BY session_id, first
"""

# An emptied summary counts too: it may have been all that told of messages behind the cursor.
HAS_BLANK = """/* has_blank */
SELECT EXISTS (SELECT FROM observations WHERE memory_id = $1 AND erased_at IS NOT NULL)
  OR EXISTS (SELECT FROM messages WHERE session_id = $1 AND kind = 'summary' AND covers = '[]')
  AND EXISTS (SELECT FROM messages WHERE session_id = $1 AND erased_at IS NOT NULL AND NOT observe)
"""

REBUILD = """/* rebuild */
UPDATE memories SET rebuilding = $2, last_error = last_error || '{"message": ""}' WHERE id = $1
"""

# A buffered chunk (``$3``: its messages) makes no version, and sets the task when it becomes live.
REBUILT = """/* rebuilt */
UPDATE memories SET observation_tokens = observation_tokens + $2, buffered_tokens = buffered_tokens + $3,
  log_version = $4, rebuilding = $5, usage = $6, attempts = 0, last_error = NULL,
  current_task = CASE WHEN $7 THEN $8 ELSE current_task END,
  suggested_response = CASE WHEN $7 THEN $9 ELSE suggested_response END
WHERE id = $1
"""


async def lineage(tx: Tx, memory_id: UUID) -> tuple[list[Note], list[Note], dict[int, int]]:
    """All observations, all reflections, and by id the message tokens of the buffered observations."""
    observed = await tx.fetch(OBSERVED, memory_id)
    condensed = await tx.fetch(CONDENSED, memory_id)
    waiting = {row["id"]: row["message_tokens"] for row in observed if row["status"] == Status.BUFFERED}
    return [_note(row, {}) for row in observed], [_note(row, row["sources"]) for row in condensed], waiting


async def edits(tx: Tx, memory_id: UUID) -> list[Edit]:
    """The edits of reflections, oldest first; without lines if the text is erased."""
    rows = await tx.fetch(EDITS, memory_id)
    return [
        Edit(reflection=row["reflection"], old=items_from_json(row["old"]), new=items_from_json(row["new"]))
        for row in rows
    ]


async def lines(tx: Tx, memory_id: UUID, plan: MendingPlan, *, returned: bool = False) -> tuple[Lines, Lines]:
    """The lines of the notes that return to the log, by id: observations, reflections.

    ``returned``: the lines of their copies, in a memory to which they have returned already.
    """
    returning = (plan.returning_observations, plan.returning_reflections)
    rows = [
        (row["observed"], row["id"], items_from_json(row["items"]))
        for row in await tx.fetch(RETURNED if returned else LINES, memory_id, *returning)
    ]
    observed, condensed = ({id_: items for of, id_, items in rows if of is kind} for kind in (True, False))
    return observed, condensed


async def replace_blank(tx: Tx, locked: Locked, plan: MendingPlan, changed: tuple[Lines, Lines]) -> None:
    """Retire the blank notes and bring back what they condensed, in the version to be made.

    ``changed``: observations and reflections of which only these lines return.
    """
    memory_id, version = locked.memory_id, locked.version + 1
    await tx.execute(RETIRE_OBSERVATIONS, memory_id, plan.leaving_observations, version, ERASED)
    await tx.execute(RETIRE_REFLECTIONS, memory_id, plan.leaving_reflections, version, ERASED)
    returning = (plan.returning_observations, plan.returning_reflections)
    columns = [column for of in changed for column in _columns(of)]
    await tx.execute(RETURN, memory_id, *returning, version, *columns)


async def rebuild(tx: Tx, locked: Locked, *, since: Mapping[UUID, int]) -> bool:
    """Record what is to be observed again: messages of these sessions, from a seq of each on, that no note covers.

    Answers whether there are any.
    """
    rows = await tx.fetch(UNREMEMBERED, locked.memory_id, list(since), list(since.values()))
    await tx.execute(REBUILD, locked.memory_id, [_range(locked.memory_id, **row) for row in rows])
    return bool(rows)


async def has_blank(tx: Tx, memory_id: UUID) -> bool:
    """Whether a note or a summary of a session's own memory was ever erased."""
    return bool(await tx.fetchval(HAS_BLANK, memory_id))


async def rebuilt(
    tx: Tx,
    memory_id: UUID,
    new: NewObservation,
    left: Sequence[Gap],
    *,
    version: int,
    live: bool,
    newest: bool,
    usage: dict[str, Any],
) -> None:
    """Count a chunk that was observed again; ``left``: the ranges that are still to be."""
    grown = (new.tokens, 0) if live else (0, new.message_tokens)
    told = (newest, new.current_task, new.suggested_response)
    ranges = [_range(memory_id, gap.session_id, gap.first, gap.last) for gap in left]
    await tx.execute(REBUILT, memory_id, *grown, version, ranges, usage, *told)


def _columns(lines: Lines) -> tuple[list[int], list[str], list[str], list[int]]:
    """Ids, texts, lines as JSON and tokens."""
    texts = [render(items) for items in lines.values()]
    stored = [dumps(items_to_json(items)).decode() for items in lines.values()]
    return [*lines], texts, stored, [text_tokens(text) for text in texts]


def _range(memory_id: UUID, session_id: UUID, first: int, last: int) -> tuple[Any, ...]:
    return (first, last) if session_id == memory_id else (first, last, str(session_id))


def _note(row: Row, sources: dict[str, Sequence[int]]) -> Note:
    return Note(
        id=row["id"],
        status=Status(row["status"]),
        blank=row["blank"],
        observations=tuple(sources.get("observations", ())),
        reflections=tuple(sources.get("reflections", ())),
    )
