"""A branch: a new session whose messages and memory are as another's were at a point (api.md, Sessions).

Rows are copied and no model is called. Nothing is done to the branch by itself: its first append wakes its memory. Of a
memory that sessions share nothing is copied: the branch's is its own, and made anew (apart.py).
"""

from dataclasses import dataclass
from uuid import UUID

from app.artifacts.branching import ArtifactBranching
from app.kit.db import Database, Tx
from app.kit.errors import FieldError, Invalid, TooLarge
from app.memory.changing import branch_store
from app.memory.changing.branch_store import Branch
from app.memory.changing.erasing import Mending
from app.memory.changing.erasing_store import ErasingStore
from app.memory.store import MemoryStore
from app.sessions.errors import SessionExists, SessionNotFound
from app.sessions.store import SessionRecord, session_id, session_of
from app.state.store import StateStore


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchConfig:
    """``messages_max`` are copied at most; ``timezone`` is the service's."""

    messages_max: int = 200_000
    timezone: str = "UTC"


class Branching:
    def __init__(
        self,
        *,
        database: Database,
        memory: MemoryStore,
        erasing: ErasingStore,
        state: StateStore,
        artifacts: ArtifactBranching,
        config: BranchConfig,
    ) -> None:
        self._database = database
        self._memory = memory
        self._erasing = erasing
        self._mending = Mending(store=memory, erasing=erasing)
        self._state = state
        self._artifacts = artifacts
        self._config = config

    async def branch(self, *, tenant: str, key: str, into: str, at_seq: int | None) -> SessionRecord:
        """Make session ``into`` of the first ``at_seq`` messages of another (None: of all) and what was made of them.

        Its state is the parent's of now, its artifacts are those of then. Raises SessionNotFound, SessionExists,
        Invalid, TooLarge, Unavailable.
        """
        parent, branch_id = session_id(tenant, key), session_id(tenant, into)
        objects = await self._artifacts.copied_objects(parent, at_seq, branch_id)
        async with self._database.tx(of=parent) as tx:
            locked = await branch_store.lock_parent(tx, parent)
            if locked is None:
                raise SessionNotFound(key)
            last_seq, memory = locked
            wanted = last_seq if at_seq is None else at_seq
            self._check(key, wanted, last_seq)
            branch = Branch(parent=parent, id=branch_id, key=into, at_seq=wanted)
            row = await branch_store.copy(tx, branch, shared=memory != parent, timezone=self._config.timezone)
            if row is None:
                raise SessionExists.at("/key", f"session '{into}' exists already; nothing was copied")
            await self._state.branch(tx, tenant, key, into)
            await self._artifacts.copy(tx, parent, wanted, branch_id, objects)
            await self._mend(tx, branch_id)
            return session_of(row)

    async def _mend(self, tx: Tx, session: UUID) -> None:
        """What was erased since, or is not made good yet, is live in no branch: it is observed again there too."""
        if not await self._erasing.has_blank(tx, session):
            return
        locked = await self._memory.lock(tx, session)
        if locked is not None:
            await self._mending.mend(tx, locked, since={session: 1})

    def _check(self, key: str, at_seq: int, last_seq: int) -> None:
        if not 0 < at_seq <= last_seq:
            raise Invalid.at("/at_seq", f"session '{key}' has {last_seq} messages, and none is message {at_seq}")
        if at_seq > self._config.messages_max:
            limit = f"{self._config.messages_max} messages (DAYBOOK_SESSIONS__BRANCH_MESSAGES_MAX)"
            raise TooLarge(f"a branch copies at most {limit}", errors=[FieldError("/at_seq", f"over {limit}")])
