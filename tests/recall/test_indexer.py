"""The search index in the background: bounded batches, in any number of processes, of whatever is left to do."""

import asyncio
from typing import Any
from unittest.mock import ANY
from uuid import UUID

import pytest

from app.kit.db import Database
from app.recall.index_store import IndexStore
from app.recall.indexer import IndexConfig, Indexer
from app.recall.indexing import entries, resource_term, session_term
from app.recall.store import quoted
from app.sessions.store import session_id
from tests.conftest import Service, StartService

SESSION = session_id("default", "s")


class Hand:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def database(service: Service) -> Database:
    found: Database = service.app.state.database
    return found


def indexer(database: Database, **config: Any) -> Indexer:
    return Indexer(store=IndexStore(database), config=IndexConfig(**config))


async def tell(service: Service, *texts: str, key: str = "s", **body: Any) -> None:
    messages = [{"role": "user", "content": text} for text in texts]
    answer = await service.client.post(f"/sessions/{key}/messages", json={"messages": messages} | body)
    assert answer.status_code == 201, answer.text


async def rows(database: Database, session: UUID = SESSION) -> list[Any]:
    async with database.connection() as connection:
        found: list[Any] = await connection.fetch(
            "SELECT *, tsvector_to_array(terms) AS held FROM message_terms WHERE session_id = $1 ORDER BY seq", session
        )
    return found


async def test_batches_follow_one_another_until_nothing_is_left(service: Service, database: Database) -> None:
    await tell(service, *(f"number {n}" for n in range(5)))
    index = indexer(database, batch_messages=2)
    assert [await index.index(SESSION) for _ in range(4)] == [2, 2, 1, 0]
    assert [row["seq"] for row in await rows(database)] == [1, 2, 3, 4, 5]


async def test_a_batch_of_long_messages_is_smaller_and_has_one_at_least(service: Service, database: Database) -> None:
    await tell(service, *(f"number {n}" for n in range(3)))
    index = indexer(database, batch_tokens=1)
    left = [(await index.index(SESSION), index.take()) for _ in range(4)]
    assert left == [*[(1, (SESSION, False))] * 3, (0, None)]


async def test_a_row_holds_the_terms_of_the_message_and_those_of_its_session_and_resource(
    service: Service, database: Database
) -> None:
    await tell(service, "Red apples, red pears", resource_id="ana")
    await indexer(database).index(SESSION)
    (row,) = await rows(database)
    assert set(row["held"]) == {"red", "appl", "pear", session_term(SESSION), resource_term("default", "ana")}
    assert (row["repeated"], row["length"], row["length_before"], row["segment"]) == ({"red": 2}, 4, 0, 1)


async def test_processes_that_index_at_once_write_every_message_once(service: Service, database: Database) -> None:
    await tell(service, *(f"number {n}" for n in range(20)))
    several = [indexer(database, batch_messages=5) for _ in range(4)]
    while sum(await asyncio.gather(*(one.index(SESSION) for one in several))):
        pass
    assert [row["seq"] for row in await rows(database)] == list(range(1, 21))


async def test_what_was_read_before_a_message_was_replaced_is_not_written(service: Service, database: Database) -> None:
    await service.append("s", {"id": "m", "role": "user", "content": "red"})
    store = IndexStore(database)
    last, read = await store.unindexed(SESSION, 10, tokens_max=1_000)
    await service.client.put("/sessions/s/messages/m", json={"role": "user", "content": "blue"})
    assert await store.add(SESSION, list(entries(read, last))) == 0
    assert await indexer(database).index(SESSION) == 1
    assert "blue" in (await rows(database))[0]["held"]


async def test_rows_that_an_earlier_message_s_replacement_deleted_meanwhile_leave_no_gap(
    service: Service, database: Database
) -> None:
    for numbers in ((1, 2, 3), (4, 5)):
        await service.append("s", *({"id": f"m-{n}", "role": "user", "content": f"number {n}"} for n in numbers))
        if numbers[0] == 1:
            await indexer(database).index(SESSION)
    store = IndexStore(database)
    last, read = await store.unindexed(SESSION, 10, tokens_max=1_000)
    await service.client.put("/sessions/s/messages/m-2", json={"role": "user", "content": "blue"})
    written = await store.add(SESSION, list(entries(read, last)))
    await indexer(database).index(SESSION)
    assert ([row["seq"] for row in await rows(database)], written) == ([1, 2, 3, 4, 5], 0)


async def test_a_replaced_message_and_those_after_it_are_indexed_anew(service: Service, database: Database) -> None:
    await service.append("s", *({"id": f"m-{n}", "role": "user", "content": f"number {n}"} for n in (1, 2, 3)))
    await indexer(database).index(SESSION)
    await service.client.put("/sessions/s/messages/m-2", json={"role": "user", "content": "blue"})
    assert [row["seq"] for row in await rows(database)] == [1]
    await indexer(database).index(SESSION)
    assert [("blue" in row["held"], row["seq"]) for row in await rows(database)] == [(False, 1), (True, 2), (False, 3)]


async def test_a_sweep_finds_the_sessions_that_a_crash_left_a_few_at_a_time(
    service: Service, database: Database
) -> None:
    for key in ("a", "b", "c"):
        await tell(service, "number one", key=key)
    await indexer(database).index(session_id("default", "b"))
    sweeping = indexer(database, sweep_sessions=2)
    first, second = [await sweeping.sweep() for _ in range(2)]
    assert first + second == 2
    assert await sweeping.sweep() == first  # at the end it begins anew


async def test_a_session_is_deleted_with_its_rows(service: Service, database: Database) -> None:
    await tell(service, "number one")
    await indexer(database).index(SESSION)
    receipt = (await service.client.delete("/sessions/s")).json()
    assert receipt["rows"]["message_terms"] == 1
    assert await rows(database) == []


async def test_the_index_leads_to_the_messages_of_one_session_alone(service: Service, database: Database) -> None:
    for key in ("s", "t"):
        await tell(service, "number one", key=key)
        await indexer(database).index(session_id("default", key))
    async with database.connection() as connection:
        found = await connection.fetch(
            "SELECT session_id FROM message_terms WHERE terms @@ ($1 || ' & ' || $2)::tsquery",
            quoted(session_term(SESSION)),
            quoted("number"),
        )
    assert [row["session_id"] for row in found] == [SESSION]


async def test_of_an_erased_message_nothing_is_left_in_the_index(service: Service, database: Database) -> None:
    await service.append("s", *({"id": f"m-{n}", "role": "user", "content": f"number {n}"} for n in (1, 2)))
    await indexer(database).index(SESSION)
    await service.client.delete("/sessions/s/messages/m-1")
    assert [row["held"] for row in await rows(database)] == [[session_term(SESSION)], ANY]


async def test_what_is_read_and_then_erased_is_not_written(service: Service, database: Database) -> None:
    await service.append("s", {"id": "m", "role": "user", "content": "red"})
    store = IndexStore(database)
    last, read = await store.unindexed(SESSION, 10, tokens_max=1_000)
    await service.client.delete("/sessions/s/messages/m")
    assert await store.add(SESSION, list(entries(read, last))) == 0
    assert await indexer(database).index(SESSION) == 1
    assert [row["held"] for row in await rows(database)] == [[session_term(SESSION)]]


async def test_a_session_is_taken_when_it_is_quiet_or_much_waits_the_longest_quiet_first(database: Database) -> None:
    config, clock = IndexConfig(quiet_seconds=5, waiting_messages=3), Hand()
    waiting = Indexer(store=IndexStore(database), config=config, monotonic=clock)
    first, second, busy = (session_id("default", key) for key in ("a", "b", "c"))
    for clock.at, session in enumerate((first, second, first, busy)):
        waiting.appended(session, 1)
    assert waiting.take() is None
    waiting.appended(busy, 2)
    assert [waiting.take(), waiting.take()] == [(busy, False), None]
    clock.at = 7
    waiting.ask(busy, searched=True)
    assert [waiting.take() for _ in range(4)] == [(busy, True), (second, False), (first, False), None]


async def test_indexing_takes_little_time_beside_appends_unless_a_search_missed_something(database: Database) -> None:
    config, clock = IndexConfig(share=0.03, idle_share=0.5, look_seconds=1), Hand()
    index = Indexer(store=IndexStore(database), config=config, monotonic=clock)
    assert index.share(searched=False) == 0.5
    index.appended(SESSION, 1)
    assert (index.share(searched=False), index.share(searched=True)) == (0.03, 0.5)
    clock.at = 1
    assert index.share(searched=False) == 0.5


async def test_what_a_search_has_to_read_is_soon_indexed_beside_appends(start_service: StartService) -> None:
    """With the share of appends alone each batch would be followed by a pause of 10,000 times its length."""
    recall = {"index_share": 0.0001, "index_quiet_seconds": 600, "index_look_seconds": 0.05, "index_batch": 1}
    async with start_service(recall=recall, memory={"enabled": False}) as service:
        await tell(service, *(f"number {n}" for n in range(8)))
        database = service.app.state.database
        for _ in range(400):
            await tell(service, "and on", key="other")
            await service.client.post("/sessions/s/recall", json={"query": "number"})
            if len(await rows(database)) == 8:
                break
        assert len(await rows(database)) == 8


async def test_what_follows_a_message_with_more_words_than_a_row_holds_is_indexed(start_service: StartService) -> None:
    number = [f"{n:04}".translate(str.maketrans("0123456789", "აბგდევზთიკ")) for n in range(5_000)]
    text = " ".join(f"{word}{'ლ' * 36}.{word}{'მ' * 20}" for word in number)  # of three bytes each
    async with start_service(recall={"index_look_seconds": 600}, memory={"enabled": False}) as service:
        await tell(service, text, "Then it rained")
        index = indexer(service.app.state.database)
        assert [await index.index(SESSION) for _ in range(3)] == [1, 1, 0]
        held = [row["held"] for row in await rows(service.app.state.database)]
    assert 4_000 < len(held[0]) < 10_000
    assert "rain" in held[1]
