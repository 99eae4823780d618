"""The SQL that writes the search index, and reads the messages that it lacks (docs/recall.md).

Rows of a session are written in the order of its messages and without a gap, so the newest row says how far the index
is; only messages after it are left to index. Whoever changes messages locks the session's row; it is locked here too,
in a mode that lets appends go on. Rows that are removed from the index are removed from the vectors too. The module
implements ``Keeper`` and ``SearchIndex``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from app.kit.db import Database, Row, Tx
from app.recall.indexing import Entry, Last, resource_term, session_term
from app.sessions.message_store import message_of
from app.sessions.model import Gone, Message

BEHIND = """/* search_behind */
SELECT CASE WHEN count(*) = $2 THEN (array_agg(s.id ORDER BY s.id DESC))[1] END AS last,
       array_agg(s.id) FILTER (WHERE s.next_seq - 1 > coalesce(t.seq, 0)) AS behind
FROM (SELECT id, next_seq FROM sessions WHERE id > $1 ORDER BY id LIMIT $2) s LEFT JOIN LATERAL (
  SELECT seq FROM message_terms WHERE session_id = s.id ORDER BY seq DESC LIMIT 1
) t ON true
"""

# The messages after the newest indexed one, counted over these sessions.
LACKING = """/* search_lacking */
SELECT coalesce(sum(s.next_seq - 1 - coalesce(t.seq, 0)), 0)::bigint
FROM unnest($1::uuid[]) AS asked (id)
CROSS JOIN LATERAL (SELECT next_seq FROM sessions WHERE id = asked.id LIMIT 1) s
LEFT JOIN LATERAL (
  SELECT seq FROM message_terms WHERE session_id = asked.id ORDER BY seq DESC LIMIT 1
) t ON true
"""

LAST = """/* search_last */
SELECT seq, segment, length_before + length AS length, created_at FROM message_terms
WHERE session_id = $1 ORDER BY seq DESC LIMIT 1
"""

# The first message always, then as many as fit within $4 tokens, summed in the order in which they are read.
UNINDEXED = """/* search_unindexed */
SELECT * FROM (
  SELECT *, sum(tokens) OVER (ROWS UNBOUNDED PRECEDING) - tokens AS tokens_of_former
  FROM (SELECT * FROM messages WHERE session_id = $1 AND seq > $2 ORDER BY seq LIMIT $3) AS next
) AS summed WHERE tokens_of_former < $4
"""

LOCK = "/* search_lock */ SELECT tenant, resource_id FROM sessions WHERE id = $1 FOR KEY SHARE"

# All or none: no row if a message was changed since it was read, another process was faster, or the rows before it
# were deleted, since an earlier message was replaced.
INDEX = """/* index_messages */
WITH input AS (
  SELECT i.*, m.erased_at IS NOT NULL AS erased FROM unnest(
    $2::bigint[], $3::int[], $4::int[], $5::bigint[], $6::text[], $7::text[], $8::timestamptz[], $9::bytea[],
    $10::jsonb[]
  ) AS i (seq, segment, length, length_before, role, speaker, created_at, content_hash, terms)
  JOIN messages m ON m.session_id = $1 AND m.seq = i.seq AND m.content_hash = i.content_hash
)
INSERT INTO message_terms
  (session_id, seq, segment, length, length_before, role, speaker, created_at, terms, repeated)
SELECT $1, seq, segment, length, length_before, role, CASE WHEN NOT erased THEN speaker END, created_at,
       array_to_tsvector($11::text[] || ARRAY(SELECT jsonb_object_keys(terms) WHERE NOT erased)),
       (SELECT jsonb_object_agg(key, value) FROM jsonb_each(terms) WHERE value::int > 1 AND NOT erased)
FROM input
WHERE (SELECT count(*) FROM input) = cardinality($2)
  AND coalesce((SELECT seq FROM message_terms WHERE session_id = $1 ORDER BY seq DESC LIMIT 1), 0) = $2[1] - 1
ON CONFLICT DO NOTHING RETURNING seq
"""

FORGET = """/* forget_terms */
WITH terms AS (DELETE FROM message_terms WHERE session_id = ANY($1::uuid[]) RETURNING 1),
vectors AS (DELETE FROM message_vectors WHERE session_id = ANY($1::uuid[]) RETURNING 1)
SELECT (SELECT count(*) FROM terms) AS message_terms, (SELECT count(*) FROM vectors) AS message_vectors
"""

# Session and seq are hidden from the planner, which would plan each call anew (context/store.py).
FORGET_FROM = """/* forget_terms_from */
WITH vectors AS (
  DELETE FROM message_vectors WHERE session_id = (SELECT $1::uuid) AND seq >= (SELECT $2::bigint)
)
DELETE FROM message_terms WHERE session_id = (SELECT $1::uuid) AND seq >= (SELECT $2::bigint)
"""

# The rows stay, with the terms of their session and resource alone, which begin with a space.
FORGET_MESSAGES = """/* forget_message_terms */
WITH vectors AS (
  UPDATE message_vectors SET vector = NULL WHERE session_id = $1 AND seq BETWEEN $2 AND $3
)
UPDATE message_terms SET speaker = NULL, repeated = NULL, length = 0,
  terms = array_to_tsvector(ARRAY(SELECT term FROM unnest(tsvector_to_array(terms)) AS term WHERE term LIKE ' %'))
WHERE session_id = $1 AND seq BETWEEN $2 AND $3
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookout:
    """``behind``: sessions of which the index lacks messages, among those up to ``last`` (None: none was left)."""

    last: UUID | None
    behind: tuple[UUID, ...]


class IndexStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def behind(self, after: UUID, limit: int) -> Lookout:
        """Look at the next ``limit`` sessions after the id ``after``, in the order of their ids."""
        row = await self._database.fetchrow(BEHIND, after, limit)
        return Lookout(last=row["last"], behind=tuple(row["behind"] or ()))

    async def lacking(self, sessions: Sequence[UUID]) -> int:
        """How many messages of these sessions the index lacks."""
        messages: int = await self._database.fetchval(LACKING, sessions)
        return messages

    async def unindexed(self, session: UUID, limit: int, *, tokens_max: int) -> tuple[Last, list[Message]]:
        """How far the index is, and the oldest messages after that; the last of them may be over ``tokens_max``."""
        async with self._database.connection() as connection:
            last = last_of(await connection.fetchrow(LAST, session))
            rows = await connection.fetch(UNINDEXED, session, last.seq, limit, tokens_max)
        return last, [message_of(row) for row in rows]

    async def add(self, session: UUID, entries: Sequence[Entry]) -> int:
        """Write the rows after the newest one. Answers how many; 0 if they no longer follow it, or messages changed."""
        async with self._database.tx() as tx:
            owner = await tx.fetchrow(LOCK, session)
            if owner is None:
                return 0
            scopes = [session_term(session), *_resource(owner)]
            return len(await tx.fetch(INDEX, session, *_columns(entries), scopes))


async def forget(tx: Tx, gone: Gone) -> dict[str, int]:
    """Delete the index rows and vectors of the sessions. Answers how many, by table."""
    return dict(await tx.fetchrow(FORGET, gone.sessions))


async def forget_messages(tx: Tx, session: UUID, *, from_seq: int, to_seq: int) -> None:
    """Remove the terms and vectors of these messages, for good. The caller holds the session's lock."""
    await tx.execute(FORGET_MESSAGES, session, from_seq, to_seq)


async def forget_from(tx: Tx, session: UUID, seq: int) -> None:
    """Delete the rows from ``seq`` on, so that the messages are indexed again. The caller holds the session's lock."""
    await tx.execute(FORGET_FROM, session, seq)


def last_of(row: Row | None) -> Last:
    if row is None:
        return Last()
    return Last(seq=row["seq"], segment=row["segment"], length=row["length"], created_at=row["created_at"])


def _resource(owner: Row) -> list[str]:
    return [] if owner["resource_id"] is None else [resource_term(owner["tenant"], owner["resource_id"])]


def _columns(entries: Sequence[Entry]) -> tuple[list[object], ...]:
    return (
        [entry.seq for entry in entries],
        [entry.segment for entry in entries],
        [entry.length for entry in entries],
        [entry.length_before for entry in entries],
        [entry.role for entry in entries],
        [entry.speaker for entry in entries],
        [entry.created_at for entry in entries],
        [entry.content_hash for entry in entries],
        [entry.terms for entry in entries],
    )
