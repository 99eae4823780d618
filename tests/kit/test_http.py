"""What every answer says in its headers, whose pages may ask, and how many requests are answered at once."""

from contextlib import nullcontext

import httpx2 as httpx
import pytest
from anyio import BrokenResourceError
from prometheus_client import CollectorRegistry
from starlette.types import Message, Receive, Scope, Send

from app.kit.http import Gate, HttpConfig
from app.kit.metrics import HttpMetrics
from app.settings import SettingsError, load_settings
from tests.conftest import Service, StartService
from tests.journeys.looks import until
from tests.test_problems import assert_problem

PAGE = "https://a.example"
USER = {"role": "user", "content": "Hi"}


async def test_every_answer_tells_a_browser_to_make_nothing_of_it(service: Service) -> None:
    async def broken() -> None:
        raise RuntimeError

    service.app.add_api_route("/broken", broken, include_in_schema=False)
    await service.append("s", USER)
    for path, status in {"/sessions": 200, "/nowhere": 404, "/sessions/s/context": 200, "/broken": 500}.items():
        answer = await service.client.get(path)
        assert answer.status_code == status
        assert answer.headers.get_list("x-content-type-options") == ["nosniff"]
        assert answer.headers.get_list("referrer-policy") == ["no-referrer"]
        [policy] = answer.headers.get_list("content-security-policy")
        assert {"default-src 'none'", "frame-ancestors 'none'", "sandbox"} <= set(policy.split("; "))


async def test_a_page_keeps_its_own_policy(service: Service) -> None:
    for path in ("/", "/docs", "/console/console.js"):
        answer = await service.client.get(path)
        [policy] = answer.headers.get_list("content-security-policy")
        assert "script-src 'self'" in policy
        assert "'unsafe-inline'" not in policy.partition("script-src")[2].partition(";")[0]
        assert answer.headers["x-content-type-options"] == "nosniff"


async def preflight(service: Service, origin: str) -> httpx.Response:
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    return await service.client.options("/sessions/s/messages", headers={"Origin": origin, **asked})


async def test_no_other_page_may_ask_unless_it_is_named(start_service: StartService, service: Service) -> None:
    assert "access-control-allow-origin" not in (await preflight(service, PAGE)).headers
    async with start_service(http={"origins": f"{PAGE},http://b.example:3000"}, bootstrap_key="x" * 16) as named:
        for origin, allowed in {PAGE: True, "http://b.example:3000": True, "https://c.example": False}.items():
            answer = await preflight(named, origin)
            assert (answer.headers.get("access-control-allow-origin") == origin) is allowed
            assert answer.is_success is allowed
        assert_problem(answer, 403, "forbidden")
        assert "Origin" in answer.headers["vary"]
        refused = await named.client.get("/sessions", headers={"Origin": PAGE})
        assert refused.headers["access-control-allow-origin"] == PAGE  # the page can read why
        assert "x-request-id" in refused.headers["access-control-expose-headers"].lower()


async def test_a_page_is_named_as_people_write_it(start_service: StartService) -> None:
    """A browser sends an origin in small letters, and without the port that its scheme has anyway (RFC 6454, 6.2)."""
    origins = "https://A.example:443,http://B.example:80,https://c.example:80"
    async with start_service(http={"origins": origins}, bootstrap_key="x" * 16) as service:
        for origin in ("https://a.example", "http://b.example", "https://c.example:80"):
            assert (await preflight(service, origin)).headers["access-control-allow-origin"] == origin
        assert not (await preflight(service, "https://c.example")).is_success


async def test_a_page_can_send_what_agents_send_and_read_what_answers_say(start_service: StartService) -> None:
    """Beside those of our own routes the headers of MCP (its specification, Transports: Streamable HTTP)."""
    asked = "mcp-protocol-version, mcp-session-id, last-event-id, range, if-range"
    async with start_service(http={"origins": PAGE}) as service:
        wanted = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": asked}
        allowed = await service.client.options("/mcp", headers={"Origin": PAGE, **wanted})
        await service.append("s", USER)
        branch = await service.client.post("/sessions/s/branch", json={"key": "b"}, headers={"Origin": PAGE})
    assert allowed.is_success, allowed.text
    assert "location" in branch.headers
    told = branch.headers["access-control-expose-headers"].lower().split(", ")
    assert {"etag", "location", "content-range", "mcp-session-id", "x-request-id"} <= set(told)


async def test_a_page_that_may_ask_can_read_why_its_request_was_refused_at_the_gate(
    start_service: StartService,
) -> None:
    limits = {"origins": PAGE, "request_bytes_max": 1_024, "requests_max": 1}
    async with start_service(http=limits) as service:
        await service.append("s", USER)
        large = await service.client.post("/sessions/s/messages", content=b" " * 1_025, headers={"Origin": PAGE})
        async with service.client.stream("GET", "/sessions/s/memory/events"):
            busy = await service.client.get("/sessions", headers={"Origin": PAGE})
    for refused, status, slug in ((large, 413, "too-large"), (busy, 503, "unavailable")):
        assert_problem(refused, status, slug)
        assert refused.headers["access-control-allow-origin"] == PAGE


async def test_a_page_that_may_ask_can_read_that_the_service_failed(start_service: StartService) -> None:
    async def broken() -> None:
        raise RuntimeError

    async with start_service(http={"origins": PAGE}) as service:
        service.app.add_api_route("/broken", broken, include_in_schema=False)
        failed = await service.client.get("/broken", headers={"Origin": PAGE, "X-Request-Id": "trace-1"})
        stranger = await service.client.get("/broken", headers={"Origin": "https://b.example"})
    assert_problem(failed, 500, "internal")
    assert failed.headers["access-control-allow-origin"] == PAGE
    assert failed.headers["x-request-id"] == "trace-1"
    assert "access-control-allow-origin" not in stranger.headers


@pytest.mark.parametrize("origins", ["*", "a.example", "https://a.example/", "https://a.example, https://b.example"])
def test_an_origin_is_a_scheme_and_a_host(monkeypatch: pytest.MonkeyPatch, origins: str) -> None:
    monkeypatch.setenv("DAYBOOK_HTTP__ORIGINS", origins)
    with pytest.raises(SettingsError, match=r"^DAYBOOK_HTTP__ORIGINS: "):
        load_settings()


async def test_one_request_too_many_at_once_is_told_to_come_again(start_service: StartService) -> None:
    async with start_service(http={"requests_max": 1}) as service:
        await service.append("s", USER)
        async with service.client.stream("GET", "/sessions/s/memory/events") as running:
            assert running.status_code == 200  # what was answered before runs no more
            refused = await service.client.get("/sessions")
            assert_problem(refused, 503, "unavailable")
            assert refused.headers["retry-after"] == "1"
            assert (await service.client.get("/healthz")).status_code == 200
        await service.client.aclose()


@pytest.mark.parametrize("path", ["/", "/docs", "/console/console.js"])
async def test_a_page_is_answered_whole_whatever_range_of_it_is_asked(service: Service, path: str) -> None:
    whole = await service.client.get(path)
    for asked in ("bytes=0-1", "bytes=9999999-", "bytes=5-1", "lines=1-2"):
        answer = await service.client.get(path, headers={"Range": asked})
        assert (answer.status_code, answer.content) == (200, whole.content)


async def test_the_lines_of_a_list_count_as_one(service: Service) -> None:
    """RFC 9110 section 5.3."""
    await service.append("s", USER)
    value = "/sessions/s/state/plan"
    tag = (await service.client.put(value, json="pro")).headers["etag"]
    for path in (value, "/sessions/s/state"):
        known = (await service.client.get(path)).headers["etag"]
        lines = [("If-None-Match", '"other"'), ("If-None-Match", known)]
        assert (await service.client.get(path, headers=lines)).status_code == 304
    lines = [("If-Match", '"other"'), ("If-Match", tag)]
    assert (await service.client.put(value, json="free", headers=lines)).status_code == 200
    assert_problem(await service.client.put(value, json="no", headers=lines), 412, "precondition-failed")
    lines = [("Content-Encoding", "identity"), ("Content-Encoding", "gzip")]
    assert_problem(await service.client.put(value, content=b"{}", headers=lines), 415, "unsupported-encoding")


async def test_a_header_of_one_value_in_several_lines_is_refused(service: Service) -> None:
    for name, values in {
        "Idempotency-Key": ("a", "b"),
        "Authorization": ("Bearer a", "Bearer b"),
        "Content-Type": ("application/json", "text/plain"),
        "Range": ("bytes=0-1", "bytes=2-3"),
    }.items():
        lines = [(name, value) for value in values]
        answer = await service.client.post("/sessions/s/messages", content=b'{"messages": []}', headers=lines)
        [error] = assert_problem(answer, 422, "invalid")["errors"]
        assert error == {"pointer": name, "detail": "the header may be sent only once"}
        assert (await service.client.get("/sessions", headers=[lines[0]] * 2)).status_code == 200


READ = ("/", "/docs", "/console/console.js", "/openapi.json", "/healthz", "/readyz", "/sessions")
OWN = {"x-request-id", "date", "ratelimit"}


@pytest.mark.parametrize("path", [*READ, "/sessions/s/artifacts/plan", "/sessions/never", "/nowhere", "/mcp"])
async def test_head_is_answered_as_get_without_the_body(service: Service, path: str) -> None:
    await service.append("s", USER)
    await service.client.put("/sessions/s/artifacts/plan", content=b"To be done")
    get, head = await service.client.get(path), await service.client.head(path)
    assert (head.status_code, head.content) == (get.status_code, b"")
    told, asked = ({k: v for k, v in answer.headers.items() if k not in OWN} for answer in (get, head))
    assert told == asked


async def test_head_of_a_range_is_of_the_whole(service: Service) -> None:
    """RFC 9110 section 14.2 has ranges for GET alone."""
    await service.append("s", USER)
    await service.client.put("/sessions/s/artifacts/plan", content=b"To be done")
    for asked in ("bytes=0-1", "bytes=99-"):
        head = await service.client.head("/sessions/s/artifacts/plan", headers={"Range": asked})
        assert (head.status_code, head.headers["content-length"]) == (200, "10")
        assert "content-range" not in head.headers


async def test_head_of_what_never_ends_ends_at_once(service: Service) -> None:
    await service.append("s", USER)
    answer = await service.client.head("/sessions/s/memory/events")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"].startswith("text/event-stream")
    await until(lambda: _streams(service), (0).__eq__)


@pytest.mark.parametrize("gone", [True, False])
async def test_what_an_event_stream_says_of_a_caller_who_has_gone_is_no_error(*, gone: bool) -> None:
    """FastAPI's own tasks find their stream closed where an event comes as its listener leaves."""
    registry = CollectorRegistry()

    async def streaming(_scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise ExceptionGroup("unhandled errors in a TaskGroup", [BrokenResourceError()])

    async def receive() -> Message:
        return {"type": "http.disconnect" if gone else "http.request"}

    async def send(message: Message) -> None:
        assert message["status"] == 200

    gate = Gate(streaming, config=HttpConfig(access_log=False), metrics=HttpMetrics(registry))
    scope = {"type": "http", "method": "GET", "path": "/sessions/s/memory/events", "headers": []}
    with nullcontext() if gone else pytest.raises(ExceptionGroup):
        await gate(scope, receive, send)
    labels = {"method": "GET", "route": "unmatched", "status": "200"}
    assert registry.get_sample_value("daybook_http_requests_total", labels) == 1


async def _streams(service: Service) -> int:
    streams: int = service.app.state.diagnostics._streams._queues._taken.total()
    return streams


async def test_head_counts_and_is_let_in_as_get_is(start_service: StartService) -> None:
    key = {"Authorization": f"Bearer {'x' * 16}"}
    async with start_service(bootstrap_key="x" * 16) as service:
        refused = await service.client.head("/sessions")
        answered = await service.client.head("/sessions", headers=key)
        counted = (await service.client.get("/metrics", headers=key)).text
    assert (refused.status_code, answered.status_code) == (401, 200)
    assert 'daybook_http_requests_total{method="HEAD",route="/sessions",status="200"} 1.0' in counted
