"""Decides whether a session shares the memory of its resource or has its own. Pure.

In scope ``resource`` all sessions of a resource have one memory and one config (sharing_store.py).
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from app.kit.errors import Invalid
from app.sessions.errors import ScopeConflict
from app.sessions.store import NAMESPACE, SessionRecord, session_id

RESOURCE, SESSION = "resource", "session"
NO_RESOURCE = "scope 'resource' needs a resource, and this session has none: send a resource_id too"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharer:
    """A session that is to share the memory of its resource."""

    tenant: str
    session: UUID
    key: str
    resource_id: str

    @property
    def memory(self) -> UUID:
        return shared_memory_id(self.tenant, self.resource_id)


def shared_memory_id(tenant: str, resource_id: str) -> UUID:
    """The id of the memory that a resource's sessions share; no key of a session has a slash."""
    return uuid5(NAMESPACE, f"{tenant}//{resource_id}")


def sharer_of(
    tenant: str,
    key: str,
    found: SessionRecord | None,
    resource_id: str | None,
    config: dict[str, Any],
    *,
    service_scope: str,
) -> Sharer | None:
    """The session as a sharer of its resource's memory; None if it is to have its own.

    Without a resource it has its own, whatever the service's scope is. Raises Invalid if it is to share without a
    resource, and ScopeConflict if it has messages and its scope would change.
    """
    resource = resource_id or (found.resource_id if found else None)
    if config.get("scope") == RESOURCE and resource is None:
        raise Invalid.at("/config/scope", NO_RESOURCE)
    shares = resource is not None and _scope(found, config, service_scope) == RESOURCE
    if found is not None and found.last_seq and shares != found.is_shared:
        raise ScopeConflict.at("/config/scope", f"session '{key}' has messages, so its scope cannot change")
    if resource is None or not shares:
        return None
    return Sharer(tenant=tenant, session=session_id(tenant, key), key=key, resource_id=resource)


def _scope(found: SessionRecord | None, config: dict[str, Any], service_scope: str) -> str:
    """The request's scope, else the current one of a session with messages, else its config's or the service's."""
    if "scope" in config:
        return config["scope"] or service_scope
    if found is not None and found.last_seq:
        return RESOURCE if found.is_shared else SESSION
    return (found.config.get("scope") if found else None) or service_scope
