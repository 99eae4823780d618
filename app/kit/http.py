"""Middleware of every request: its id, its limits, its log line, the headers of its answer, CORS."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from secrets import token_hex
from typing import Any

import structlog
from anyio import BrokenResourceError
from fastapi import FastAPI
from opentelemetry.trace import Tracer
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.kit.errors import FieldError, Forbidden, Invalid, TooLarge, Unavailable
from app.kit.headers import RawHeaders, joined, repeated, secured
from app.kit.metrics import HttpMetrics, method_of, route_of
from app.kit.offload import UNKNOWN
from app.kit.patterns import lazy_pattern
from app.kit.problems import bug, problem_of, problem_response
from app.kit.tracing import UNTRACED, record_answer, traced_request

log = structlog.get_logger("daybook.http")

_REQUEST_ID = lazy_pattern(r"[A-Za-z0-9._:-]{1,128}")
_QUIET = ("/healthz", "/readyz")
WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
CHUNKED = "chunked"
UNCODED = frozenset({"", "identity"})
CLIENT_GONE = 499  # nginx's status: the client closed the connection before there was an answer
INTERNAL = "daybook.internal"  # marks the scope of an internal request, made for another one that is counted
ALLOWED_HEADERS = (
    "Authorization",
    "Idempotency-Key",
    "If-Match",
    "If-None-Match",
    "If-Range",
    "Last-Event-ID",
    "Mcp-Method",
    "Mcp-Name",
    "Mcp-Protocol-Version",
    "Mcp-Session-Id",
    "Range",
    "X-Request-Id",
)
EXPOSED_HEADERS = (
    "Artifact-Handle",
    "Content-Range",
    "ETag",
    "Key-Scope",
    "Location",
    "Mcp-Session-Id",
    "RateLimit",
    "RateLimit-Policy",
    "Retry-After",
    "WWW-Authenticate",
    "X-Request-Id",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpConfig:
    """``requests_max``: concurrent requests of this process, event streams included."""

    request_bytes_max: int = 8 * 1024 * 1024
    requests_max: int = 1_000
    access_log: bool = True


class Gate:
    """ASGI middleware: X-Request-Id in and out, the limits, one log line, one count and one span per request.

    A caller that disconnects is not an error.
    """

    def __init__(
        self,
        app: ASGIApp,
        config: HttpConfig,
        metrics: HttpMetrics,
        tracer: Tracer = UNTRACED,
        origins: Sequence[str] = (),
    ) -> None:
        """Pages of ``origins`` may read the Gate's own refusals; the app allows that for its answers itself."""
        self._app = app
        self._origins = origins
        self._config = config
        self._metrics = metrics
        self._tracer = tracer
        self._running = 0
        self._log = log.bind()  # the module's own is a proxy, which costs a third of a line

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope["headers"] = joined(scope["headers"])
        headers = Headers(scope=scope)
        request_id = _request_id(headers)
        scope["request_id"] = request_id
        more: RawHeaders = []
        scope["answer_headers"] = more  # a route adds headers of its answer here, also if that is a problem
        started = time.perf_counter()
        structlog.contextvars.bind_contextvars(request_id=request_id)  # for this request's task, and those it starts
        status, answered, gone, received = HTTPStatus.INTERNAL_SERVER_ERROR.value, started, False, 0

        async def send_with_id(message: Message) -> None:
            nonlocal status, answered
            if message["type"] == "http.response.start":
                status, answered = message["status"], time.perf_counter()
                message["headers"] = secured([*message["headers"], *more, (b"x-request-id", request_id.encode())])
            await send(message)

        async def noticed() -> Message:
            nonlocal gone, received
            message = await receive()
            gone = gone or message["type"] == "http.disconnect"
            received += len(message.get("body", b""))  # a chunked body declares no length
            if received > self._config.request_bytes_max:
                raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, self._limit_text())
            return message

        counted = INTERNAL not in scope
        self._running += counted
        tracer = UNTRACED if scope["path"] in _QUIET else self._tracer
        with traced_request(tracer, method_of(scope), headers) as span:
            try:
                await self._answer(scope, noticed, send_with_id, headers)
            except* (ClientDisconnect, BrokenResourceError):  # FastAPI's event streams raise the latter
                if not gone:
                    raise
                status = CLIENT_GONE if answered == started else status
            finally:
                self._running -= counted
                record_answer(span, method=method_of(scope), route=route_of(scope), status=status)
                if counted:
                    self._metrics.answered(scope, status=status, seconds=answered - started)
                self._access_log(scope, status, time.perf_counter() - started)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, headers: Headers) -> None:
        if (declared_bytes(headers) or 0) > self._config.request_bytes_max:
            await self._refused(problem_of(TooLarge(self._limit_text())))(scope, receive, send)
        elif self._running > self._config.requests_max and scope["path"] not in _QUIET and INTERNAL not in scope:
            await self._refused(problem_of(self._too_many()))(scope, receive, send)
        elif scope["method"] in WITH_BODY and _is_coded(headers):
            await self._refused(_coded())(scope, receive, send)
        elif name := repeated(scope["headers"]):
            refusal = Invalid.naming(FieldError(name, "the header may be sent only once"))
            await self._refused(problem_of(refusal))(scope, receive, send)
        elif scope["method"] == "HEAD":
            await _as_get(self._app, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _refused(self, answer: ASGIApp) -> ASGIApp:
        return _CrossOrigin(answer, **_cross_origin(self._origins)) if self._origins else answer

    def _too_many(self) -> Unavailable:
        return Unavailable(f"{self._config.requests_max} requests are running already (DAYBOOK_HTTP__REQUESTS_MAX)")

    def _limit_text(self) -> str:
        return f"a body may have at most {self._config.request_bytes_max} bytes (DAYBOOK_HTTP__REQUEST_BYTES_MAX)"

    def _access_log(self, scope: Scope, status: int, seconds: float) -> None:
        if self._config.access_log and scope["path"] not in _QUIET:
            self._log.info(
                "request",
                method=scope["method"],
                path=scope["path"],
                status=status,
                ms=round(seconds * 1000, 1),
            )


def _is_coded(headers: Headers) -> bool:
    """Whether the body is compressed, as what it is or for its way here."""
    transfer, content = headers.get("transfer-encoding", CHUNKED), headers.get("content-encoding", "")
    return transfer.lower() != CHUNKED or content.lower() not in UNCODED


def _coded() -> ASGIApp:
    """415 (RFC 9110 section 15.5.16): a compressed body would be stored as it is, and could not be read."""
    return problem_response(
        slug="unsupported-encoding",
        title="The Content-Encoding is not supported",
        status=HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        detail="send the body uncompressed, without a Content-Encoding or another Transfer-Encoding than chunked",
        headers={"Accept-Encoding": "identity"},
    )


async def _as_get(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer HEAD as GET, without the body (RFC 9110, 9.3.2); an event stream ends before its first event.

    ``Range`` is ignored, because it is defined for GET alone (14.2).
    """
    headers = [(name, value) for name, value in scope["headers"] if name != b"range"]
    asked = {**scope, "method": "GET", "headers": headers}

    async def send_head(message: Message) -> None:
        if message["type"] == "http.response.start":
            await send(message)
            await send({"type": "http.response.body"})  # after this, ``receive`` reports a disconnect

    try:
        await app(asked, receive, send_head)
    finally:
        scope["route"] = asked.get("route")


class _CrossOrigin(CORSMiddleware):
    """Refuses a preflight with a problem, not with plain text."""

    def preflight_response(self, request_headers: Headers) -> Response:
        answer = super().preflight_response(request_headers)
        if answer.status_code == HTTPStatus.OK:
            return answer
        refused = problem_of(Forbidden(bytes(answer.body).decode()))
        refused.headers.update({name: told for name, told in answer.headers.items() if not name.startswith("content-")})
        return refused


def as_internal(app: ASGIApp) -> ASGIApp:
    """The app for internal requests, made for another request: they are neither counted nor limited again."""

    async def asked(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, INTERNAL: True}, receive, send)

    return asked


def allow_cross_origin(app: FastAPI, origins: Sequence[str]) -> None:
    """Let pages of these origins send requests, with keys and conditions, and read the headers of answers (CORS)."""
    app.add_middleware(_CrossOrigin, **_cross_origin(origins))

    async def told_to_pages(request: Request, error: Exception) -> Response:
        answer = await bug(request, error)
        origin = request.headers.get("origin", "")
        if origin in origins:
            exposed = ", ".join(EXPOSED_HEADERS)
            told = {"Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": exposed, "Vary": "Origin"}
            answer.headers.update(told)
        return answer

    app.add_exception_handler(Exception, told_to_pages)  # the answer to a bug is made outside every middleware


def _cross_origin(origins: Sequence[str]) -> dict[str, Any]:
    return {
        "allow_origins": origins,
        "allow_methods": ["GET", "POST", "PUT", "PATCH", "DELETE"],
        "allow_headers": ALLOWED_HEADERS,
        "expose_headers": EXPOSED_HEADERS,
    }


def _request_id(headers: Headers) -> str:
    given = headers.get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else token_hex(16)


def declared_bytes(headers: Headers) -> int | None:
    """The declared length of the body; None if it comes in chunks, or is empty."""
    declared = headers.get("content-length", "").lstrip("0")  # Python converts no text of thousands of zeros
    return int(declared) if declared.isdecimal() else None


def body_bytes(headers: Headers) -> int:
    """The declared length, or UNKNOWN without one, so that a chunked body counts as a large one."""
    return declared_bytes(headers) or UNKNOWN
