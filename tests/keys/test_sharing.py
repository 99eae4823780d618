"""What tenants share beside the pool: exports, event streams and searches. Each tenant leaves the others some."""

import asyncio
import random
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx2 as httpx
import pytest

from app.kit.auth import Access
from tests.conftest import Service, StartService
from tests.keys.conftest import MakeKey, bearer
from tests.test_problems import assert_problem

OWN = "a-key-of-sixteen-or-more"
EVENTS = "/sessions/s1/memory/events"
EXPORT = "/resources/r1/export"
GREP = "/sessions/s1/artifacts/x/grep"
USER = {"role": "user", "content": "Hi"}
BEGUN = b"HTTP/1.1 200"
SLOW = {"pattern": "a.{200}c"}  # takes some seconds in a text without a c


@pytest.fixture
async def shared(start_service: StartService, make_key: MakeKey) -> AsyncIterator[tuple[Service, dict[str, str]]]:
    """A service with few places, and the headers of another tenant than the service's own."""
    limits: dict[str, Any] = {
        "events": {"streams_max": 4},
        "export": {"concurrency": 2},
        "artifacts": {"grep_seconds": 1.0},
    }
    async with start_service(bootstrap_key=OWN, **limits) as service:
        other = bearer(await make_key("acme", Access.WRITE))
        for headers in (other, bearer(OWN)):
            body = {"resource_id": "r1", "messages": [USER]}
            await service.client.post("/sessions/s1/messages", json=body, headers=headers)
        yield service, other


@asynccontextmanager
async def streams(service: Service, count: int, headers: dict[str, str]) -> AsyncIterator[list[httpx.Response]]:
    async with AsyncExitStack() as opened:
        asked = [service.client.stream("GET", EVENTS, headers=headers) for _ in range(count)]
        yield [await opened.enter_async_context(each) for each in asked]


async def test_one_tenant_s_listeners_leave_room_for_another_s(shared: tuple[Service, dict[str, str]]) -> None:
    service, other = shared
    async with streams(service, 4, other) as theirs, streams(service, 2, bearer(OWN)) as own:
        assert sorted(answer.status_code for answer in theirs) == [200, 200, 503, 503]
        assert [answer.status_code for answer in own] == [200, 503]


async def test_in_local_mode_where_there_is_one_tenant_it_has_all_places(start_service: StartService) -> None:
    async with start_service(events={"streams_max": 4}) as service:
        await service.append("s1", USER)
        async with streams(service, 5, {}) as all_of_them:
            assert sorted(answer.status_code for answer in all_of_them) == [200] * 4 + [503]


async def test_one_tenant_s_exports_leave_room_for_another_s(shared: tuple[Service, dict[str, str]]) -> None:
    """Of those that are read slowly: a client with a small window, which reads that it has begun and no more."""
    service, other = shared
    for number in range(3):
        await service.client.put(f"/sessions/s1/artifacts/{number}", content=bytes([number]) * 4_000_000, headers=other)
    with _unread(service, other["Authorization"]) as reader:
        begun = await asyncio.get_running_loop().sock_recv(reader, len(BEGUN))
        again = await service.client.get(EXPORT, headers=other)
        own = await service.client.get(EXPORT, headers=bearer(OWN))
    assert begun == BEGUN
    assert_problem(again, 503, "too-many-exports")
    assert own.status_code == 200


def _unread(service: Service, authorization: str) -> socket.socket:
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    url = httpx.URL(service.url)
    reader.connect((url.host, url.port))
    reader.setblocking(False)
    reader.sendall(f"GET {EXPORT} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {authorization}\r\n\r\n".encode())
    return reader


async def test_one_tenant_s_searches_leave_room_for_another_s(shared: tuple[Service, dict[str, str]]) -> None:
    service, other = shared
    chance = random.Random(1)  # noqa: S311 - a text, no secret
    text = b"\n".join(bytes(chance.choices(b"ab", k=30_000)) for _ in range(10))
    await service.client.put("/sessions/s1/artifacts/x", content=text, headers=other)
    await service.client.put("/sessions/s1/artifacts/x", content=b"a", headers=bearer(OWN))

    async def theirs() -> httpx.Response:
        return await service.client.post(GREP, json=SLOW, headers=other)

    async with asyncio.TaskGroup() as group:
        slow = [group.create_task(theirs()) for _ in range(4)]  # as many as there are places
        answers = []
        while not any(task.done() for task in slow):
            answers.append(await service.client.post(GREP, json={"pattern": "a"}, headers=bearer(OWN)))
    assert len(answers) > 1  # one that waits for their end is the only one
    assert {answer.status_code for answer in answers} == {200}
