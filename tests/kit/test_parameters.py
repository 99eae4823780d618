"""Query parameters that a route does not know, over HTTP."""

from typing import Any

import pytest

from app.kit.openapi import operations
from tests.conftest import Service
from tests.test_problems import assert_problem, listed


def parameters(operation: dict[str, Any]) -> list[str]:
    return [found["name"] for found in operation.get("parameters", []) if found["in"] == "query"]


async def test_every_route_that_takes_parameters_refuses_others_by_name(service: Service) -> None:
    requests = zip(operations(service.app.openapi()), listed(service), strict=True)
    asked = [(parameters(operation), *request) for (_, _, operation), request in requests if parameters(operation)]
    for names, method, path, body in asked:
        answer = await service.client.request(method, path, json=body, params={"wait": "1", "mind": ""})
        problem = assert_problem(answer, 422, "invalid")
        assert [error["pointer"] for error in problem["errors"]] == ["wait", "mind"], path
        assert problem["detail"].startswith(f"wait: no such query parameter; there are {', '.join(names)}"), path
    assert len(asked) > 15


@pytest.mark.parametrize("query", ["wait_m=1", "wait_ms=1&wait_m=1", "WAIT_MS=1", "wait_ms%20=1"])
async def test_nothing_of_a_request_with_a_misspelt_parameter_is_stored(service: Service, query: str) -> None:
    said = {"messages": [{"role": "user", "content": "Hi"}]}
    assert_problem(await service.client.post(f"/sessions/s1/messages?{query}", json=said), 422, "invalid")
    assert (await service.client.get("/sessions/s1")).status_code == 404


async def test_where_a_route_takes_no_parameters_none_is_looked_at(service: Service) -> None:
    assert (await service.client.put("/sessions/s1?wait_ms=1", json={})).status_code == 201
