"""The SQL of recall: searches the index, and reads messages that are not indexed yet, texts and notes."""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import partial
from uuid import UUID

from app.kit.db import Database, Row
from app.kit.offload import UNKNOWN, offloaded
from app.memory.edits import Edit
from app.memory.log import items_from_json
from app.memory.rows import observation_of
from app.recall.index_store import last_of
from app.recall.indexing import Index
from app.recall.model import Copied, Indexed, Place, Searched, Span
from app.recall.notes import Note
from app.recall.ranking import KIN, NEAR_MAX
from app.recall.tokens import Alternatives
from app.sessions.message_store import message_of
from app.sessions.model import Message, Role

# Of the texts of the observations that one search reads: a few hundred usual ones have one or two. Their lines are read
# and ranked within a second; of 500 that were edited it took 46 s.
NOTES_BYTES_MAX = 4 * 1024 * 1024
TAIL_BYTES_MAX = 16 * 1024 * 1024  # of messages that are not indexed: many times their tokens' text

SESSION = """/* recall_session */
SELECT id, tenant, key, memory_id, resource_id, next_seq - 1 AS last_seq, config->>'timezone' AS timezone,
       branched_from IS NOT NULL AS is_branch
FROM sessions WHERE id = $1
"""

# The last active first; if there are more sessions than are searched, the oldest are left out. Open sessions are the
# newest, as silence ends a session; the others are taken by their ends, for which there is an index. One by the time of
# the last activity would be written by each append.
SESSIONS = """/* recall_sessions */
SELECT id, tenant, key, memory_id, resource_id, last_seq, timezone, is_branch FROM (
  SELECT id, tenant, key, memory_id, resource_id, next_seq - 1 AS last_seq, last_active_at,
         config->>'timezone' AS timezone, branched_from IS NOT NULL AS is_branch FROM sessions
  WHERE tenant = $1 AND resource_id = $2 AND next_seq > 1
  ORDER BY ended_at DESC, last_active_at DESC, key LIMIT $3
) AS newest ORDER BY last_active_at DESC, key
"""

# The newest indexed message of each session, with the length of all up to it.
INDEXED = """/* recall_indexed */
SELECT s.id AS session_id, t.* FROM unnest($1::uuid[]) AS s (id) LEFT JOIN LATERAL (
  SELECT seq, segment, length_before + length AS length, created_at FROM message_terms
  WHERE session_id = s.id AND seq < $2 ORDER BY seq DESC LIMIT 1
) t ON true
"""

# The newest first, until they have $4 tokens, or $6 bytes, as reasoning counts no tokens: a session far behind is
# searched in part. Both are summed in the order in which messages are read.
TAIL = """/* recall_tail */
SELECT * FROM (
  SELECT *, sum(tokens) OVER former AS tokens_of_former, sum(octet_length(parts::text)) OVER former AS bytes_of_former
  FROM (
    SELECT m.* FROM unnest($1::uuid[], $2::bigint[]) AS s (id, seq) CROSS JOIN LATERAL (
      SELECT * FROM messages WHERE session_id = s.id AND seq > s.seq AND seq < $5 ORDER BY seq DESC LIMIT $3
    ) m LIMIT $3
  ) AS newest WINDOW former AS (ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
) AS summed WHERE coalesce(tokens_of_former, 0) < $4 AND coalesce(bytes_of_former, 0) < $6
"""

# Messages of all sessions, by the index of terms alone: ``OFFSET 0`` keeps all other conditions out. If the planner
# knew the session, it would read all of its rows instead.
HAVING = """
  SELECT session_id, seq, repeated, created_at FROM message_terms WHERE terms @@ {query} OFFSET 0
"""

GUARDED = "terms_of_tenant"  # the function that searches under row-level security (preparing.py)

# A word has one or more terms; its kin are queried together, as it does not matter how often they occur. Messages
# beyond the limit have the fewest and commonest of the words.
# Neighbours are read too, because they are ranked together. No two of the CTEs are joined: Postgres expects a row or
# two of each, and would compare all with all.
_SEARCH = """/* {name} */
WITH asked AS (
  SELECT * FROM unnest((SELECT $3::int[]), (SELECT $4::text[]), (SELECT $5::text[]), (SELECT $9::float8[]))
    AS a (word, term, query, share)
), found AS MATERIALIZED (
  SELECT a.word, t.session_id, t.seq, sum(coalesce((t.repeated->>a.term)::int, 1))::int AS count,
         min(a.share) AS share
  FROM asked a CROSS JOIN LATERAL ({having}) AS t
  WHERE t.session_id IN (SELECT * FROM unnest((SELECT $1::uuid[])))
    AND t.created_at >= (SELECT coalesce($6::timestamptz, '-infinity'))
    AND t.created_at < (SELECT coalesce($7::timestamptz, 'infinity')) AND t.seq < (SELECT $10::bigint)
  GROUP BY a.word, t.session_id, t.seq
), best AS (
  SELECT session_id, seq, array_agg(word) AS words, array_agg(count) AS counts
  FROM (SELECT *, count(*) OVER (PARTITION BY word) AS messages FROM found) AS weighed
  GROUP BY session_id, seq ORDER BY sum(share / messages) DESC, seq DESC LIMIT (SELECT $8::int)
), near AS (
  SELECT session_id, seq + distance AS seq, max(words) FILTER (WHERE distance = 0) AS words,
         max(counts) FILTER (WHERE distance = 0) AS counts
  FROM best, generate_series(-{near}, {near}) AS distance WHERE seq + distance < (SELECT $10::bigint) GROUP BY 1, 2
)
SELECT t.session_id, t.seq, t.segment, t.length, t.role, t.speaker, t.created_at, n.words, n.counts
FROM near n CROSS JOIN LATERAL (
  SELECT * FROM message_terms WHERE session_id = n.session_id AND seq = n.seq LIMIT 1
) AS t
"""
_ASKED = "((SELECT $2::text) || a.query)::tsquery"
SEARCH = _SEARCH.format(name="recall_messages", near=NEAR_MAX, having=HAVING.format(query=_ASKED))
_FROM_FUNCTION = f"SELECT * FROM {GUARDED}((SELECT $1::uuid[]), {_ASKED})"  # noqa: S608 - our own names
GUARDED_SEARCH = _SEARCH.format(name="recall_guarded_messages", near=NEAR_MAX, having=_FROM_FUNCTION)

MESSAGES = """/* recall_texts */
SELECT m.* FROM unnest((SELECT $1::uuid[]), (SELECT $2::bigint[])) AS p (session_id, seq) CROSS JOIN LATERAL (
  SELECT * FROM messages WHERE session_id = p.session_id AND seq = p.seq LIMIT 1
) AS m WHERE m.erased_at IS NULL
"""

# Id, content hash and time are the same in a message and its copies in branches.
COPIED = """/* recall_copied */
SELECT m.* FROM unnest((SELECT $1::uuid[]), (SELECT $2::bigint[])) AS p (session_id, seq) CROSS JOIN LATERAL (
  SELECT session_id, seq, id, content_hash, created_at FROM messages
  WHERE session_id = p.session_id AND seq = p.seq AND erased_at IS NULL LIMIT 1
) AS m
"""

# The last $5 messages of each session, read from its end.
SAID_THEN = """/* recall_said_then */
SELECT m.* FROM unnest($1::uuid[]) AS s (id) CROSS JOIN LATERAL (
  SELECT session_id, seq, created_at FROM messages
  WHERE session_id = s.id AND ($2::timestamptz IS NULL OR created_at >= $2)
    AND ($3::timestamptz IS NULL OR created_at < $3) AND seq < $4
    AND kind NOT IN ('summary', 'boundary') AND erased_at IS NULL
  ORDER BY seq DESC LIMIT $5
) m
"""

# Condensed observations are found as they were first noted; edited or deleted ones are not, nor those condensed into a
# reflection that somebody deleted. At most $3 of each session are read, the newest first: ids are given in the order of
# time.
OBSERVATIONS = """/* recall_observations */
WITH RECURSIVE deleted AS (
  SELECT memory_id, sources FROM reflections
  WHERE memory_id = ANY((SELECT $2::uuid[])::uuid[]) AND retired_by = 'deleted'
  UNION
  SELECT r.memory_id, r.sources FROM deleted d CROSS JOIN LATERAL jsonb_array_elements_text(d.sources->'reflections')
    AS of (id) JOIN reflections r ON r.memory_id = d.memory_id AND r.id = of.id::bigint
)
SELECT * FROM (
  SELECT o.*, sum(octet_length(o.text)) OVER (ORDER BY o.id DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
    AS bytes_after
  FROM unnest((SELECT $1::uuid[]), (SELECT $2::uuid[])) AS s (id, memory_id) CROSS JOIN LATERAL (
    SELECT * FROM observations
    WHERE memory_id = s.memory_id AND session_id = s.id AND (
      status = 'active' OR retired_by LIKE 'reflection:%' AND (memory_id, id) NOT IN (
        SELECT d.memory_id, of.id::bigint
        FROM deleted d CROSS JOIN LATERAL jsonb_array_elements_text(d.sources->'observations') AS of (id)))
    ORDER BY id DESC LIMIT $3
  ) AS o
  ORDER BY o.id DESC LIMIT $3
) AS newest WHERE coalesce(bytes_after, 0) < $4 ORDER BY id DESC
"""

# Reflections that somebody edited, before and after, in the order of the edits, with all observations behind them, also
# those behind reflections that they condensed.
EDITED = """/* recall_edited */
WITH RECURSIVE edited AS (
  SELECT memory_id, id, retired_version, items, sources FROM reflections
  WHERE memory_id = ANY((SELECT $1::uuid[])::uuid[]) AND retired_by = 'edited' AND erased_at IS NULL
), behind AS (
  SELECT memory_id, id, sources FROM edited
  UNION ALL
  SELECT b.memory_id, b.id, r.sources FROM behind b
  CROSS JOIN LATERAL jsonb_array_elements_text(b.sources->'reflections') AS of (id)
  JOIN reflections r ON r.memory_id = b.memory_id AND r.id = of.id::bigint
)
SELECT e.memory_id, e.id AS reflection, e.items AS old, n.items AS new, (
  SELECT array_agg(of.id::bigint)
  FROM behind b CROSS JOIN LATERAL jsonb_array_elements_text(b.sources->'observations') AS of (id)
  WHERE b.memory_id = e.memory_id AND b.id = e.id) AS observations
FROM edited e CROSS JOIN LATERAL (
  SELECT items FROM reflections WHERE memory_id = e.memory_id AND sources = e.sources AND id > e.id ORDER BY id LIMIT 1
) n
ORDER BY e.memory_id, e.retired_version
"""


class RecallStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def session(self, session: UUID) -> Searched | None:
        row = await self._database.fetchrow(SESSION, session)
        return None if row is None else Searched(**row)

    async def sessions(self, tenant: str, resource_id: str, limit: int) -> list[Searched]:
        """The last active sessions of the resource that have messages."""
        return [Searched(**row) for row in await self._database.fetch(SESSIONS, tenant, resource_id, limit)]

    async def index(self, sessions: Sequence[UUID], *, before_seq: int, tail_max: int, tail_tokens: int) -> Index:
        """How far the sessions are indexed, and their newest messages that are not; both before ``before_seq``."""
        async with self._database.connection() as connection:
            found = await connection.fetch(INDEXED, sessions, before_seq)
            last = {row["session_id"]: last_of(row if row["seq"] else None) for row in found}
            after = [last[session].seq for session in sessions]
            rows = await connection.fetch(TAIL, sessions, after, tail_max, tail_tokens, before_seq, TAIL_BYTES_MAX)
        return Index(last=last, tail=await asyncio.to_thread(_tail, rows))

    async def search(
        self,
        sessions: Sequence[UUID],
        scope: str,
        query: Sequence[Alternatives],
        span: Span,
        *,
        kin: Sequence[Alternatives],
        before_seq: int,
        limit: int,
    ) -> list[Indexed]:
        """The indexed messages before ``before_seq`` with a word of the query or one of its kin, and their neighbours.

        ``scope``: a term they all have. Counts are by position in the query; those of kin follow, in the same order.
        """
        asked = [(word, term, quoted(term), 1.0) for word, terms in enumerate(query) for term in sorted(terms)]
        asked += [(word, "", _any_of(terms), KIN) for word, terms in enumerate(kin, start=len(query)) if terms]
        rows = await self._database.fetch(
            GUARDED_SEARCH if self._database.is_guarded else SEARCH,
            sessions,
            f"{quoted(scope)} & ",
            [word for word, _, _, _ in asked],
            [term for _, term, _, _ in asked],
            [written for _, _, written, _ in asked],
            span.since,
            span.until,
            limit,
            [share for _, _, _, share in asked],
            before_seq,
        )
        return await asyncio.to_thread(lambda: [_indexed(row) for row in rows])  # 0.3 s for 25,000 rows

    async def said(self, sessions: Sequence[UUID], span: Span, *, before_seq: int, limit: int) -> list[Place]:
        """The places of the messages in the span, the newest first, at most ``limit`` of each session."""
        rows = await self._database.fetch(SAID_THEN, sessions, span.since, span.until, before_seq, limit)
        newest = sorted(rows, key=lambda row: (row["created_at"], row["seq"]), reverse=True)
        return [_place(row) for row in newest]

    async def messages(self, places: Collection[Place]) -> dict[Place, Message]:
        """The messages at these places that exist and were not erased."""
        rows = await self._database.fetch(MESSAGES, *_columns(places))
        return {_place(row): message_of(row) for row in rows}

    async def copied(self, places: Collection[Place]) -> dict[Place, Copied]:
        """What the messages at these places share with their copies in branches; erased ones are left out."""
        rows = await self._database.fetch(COPIED, *_columns(places))
        return {_place(row): (row["id"], row["content_hash"], row["created_at"]) for row in rows}

    async def observations(self, sessions: Sequence[Searched], limit: int) -> list[Note]:
        """The newest observations of the sessions, at most ``limit``, up to the one that has ``NOTES_BYTES_MAX``."""
        ids, memories = [one.id for one in sessions], [one.memory_id for one in sessions]
        async with self._database.connection() as connection:
            rows = await connection.fetch(OBSERVATIONS, ids, memories, limit, NOTES_BYTES_MAX)
            edited = await connection.fetch(EDITED, memories)
        size = UNKNOWN if edited else sum(len(row["text"]) for row in rows)
        return await offloaded(partial(_notes, sessions, rows, edited), size=size)


def _columns(places: Collection[Place]) -> tuple[list[UUID], list[int]]:
    return [session for session, _ in places], [seq for _, seq in places]


def _place(row: Row) -> Place:
    return row["session_id"], row["seq"]


def _notes(sessions: Sequence[Searched], rows: Sequence[Row], edited: Sequence[Row]) -> list[Note]:
    of = {session.id: session for session in sessions}
    edits: dict[tuple[UUID, int], list[Edit]] = defaultdict(list)
    for row in edited:
        old, new = items_from_json(row["old"]), items_from_json(row["new"])
        edit = Edit(reflection=row["reflection"], old=old, new=new)
        for note in row["observations"] or ():
            edits[row["memory_id"], note].append(edit)
    return [
        Note(
            session=of[row["session_id"]],
            observation=observation_of(row),
            edits=tuple(edits[row["memory_id"], row["id"]]),
        )
        for row in rows
    ]


def quoted(term: str) -> str:
    """The term quoted for a tsquery."""
    return "'" + term.replace("\\", "\\\\").replace("'", "''") + "'"


def _any_of(terms: Alternatives) -> str:
    return f"({' | '.join(map(quoted, sorted(terms)))})"


def _tail(rows: Sequence[Row]) -> dict[UUID, list[Message]]:
    tail: dict[UUID, list[Message]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row["seq"]):
        tail[row["session_id"]].append(message_of(row))
    return tail


def _indexed(row: Row) -> Indexed:
    return Indexed(
        session=row["session_id"],
        seq=row["seq"],
        segment=row["segment"],
        length=row["length"],
        role=Role(row["role"]),
        created_at=row["created_at"],
        speaker=row["speaker"],
        counts=dict(zip(row["words"] or (), row["counts"] or (), strict=True)),
    )
