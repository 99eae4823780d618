"""What the memory keeps of sessions that are deleted; where others share it, what is theirs stays (docs/sharing.md).

Where a session is deleted whose memory others share, every note that tells of it or was written with such a one in view
is emptied, as for one message (erasing.py): the others' messages among them are observed again.
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
        """Delete memories with their sessions, and of one that others share what is of its session.

        What the tenant spent stays, for its caps hold on.
        """
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
