"""The statements that erase what was derived from a message, and that note what was observed again instead."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from app.kit.db import Row, Tx
from app.kit.json import dumps
from app.kit.tokens import text_tokens
from app.memory.changing.erasure import Lines, Note, Repair
from app.memory.changing.note_store import RETIRE_OBSERVATIONS, RETIRE_REFLECTIONS
from app.memory.changing.summary import new_summary
from app.memory.edits import Edit
from app.memory.log import items_from_json, items_to_json, render
from app.memory.model import Status
from app.memory.records import Gap, Locked, NewObservation
from app.memory.store import ERASED
from app.sessions.erasing import Copy
from app.sessions.model import Kind, Role
from app.sessions.wire import content_hash

TAINTED = """/* tainted */
SELECT min(ordinal) FILTER (WHERE erased_at IS NULL) AS place,
       min(from_seq) FILTER (WHERE erased_at IS NULL) AS from_seq,
       coalesce(bool_or(status = 'retired' AND retired_by = 'deleted'), false) AS deleted
FROM observations WHERE memory_id = $1 AND session_id = $2 AND from_seq <= $3 AND to_seq >= $3
"""

# What was observed later was observed with the former notes and the current task in view, and has a later place in the
# log, whichever session it is of. The task that a version has was told by a chunk that was live then.
BLANK = """/* blank_notes */
WITH observed AS (
  UPDATE observations SET text = '', items = '[]', tokens = 0, current_task = NULL, suggested_response = NULL,
    erased_at = now()
  WHERE memory_id = $1 AND ordinal + to_seq - from_seq >= $2 AND erased_at IS NULL
  RETURNING session_id, from_seq, born_version
), condensed AS (
  UPDATE reflections SET text = '', items = '[]', tokens = 0, erased_at = now()
  WHERE memory_id = $1 AND to_seq >= $2 AND erased_at IS NULL RETURNING 1
), told AS (
  UPDATE memory_versions SET current_task = NULL, suggested_response = NULL
  WHERE memory_id = $1 AND version >= (SELECT min(born_version) FROM observed)
    AND (current_task IS NOT NULL OR suggested_response IS NOT NULL) RETURNING 1
)
SELECT (SELECT count(*) FROM observed) AS observations, (SELECT count(*) FROM condensed) AS reflections,
       (SELECT count(*) FROM told) AS memory_versions,
       (SELECT count(born_version) > 0 FROM observed) AS live,
       (SELECT jsonb_object_agg(session_id, seq)
        FROM (SELECT session_id, min(from_seq) AS seq FROM observed GROUP BY session_id) AS o) AS since
"""

# What was refused holds what it was made of, and what a provider answers may quote it. Of an error its kind stays.
FORGET_OUTPUTS = """/* forget_outputs */
WITH emptied AS (
  UPDATE runs SET rejected_output = NULL, error = split_part(error, ':', 1)
  WHERE memory_id = $1 AND at >= $2 AND (rejected_output IS NOT NULL OR error LIKE '%:%') RETURNING 1
)
SELECT count(*) FROM emptied
"""

# The same of a message that is replaced, while the session is held: ids of runs grow with their times.
FORGET_QUOTES = """/* forget_quotes */
WITH said AS (
  SELECT s.memory_id, m.ingested_at FROM sessions s JOIN messages m ON m.session_id = s.id
  WHERE s.id = $1 AND m.seq = $2
), emptied AS (
  UPDATE runs r SET rejected_output = NULL, error = split_part(r.error, ':', 1) FROM said
  WHERE r.memory_id = said.memory_id AND (r.rejected_output IS NOT NULL OR r.error LIKE '%:%')
    AND r.id > coalesce((SELECT id FROM runs o WHERE o.memory_id = said.memory_id AND o.at < said.ingested_at
                         ORDER BY id DESC LIMIT 1), 0)
)
UPDATE memories SET last_error = last_error || '{"message": ""}' FROM said
WHERE id = said.memory_id AND (last_error->>'at')::timestamptz >= said.ingested_at
"""

SUMMARIES = """/* summaries_to_erase */
SELECT seq, up_to_seq FROM messages
WHERE session_id = $1 AND kind = 'summary' AND parts::text <> $4
  AND (seq > $2 AND up_to_seq >= $2 OR seq >= $2 AND $3) ORDER BY seq
"""

BLANK_SUMMARIES = """/* blank_summaries */
WITH emptied AS (
  UPDATE messages m SET parts = $2, content_hash = $3, tokens = b.tokens, covers = '[]'
  FROM unnest($4::bigint[], $5::int[]) AS b (seq, tokens) WHERE m.session_id = $1 AND m.seq = b.seq
)
UPDATE sessions SET compacted_seq = 0 WHERE id = $1 AND summary_seq = ANY($4::bigint[])
"""

OBSERVED = """/* observed_lineage */
SELECT id, status, erased_at IS NOT NULL AS blank, message_tokens FROM observations WHERE memory_id = $1 ORDER BY id
"""

CONDENSED = """/* condensed_lineage */
SELECT id, status, erased_at IS NOT NULL AS blank, sources FROM reflections WHERE memory_id = $1 ORDER BY id
"""

EDITS = """/* edits */
SELECT e.id AS reflection, e.items AS old, n.items AS new
FROM reflections e JOIN reflections n
  ON n.memory_id = e.memory_id AND n.born_version = e.retired_version AND n.sources = e.sources
WHERE e.memory_id = $1 AND e.retired_by = 'edited' AND e.erased_at IS NULL ORDER BY e.retired_version
"""

LINES = """/* lines_of_notes */
SELECT id, items, true AS observed FROM observations WHERE memory_id = $1 AND id = ANY($2::bigint[])
UNION ALL
SELECT id, items, false FROM reflections WHERE memory_id = $1 AND id = ANY($3::bigint[])
"""

# A copy, as of an edit: in the versions between, the note has not been there. Of some ($5 to $8 and $9 to $12: ids,
# texts, lines, tokens) not every line returns, as somebody took it out since: then the first text counts as edited, and
# where no line is left the note as deleted.
RETURN = """/* return_notes */
WITH changed_observations AS (
  SELECT * FROM unnest($5::bigint[], $6::text[], $7::text[], $8::int[]) AS c (id, text, items, tokens)
), changed_reflections AS (
  SELECT * FROM unnest($9::bigint[], $10::text[], $11::text[], $12::int[]) AS c (id, text, items, tokens)
), edited AS (
  UPDATE observations SET retired_by = 'edited' WHERE memory_id = $1 AND id = ANY($5::bigint[])
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

# What of sessions is behind the cursors, from a seq of each on, can be observed, and is told by no note nor by the
# summary alone. Such messages between which every one is told or skipped are one range; what is to be observed ahead is
# a range of its own. What a retention rule has removed from the messages goes for good with the notes of it, which a
# branch of a moment before they were live may have ahead.
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

# Or a summary was emptied, which may have told alone of what is behind the cursor.
HAS_BLANK = """/* has_blank */
SELECT EXISTS (SELECT FROM observations WHERE memory_id = $1 AND erased_at IS NOT NULL)
  OR EXISTS (SELECT FROM messages WHERE session_id = $1 AND kind = 'summary' AND covers = '[]')
  AND EXISTS (SELECT FROM messages WHERE session_id = $1 AND erased_at IS NOT NULL AND NOT observe)
"""

REBUILD = """/* rebuild */
UPDATE memories SET rebuilding = $2, last_error = last_error || '{"message": ""}' WHERE id = $1
"""

# Of what is not live yet (``$3`` its messages) there is no version, and the task is told when it becomes live.
REBUILT = """/* rebuilt */
UPDATE memories SET observation_tokens = observation_tokens + $2, buffered_tokens = buffered_tokens + $3,
  log_version = $4, rebuilding = $5, usage = $6, attempts = 0, last_error = NULL,
  current_task = CASE WHEN $7 THEN $8 ELSE current_task END,
  suggested_response = CASE WHEN $7 THEN $9 ELSE suggested_response END
WHERE id = $1
"""

POINTER = new_summary(None, up_to_seq=1, untold=(), former=()).parts
POINTER_HASH = content_hash(Role.USER, None, POINTER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tainted:
    """Where the notes begin that may tell of a message, by their place in the log and of its session by their messages.

    None: no note does. ``pending``: whether it counts so.
    """

    place: int | None
    from_seq: int | None
    pending: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Blanked:
    """The ``rows`` that were emptied, by table; whether a note was ``live``, and where they begin in each session."""

    rows: dict[str, int]
    live: bool
    since: dict[UUID, int]


NOTHING = Blanked(rows={}, live=False, since={})


class ErasingStore:
    @staticmethod
    async def tainted(tx: Tx, copy: Copy) -> Tainted:
        """What was made of the message: nothing of one that no observer is shown."""
        if not copy.observe:
            return Tainted(place=None, from_seq=None, pending=False)
        row = await tx.fetchrow(TAINTED, copy.memory_id, copy.session_id, copy.seq)
        pending = copy.seq > copy.observed_seq and not row["deleted"]
        return Tainted(place=row["place"], from_seq=row["from_seq"], pending=pending)

    @staticmethod
    async def blank(tx: Tx, memory_id: UUID, *, place: int | None) -> Blanked:
        """Empty every note of the log from a place on, whatever became of it."""
        if place is None:
            return NOTHING
        found = dict(await tx.fetchrow(BLANK, memory_id, place))
        live, since = found.pop("live"), found.pop("since") or {}
        return Blanked(rows=found, live=live, since={UUID(session): seq for session, seq in since.items()})

    @staticmethod
    async def forget_outputs(tx: Tx, memory_id: UUID, *, since: datetime) -> int:
        """Empty what was refused since then."""
        emptied: int = await tx.fetchval(FORGET_OUTPUTS, memory_id, since)
        return emptied

    async def forget_from(self, tx: Tx, session: UUID, seq: int) -> None:
        """Forget what was refused since the message came, which is being replaced. Implements the sessions' Reader."""
        await tx.execute(FORGET_QUOTES, session, seq)

    @staticmethod
    async def blank_summaries(tx: Tx, copy: Copy) -> int:
        """Make every summary that may tell of the message one that only points to the notes; answers how many."""
        itself = copy.kind is Kind.SUMMARY
        found = await tx.fetch(SUMMARIES, copy.session_id, copy.seq, itself, dumps(POINTER).decode())
        if found:
            seqs = [row["seq"] for row in found]
            sizes = [_pointer_tokens(row["up_to_seq"]) for row in found]
            await tx.execute(BLANK_SUMMARIES, copy.session_id, POINTER, POINTER_HASH, seqs, sizes)
        return len(found)

    @staticmethod
    async def lineage(tx: Tx, memory_id: UUID) -> tuple[list[Note], list[Note], dict[int, int]]:
        """All observations, all reflections, and the tokens of the messages of those that wait to become live."""
        observed = await tx.fetch(OBSERVED, memory_id)
        condensed = await tx.fetch(CONDENSED, memory_id)
        waiting = {row["id"]: row["message_tokens"] for row in observed if row["status"] == Status.BUFFERED}
        return [_note(row, {}) for row in observed], [_note(row, row["sources"]) for row in condensed], waiting

    @staticmethod
    async def edits(tx: Tx, memory_id: UUID) -> list[Edit]:
        """What somebody made of reflections, in the order in which they did, as far as its text is not erased."""
        rows = await tx.fetch(EDITS, memory_id)
        return [
            Edit(reflection=row["reflection"], old=items_from_json(row["old"]), new=items_from_json(row["new"]))
            for row in rows
        ]

    @staticmethod
    async def lines(tx: Tx, memory_id: UUID, repair: Repair) -> tuple[Lines, Lines]:
        """The lines of what returns to the log, by ids: observations, reflections."""
        returning = (repair.returning_observations, repair.returning_reflections)
        rows = [
            (row["observed"], row["id"], items_from_json(row["items"]))
            for row in await tx.fetch(LINES, memory_id, *returning)
        ]
        observed, condensed = ({id_: items for of, id_, items in rows if of is kind} for kind in (True, False))
        return observed, condensed

    @staticmethod
    async def mend(tx: Tx, locked: Locked, repair: Repair, changed: tuple[Lines, Lines]) -> None:
        """Let the blank notes leave the log, and what they condensed return to it, in the version to be made.

        Of those ``changed``, observations and reflections, these lines return.
        """
        memory_id, version = locked.memory_id, locked.version + 1
        await tx.execute(RETIRE_OBSERVATIONS, memory_id, repair.leaving_observations, version, ERASED)
        await tx.execute(RETIRE_REFLECTIONS, memory_id, repair.leaving_reflections, version, ERASED)
        returning = (repair.returning_observations, repair.returning_reflections)
        columns = [column for lines in changed for column in _columns(lines)]
        await tx.execute(RETURN, memory_id, *returning, version, *columns)

    @staticmethod
    async def rebuild(tx: Tx, locked: Locked, *, since: Mapping[UUID, int]) -> bool:
        """Note what is to be observed again: what of these sessions nobody remembers, from a seq of each on.

        Answers whether there is any.
        """
        rows = await tx.fetch(UNREMEMBERED, locked.memory_id, list(since), list(since.values()))
        await tx.execute(REBUILD, locked.memory_id, [_range(locked.memory_id, **row) for row in rows])
        return bool(rows)

    @staticmethod
    async def has_blank(tx: Tx, memory_id: UUID) -> bool:
        """Whether a note or a summary of a session's own memory was ever erased."""
        return bool(await tx.fetchval(HAS_BLANK, memory_id))

    @staticmethod
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
        """Count a chunk that was observed again; ``left`` is still to be."""
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


def _pointer_tokens(up_to_seq: int) -> int:
    return new_summary(None, up_to_seq=up_to_seq, untold=(), former=()).tokens
