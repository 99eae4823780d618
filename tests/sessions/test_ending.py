"""A session ends when its caller says so, and goes on with the next message (api.md, Sessions)."""

from typing import Any

from tests.conftest import Service
from tests.sessions.test_routes import said
from tests.test_problems import assert_problem


async def end(service: Service) -> dict[str, Any]:
    answer = await service.client.post("/sessions/s1/end")
    assert answer.status_code == 200, answer.text
    ended: dict[str, Any] = answer.json()
    return ended


async def test_a_session_ends_once_and_tells_when(service: Service) -> None:
    await service.append("s1", said("Hello"))
    first = await end(service)
    again = await end(service)
    assert first["ended_at"] is not None
    assert again == first == await service.get("/sessions/s1")
    assert [listed["ended_at"] for listed in (await service.get("/sessions"))["items"]] == [first["ended_at"]]


async def test_an_append_goes_on_with_an_ended_session_and_one_that_stores_nothing_does_not(service: Service) -> None:
    await service.append("s1", said("Hello", id="m-1"))
    ended = await end(service)
    await service.append("s1", said("Hello", id="m-1"))
    assert (await service.get("/sessions/s1"))["ended_at"] == ended["ended_at"]
    await service.append("s1", said("One more thing"))
    assert (await service.get("/sessions/s1"))["ended_at"] is None


async def test_a_session_never_seen_cannot_end(service: Service) -> None:
    assert_problem(await service.client.post("/sessions/s1/end"), 404, "session-not-found")
