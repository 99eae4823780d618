"""Authentication and authorization of requests, before a route reads anything else of them."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import Annotated, Any, Protocol, TypeVar

from fastapi import Depends, Request
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from app.kit.db import acting_for
from app.kit.direct import Direct
from app.kit.errors import Forbidden, Unauthorized
from app.kit.http import INTERNAL, WITH_BODY
from app.kit.names import hides_slash
from app.kit.parameters import check_parameters, query_parameters
from app.kit.problems import READING, problem_responses
from app.kit.rates import Rates

DEFAULT_TENANT = "default"
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")
SCHEME = "bearer"
SCOPE_HEADER = b"key-scope"  # tells a caller the scope of its key, so that a page offers nothing that is refused

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


class Access(StrEnum):
    """The scopes of a key; each includes the ones before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    def covers(self, needed: "Access") -> bool:
        return _RANKS[self] >= _RANKS[needed]


_RANKS = {access: rank for rank, access in enumerate(Access)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """``key`` is the id of the key that was sent; None in local mode, which has no keys."""

    tenant: str
    access: Access
    key: str | None


class Authority(Protocol):
    """Looks up the keys (app/keys); kept as ``app.state.auth``."""

    async def caller(self, headers: Headers) -> Caller:
        """The caller, by the request's ``Authorization``. Raises Unauthorized, or Forbidden."""


def needs(access: Access) -> Callable[[Endpoint], Endpoint]:
    """A decorator: the scope an endpoint needs, if not that of its method (READ for GET, WRITE for the others)."""

    def declare(endpoint: Endpoint) -> Endpoint:
        endpoint.__dict__["needs"] = access
        return endpoint

    return declare


class Guarded(Direct):
    """A route that requires a key, and says so in OpenAPI. FastAPI's dependencies would run after the body is read."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        methods = set(options.get("methods") or READING)
        by_method = Access.READ if methods <= READING else Access.WRITE
        self.needs: Access = getattr(endpoint, "needs", by_method)
        coded = (HTTPStatus.UNSUPPORTED_MEDIA_TYPE,) if methods & WITH_BODY else ()
        options["responses"] = problem_responses(401, 403, *coded, 429, 503) | (options.get("responses") or {})
        options["openapi_extra"] = {"security": [{SCHEME: [self.needs.value]}]} | (options.get("openapi_extra") or {})
        super().__init__(path, endpoint, **options)
        self.query_parameters = query_parameters(self.dependant)
        # Not of a route that answers no 422: tools that scrape /metrics may add parameters of their own.
        self._checks_query = HTTPStatus.UNPROCESSABLE_ENTITY in self.responses

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["caller"] = caller = await self._admitted(scope)
        if hides_slash(scope.get("raw_path", b""), self.path):
            raise HTTPException(HTTPStatus.NOT_FOUND)
        if self._checks_query and scope["method"] in (self.methods or ()):
            check_parameters(scope["query_string"], self.query_parameters)
        with acting_for(caller.tenant):
            await super().handle(scope, receive, send)

    async def _admitted(self, scope: Scope) -> Caller:
        authority: Authority = scope["app"].state.auth
        caller = await authority.caller(Headers(scope=scope))
        if caller.key is not None and INTERNAL not in scope:
            rates: Rates = scope["app"].state.rates
            scope["answer_headers"].append((SCOPE_HEADER, caller.access.encode()))
            await rates.spend(caller.key, scope["answer_headers"])
        if not caller.access.covers(self.needs):
            raise Forbidden(f"this route needs a key with scope '{self.needs}'; this key has scope '{caller.access}'")
        return caller


def tenant_of(request: Request) -> str:
    """The caller's tenant; only requests of a Guarded route have one."""
    caller: Caller = request.scope["caller"]
    return caller.tenant


def sharer_of(request: Request) -> Hashable:
    """The party for whom a place of a shared limit is held: the tenant, so that each leaves places for the others.

    In local mode there is only one tenant, so each request counts by itself.
    """
    caller: Caller = request.scope["caller"]
    return object() if caller.key is None else caller.tenant


async def is_key_valid(request: Request) -> bool:
    """Whether the request's key is still valid: a long answer may outlive a key that is revoked or expires.

    When the database is away, the Authority's error passes.
    """
    authority: Authority = request.app.state.auth
    caller: Caller = request.scope["caller"]
    try:
        return await authority.caller(request.headers) == caller
    except (Unauthorized, Forbidden):
        return False


def is_own_host(host: str) -> bool:
    """Whether a ``Host`` is an IP address, a name without a dot, or ``*.localhost``: no foreign DNS can point it here.

    To a browser, a page under such a name would have the same origin as the service (DNS rebinding).
    """
    name = host.partition(":")[0].lower()  # "[" of an IPv6 address
    return "." not in name or name.endswith(".localhost") or name.replace(".", "").isdecimal()


async def _tenant(request: Request) -> str:
    # Async although it awaits nothing, because FastAPI runs a plain function in a thread.
    return tenant_of(request)


Tenant = Annotated[str, Depends(_tenant)]
"""A parameter of this type is the caller's tenant; only a Guarded route has one."""
