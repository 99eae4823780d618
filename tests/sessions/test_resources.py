"""Resources over HTTP: what is said of them, and the config of a shared memory (api.md, Sessions)."""

from typing import Any

import httpx2 as httpx
import pytest

from tests.conftest import Service
from tests.sessions.test_routes import said
from tests.test_problems import assert_problem, pointers

PATH = "/resources/ana"


async def put(service: Service, **body: Any) -> httpx.Response:
    return await service.client.put(PATH, json=body)


async def test_a_resource_is_created_merged_and_read(service: Service) -> None:
    first = await put(service, metadata={"plan": "pro", "since": 2020}, config={"keep_last": 5})
    second = await put(service, metadata={"since": None, "city": "Lisbon"}, config={"buffer_every": None})
    assert (first.status_code, second.status_code) == (201, 200)
    assert second.json() == await service.get(PATH)
    assert second.json()["metadata"] == {"plan": "pro", "city": "Lisbon"}
    assert second.json()["config"] == {"keep_last": 5, "buffer_every": None}
    assert (await put(service, config={"keep_last": None})).json()["config"] == {"buffer_every": None}


async def test_a_resource_has_no_scope_of_its_own(service: Service) -> None:
    assert pointers(await put(service, config={"scope": "resource"})) == ["/config/scope"]
    assert_problem(await service.client.get(PATH), 404, "resource-not-found")


async def test_a_resource_is_known_from_its_first_session_or_from_being_put(service: Service) -> None:
    assert_problem(await service.client.get(PATH), 404, "resource-not-found")
    await service.client.post("/sessions/s1/messages", json={"messages": [said("Hello")], "resource_id": "ana"})
    found = await service.get(PATH)
    assert (found["config"], found["metadata"]) == ({}, {})
    assert (await put(service, metadata={"plan": "pro"})).status_code == 201
    await service.client.delete("/sessions/s1")
    assert (await service.get(PATH))["metadata"] == {"plan": "pro"}
    assert (await service.client.delete(PATH)).json()["rows"]["resources"] == 1
    assert_problem(await service.client.get(PATH), 404, "resource-not-found")


async def test_a_resource_is_known_from_a_fact_noted_of_it(service: Service) -> None:
    noted = await service.client.post(f"{PATH}/facts", json={"text": "Ana lives in Lisbon."})
    assert noted.status_code == 201
    assert (await service.get(PATH))["created_at"] == noted.json()["created_at"]
    await service.client.delete(f"{PATH}/facts")
    assert_problem(await service.client.get(PATH), 404, "resource-not-found")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"config": {"message_token": 1}}, "/config/message_token"),
        ({"config": {"keep_last": -1}}, "/config/keep_last"),
        ({"metadata": {"a": "\x00"}}, "/metadata/a"),
        ({"plan": "pro"}, "/plan"),
    ],
)
async def test_what_a_session_may_not_set_a_resource_may_not_either(
    service: Service, body: dict[str, Any], pointer: str
) -> None:
    refused = assert_problem(await put(service, **body), 422, "invalid")
    assert [error["pointer"] for error in refused["errors"]] == [pointer]
    assert_problem(await service.client.get(PATH), 404, "resource-not-found")
