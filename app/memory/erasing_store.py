"""The statements that erase what was derived from a message, and that note what was observed again instead."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from app.kit.db import Row, Tx
from app.kit.json import dumps
from app.memory.erasure import Note, Repair
from app.memory.model import Ranges, Status
from app.memory.note_store import RETIRE_OBSERVATIONS, RETIRE_REFLECTIONS
from app.memory.records import Locked, NewObservation
from app.memory.store import ERASED
from app.memory.summary import new_summary
from app.sessions.erasing import Copy
from app.sessions.model import Gone, Kind, Role
from app.sessions.wire import content_hash

TAINTED = """/* tainted */
SELECT min(from_seq) FILTER (WHERE erased_at IS NULL) AS from_seq,
       coalesce(bool_or(status = 'retired' AND retired_by = 'deleted'), false) AS deleted
FROM observations WHERE memory_id = $1 AND from_seq <= $2 AND to_seq >= $2
"""

# What was observed later was observed with the former notes and the current task in view. What a retention rule has
# removed from the messages goes for good with the notes of it.
BLANK = """/* blank_notes */
WITH observed AS (
  UPDATE observations SET text = '', items = '[]', tokens = 0, current_task = NULL, suggested_response = NULL,
    erased_at = now()
  WHERE memory_id = $1 AND to_seq >= $3 AND erased_at IS NULL RETURNING 1
), condensed AS (
  UPDATE reflections SET text = '', items = '[]', tokens = 0, erased_at = now()
  WHERE memory_id = $1 AND to_seq >= $3 AND erased_at IS NULL RETURNING 1
), told AS (
  UPDATE memory_versions SET current_task = NULL, suggested_response = NULL
  WHERE memory_id = $1 AND (cursors->$2::uuid::text->>'observed_seq')::bigint >= $3
    AND (current_task IS NOT NULL OR suggested_response IS NOT NULL) RETURNING 1
), lost AS (
  UPDATE messages SET observe = false WHERE session_id = $2 AND seq >= $3 AND erased_at IS NOT NULL AND observe
)
SELECT (SELECT count(*) FROM observed) AS observations, (SELECT count(*) FROM condensed) AS reflections,
       (SELECT count(*) FROM told) AS memory_versions
"""

# What was refused holds what it was made of, and what a provider answers may quote it. Of an error its kind stays.
FORGET_OUTPUTS = """/* forget_outputs */
WITH emptied AS (
  UPDATE runs SET rejected_output = NULL, error = split_part(error, ':', 1)
  WHERE memory_id = $1 AND at >= $2 AND (rejected_output IS NOT NULL OR error IS NOT NULL) RETURNING 1
)
SELECT count(*) FROM emptied
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

# A copy, as of an edit: in the versions between, the note has not been there.
RETURN = """/* return_notes */
WITH observed AS (
  INSERT INTO observations (memory_id, ordinal, status, text, items, tokens, message_tokens, session_id, from_seq,
                            to_seq, covers, current_task, suggested_response, born_version)
  SELECT memory_id, ordinal, 'active', text, items, tokens, message_tokens, session_id, from_seq, to_seq, covers,
         current_task, suggested_response, $4
  FROM observations WHERE memory_id = $1 AND id = ANY($2::bigint[])
)
INSERT INTO reflections (memory_id, level, generation, status, text, items, tokens, source_tokens, from_seq, to_seq,
                         covers, sources, born_version)
SELECT memory_id, level, generation, 'active', text, items, tokens, source_tokens, from_seq, to_seq, covers, sources, $4
FROM reflections WHERE memory_id = $1 AND id = ANY($3::bigint[])
"""

# What is behind the cursors, can be observed, and is told by no note nor by the summary alone. Such messages between
# which every one is told or skipped are one range; what is to be observed ahead is a range of its own.
UNREMEMBERED = """/* unremembered */
WITH told AS (
  SELECT range_agg(int8range((pair->>0)::bigint, (pair->>1)::bigint, '[]')) AS seqs FROM (
    SELECT jsonb_array_elements(covers) AS pair FROM observations
    WHERE memory_id = $1 AND (status <> 'retired' OR retired_by = 'deleted')
    UNION ALL
    SELECT jsonb_array_elements(covers->$2::uuid::text) FROM reflections
    WHERE memory_id = $1 AND (status = 'active' OR retired_by = 'deleted')
    UNION ALL
    SELECT jsonb_array_elements(m.covers) FROM sessions s
    JOIN messages m ON m.session_id = s.id AND m.seq = s.summary_seq WHERE s.id = $2
  ) AS covered
), said AS (
  SELECT m.seq, m.seq <= s.observed_seq AS passed, row_number() OVER (ORDER BY m.seq) AS number,
         coalesce(NOT told.seqs @> m.seq, true) AS lost
  FROM told, sessions s JOIN messages m ON m.session_id = s.id
  WHERE s.id = $2 AND m.seq >= $3 AND m.seq <= greatest(s.observed_seq, s.buffered_seq) AND m.observe
)
SELECT min(seq) AS first, max(seq) AS last
FROM (SELECT seq, passed, number - row_number() OVER (ORDER BY seq) AS island FROM said WHERE lost) AS lost
GROUP BY passed, island ORDER BY first
"""

IS_BLANK = """/* is_blank */
SELECT min(from_seq) FROM observations WHERE memory_id = $1 AND erased_at IS NOT NULL
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Tainted:
    """Where the notes begin that may tell of a message (None: no note does); whether it counts as pending."""

    from_seq: int | None
    pending: bool


class ErasingStore:
    @staticmethod
    async def tainted(tx: Tx, copy: Copy) -> Tainted:
        """What was made of the message: nothing of one that no observer is shown."""
        if not copy.observe:
            return Tainted(from_seq=None, pending=False)
        row = await tx.fetchrow(TAINTED, copy.memory_id, copy.seq)
        return Tainted(from_seq=row["from_seq"], pending=copy.seq > copy.observed_seq and not row["deleted"])

    @staticmethod
    async def blank(tx: Tx, copy: Copy, *, from_seq: int) -> dict[str, int]:
        """Empty every note of what was said from there on, whatever became of it. Answers the rows, by table."""
        return dict(await tx.fetchrow(BLANK, copy.memory_id, copy.session_id, from_seq))

    @staticmethod
    async def forget_outputs(tx: Tx, memory_id: UUID, *, since: datetime) -> int:
        """Empty what was refused since then."""
        emptied: int = await tx.fetchval(FORGET_OUTPUTS, memory_id, since)
        return emptied

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
    async def mend(tx: Tx, locked: Locked, repair: Repair) -> None:
        """Let the blank notes leave the log, and what they condensed return to it, in the version to be made."""
        memory_id, version = locked.memory_id, locked.version + 1
        await tx.execute(RETIRE_OBSERVATIONS, memory_id, repair.leaving_observations, version, ERASED)
        await tx.execute(RETIRE_REFLECTIONS, memory_id, repair.leaving_reflections, version, ERASED)
        returning = (repair.returning_observations, repair.returning_reflections)
        await tx.execute(RETURN, memory_id, *returning, version)

    @staticmethod
    async def rebuild(tx: Tx, locked: Locked, *, from_seq: int) -> Ranges:
        """Note what is to be observed again: what from there on nobody remembers."""
        rows = await tx.fetch(UNREMEMBERED, locked.memory_id, locked.session_id, from_seq)
        ranges = tuple((row["first"], row["last"]) for row in rows)
        await tx.execute(REBUILD, locked.memory_id, ranges)
        return ranges

    @staticmethod
    async def blank_from(tx: Tx, memory_id: UUID) -> int | None:
        """The first message of a note that was erased."""
        first: int | None = await tx.fetchval(IS_BLANK, memory_id)
        return first

    @staticmethod
    async def rebuilt(
        tx: Tx,
        memory_id: UUID,
        new: NewObservation,
        left: Ranges,
        *,
        version: int,
        live: bool,
        newest: bool,
        usage: dict[str, Any],
    ) -> None:
        """Count a chunk that was observed again; ``left`` is still to be."""
        grown = (new.tokens, 0) if live else (0, new.message_tokens)
        told = (newest, new.current_task, new.suggested_response)
        await tx.execute(REBUILT, memory_id, *grown, version, left, usage, *told)

    @staticmethod
    async def forget(tx: Tx, gone: Gone) -> dict[str, int]:
        """Delete memories with all that was made of them. What the tenant spent stays, for its caps hold on."""
        return dict(await tx.fetchrow(FORGET_MEMORIES, gone.memories))


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
