"""Who is asking: the tenant behind a request. Without keys configured everything is tenant ``default`` (local mode)."""

import hmac
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import HTTPBearer

from app.kit.errors import Unauthorized

DEFAULT_TENANT = "default"
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthConfig:
    """``bootstrap_key`` is an admin key of tenant ``default``; None is local mode."""

    bootstrap_key: str | None = None


class Auth:
    """The FastAPI dependency that names the tenant of a request, or refuses it with 401."""

    def __init__(self, config: AuthConfig) -> None:
        self._key = None if config.bootstrap_key is None else config.bootstrap_key.encode()

    def tenant(self, authorization: str | None) -> str:
        """The tenant of an ``Authorization`` header. Raises Unauthorized."""
        if self._key is None:
            return DEFAULT_TENANT
        scheme, _, given = (authorization or "").partition(" ")
        if scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode("latin-1", "replace"), self._key):
            return DEFAULT_TENANT
        raise Unauthorized("send a valid key as 'Authorization: Bearer <key>'")


_BEARER = HTTPBearer(auto_error=False, description="Not needed in local mode")


async def _tenant(request: Request, _documented: Annotated[object, Security(_BEARER)]) -> str:
    # Async although it waits for nothing: FastAPI sends a plain function to a thread.
    auth: Auth = request.app.state.auth
    return auth.tenant(request.headers.get("authorization"))


Tenant = Annotated[str, Depends(_tenant)]
"""A route's parameter of this type checks the key and is the caller's tenant."""
