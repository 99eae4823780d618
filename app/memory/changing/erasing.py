"""Erases a message with everything that was derived from it (api.md, Messages; docs/decisions/0028).

One transaction over the session and its branches. Each memory gets a new version and a new epoch, so that a step that
was shown the message records nothing. The other messages of the erased notes are due to be observed again.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from app.facts import forgetting_store
from app.kit.db import Database, Tx
from app.memory import locking_store
from app.memory.changing import erasing_store, mending_store
from app.memory.changing.mending import mend, untold_since
from app.memory.records import FORGOTTEN
from app.memory.service import MemoryService
from app.memory.store import MemoryStore
from app.sessions import erasing_store as log
from app.sessions.erasing_store import Copy
from app.sessions.metrics import SessionMetrics
from app.sessions.model import Kind, SearchIndex
from app.sessions.store import session_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """A receipt: the keys of the sessions that held the message, the rows that were emptied, by their tables.

    ``rebuilding``: notes are gone that are to be made again of the other messages.
    """

    seq: int
    sessions: tuple[str, ...]
    rows: dict[str, int]
    rebuilding: bool


class Erasing:
    def __init__(
        self,
        *,
        database: Database,
        store: MemoryStore,
        index: SearchIndex,
        memory: MemoryService,
        metrics: SessionMetrics | None = None,
    ) -> None:
        self._database = database
        self._store = store
        self._index = index
        self._memory = memory
        self._metrics = metrics or SessionMetrics()

    async def erase(self, tenant: str, key: str, message_id: str) -> Erased:
        """Erase it in the session and its branches. Idempotent: a repetition is answered the same, with no rows.

        Raises SessionNotFound, MessageNotFound.
        """
        rows: Counter[str] = Counter(messages=0, observations=0, reflections=0, memory_versions=0, runs=0, facts=0)
        rebuilding = False
        async with self._database.tx(of=session_id(tenant, key)) as tx:
            copies = await log.copies(tx, tenant, key, message_id)
            for copy in copies:
                if copy.observe or not copy.erased:
                    rebuilding |= await self._erase(tx, copy, rows)
                elif copy.removed_at is not None:
                    rebuilding |= await self._erase_removed(tx, copy, rows)
        self._wake(copies)
        self._metrics.erased("message")
        keys = tuple(copy.key for copy in copies)
        return Erased(seq=copies[0].seq, sessions=keys, rows=dict(rows), rebuilding=rebuilding)

    async def _erase(self, tx: Tx, copy: Copy, rows: Counter[str]) -> bool:
        """Erase one copy and what was derived from it; adds the emptied rows to ``rows``."""
        locked = await locking_store.lock(tx, copy.session_id, copy.key)
        tainted = await erasing_store.tainted(tx, copy)
        edits = await mending_store.edits(tx, copy.memory_id)
        await log.entomb(tx, copy)
        await self._index.forget_messages(tx, copy.session_id, from_seq=copy.seq, to_seq=copy.seq)
        blanked = await erasing_store.blank(tx, copy.memory_id, place=tainted.place)
        summaries = await erasing_store.blank_summaries(tx, copy)
        outputs = await erasing_store.forget_outputs(tx, copy.memory_id, since=copy.ingested_at)
        facts = await forgetting_store.forget_message(tx, copy.session_id, copy.seq)
        messages = summaries if copy.kind is Kind.SUMMARY else 1 + summaries  # the first of which it is itself
        rows.update(blanked.rows, messages=messages, runs=outputs, facts=facts)
        return await mend(
            self._store,
            tx,
            locked,
            since=untold_since(locked, blanked, {copy.session_id: 1} if summaries else {}),
            edits=edits,
            told=FORGOTTEN if blanked.live else None,
            left_tokens=copy.tokens if tainted.pending else 0,
        )

    async def _erase_removed(self, tx: Tx, copy: Copy, rows: Counter[str]) -> bool:
        """Erase what a summary or an earlier fact tells of a message that retention removed and no note tells of."""
        locked = await locking_store.lock(tx, copy.session_id, copy.key)
        summaries = await erasing_store.blank_summaries(tx, copy)
        facts = await forgetting_store.forget_message(tx, copy.session_id, copy.seq, noted_until=copy.removed_at)
        rows.update(messages=summaries, facts=facts)
        if not summaries:
            return False
        since = untold_since(locked, erasing_store.NOTHING, {copy.session_id: 1})
        return await mend(self._store, tx, locked, since=since)

    def _wake(self, copies: Sequence[Copy]) -> None:
        for copy in copies:
            self._memory.wake(copy.memory_id)
