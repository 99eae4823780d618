"""A fast path for frequent endpoints, which bypasses FastAPI's parsing, because that costs more than their work.

A frequent endpoint names a second reader of its requests, its ``usual``. It takes only requests that it fully knows,
and answers None to any other, which FastAPI then reads from the start: so errors in a request are found and reported in
one place, and both ways end in the same endpoint. What was saved is in docs/benchmarks/profile.md.
"""

import json
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, TypeAlias, TypeVar
from urllib.parse import parse_qsl

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect
from starlette.routing import BaseRoute
from starlette.types import Message, Receive, Scope, Send

from app.kit.offload import offloaded

Handler: TypeAlias = Callable[[Request], Coroutine[Any, Any, Response]]
Usual: TypeAlias = Callable[[Request], Awaitable[Response | None]]
Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])
Model = TypeVar("Model", bound=BaseModel)

JSON = "application/json"
ATTRIBUTE = "usual"


def usually(reader: Usual) -> Callable[[Endpoint], Endpoint]:
    """A decorator: ``reader`` is tried first for this endpoint's requests."""

    def declare(endpoint: Endpoint) -> Endpoint:
        endpoint.__dict__[ATTRIBUTE] = reader
        return endpoint

    return declare


def is_frequent(route: BaseRoute) -> bool:
    """Whether the route's endpoint has a ``usual`` reader."""
    return hasattr(getattr(route, "endpoint", None), ATTRIBUTE)


class Direct(APIRoute):
    """A route that tries its endpoint's ``usual`` reader first."""

    def get_route_handler(self) -> Handler:
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            return await handler(_Read(request.scope, request.receive))

        return handle

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        reader: Usual | None = getattr(self.endpoint, ATTRIBUTE, None)
        if reader is None or scope["method"] not in (self.methods or ()):
            await super().handle(scope, receive, send)
            return
        request = _Kept(scope, receive)
        response = await reader(request)
        if response is None:
            await super().handle(scope, request.again, send)
        else:
            await response(scope, receive, send)


class _Read(Request):
    """A request whose body, if large, is parsed in a thread."""

    async def json(self) -> Any:
        body = await self.body()
        return await offloaded(partial(json.loads, body), size=len(body))


class _Kept(Request):
    """A request that keeps its body, so that FastAPI can receive it again."""

    _kept: bytes | None = None

    async def body(self) -> bytes:
        self._kept = await super().body()
        return self._kept

    async def again(self) -> Message:
        if self._kept is None:
            return await self.receive()
        body, self._kept = self._kept, None
        return {"type": "http.request", "body": body, "more_body": False}


def query_of(request: Request, model: type[Model]) -> Model | None:
    """The query parameters, each given once and with a value; None if FastAPI has to read them."""
    query: bytes = request.scope["query_string"]
    if not query:
        return model()
    pairs = parse_qsl(query.decode("latin-1"))
    try:
        return model.model_validate(dict(pairs)) if len(pairs) == query.count(b"&") + 1 == len(dict(pairs)) else None
    except ValidationError:
        return None


async def body_of(request: Request, model: type[Model]) -> Model | None:
    """The body, parsed and validated in one pass; None if FastAPI has to read it and report what is wrong."""
    if request.headers.get("content-type") != JSON:
        return None
    try:
        body = await request.body()
        return await offloaded(partial(model.model_validate_json, body), size=len(body))
    except (ValidationError, ClientDisconnect):
        return None
