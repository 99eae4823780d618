"""The SQL that empties what was derived from a message; mending_store.py repairs what is left.

The module is a ``DerivedStore`` of the sessions.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.kit.db import Tx
from app.kit.json import dumps
from app.memory.changing.summary import new_summary
from app.sessions.erasing_store import Copy
from app.sessions.model import Kind, Role
from app.sessions.wire import content_hash

TAINTED = """/* tainted */
SELECT min(ordinal) FILTER (WHERE erased_at IS NULL) AS place,
       coalesce(bool_or(retired_by = 'deleted'), false) AS deleted
FROM observations WHERE memory_id = $1 AND session_id = $2 AND from_seq <= $3 AND to_seq >= $3
"""

# Later notes are emptied too: they were observed with the former notes and the current task in view. They have a later
# place in the log, whichever session they are of. The task of a version comes from a chunk that was live then.
BLANK = """/* blank_notes */
WITH observed AS (
  UPDATE observations SET text = '', items = '[]', tokens = 0, current_task = NULL, suggested_response = NULL,
    erased_at = now()
  WHERE memory_id = $1 AND ordinal >= $2 AND erased_at IS NULL
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

# A rejected output may quote the messages it was made of, and so may an error of a provider. Of an error its kind
# stays.
FORGET_OUTPUTS = """/* forget_outputs */
WITH emptied AS (
  UPDATE runs SET rejected_output = NULL, error = split_part(error, ':', 1)
  WHERE memory_id = $1 AND at >= $2 AND (rejected_output IS NOT NULL OR error LIKE '%:%') RETURNING 1
)
SELECT count(*) FROM emptied
"""

# The same for a message that is replaced, while the session is locked. Ids of runs ascend with their times.
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
  AND seq >= $2 AND (up_to_seq >= $2 OR $3) ORDER BY seq
"""

# The newest summary stands for the messages of all others: if one of these is emptied, it is too, and tells no more.
BLANK_SUMMARIES = """/* blank_summaries */
WITH emptied AS (
  UPDATE messages m SET parts = $2, content_hash = $3, tokens = b.tokens, covers = '[]'
  FROM unnest($4::bigint[], $5::int[]) AS b (seq, tokens) WHERE m.session_id = $1 AND m.seq = b.seq
)
UPDATE sessions SET compacted_seq = 0 WHERE id = $1
"""

POINTER = new_summary(None, up_to_seq=1, untold=(), former=()).parts
POINTER_HASH = content_hash(Role.USER, None, POINTER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tainted:
    """The ``place`` in the log from which on notes may tell of a message, None: nowhere; whether it is ``pending``."""

    place: int | None
    pending: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Blanked:
    """The ``rows`` that were emptied, by table; whether a note was ``live``, and where they begin in each session."""

    rows: dict[str, int]
    live: bool
    since: dict[UUID, int]


NOTHING = Blanked(rows={}, live=False, since={})


async def tainted(tx: Tx, copy: Copy) -> Tainted:
    """The notes that may tell of the message; none if no observer is shown it."""
    if not copy.observe:
        return Tainted(place=None, pending=False)
    row = await tx.fetchrow(TAINTED, copy.memory_id, copy.session_id, copy.seq)
    pending = copy.seq > copy.observed_seq and not row["deleted"]
    return Tainted(place=row["place"], pending=pending)


async def blank(tx: Tx, memory_id: UUID, *, place: int | None) -> Blanked:
    """Empty every note of the log from ``place`` on, whatever its status."""
    if place is None:
        return NOTHING
    found = dict(await tx.fetchrow(BLANK, memory_id, place))
    live, since = found.pop("live"), found.pop("since") or {}
    return Blanked(rows=found, live=live, since={UUID(session): seq for session, seq in since.items()})


async def forget_outputs(tx: Tx, memory_id: UUID, *, since: datetime) -> int:
    """Empty the rejected outputs and errors of calls since then. Answers how many."""
    emptied: int = await tx.fetchval(FORGET_OUTPUTS, memory_id, since)
    return emptied


async def forget_from(tx: Tx, session: UUID, seq: int) -> None:
    """Empty those of calls since the message came, which is being replaced."""
    await tx.execute(FORGET_QUOTES, session, seq)


async def blank_summaries(tx: Tx, copy: Copy) -> int:
    """Replace every summary that may tell of the message by one that only points to the notes; answers how many."""
    itself = copy.kind is Kind.SUMMARY
    found = await tx.fetch(SUMMARIES, copy.session_id, copy.seq, itself, dumps(POINTER).decode())
    if found:
        seqs = [row["seq"] for row in found]
        sizes = [_pointer_tokens(row["up_to_seq"]) for row in found]
        await tx.execute(BLANK_SUMMARIES, copy.session_id, POINTER, POINTER_HASH, seqs, sizes)
    return len(found)


def _pointer_tokens(up_to_seq: int) -> int:
    return new_summary(None, up_to_seq=up_to_seq, untold=(), former=()).tokens
