"""The SQL of vectors: reads messages to embed, writes vectors, and finds the nearest (docs/decisions/0039).

Vectors follow the search index: those of a session and a model are written in the order of its rows and without a gap,
so the newest says how far they are. Those of another model stay, unused, until all of the session have been made anew.
Every vector has length 1; NULL: the message has no text, or was erased.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from uuid import UUID

import asyncpg

from app.kit.db import Database, Row
from app.llm.embedding import Vector
from app.recall.fusion import Likeness
from app.recall.model import Place, Span
from app.sessions.message_store import message_of
from app.sessions.model import SEQ_MAX, Message

REAL_MIN = 1.2e-38  # the least number that Postgres reads as a real with all its digits

BEHIND = """/* vectors_behind */
SELECT (array_agg(s.id ORDER BY s.id DESC))[1] AS last,
       coalesce(sum(t.seq - coalesce(v.seq, 0)), 0)::bigint AS messages,
       array_agg(s.id) FILTER (WHERE t.seq > coalesce(v.seq, 0)) AS behind
FROM (SELECT id FROM sessions WHERE id > $1 ORDER BY id LIMIT $2) s LEFT JOIN LATERAL (
  SELECT seq FROM message_terms WHERE session_id = s.id ORDER BY seq DESC LIMIT 1
) t ON true LEFT JOIN LATERAL (
  SELECT seq FROM message_vectors WHERE session_id = s.id AND model = $3 ORDER BY seq DESC LIMIT 1
) v ON true
"""

# Each message is looked up by its key, whatever the planner estimates; the caller puts them in order.
UNEMBEDDED = """/* vectors_unembedded */
SELECT m.*, s.tenant FROM (
  SELECT session_id, seq FROM message_terms
  WHERE session_id = $1 AND seq > greatest(
    (SELECT seq FROM message_vectors WHERE session_id = $1 AND model = $2 ORDER BY seq DESC LIMIT 1), 0)
  ORDER BY seq LIMIT $3
) t
CROSS JOIN LATERAL (SELECT * FROM messages WHERE session_id = t.session_id AND seq = t.seq LIMIT 1) m
CROSS JOIN LATERAL (SELECT tenant FROM sessions WHERE id = t.session_id LIMIT 1) s
"""

# A message that is deleted, replaced or erased has not the hash that was read.
CHANGED = """/* vectors_changed */
SELECT EXISTS (
  SELECT FROM unnest($2::bigint[], $3::bytea[]) AS i (seq, content_hash)
  LEFT JOIN messages m ON m.session_id = $1 AND m.seq = i.seq
  WHERE m.content_hash IS DISTINCT FROM i.content_hash
)
"""

LOCK = "/* vectors_lock */ SELECT id FROM sessions WHERE id = $1 FOR KEY SHARE"

# All or none: no row if a message was changed since it was read, another process was faster, or the rows before it
# were deleted, since an earlier message was replaced.
WRITE = """/* write_vectors */
WITH newest AS (
  SELECT coalesce(max(seq), 0) AS seq FROM message_vectors WHERE session_id = $1 AND model = $2
), input AS (
  SELECT i.seq, t.segment, t.created_at, CASE WHEN m.erased_at IS NULL THEN i.vector::real[] END AS vector
  FROM unnest($3::bigint[], $4::bytea[], $5::text[]) AS i (seq, content_hash, vector)
  JOIN messages m ON m.session_id = $1 AND m.seq = i.seq AND m.content_hash = i.content_hash
  JOIN message_terms t ON t.session_id = $1 AND t.seq = i.seq
), others AS (
  DELETE FROM message_vectors WHERE session_id = $1 AND model <> $2 AND $6
)
INSERT INTO message_vectors (session_id, model, seq, segment, created_at, vector)
SELECT $1, $2, seq, segment, created_at, vector FROM input
WHERE (SELECT count(*) FROM input) = cardinality($3)
  AND (SELECT seq FROM newest) < $3[1] AND NOT EXISTS (
    SELECT FROM message_terms t, newest WHERE t.session_id = $1 AND t.seq > newest.seq AND t.seq < $3[1])
ON CONFLICT DO NOTHING RETURNING seq
"""

# Only the newest messages of each session. An endpoint may give vectors of another size under the same model name.
NEAR = """/* recall_vectors */
SELECT v.session_id, array_agg(v.seq) AS seqs, array_agg(v.segment) AS segments,
       array_agg(-(v.vector::vector <#> $4::text::vector)) AS cosines,
       array_agg($9 AND ($10::timestamptz IS NULL OR v.created_at >= $10)
                    AND ($11::timestamptz IS NULL OR v.created_at < $11)) AS named
FROM unnest($1::uuid[], $2::bigint[]) AS s (id, after) JOIN message_vectors v ON v.session_id = s.id AND v.seq > s.after
WHERE v.model = $3 AND cardinality(v.vector) = $5 AND v.seq < $8
  AND ($6::timestamptz IS NULL OR v.created_at >= $6) AND ($7::timestamptz IS NULL OR v.created_at < $7)
GROUP BY v.session_id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookout:
    """``behind``: sessions that lack vectors, among those up to ``last`` (None: none was left).

    ``messages``: how many of their messages lack one.
    """

    last: UUID | None
    behind: tuple[UUID, ...]
    messages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unembedded:
    """The oldest messages of a session that lack a vector; ``more``: others do too."""

    tenant: str
    messages: tuple[Message, ...]
    more: bool

    @property
    def read(self) -> tuple[list[int], list[bytes]]:
        """Their seqs and content hashes, by which a change is noticed."""
        return [message.seq for message in self.messages], [message.content_hash for message in self.messages]


class MessagesChanged(Exception):
    """A message is no longer as it was read."""


class ExtensionGone(Exception):
    """The database no longer has pgvector, as one restored from a dump without it."""


class VectorStore:
    """``model`` is the label of the model that is in use."""

    def __init__(self, database: Database, model: str) -> None:
        self._database = database
        self._model = model

    async def behind(self, after: UUID, limit: int) -> Lookout:
        """Look at the next ``limit`` sessions after the id ``after``, in the order of their ids."""
        row = await self._database.fetchrow(BEHIND, after, limit, self._model)
        return Lookout(last=row["last"], behind=tuple(row["behind"] or ()), messages=row["messages"])

    async def unembedded(self, session: UUID, limit: int) -> Unembedded | None:
        found = await self._database.fetch(UNEMBEDDED, session, self._model, limit + 1)
        if not found:
            return None
        rows = sorted(found, key=itemgetter("seq"))
        messages = tuple(message_of(row) for row in rows[:limit])
        return Unembedded(tenant=rows[0]["tenant"], messages=messages, more=len(rows) > limit)

    async def check(self, session: UUID, found: Unembedded) -> None:
        """Raises MessagesChanged."""
        if await self._database.fetchval(CHANGED, session, *found.read):
            raise MessagesChanged

    async def add(self, session: UUID, found: Unembedded, vectors: Sequence[Vector | None]) -> int:
        """Write the vectors after the newest one. Answers how many; 0 if they no longer follow, or messages changed."""
        written = await asyncio.to_thread(lambda: [vector and _listed(vector, "{}") for vector in vectors])
        async with self._database.tx() as tx:
            if await tx.fetchrow(LOCK, session) is None:
                return 0
            return len(await tx.fetch(WRITE, session, self._model, *found.read, written, not found.more))

    async def near(
        self,
        after: Mapping[UUID, int],
        span: Span,
        vector: Vector,
        *,
        before_seq: int = SEQ_MAX,
        named: Span | None = None,
    ) -> dict[Place, Likeness]:
        """The cosines of messages with the vector: those of each session after its seq in ``after``.

        ``named`` only marks messages of that time. Raises ExtensionGone.
        """
        asked = (list(after), list(after.values()), self._model, _listed(vector, "[]"), len(vector))
        time = named or Span()
        between = (span.since, span.until, before_seq, named is not None, time.since, time.until)
        try:
            rows = await self._database.fetch(NEAR, *asked, *between)
        except (asyncpg.UndefinedObjectError, asyncpg.UndefinedFunctionError) as error:
            raise ExtensionGone from error
        return {place: likeness for row in rows for place, likeness in _likenesses(row)}


def _likenesses(row: Row) -> list[tuple[Place, Likeness]]:
    listed = zip(row["seqs"], row["cosines"], row["segments"], row["named"], strict=True)
    return [((row["session_id"], seq), Likeness(*likeness)) for seq, *likeness in listed]


def _listed(vector: Vector, brackets: str) -> str:
    """The literal of a Postgres array, or of a pgvector. Numbers too small for a ``real``, which are refused, are 0."""
    numbers = (number if abs(number) >= REAL_MIN else 0.0 for number in vector)
    return f"{brackets[0]}{','.join(f'{number:.7g}' for number in numbers)}{brackets[1]}"
