"""Errors over HTTP: every one is a problem of RFC 9457, whatever answers it."""

import gzip
import json
import re
from collections.abc import AsyncIterator
from functools import reduce
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import asyncpg
import httpx2 as httpx
import pytest

from app.kit.invalid import ERRORS_MAX
from app.kit.openapi import operations
from app.recall.schemas import KINDS_MAX
from app.sessions.model import MESSAGES_MOST
from app.state.schemas import TEXTS_MAX
from tests.conftest import Service, StartService, running_service

KEY = "correct-horse-battery-staple"
OPEN = {"/healthz", "/readyz"}
PAGES = {"/", "/docs", "/console"}
UNLISTED: list[tuple[str, str, Any]] = [
    ("GET", "/openapi.json", None),
    ("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
]
PARAMETERS = {
    "key": "s1",
    "message_id": "m-1",
    "note_id": "999999999",
    "fact_id": "999999999",
    "name": "x",
    "resource_id": "r-1",
}
USER = {"role": "user", "content": "Hi"}


def assert_problem(answer: httpx.Response, status: int, slug: str) -> dict[str, Any]:
    """Of the form that every problem has; answers its body."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["x-request-id"]
    problem: dict[str, Any] = answer.json()
    assert set(problem) - {"errors"} == {"type", "title", "status", "detail"}
    assert (problem["type"], problem["status"]) == (f"/problems/{slug}", status)
    assert problem["title"]
    assert all(set(error) == {"pointer", "detail"} for error in problem.get("errors", []))
    return problem


def pointers(answer: httpx.Response) -> list[str]:
    """The places of what is not valid."""
    return [error["pointer"] for error in assert_problem(answer, 422, "invalid")["errors"]]


def listed(service: Service) -> list[tuple[str, str, Any]]:
    """Every operation with a path that can be asked for and its first example of a body."""
    found = operations(service.app.openapi())
    return [(method, reduce(_given, PARAMETERS, path), _example(operation)) for method, path, operation in found]


def _given(path: str, name: str) -> str:
    return path.replace(f"{{{name}}}", PARAMETERS[name])


def _example(operation: dict[str, Any]) -> Any:
    examples = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("examples", {})
    return next((example["value"] for example in examples.values()), None)


def appended_by(model: str) -> str:
    """A request whose usage names this model."""
    return json.dumps({"messages": [USER], "usage": {"model": "@"}}).replace("@", model)


async def test_what_is_asked_wrongly_is_told_as_a_problem(service: Service) -> None:
    await service.append("s1", {"id": "m-1", **USER})
    cases: list[tuple[str, str, dict[str, Any], int, str]] = [
        ("GET", "/nowhere", {}, 404, "not-found"),
        ("GET", "/sessions/s1/nowhere", {}, 404, "not-found"),
        ("GET", "/sessions/never", {}, 404, "session-not-found"),
        ("GET", "/sessions/never/messages", {}, 404, "session-not-found"),
        ("GET", "/sessions/never/messages/m-1", {}, 404, "session-not-found"),
        ("GET", "/sessions/never/memory", {}, 404, "session-not-found"),
        ("POST", "/sessions/never/memory/observe", {}, 404, "session-not-found"),
        ("GET", "/sessions/s1/messages/m-2", {}, 404, "message-not-found"),
        ("GET", "/sessions/s1/memory/log?version=99", {}, 404, "version-not-found"),
        ("PATCH", "/sessions/s1", {}, 405, "method-not-allowed"),
        ("PATCH", "/sessions/s1?limit=1", {}, 405, "method-not-allowed"),
        ("DELETE", "/healthz", {}, 405, "method-not-allowed"),
        ("POST", "/sessions/s1/messages", {"json": {"messages": [{"id": "m-1", **USER, "name": "x"}]}}, 409, ""),
        ("POST", "/sessions/s1/messages", {"json": {"messages": [USER], "resource_id": "r"}}, 409, "resource-conflict"),
        ("POST", "/sessions/s1/messages", {"content": "{"}, 422, "invalid"),
        ("POST", "/sessions/s1/messages", {"content": b"\xff"}, 422, "invalid"),
        ("POST", "/sessions/s1/messages", {"content": appended_by("\\u0000")}, 422, "invalid"),
        ("POST", "/sessions/s1/messages", {"content": appended_by("\\ud800")}, 422, "invalid"),
        ("GET", "/sessions/a b/messages", {}, 422, "invalid"),
        ("GET", "/sessions/s1/messages?limit=501", {}, 422, "invalid"),
        ("GET", "/sessions/s1/messages?cursor=x", {}, 422, "invalid"),
        ("GET", "/sessions/s1/messages?limt=1", {}, 422, "invalid"),
        ("GET", "/sessions/s1/context?fromat=text", {}, 422, "invalid"),
    ]
    for method, path, content, status, slug in cases:
        headers = {"Content-Type": "application/json"}
        answer = await service.client.request(method, path, headers=headers, **content)
        assert_problem(answer, status, slug or "message-conflict")


async def test_a_path_tells_which_methods_it_takes(service: Service) -> None:
    answer = await service.client.patch("/sessions/s1")
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD", "PUT", "DELETE"}
    assert assert_problem(answer, 405, "method-not-allowed")["detail"] == "it supports DELETE, GET, HEAD, PUT"


async def test_who_asks_for_no_path_is_told_where_those_that_there_are_stand(service: Service) -> None:
    for path in ("/nowhere", "/sessions/a/b/messages", "/console/none.js"):
        detail = assert_problem(await service.client.get(path), 404, "not-found")["detail"]
        assert "/docs" in detail
    assert (await service.client.get("/docs")).status_code == 200


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"{", "not valid JSON, at character 1: "),
        (b'{"messages": "\xff"}', "not valid UTF-8, at byte 14"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[]", "a JSON object is expected"),
        (b"", "a JSON body is expected"),
        (b'{"messages": [{"role": "user", "content": "x", "id": 5}]}', "/messages/0/id: "),
    ],
)
async def test_a_body_that_cannot_be_read_is_told_where_and_why(service: Service, body: bytes, detail: str) -> None:
    headers = {"Content-Type": "application/json"}
    answer = await service.client.post("/sessions/s1/messages", content=body, headers=headers)
    problem = assert_problem(answer, 422, "invalid")
    assert problem["detail"].startswith(detail)
    [error] = problem["errors"]
    assert error["pointer"] == ("/messages/0/id" if b"id" in body else "")


async def test_a_parameter_of_the_query_that_came_in_the_body_is_told_as_one(service: Service) -> None:
    answer = await service.client.post("/sessions/s1/context", json={"format": "openai", "mode": "x", "system": "Hi"})
    told = {error["pointer"]: error["detail"] for error in assert_problem(answer, 422, "invalid")["errors"]}
    assert told["/format"].endswith("?format=")
    assert told["/mode"] == "unknown field"


ANY_FIELDS = {"patchState", "putStateValue", "replaceMessage"}  # whose bodies have what fields they like


@pytest.mark.parametrize("media_type", ["application/json", "application/json; charset=utf-8"])
async def test_of_a_body_in_which_much_is_wrong_not_each_thing_is_told(service: Service, media_type: str) -> None:
    """A megabyte of them held the service for 16 s, and was told in 34."""
    crowd = {f"field-{number}": 1 for number in range(ERRORS_MAX + 1)}
    asked = 0
    for method, path, operation in operations(service.app.openapi()):
        if "application/json" in operation.get("requestBody", {}).get("content", {}):
            if operation["operationId"] in ANY_FIELDS:
                continue
            place = reduce(_given, PARAMETERS, path)
            sent: dict[str, Any] = {"content": json.dumps(crowd), "headers": {"Content-Type": media_type}}
            [error] = assert_problem(await service.client.request(method, place, **sent), 422, "invalid")["errors"]
            assert (error["pointer"], error["detail"].split()[0] >= str(ERRORS_MAX + 1)) == ("", True), path
            asked += 1
    assert asked > 10


@pytest.mark.parametrize(
    ("method", "path", "body", "pointer"),
    [
        ("POST", "/sessions/s1/messages", {"messages": [1] * (ERRORS_MAX + 1)}, ""),
        ("POST", "/sessions/s1/messages", {"messages": [{}] * (MESSAGES_MOST + 1)}, "/messages"),
        ("POST", "/sessions/s1/context", {"system": ["a"] * (TEXTS_MAX + 1)}, "/system"),
        ("POST", "/sessions/s1/recall", {"query": "a", "kinds": ["facts"] * (KINDS_MAX + 1)}, "/kinds"),
        ("PUT", "/sessions/s1", {"config": {str(number): 1 for number in range(ERRORS_MAX + 1)}}, "/config"),
        ("PUT", "/resources/r-1", {"config": {str(number): 1 for number in range(ERRORS_MAX + 1)}}, "/config"),
    ],
)
async def test_of_a_list_that_is_too_long_no_more_is_read(
    service: Service, method: str, path: str, body: Any, pointer: str
) -> None:
    [error] = assert_problem(await service.client.request(method, path, json=body), 422, "invalid")["errors"]
    assert error["pointer"] == pointer


async def test_as_many_errors_as_are_told_are_told(service: Service) -> None:
    answer = await service.client.post("/sessions/s1/messages", json={"messages": [1] * ERRORS_MAX})
    assert len(assert_problem(answer, 422, "invalid")["errors"]) == ERRORS_MAX


async def test_a_change_names_no_more_values_than_a_session_sees(start_service: StartService) -> None:
    async with start_service(state={"entries_max": 2}) as service:
        await service.append("s1", USER)
        for names, status in ((6, 200), (7, 413)):
            answer = await service.client.patch(
                "/sessions/s1/state", json=dict.fromkeys(map("x{}".format, range(names)))
            )
            assert answer.status_code == status


async def test_json_that_is_not_declared_as_such_is_told_how(service: Service) -> None:
    answer = await service.client.post("/sessions/s1/messages", content=b'{"messages": []}')
    assert "Content-Type: application/json" in assert_problem(answer, 422, "invalid")["detail"]


@pytest.mark.parametrize(
    ("path", "body", "pointer", "detail"),
    [
        ("/sessions/s", {"a/b~c": 1}, "/a~1b~0c", "unknown field"),
        ("/sessions/s", {"config": {"a/b": 1}}, "/config/a~1b", "unknown field"),
        ("/sessions/s1", {"metadata": 5}, "/metadata", "a JSON object is expected"),
        ("/sessions/s1", {"config": {"retention": 30}}, "/config/retention", "a JSON object is expected"),
        ("/sessions/s1", {"config": {"keep": 5}}, "/config/keep", "unknown field"),
        ("/sessions/s1/messages/m-1", [USER], "", "a JSON object is expected, sent as Content-Type: application/json"),
        ("/resources/r-1", {"metadate": {}}, "/metadate", "unknown field"),
    ],
)
async def test_what_is_wrong_with_a_field_is_told_in_words_of_json(
    service: Service, path: str, body: Any, pointer: str, detail: str
) -> None:
    problem = assert_problem(await service.client.put(path, json=body), 422, "invalid")
    assert problem["errors"] == [{"pointer": pointer, "detail": detail}]


@pytest.mark.parametrize("path", ["/healthz", "/nowhere"])
async def test_a_request_keeps_its_id_or_gets_one(service: Service, path: str) -> None:
    for given, echoed in {"trace-1:a.b_c": True, "x" * 128: True, "x" * 129: False, "a b": False, "": False}.items():
        answer = await service.client.get(path, headers={"X-Request-Id": given})
        assert (answer.headers["x-request-id"] == given) is echoed, given
        assert re.fullmatch(r"[A-Za-z0-9._:-]{1,128}", answer.headers["x-request-id"])


@pytest.fixture
async def keyed(start_service: StartService) -> AsyncIterator[Service]:
    async with start_service(bootstrap_key=KEY) as service:
        yield service


async def test_no_route_but_two_answers_without_the_key(keyed: Service) -> None:
    for header in (None, "Bearer wrong", f"Basic {KEY}", KEY, "Bearer", f"Bearer {KEY}x"):
        given = {} if header is None else {"Authorization": header}
        for method, path, body in [*listed(keyed), *UNLISTED]:
            answer = await keyed.client.request(method, path, json=body, headers=given)
            if path in OPEN:
                assert answer.status_code == 200
            else:
                assert_problem(answer, 401, "unauthorized")
                assert answer.headers["www-authenticate"] == "Bearer"


async def test_every_route_answers_with_the_key(keyed: Service) -> None:
    for header in (f"Bearer {KEY}", f"bearer  {KEY}"):
        for method, path, body in [*listed(keyed), *UNLISTED]:
            asked = keyed.client.stream(method, path, json=body, headers={"Authorization": header})
            async with asked as answer:  # some answer without an end
                assert answer.status_code in {200, 201, 202, 404, 409}  # the message to replace may be sealed by now


async def test_every_path_there_is_is_listed(service: Service) -> None:
    paths = {path for _, path, _ in operations(service.app.openapi())} | {path for _, path, _ in UNLISTED} | PAGES
    routed = {re.sub(r":\w+}", "}", route.path) for route in flat(service.app.router) if getattr(route, "path", None)}
    assert routed == paths


def flat(router: Any) -> list[Any]:
    """The routes of a router and of those it includes."""
    found: list[Any] = []
    for route in router.routes:
        inner = getattr(route, "original_router", None)
        found += [route] if inner is None else flat(inner)
    return found


class Door:
    """A socket folder of its own in front of the database, which can be shut."""

    def __init__(self, folder: Path, url: str) -> None:
        parts = urlsplit(url)
        query = parse_qs(parts.query)
        socket = f".s.PGSQL.{query['port'][0]}"
        self._way, self._there = Path(query["host"][0], socket), folder / socket
        self._straight = url
        self.url = parts._replace(query=f"host={quote(str(folder), safe='')}&port={query['port'][0]}").geturl()
        self.open()

    def open(self) -> None:
        self._there.symlink_to(self._way)

    async def shut(self) -> None:
        """No new connection gets through, and those there were are gone."""
        self._there.unlink()
        connection = await asyncpg.connect(self._straight)
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        await connection.close()


async def test_without_its_database_every_route_answers_503_and_after_it_is_back_as_before(
    database_url: str, tmp_path: Path
) -> None:
    door = Door(tmp_path, database_url)
    async with running_service(door.url) as service:
        await service.append("s1", {"id": "m-1", **USER})
        await door.shut()
        for method, path, body in listed(service):
            answer = await service.client.request(method, path, json=body)
            if path in {"/healthz", "/metrics", "/tools"}:  # they ask it nothing, or say that it is down
                assert answer.status_code == 200
            else:
                assert_problem(answer, 503, "unavailable")
                assert int(answer.headers["retry-after"]) >= 1
                assert ("stored" in answer.json()["detail"]) == (method != "GET")
        door.open()
        assert (await service.get("/readyz"))["status"] == "ready"
        assert [item["id"] for item in (await service.get("/sessions/s1/messages"))["items"]] == ["m-1"]


async def test_a_bug_is_told_without_what_is_inside(service: Service) -> None:
    async def broken() -> None:
        raise RuntimeError("the password is hunter2")

    service.app.add_api_route("/broken", broken, include_in_schema=False)
    answer = await service.client.get("/broken", headers={"X-Request-Id": "trace-1"})
    assert_problem(answer, 500, "internal")
    assert answer.headers["x-request-id"] == "trace-1"
    assert "hunter2" not in answer.text
    assert "RuntimeError" not in answer.text
    assert (await service.client.get("/healthz")).status_code == 200


async def test_what_is_asked_after_a_bug_is_answered(service: Service) -> None:
    """The server closes the connection behind a bug: a client that keeps it would send its next request into that."""

    async def broken() -> None:
        raise RuntimeError

    service.app.add_api_route("/broken", broken, include_in_schema=False)
    for number in range(5):
        answer = await service.client.get("/broken")
        assert answer.headers["connection"] == "close"
        await service.append("s1", {"id": f"m-{number}", **USER})


@pytest.mark.parametrize("coding", ["gzip", "br", "GZIP", "identity, gzip"])
async def test_a_body_with_a_coding_is_refused_and_told_which_is_taken(service: Service, coding: str) -> None:
    """RFC 9110 section 15.5.16: a coding that was kept without its name would make the bytes unreadable."""
    coded = {"Content-Encoding": coding}
    body = gzip.compress(json.dumps({"messages": [USER]}).encode())
    for method, path in (("POST", "/sessions/s1/messages"), ("PUT", "/sessions/s1/artifacts/x"), ("POST", "/mcp")):
        refused = await service.client.request(method, path, content=body, headers=coded)
        assert_problem(refused, 415, "unsupported-encoding")
        assert refused.headers["accept-encoding"] == "identity"
    assert (await service.client.get("/sessions/s1/artifacts/x")).status_code == 404


@pytest.mark.parametrize("coding", ["identity", "Identity", ""])
async def test_a_body_whose_coding_is_none_is_taken(service: Service, coding: str) -> None:
    said = {"messages": [USER]}
    answer = await service.client.post("/sessions/s1/messages", json=said, headers={"Content-Encoding": coding})
    assert answer.status_code == 201
