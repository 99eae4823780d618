"""Fills the database with sessions of any length, as the service would have left them.

Up to ``TAIL`` messages nothing is observed. In longer sessions the log has ``NOTES`` live chunks, however long the
session, because reflection keeps it bounded, and retired chunks of ``SPAN`` messages each. So contexts of long sessions
are equally large, and only the stored rows behind them differ.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import asyncpg

from app.kit.json import dumps
from app.kit.tokens import text_tokens
from app.memory.log import items_to_json, render
from app.memory.model import Cite, Item, Priority, Tag
from app.sessions.counting import MESSAGE_TOKENS
from app.sessions.store import session_id
from benchmarks.speed.words import LINES, said

TENANT = "default"
TAIL, NOTES, SPAN = 150, 8, 130
BATCH = 50_000  # messages of one statement

SESSIONS = """
INSERT INTO sessions (id, tenant, key, memory_id, next_seq, total_tokens, observed_seq, buffered_seq, activated_seq,
                      tail_from_seq)
SELECT id, $2, key, id, $4::bigint + 1, $4::bigint * $5::bigint, $6::bigint, $6::bigint, $6::bigint, $6::bigint + 1
FROM unnest($1::uuid[], $3::text[]) i (id, key)
"""
MEMORIES = """
INSERT INTO memories (id, tenant, pending_tokens, wake_tokens, observation_tokens, log_version, due_at)
SELECT id, $2, $3, $4, $5, $6, CASE WHEN $7 THEN now() END FROM unnest($1::uuid[]) i (id)
"""
MESSAGES = """
INSERT INTO messages (session_id, seq, id, kind, role, parts, tokens, tokens_before, content_hash, created_at,
                      observe, trust, anchor_date)
SELECT id, seq, 'm-' || seq, CASE seq % 2 WHEN 1 THEN 'user_message' ELSE 'assistant_message' END,
       CASE seq % 2 WHEN 1 THEN 'user' ELSE 'assistant' END,
       ($4::json[])[1 + seq % array_length($4::json[], 1)], $5::int, $5::int * (seq - 1), decode(md5(seq::text), 'hex'),
       now(), true, CASE seq % 2 WHEN 1 THEN 'user' ELSE 'operator' END, current_date
FROM unnest($1::uuid[]) i (id), generate_series($2::bigint, $3::bigint) seq
"""
OBSERVATIONS = """
INSERT INTO observations (memory_id, session_id, ordinal, status, text, items, tokens, message_tokens, from_seq, to_seq,
                          covers, born_version, retired_version, retired_by)
SELECT i, i, n, $6, $2, $3::jsonb, $4, $5::bigint * $8::bigint, first, first + $8::bigint - 1,
       jsonb_build_array(jsonb_build_array(first, first + $8::bigint - 1)), n,
       CASE WHEN $6 = 'retired' THEN n + 1 END, CASE WHEN $6 = 'retired' THEN 'reflection:1' END
FROM unnest($1::uuid[]) i, generate_series(1, $7::bigint) n, LATERAL (SELECT 1 + (n - 1) * $8::bigint AS first) f
"""
VERSIONS = """
INSERT INTO memory_versions (memory_id, version, cause, anchor_date, cursors)
SELECT i, n, 'activated', current_date, jsonb_build_object(i::text, jsonb_build_object(
  'last_seq', $3::bigint, 'observed_seq', $3::bigint, 'tail_from_seq', $3::bigint + 1))
FROM unnest($1::uuid[]) i, generate_series(1, $2::bigint) n
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """The chunk that every filled log repeats."""

    text: str
    items: list[dict[str, Any]]
    tokens: int


async def fill(dsn: str, keys: list[str], messages: int, *, observed: bool, wake_tokens: int) -> None:
    """Insert sessions with so many messages each. If not ``observed`` they are due, as with the observer down."""
    ids = [session_id(TENANT, key) for key in keys]
    each = text_tokens(said(0)) + MESSAGE_TOKENS
    seen = (messages - TAIL) // NOTES * NOTES if observed and messages > TAIL else 0
    note, chunks = a_note(), seen // SPAN
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(SESSIONS, ids, TENANT, keys, messages, each, seen)
        tokens, version = (note.tokens * NOTES, chunks) if seen else (0, 0)
        due = not observed and messages * each >= wake_tokens
        await connection.execute(MEMORIES, ids, TENANT, (messages - seen) * each, wake_tokens, tokens, version, due)
        parts = [dumps([{"type": "text", "text": said(number)}]).decode() for number in range(97)]
        for first in range(1, messages + 1, max(1, BATCH // len(ids))):
            last = min(messages, first + max(1, BATCH // len(ids)) - 1)
            await connection.execute(MESSAGES, ids, first, last, parts, each)
        if seen:
            await _remember(connection, ids, note, seen, each, version=version)
        for table in ("sessions", "memories", "messages", "observations", "memory_versions"):
            await connection.execute(f"VACUUM ANALYZE {table}")
    finally:
        await connection.close()


async def _remember(connection: Any, ids: list[UUID], note: Note, seen: int, each: int, *, version: int) -> None:
    items = dumps(note.items).decode()
    for status, number, span in (("active", NOTES, seen // NOTES), ("retired", seen // SPAN, SPAN)):
        await connection.execute(OBSERVATIONS, ids, note.text, items, note.tokens, each, status, number, span)
    await connection.execute(VERSIONS, ids, version, seen)


def a_note() -> Note:
    """A chunk of some 700 tokens, as observed from some six thousand tokens of messages."""
    day = datetime.now(UTC).strftime("%b %d, %Y").replace(" 0", " ")
    items = [
        Item(text=line, day=day, time="10:00", priority=Priority.MEDIUM, tag=Tag.FACT, cites=(Cite(number, number),))
        for number, line in enumerate(LINES, start=1)
    ]
    text = render(items)
    return Note(text=text, items=items_to_json(items), tokens=text_tokens(text))
