"""What a step reads of the messages that wait: what its span is taken from, and no call without its result."""

from typing import Any

import pytest

from app.kit.db import Database, DatabaseConfig
from app.memory.spans import safe_span
from app.memory.store import SPANS_READ, MemoryStore
from app.sessions.store import session_id
from tests.conftest import Service

SESSION = session_id("default", "s")
WAITING = {"message_tokens": 10_000_000, "buffer_every": None}
LIMIT = 600


def turn(number: int, *, result: str = "so many words " * 50) -> list[dict[str, Any]]:
    """A question, a call and its result: some 200 tokens, most of them of the result."""
    call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return [
        {"role": "user", "content": f"And number {number}?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": result},
    ]


@pytest.mark.parametrize("asked", [1, 12], ids=["a question each", "one question"])
async def test_of_a_backlog_is_read_what_its_oldest_span_is_taken_from(
    service: Service, database_url: str, asked: int
) -> None:
    await service.configure("s", **WAITING)
    said = [one for number in range(33) for one in turn(number)[1 if number % asked else 0 :]]
    await service.append("s", *said)
    database = Database(DatabaseConfig(url=database_url, pool_min=1, pool_max=1))
    await database.open()
    try:
        store = MemoryStore(database)
        whole = (await store.pending_messages(SESSION, 0, limit_tokens=None)).messages
        assert len(whole) == len(said)
        for after in range(len(said)):
            read = (await store.pending_messages(SESSION, after, limit_tokens=LIMIT)).messages
            assert sum(message.tokens for message in read) < 2 * SPANS_READ * LIMIT
            for forced in (False, True):
                spans = [
                    safe_span(messages, want_tokens=10**6, limit_tokens=LIMIT, force_closed=forced)
                    for messages in (read, whole[after:])
                ]
                assert spans[0] == spans[1]
    finally:
        await database.close()


async def test_the_most_that_one_look_reads_parts_no_call_from_its_result(service: Service, database_url: str) -> None:
    await service.configure("s", **WAITING)
    await service.append("s", *turn(1), *turn(2))
    assert await seqs_read(database_url, 0, pending_messages_max=5) == ([1, 2, 3, 4], True)
    assert await seqs_read(database_url, 1, pending_messages_max=1) == ([2], True)
    assert await seqs_read(database_url, 0, pending_messages_max=7) == ([1, 2, 3, 4, 5, 6], False)


async def test_one_look_reads_no_more_bytes_however_few_tokens_the_messages_have(
    service: Service, database_url: str
) -> None:
    """A call without a result, and 160 MB of reasoning behind it, were read whole by each step."""
    await service.configure("s", **WAITING)
    thinking = {"type": "thinking", "thinking": "x" * 10_000, "signature": "s"}
    thought = {"role": "assistant", "content": [thinking]}
    await service.append("s", *turn(1), *turn(2)[:2], *[thought] * 20)
    assert await seqs_read(database_url, 0, pending_bytes_max=100_000) == ([1, 2, 3, 4], True)
    assert await seqs_read(database_url, 4, pending_bytes_max=100_000) == ([*range(5, 16)], True)
    assert await seqs_read(database_url, 0, pending_bytes_max=1_000_000) == ([*range(1, 26)], False)


async def seqs_read(database_url: str, after: int, **limits: int) -> tuple[list[int], bool]:
    """What one look reads after this seq, and whether more wait that it may not read."""
    database = Database(DatabaseConfig(url=database_url, pool_min=1, pool_max=1))
    await database.open()
    try:
        found = await MemoryStore(database, None, **limits).pending_messages(SESSION, after, limit_tokens=None)
    finally:
        await database.close()
    return [message.seq for message in found.messages], found.full
