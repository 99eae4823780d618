"""What a key of each scope may do, of every operation in the OpenAPI document, over HTTP."""

import asyncio
from collections.abc import AsyncIterator

import httpx2 as httpx
import pytest

from app.keys.model import id_of
from app.keys.store import KeyStore
from app.kit.auth import SCHEME, Access
from app.kit.openapi import operations
from tests.conftest import Service, StartService
from tests.keys.conftest import MakeKey, bearer
from tests.test_problems import OPEN, assert_problem, listed

EVENTS = "/sessions/s1/memory/events"
READING_POSTS = {"compileContext", "grepArtifact", "lintTemplate", "recallResource", "recallSession"}


@pytest.fixture
async def keyed(start_service: StartService, make_key: MakeKey) -> AsyncIterator[Service]:
    """A service with a key in its database, so that it wants one."""
    await make_key("acme", Access.READ)
    async with start_service() as service:
        yield service


async def statuses(service: Service, secret: str) -> dict[str, httpx.Response]:
    answers = {}
    names = [operation["operationId"] for _, _, operation in operations(service.app.openapi())]
    for name, (method, path, body) in zip(names, listed(service), strict=True):
        async with service.client.stream(method, path, json=body, headers=bearer(secret)) as answer:
            if not answer.is_success:
                await answer.aread()
            answers[name] = answer
    return answers


@pytest.mark.parametrize("access", Access)
async def test_a_key_may_do_what_its_scope_covers_and_is_told_what_it_lacks(
    keyed: Service, make_key: MakeKey, access: Access
) -> None:
    answers = await statuses(keyed, await make_key("acme", access))
    for _, _, operation in operations(keyed.app.openapi()):
        answer = answers[operation["operationId"]]
        [wanted] = operation.get("security", [{SCHEME: [Access.READ]}])
        if access.covers(Access(wanted[SCHEME][0])):
            assert answer.status_code not in {401, 403}, operation["operationId"]
        else:
            assert f"'{wanted[SCHEME][0]}'" in assert_problem(answer, 403, "forbidden")["detail"]
        assert answer.headers.get("Key-Scope") == (access if "security" in operation else None)


def test_reading_needs_read_and_changing_write_but_for_what_only_asks(keyed: Service) -> None:
    needed = {
        operation["operationId"]: (method, operation["security"][0][SCHEME][0])
        for method, path, operation in operations(keyed.app.openapi())
        if path not in OPEN
    }
    assert needed.pop("getMetrics") == ("GET", "admin")
    by_method = {
        name: (method, "read" if method == "GET" or name in READING_POSTS else "write")
        for name, (method, _) in needed.items()
    }
    assert needed == by_method


async def test_the_key_is_looked_at_before_anything_else_of_the_request(keyed: Service, make_key: MakeKey) -> None:
    path, wrong = "/sessions/a b/messages?limit=x", b"{"
    assert_problem(await keyed.client.post(path, content=wrong), 401, "unauthorized")
    read = bearer(await make_key("acme", Access.READ))
    assert_problem(await keyed.client.post(path, content=wrong, headers=read), 403, "forbidden")
    write = bearer(await make_key("acme", Access.WRITE))
    assert_problem(await keyed.client.post(path, content=wrong, headers=write), 422, "invalid")


async def test_a_key_is_looked_up_once_and_its_use_noted_when_the_service_stops(
    start_service: StartService, make_key: MakeKey
) -> None:
    secret = await make_key("acme", Access.READ)
    async with start_service() as service:
        service.client.headers.update(bearer(secret))
        for _ in range(3):
            await service.get("/sessions")
        acquired = await service.client.get("/openapi.json")
        assert acquired.status_code == 200
    async with start_service() as service:
        store = service.app.state.auth._store
        [key] = await store.listed("acme")
        assert key.last_used_at is not None


async def test_an_event_stream_ends_with_its_key_and_tells_nothing_after_it(
    start_service: StartService, make_key: MakeKey, key_store: KeyStore
) -> None:
    ended, kept, writing = [await make_key("acme", access) for access in (Access.READ, Access.READ, Access.WRITE)]
    async with start_service(keys={"cache_seconds": 0}, events={"poll_seconds": 0.05}) as service:
        service.client.headers.update(bearer(writing))
        await service.append("s1", {"role": "user", "content": "Before"})
        async with (
            service.client.stream("GET", EVENTS, headers=bearer(ended)) as cut,
            service.client.stream("GET", EVENTS, headers=bearer(kept)) as whole,
        ):
            assert (cut.status_code, whole.status_code) == (200, 200)
            assert await key_store.revoke(id_of(ended) or "", "acme")
            await service.append("s1", {"role": "user", "content": "After"})
            async with asyncio.timeout(30):
                assert not [line async for line in cut.aiter_lines() if line.startswith("event:")]
                assert "event: appended" in await anext(
                    chunk async for chunk in whole.aiter_text() if "event:" in chunk
                )
        assert_problem(await service.client.get(EVENTS, headers=bearer(ended)), 401, "unauthorized")
