"""The Activate and ActivateReflection steps: buffered notes become live, without a model (memory-rules.md 3.2, 3.6)."""

from app.memory import locking_store, reflection_store
from app.memory.cursor import advance
from app.memory.means import Means
from app.memory.outcomes import Outcome
from app.memory.records import Attempt
from app.memory.steps import Activate


class Activating:
    def __init__(self, means: Means) -> None:
        self._means, self._store = means, means.store

    async def run(self, attempt: Attempt, step: Activate) -> Outcome:
        loaded = attempt.loaded
        chunks = loaded.buffered[: step.count]
        async with self._means.database.tx() as tx:
            ends = {chunk.session_id: chunk.to_seq for chunk in chunks}  # of each session its last
            fenced = await locking_store.fence_all(tx, attempt.lease, ends)
            if fenced is None or any(fenced[session].observed_seq >= end for session, end in ends.items()):
                return Outcome.STALE
            await self._store.activate(tx, loaded, fenced[chunks[0].session_id], chunks)
            for session, end in ends.items():
                await advance(tx, session, attempt.rules, fenced[session], to_seq=end)
            await self._store.add_version(tx, loaded.memory_id, "activated", [*ends])
        return Outcome.RECORDED

    async def reflection(self, attempt: Attempt) -> Outcome:
        """Replace its sources by the buffered reflection; discard it if one of them is no longer live."""
        loaded = attempt.loaded
        async with self._means.database.tx() as tx:
            fenced = await locking_store.fence(tx, attempt.lease, loaded.session_id)
            if fenced is None:
                return Outcome.STALE
            if await reflection_store.discard_ahead(tx, loaded.memory_id):
                return Outcome.DISCARDED
            await reflection_store.activate_reflection(tx, loaded, fenced)
            await self._store.add_version(tx, loaded.memory_id, "reflected", [loaded.session_id])
        return Outcome.RECORDED
