"""Deletes what the memory has of deleted sessions; in a shared memory only their part of it (docs/sharing.md).

There every note that tells of the session, or was written in view of such a note, is blanked as for an erased message
(erasing.py), and the other sessions' messages among them are observed again.
"""

from uuid import UUID

from app.kit.db import Tx
from app.memory import locking_store
from app.memory.changing import erasing_store, mending_store, parting_store
from app.memory.changing.mending import mend, untold_since
from app.memory.records import FORGOTTEN
from app.memory.store import MemoryStore
from app.sessions.model import Gone


class Parting:
    """Implements the sessions' ``Keeper``."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def forget(self, tx: Tx, gone: Gone) -> dict[str, int]:
        """Delete the sessions' memories, and their part of a shared one. The tenant's spending stays for its caps."""
        rows = await parting_store.forget(tx, gone.memories)
        if gone.shared_memory is not None:
            rows |= await self._part(tx, gone.sessions[0], gone.keys[0])
        return rows

    async def _part(self, tx: Tx, session: UUID, key: str) -> dict[str, int]:
        """Answers how many rows were emptied or deleted."""
        locked = await locking_store.lock(tx, session, key)
        own = await parting_store.of_session(tx, session)
        edits = await mending_store.edits(tx, locked.memory_id)
        blanked = await erasing_store.blank(tx, locked.memory_id, place=own["place"])
        outputs = await erasing_store.forget_outputs(tx, locked.memory_id, since=own["since"])
        others = untold_since(locked, blanked)
        others.pop(session, None)
        told = FORGOTTEN if blanked.live else None
        await mend(self._store, tx, locked, since=others, edits=edits, told=told, left_tokens=own["tokens"])
        await parting_store.part(tx, locked.memory_id, session)
        return blanked.rows | {"runs": outputs}
