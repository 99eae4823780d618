"""Who is asking, and what they may do: settled before a route looks at anything else of the request."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import Annotated, Any, Protocol, TypeVar

from fastapi import Depends, Request
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from app.kit.db import acting_for
from app.kit.direct import Direct
from app.kit.errors import Forbidden, Unauthorized
from app.kit.http import PART, WITH_BODY
from app.kit.parameters import check_parameters, query_parameters
from app.kit.problems import READING, problem_responses
from app.kit.rates import Rates

DEFAULT_TENANT = "default"
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")
SCHEME = "bearer"
SCOPE_HEADER = b"key-scope"  # tells a caller what its key may do, so that a page offers nothing that is refused

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


class Access(StrEnum):
    """The scopes of a key, each with what it includes: admin may write, and who writes may read."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    def covers(self, needed: "Access") -> bool:
        return _RANKS[self] >= _RANKS[needed]


_RANKS = {access: rank for rank, access in enumerate(Access)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """``key`` is the id of the key that was sent; None in local mode, where nobody is told from another."""

    tenant: str
    access: Access
    key: str | None


class Authority(Protocol):
    """Who knows the keys (app/keys); kept as ``app.state.auth``."""

    async def caller(self, headers: Headers) -> Caller:
        """Whose request this is, by its ``Authorization``. Raises Unauthorized, or Forbidden."""


def needs(access: Access) -> Callable[[Endpoint], Endpoint]:
    """What a key must be allowed for this endpoint, where its method does not say it: GET reads, the others write."""

    def declare(endpoint: Endpoint) -> Endpoint:
        endpoint.__dict__["needs"] = access
        return endpoint

    return declare


class Guarded(Direct):
    """A route that wants a key, and tells so in the document. FastAPI's own dependencies run after it read the body."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        methods = set(options.get("methods") or READING)
        by_method = Access.READ if methods <= READING else Access.WRITE
        self.needs: Access = getattr(endpoint, "needs", by_method)
        coded = (HTTPStatus.UNSUPPORTED_MEDIA_TYPE,) if methods & WITH_BODY else ()
        options["responses"] = problem_responses(401, 403, *coded, 429, 503) | (options.get("responses") or {})
        options["openapi_extra"] = {"security": [{SCHEME: [self.needs.value]}]} | (options.get("openapi_extra") or {})
        super().__init__(path, endpoint, **options)
        self.query_parameters = query_parameters(self.dependant)
        # Not of a route that refuses nothing as invalid: what tools that scrape /metrics may add is not looked at.
        self._checks_query = HTTPStatus.UNPROCESSABLE_ENTITY in self.responses

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["caller"] = caller = await self._admitted(scope)
        if self._checks_query and scope["method"] in (self.methods or ()):
            check_parameters(scope["query_string"], self.query_parameters)
        with acting_for(caller.tenant):
            await super().handle(scope, receive, send)

    async def _admitted(self, scope: Scope) -> Caller:
        authority: Authority = scope["app"].state.auth
        caller = await authority.caller(Headers(scope=scope))
        if caller.key is not None and PART not in scope:
            rates: Rates = scope["app"].state.rates
            scope["answer_headers"].append((SCOPE_HEADER, caller.access.encode()))
            await rates.spend(caller.key, scope["answer_headers"])
        if not caller.access.covers(self.needs):
            raise Forbidden(f"this needs a key with scope '{self.needs}'; the scope of this one is '{caller.access}'")
        return caller


def tenant_of(request: Request) -> str:
    """The caller's tenant; only a Guarded route's request has one."""
    caller: Caller = request.scope["caller"]
    return caller.tenant


def sharer_of(request: Request) -> Hashable:
    """For whom a place is held of those that tenants share: its tenant, so that each leaves some for the others.

    In local mode there is no other, and each request is one by itself.
    """
    caller: Caller = request.scope["caller"]
    return object() if caller.key is None else caller.tenant


async def is_let_in(request: Request) -> bool:
    """Whether its caller would still be let in: a long answer may outlive its key, which can be revoked or expire.

    Raises what the Authority raises when the database is away.
    """
    authority: Authority = request.app.state.auth
    caller: Caller = request.scope["caller"]
    try:
        return await authority.caller(request.headers) == caller
    except (Unauthorized, Forbidden):
        return False


def is_own_host(host: str) -> bool:
    """Whether a ``Host`` is an address or a name without a dot, which no stranger's DNS can point here.

    To a browser, a page under such a name would have the same origin as the service (DNS rebinding).
    """
    name = host.partition(":")[0].lower()
    return "." not in name or host.startswith("[") or name.endswith(".localhost") or name.replace(".", "").isdecimal()


async def _tenant(request: Request) -> str:
    # Async although it waits for nothing: FastAPI sends a plain function to a thread.
    return tenant_of(request)


Tenant = Annotated[str, Depends(_tenant)]
"""A parameter of this type is the caller's tenant; only a Guarded route has one."""
