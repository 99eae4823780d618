"""The benchmark's own parts: what it sends, what it fills the database with, what it makes of the figures."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from app.sessions.schemas import KEY_PATTERN
from benchmarks.speed.cases import CASES, Case
from benchmarks.speed.filling import NOTES, TAIL, fill
from benchmarks.speed.load import Plan, run
from benchmarks.speed.targets import Daybook, request
from benchmarks.speed.words import CHARS, said
from tests.conftest import Service
from tests.connections import listening

END = b"\r\n\r\n"


@asynccontextmanager
async def answering(answer: Callable[[], bytes], heard: list[bytes]) -> AsyncIterator[int]:
    """A server that takes requests without a body, and answers each in two pieces; yields its port."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while not reader.at_eof():
            heard.append(await reader.readuntil(END))
            told = answer()
            writer.write(told[: len(told) // 2])
            await writer.drain()
            writer.write(told[len(told) // 2 :])

    async with listening(talk) as port:
        yield port


def answered(status: str, body: bytes = b"{}") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


async def test_a_closed_loop_sends_one_request_at_a_time_on_each_connection_and_counts_every_answer() -> None:
    heard: list[bytes] = []
    requests = [request("GET", f"/{number}") for number in range(3)]
    async with answering(lambda: answered("200 OK"), heard) as port:
        plan = Plan(port=port, requests=requests, connections=2, seconds=1.0)
        load = await asyncio.to_thread(run, plan)

    assert len(load.latencies) == len(heard) > 2
    assert sorted(heard[:3]) == sorted(requests)  # of two connections neither waits for the other
    assert load.failed == 0
    assert all(latency > 0 for latency in load.latencies)


async def test_an_open_loop_keeps_its_rate_and_counts_a_latency_from_when_the_request_was_due() -> None:
    heard: list[bytes] = []
    async with answering(lambda: answered("201 Created"), heard) as port:
        plan = Plan(port=port, requests=[request("GET", "/")], connections=1, seconds=0.2, rate=100.0)
        load = await asyncio.to_thread(run, plan)

    assert len(load.latencies) == len(heard)
    assert len(heard) == 20


async def test_an_answer_that_is_an_error_is_no_latency() -> None:
    async with answering(lambda: answered("503 Service Unavailable", b"later"), []) as port:
        plan = Plan(port=port, requests=[request("GET", "/")], connections=1, seconds=0.5)
        load = await asyncio.to_thread(run, plan)

    assert load.latencies == []
    assert load.failed > 0


def test_every_message_has_the_length_the_cases_promise() -> None:
    assert {len(said(number)) for number in range(200)} == {CHARS}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_asks_each_of_its_sessions_by_a_key_that_the_service_takes(case: Case) -> None:
    asked = [one.split(b" ")[1].decode().split("/")[2] for one in case.requests(Daybook(port=1, pids=[], dsn=""))]

    assert set(asked) == set(case.keys)
    assert all(re.match(KEY_PATTERN, key) for key in case.keys)


@pytest.mark.parametrize("case", [case for case in CASES if "then context" in case.name], ids=lambda case: case.name)
def test_a_short_load_of_turns_asks_for_contexts_too_each_behind_its_append(case: Case) -> None:
    asked = [one.split(b" ", 2)[:2] for one in case.requests(Daybook(port=1, pids=[], dsn=""))]
    appends = [at for at, (method, _) in enumerate(asked) if method == b"POST"]

    for at in appends:
        where = asked[at][1].replace(b"/messages", b"/context")
        assert asked.index([b"GET", where], at) - at in {32, 34}  # the connections at most, and less than a short load


async def test_a_filled_session_is_one_that_the_service_understands(service: Service, database_url: str) -> None:
    await fill(database_url, ["long"], 1_000, observed=True, wake_tokens=6_000)

    memory = await service.memory("long")
    context = await service.context("long")
    stored = await service.append("long", {"role": "user", "content": "one more"})

    assert memory["coverage"]["gaps"] == []
    assert memory["log"]["observations"] == NOTES
    assert memory["cursor"]["last_seq"] == 1_000
    assert TAIL <= len(context["payload"]["messages"]) <= TAIL + NOTES + 1
    assert stored["messages"][0]["seq"] == 1_001


async def test_a_session_filled_for_a_service_without_an_observer_waits_to_be_observed(
    service: Service, database_url: str
) -> None:
    await fill(database_url, ["waiting"], 200, observed=False, wake_tokens=10**9)

    memory = await service.memory("waiting")

    assert memory["pending"]["messages"] == 200
    assert memory["log"]["observations"] == 0
