"""Query parameters that a route does not know, over HTTP."""

from typing import Any

import pytest

from app.kit.invalid import ERRORS_MAX
from app.kit.openapi import operations
from app.kit.parameters import REPEATED
from tests.conftest import Service
from tests.test_problems import OPEN, assert_problem, listed

NOT_LISTED = {"streamEvents": ["lastEventId"]}  # the header says it better
LENIENT = OPEN | {"/overview", "/metrics"}  # refuse nothing as invalid


def parameters(operation: dict[str, Any]) -> list[str]:
    listed = [found["name"] for found in operation.get("parameters", []) if found["in"] == "query"]
    return listed or NOT_LISTED.get(operation["operationId"], [])


async def test_every_route_refuses_parameters_that_it_does_not_know_by_name(service: Service) -> None:
    requests = zip(operations(service.app.openapi()), listed(service), strict=True)
    asked = [(parameters(found), *request) for (_, path, found), request in requests if path not in LENIENT]
    for names, method, path, body in asked:
        answer = await service.client.request(method, path, json=body, params={"wait": "1", "mind": ""})
        problem = assert_problem(answer, 422, "invalid")
        assert [error["pointer"] for error in problem["errors"]] == ["wait", "mind"], path
        known = f"known are {', '.join(names)}" if names else "this route has none"
        assert problem["detail"].startswith(f"wait: unknown query parameter; {known}"), path
    assert len([names for names, *_ in asked if names]) > 15
    assert len([names for names, *_ in asked if not names]) > 15


async def test_every_route_refuses_a_parameter_that_is_given_twice(service: Service) -> None:
    requests = zip(operations(service.app.openapi()), listed(service), strict=True)
    asked = [(parameters(found), *request) for (_, path, found), request in requests if path not in LENIENT]
    taking = [found for found in asked if found[0]]
    for names, method, path, body in taking:
        twice = {name: ["1", ""] for name in names}
        problem = assert_problem(await service.client.request(method, path, json=body, params=twice), 422, "invalid")
        assert problem["errors"] == [{"pointer": name, "detail": REPEATED} for name in names], path
    assert len(taking) > 15


async def test_a_parameter_that_a_route_does_not_know_is_told_once_however_often_it_is_given(service: Service) -> None:
    problem = assert_problem(await service.client.get("/sessions/s1/context?wait=1&wait=2"), 422, "invalid")
    assert [error["pointer"] for error in problem["errors"]] == ["wait"]


@pytest.mark.parametrize(
    "query", ["wait_m=1", "wait_ms=1&wait_m=1", "wait_ms=1&wait_ms=1", "WAIT_MS=1", "wait_ms%20=1"]
)
async def test_nothing_of_a_request_with_a_wrong_parameter_is_stored(service: Service, query: str) -> None:
    said = {"messages": [{"role": "user", "content": "Hi"}]}
    assert_problem(await service.client.post(f"/sessions/s1/messages?{query}", json=said), 422, "invalid")
    assert (await service.client.get("/sessions/s1")).status_code == 404


async def test_of_very_many_parameters_that_a_route_does_not_know_only_the_number_is_told(service: Service) -> None:
    few, many = ("&".join(f"p{number}" for number in range(count)) for count in (ERRORS_MAX, ERRORS_MAX + 1))
    listed = assert_problem(await service.client.get(f"/sessions/s1/context?{few}"), 422, "invalid")
    counted = assert_problem(await service.client.get(f"/sessions/s1/context?{many}"), 422, "invalid")
    assert [error["pointer"] for error in listed["errors"]] == few.split("&")
    assert counted["detail"].startswith(f"{ERRORS_MAX + 1} errors")
    assert "errors" not in counted


async def test_where_a_route_takes_no_parameters_one_to_wait_is_passed_over(service: Service) -> None:
    assert (await service.client.put("/sessions/s1?wait_ms=1", json={})).status_code == 201
    assert_problem(await service.client.put("/sessions/s2?wait_ms=1&mind=1", json={}), 422, "invalid")
    assert (await service.client.get("/sessions/s2")).status_code == 404


async def test_what_would_be_narrowed_by_a_parameter_is_not_deleted_whole(service: Service) -> None:
    fact = {"text": "Ana prefers mail.", "category": "preference"}
    await service.client.post("/resources/ana/facts", json=fact)
    refused = await service.client.delete("/resources/ana/facts", params={"category": "profile"})
    assert_problem(refused, 422, "invalid")
    assert len((await service.get("/resources/ana/facts"))["items"]) == 1
