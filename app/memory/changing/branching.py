"""Branches: new sessions with the messages and the memory that another had at a point (api.md, Sessions).

Rows are copied and no model is called. The branch's first append wakes its memory. A shared memory is not copied: the
branch gets its own, made anew (own_memory_store.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from app.artifacts.branching import ArtifactBranching
from app.kit.db import Database, Row, Tx
from app.kit.errors import FieldError, Invalid, TooLarge
from app.memory import locking_store
from app.memory.changing import branch_store, mending_store
from app.memory.changing.mending import mend
from app.memory.store import MemoryStore
from app.sessions.errors import SessionExists, SessionNotFound
from app.sessions.store import SessionRecord, session_id, session_of
from app.state import store as state_store


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchConfig:
    """``messages_max`` are copied at most; ``timezone`` is the service's."""

    messages_max: int = 200_000
    timezone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request to branch the session ``key`` as ``into``; ``at_seq`` None: with all its messages."""

    tenant: str
    key: str
    into: str
    at_seq: int | None

    @property
    def parent(self) -> UUID:
        return session_id(self.tenant, self.key)

    @property
    def branch(self) -> UUID:
        return session_id(self.tenant, self.into)

    def up_to(self, last_seq: int) -> int:
        return last_seq if self.at_seq is None else self.at_seq

    def taken(self) -> SessionExists:
        return SessionExists.at("/key", f"session '{self.into}' exists already; nothing was copied")


class Branching:
    def __init__(
        self,
        *,
        database: Database,
        memory: MemoryStore,
        artifacts: ArtifactBranching,
        config: BranchConfig,
    ) -> None:
        self._database = database
        self._memory = memory
        self._artifacts = artifacts
        self._config = config

    async def branch(self, *, tenant: str, key: str, into: str, at_seq: int | None) -> SessionRecord:
        """Make session ``into`` of the first ``at_seq`` messages of ``key`` (None: all) and the memory of then.

        Its state is the parent's of now, its artifacts are those of then. Raises SessionNotFound, SessionExists,
        Invalid, TooLarge, Unavailable.
        """
        asked = Asked(tenant=tenant, key=key, into=into, at_seq=at_seq)
        await self._refuse(asked)
        objects = await self._artifacts.copied_objects(asked.parent, at_seq, asked.branch)
        is_made = False
        try:
            async with self._database.tx(of=asked.parent) as tx:
                row = await self._copy(tx, asked, objects)
                is_made = True  # if the commit fails, the database may yet have made it: then the sweep asks it
            return session_of(row)
        finally:
            if not is_made:
                await self._artifacts.clear(objects)

    async def _refuse(self, asked: Asked) -> None:
        """Refuse what would be refused in the end, before objects are copied for it."""
        async with self._database.connection() as connection:
            last_seq, is_taken = await branch_store.look(connection, asked.parent, asked.branch)
        if last_seq is None:
            raise SessionNotFound(asked.key)
        self._check(asked.key, asked.up_to(last_seq), last_seq)
        if is_taken:
            raise asked.taken()

    async def _copy(self, tx: Tx, asked: Asked, objects: Mapping[str, str]) -> Row:
        locked = await branch_store.lock_parent(tx, asked.parent)
        if locked is None:
            raise SessionNotFound(asked.key)
        last_seq, memory = locked
        at_seq = asked.up_to(last_seq)
        self._check(asked.key, at_seq, last_seq)
        shared, timezone = memory != asked.parent, self._config.timezone
        sessions = (asked.parent, asked.branch, asked.into)
        row = await branch_store.copy(tx, *sessions, at_seq=at_seq, shared=shared, timezone=timezone)
        if row is None:
            raise asked.taken()
        await state_store.branch(tx, asked.tenant, asked.key, asked.into)
        await self._artifacts.copy(tx, asked.parent, at_seq, asked.branch, objects)
        await self._mend(tx, asked)
        return row

    async def _mend(self, tx: Tx, asked: Asked) -> None:
        """Repair the branch's log: what was erased since, or is not rebuilt yet, is observed again there too."""
        if await mending_store.has_blank(tx, asked.branch):
            locked = await locking_store.lock(tx, asked.branch, asked.into)
            edits = await mending_store.edits(tx, asked.branch)
            await mend(self._memory, tx, locked, since={asked.branch: 1}, edits=edits, parent=asked.parent)

    def _check(self, key: str, at_seq: int, last_seq: int) -> None:
        if not 0 < at_seq <= last_seq:
            raise Invalid.at("/at_seq", f"session '{key}' has {last_seq} messages, and none is message {at_seq}")
        if at_seq > self._config.messages_max:
            limit = f"{self._config.messages_max} messages (DAYBOOK_SESSIONS__BRANCH_MESSAGES_MAX)"
            raise TooLarge(f"a branch may copy at most {limit}", errors=[FieldError("/at_seq", f"over {limit}")])
