"""Resources: owners of sessions, with metadata and the config of a shared memory (api.md, Sessions)."""

from typing import Any

from app.kit.db import Database
from app.kit.errors import Invalid
from app.redaction.model import Redaction
from app.sessions import resource_store
from app.sessions.errors import ResourceNotFound
from app.sessions.merging import check_metadata, read_given
from app.sessions.model import MemoryPort
from app.sessions.resource_store import Resource
from app.sessions.sharing import shared_memory_id
from app.sessions.sharing_store import follow

SCOPE = "not allowed on a resource: set scope in the config of each session, or DAYBOOK_MEMORY__SCOPE for all"


class Resources:
    def __init__(
        self, *, database: Database, memory: MemoryPort, metadata_bytes_max: int, redaction: Redaction
    ) -> None:
        self._database = database
        self._memory = memory
        self._metadata_bytes_max = metadata_bytes_max
        self._redaction = redaction

    async def get(self, tenant: str, resource_id: str) -> Resource:
        """Raises ResourceNotFound for one that was never put, and has no session and no fact."""
        async with self._database.connection() as connection:
            found = await resource_store.resource(connection, tenant, resource_id)
        if found is None:
            raise ResourceNotFound(f"there is no resource '{resource_id}'")
        return found

    async def put(
        self, *, tenant: str, resource_id: str, config: dict[str, Any], metadata: dict[str, Any]
    ) -> tuple[Resource, bool]:
        """Create the resource or merge into it; answers it and whether it is new. Raises Invalid, MetadataTooLarge."""
        redact = self._redaction.of(tenant)
        config, metadata = await read_given(
            config, metadata, memory=self._memory, metadata_bytes_max=self._metadata_bytes_max, redact=redact
        )
        if "scope" in config:
            raise Invalid.at("/config/scope", SCOPE)
        async with self._database.tx() as tx:
            put, created = await resource_store.put(tx, tenant, resource_id, config=config, metadata=metadata)
            if metadata:
                check_metadata(put.metadata, self._metadata_bytes_max)
            shared = bool(config) and await follow(tx, tenant, resource_id, put.config)
        if shared:
            self._memory.wake(shared_memory_id(tenant, resource_id))
        return put, created
