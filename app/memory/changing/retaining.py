"""Removes messages, and sessions, once they are as old as their retention rule says (docs/decisions/0031).

A sweep looks at a few sessions at a time, in the order of their ids. How far each has come is in the database, so a
process that dies leaves nothing undone, and a second one finds nothing to do. The sweep removes the content of messages
that are covered by notes and no longer shown and, if nothing is to be kept, sessions that were silent for as long. Ages
are told by the clock that dated the messages, the database's: a process whose clock is ahead removes none early.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import structlog

from app.kit.db import Database, Tx
from app.kit.repeating import Repeated
from app.memory.changing.retaining_store import Expired, Old, RetainingStore
from app.memory.rules import Rules
from app.sessions.deleting import Deleting
from app.sessions.metrics import SessionMetrics
from app.sessions.model import BEFORE_ALL, SearchIndex
from app.sessions.sharing_store import hold_related

log = structlog.get_logger("daybook.retention")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainingConfig:
    """How often to look, at how many sessions, and how many messages one transaction removes at most."""

    sweep_seconds: float = 60.0
    sweep_sessions: int = 1_000
    batch_messages: int = 1_000


class Retaining:
    def __init__(
        self,
        *,
        database: Database,
        store: RetainingStore,
        index: SearchIndex,
        deleting: Deleting,
        service_rules: dict[str, Any],
        now: Callable[[], Awaitable[datetime]],
        config: RetainingConfig,
        metrics: SessionMetrics,
    ) -> None:
        self._database = database
        self._store = store
        self._index = index
        self._deleting = deleting
        self._service_rules = service_rules
        self._now = now
        self._config = config
        self._metrics = metrics
        self._swept = BEFORE_ALL
        self._repeated = Repeated(self.sweep, seconds=config.sweep_seconds, name="daybook-retention", waits_first=True)

    def start(self) -> None:
        self._repeated.start()

    async def stop(self) -> None:
        await self._repeated.stop()

    async def sweep(self) -> int:
        """Look at the next few sessions, and remove what is too old of each. Answers how many had something."""
        rule, now = self._service_rules.get("retention"), await self._now()
        found = await self._store.look(self._swept, self._config.sweep_sessions, rule=rule, now=now)
        for session in found.silent:
            await self._try(self._delete, session, now)
        for session in found.old:
            await self._try(self._expire, session, now)
        self._swept = found.last or BEFORE_ALL
        return len(found.silent) + len(found.old)

    @staticmethod
    async def _try(remove: Callable[[UUID, datetime], Awaitable[None]], session: UUID, now: datetime) -> None:
        try:
            await remove(session, now)
        except asyncpg.LockNotAvailableError:
            log.debug("session_in_use", session=str(session))  # its turn comes with the next look
        except Exception as error:  # noqa: BLE001 - one that fails keeps back no other; it is found again
            log.warning("session_not_expired", session=str(session), error=type(error).__name__)

    async def _delete(self, session: UUID, now: datetime) -> None:
        """Delete the whole session, if it is still silent. What others have of a shared memory stays."""
        async with self._database.tx() as tx:
            await self._store.hurry(tx)
            held = await hold_related(tx, session)
            old = None if held is None else await self._store.lock(tx, session)
            if held is None or old is None or not self._goes(old, now):
                return
            receipt = await self._deleting.forget(tx, old.gone.beside(held.shared))
        await self._deleting.clear(receipt)
        log.info("session_expired", session=old.key, **receipt.rows)
        self._metrics.expired(messages=receipt.rows["messages"], sessions=receipt.sessions)

    def _goes(self, old: Old, now: datetime) -> bool:
        rule = Rules.resolve(self._service_rules, old.config).retention
        return rule is not None and rule.keep == "nothing" and old.silent_since < now - timedelta(days=rule.days)

    async def _expire(self, session: UUID, now: datetime) -> None:
        """Remove messages by the batch, each in a transaction, until none of the session is too old."""
        more = True
        while more:
            async with self._database.tx() as tx:
                old = await self._store.lock(tx, session)
                told = None if old is None else await self._let_go(tx, old, now)
            more = told is not None and told.to_seq - told.from_seq + 1 == self._config.batch_messages
            if old is not None and told is not None:
                log.info("messages_expired", session=old.key, messages=told.messages, to_seq=told.to_seq)
                self._metrics.expired(messages=told.messages, sessions=0)

    async def _let_go(self, tx: Tx, old: Old, now: datetime) -> Expired | None:
        """Remove a batch of messages. None if there is none, or the memory is being rebuilt, or off and shows them."""
        rules = Rules.resolve(self._service_rules, old.config)
        if rules.retention is None or old.rebuilding or not rules.enabled:
            return None
        before = now - timedelta(days=rules.retention.days)
        expired = await self._store.expire(tx, old, before=before, limit=self._config.batch_messages)
        if expired is not None:
            await self._index.forget_messages(tx, old.id, from_seq=expired.from_seq, to_seq=expired.to_seq)
        return expired
