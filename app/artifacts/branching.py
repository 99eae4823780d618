"""Copies a session's artifacts into a branch of it: every version that existed at the branch point, with its bytes.

No bytes are shared, so that deleting those of one session never affects another. Objects are copied in the object store
before the transaction that writes the rows. If that is refused they are deleted; a copy that has no row for another
reason is swept.
"""

import asyncio
from collections.abc import Mapping
from uuid import UUID

from app.artifacts import branch_store
from app.artifacts.objects import Objects
from app.kit.db import Database, Tx
from app.kit.errors import TooLarge

AT_ONCE = 8  # objects


class ArtifactBranching:
    """``bytes_max`` are copied at most."""

    def __init__(self, database: Database, objects: Objects | None, *, bytes_max: int) -> None:
        self._database = database
        self._objects = objects
        self._bytes_max = bytes_max

    async def copied_objects(self, session: UUID, at_seq: int | None, into: UUID) -> dict[str, str]:
        """Copy the objects; answers the new key of each, by its key. Raises TooLarge, Unavailable."""
        if self._objects is None:
            return {}
        async with self._database.connection() as connection:
            self._refuse(await branch_store.size(connection, session, at_seq))
            keys = await branch_store.objects(connection, session, at_seq)
        objects, turns = self._objects, asyncio.Semaphore(AT_ONCE)

        async def copied(key: str) -> str | None:
            async with turns:
                return await objects.copy(key, into)

        copies = zip(keys, await asyncio.gather(*map(copied, keys)), strict=True)
        return {key: copy for key, copy in copies if copy is not None}

    async def copy(self, tx: Tx, session: UUID, at_seq: int, into: UUID, copies: Mapping[str, str]) -> None:
        """Copy the rows, with the bytes that are in them. Raises TooLarge."""
        self._refuse(await branch_store.size(tx, session, at_seq))
        await branch_store.copy(tx, session, at_seq, into, copies)

    async def clear(self, copies: Mapping[str, str]) -> None:
        """Delete the copied objects of a branch that is not made."""
        if self._objects is not None and copies:
            await self._objects.clear([*copies.values()])

    def _refuse(self, size: int) -> None:
        if size > self._bytes_max:
            limit = f"{self._bytes_max} bytes of artifacts (DAYBOOK_SESSIONS__BRANCH_ARTIFACT_BYTES_MAX)"
            raise TooLarge(f"a branch may copy at most {limit}")
