"""Writes the search index in the background, so that no append waits for it.

A process remembers the sessions to which it appended, and indexes one once it is quiet, has much to index, or was
searched. A sweep over all sessions, a few at a time, finds what a crash or another process left. Messages that are not
indexed yet are searched all the same (``service.py``), so nothing depends on when this is done.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from math import inf
from typing import NamedTuple
from uuid import UUID

from app.kit.repeating import Repeated
from app.recall.index_store import IndexStore
from app.recall.indexing import entries
from app.sessions.model import BEFORE_ALL

LOOKED_MAX = 500  # sessions whose missing messages the backlog counts


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexConfig:
    """Indexing takes at most ``share`` of a process's time while messages are appended to it, else ``idle_share``.

    ``idle_share`` holds too for a session of which a search found messages not indexed: each search has to read them
    again, which costs more. A batch is of one session, bounded in messages and tokens. A session is indexed
    ``quiet_seconds`` after its last append, or as soon as ``waiting_messages`` wait.
    """

    share: float = 0.03
    idle_share: float = 0.5
    batch_messages: int = 100
    batch_tokens: int = 25_000
    waiting_messages: int = 1_000
    quiet_seconds: float = 5.0
    look_seconds: float = 1.0
    sweep_sessions: int = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexBacklog:
    """Sessions that wait to be indexed, and the messages that the index lacks of the first ``looked`` of them."""

    sessions: int
    looked: int
    messages: int


class Taken(NamedTuple):
    """A session to be indexed. ``searched``: a search found messages of it that are not indexed."""

    session: UUID
    searched: bool


@dataclass(slots=True)
class _Waiting:
    messages: int
    since: float  # of the monotonic clock: the last append


class Indexer:
    def __init__(
        self,
        *,
        store: IndexStore,
        config: IndexConfig,
        on_index: Callable[[UUID], None] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """``on_index`` is called with the session of each batch that was indexed."""
        self._store = store
        self._on_index = on_index
        self._config = config
        self._now = monotonic
        self._waiting: dict[UUID, _Waiting] = {}  # in the order of their last appends
        self._searched: dict[UUID, None] = {}
        self._asked: dict[UUID, None] = {}
        self._hurried = asyncio.Event()
        self._appended_at = -inf  # of the monotonic clock
        self._swept = BEFORE_ALL
        self._repeated = Repeated(self._work, seconds=config.look_seconds, name="daybook-recall-index")

    def start(self) -> None:
        self._repeated.start()

    async def stop(self) -> None:
        await self._repeated.stop()

    def appended(self, session: UUID, messages: int) -> None:
        """Note that so many more messages of the session are to be indexed. Never waits, never fails."""
        known = self._waiting.pop(session, None)
        waiting = messages if known is None else known.messages + messages
        self._appended_at = self._now()
        self._waiting[session] = _Waiting(waiting, self._appended_at)
        if waiting >= self._config.waiting_messages:
            self.ask(session)

    def ask(self, session: UUID, *, searched: bool = False) -> None:
        """Index this session without waiting for it to be quiet; before all others if it was ``searched``."""
        if searched:
            self._searched[session] = None
            self._hurried.set()
        else:
            self._asked[session] = None

    async def backlog(self) -> IndexBacklog:
        """What the index lacks, as far as this process knows."""
        known = [*(self._searched | self._asked | self._waiting)]
        messages = await self._store.lacking(known[:LOOKED_MAX])
        return IndexBacklog(sessions=len(known), looked=min(len(known), LOOKED_MAX), messages=messages)

    async def index(self, session: UUID, *, searched: bool = False) -> int:
        """Index the next messages of a session, up to a batch. Answers how many; 0: there is nothing more to do."""
        most, tokens_max = self._config.batch_messages, self._config.batch_tokens
        last, messages = await self._store.unindexed(session, most, tokens_max=tokens_max)
        if not messages:
            return 0
        made = await asyncio.to_thread(lambda: list(entries(messages, last)))
        added = await self._store.add(session, made)
        if added and self._on_index is not None:
            self._on_index(session)
        if added == most or (added and sum(message.tokens for message in messages) >= tokens_max):
            self.ask(session, searched=searched)
        return added

    async def sweep(self) -> int:
        """Look at the next few sessions, and queue those of which the index lacks messages. Answers how many."""
        found = await self._store.behind(self._swept, self._config.sweep_sessions)
        self._swept = found.last or BEFORE_ALL
        for session in found.behind:
            self.ask(session)
        return len(found.behind)

    async def _work(self) -> None:
        """Index the sessions that wait, then sweep."""
        while (taken := self.take()) is not None:
            share, started = self.share(searched=taken.searched), self._now()
            self._hurried.clear()
            await self.index(taken.session, searched=taken.searched)
            pause = (self._now() - started) * (1 / share - 1)
            await (asyncio.sleep(pause) if taken.searched else self._pause(pause))
        await self.sweep()

    async def _pause(self, seconds: float) -> None:
        """Wait so long, or until a search finds messages that are not indexed."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._hurried.wait()

    def share(self, *, searched: bool) -> float:
        """The share of the time that indexing may take now."""
        is_idle = self._now() - self._appended_at >= self._config.look_seconds
        return self._config.idle_share if searched or is_idle else self._config.share

    def take(self) -> Taken | None:
        """Take the next session to index from those that wait; None: none is to be indexed yet."""
        chosen = next(chain(self._searched, self._asked, self._waiting), None)
        if chosen is None:
            return None
        searched, asked = chosen in self._searched, chosen in self._asked
        if not (searched or asked or self._is_quiet(self._waiting[chosen])):
            return None
        for waiting in (self._searched, self._asked, self._waiting):
            waiting.pop(chosen, None)
        return Taken(chosen, searched)

    def _is_quiet(self, waiting: _Waiting) -> bool:
        return self._now() - waiting.since >= self._config.quiet_seconds
