"""What was said is removed once it is as old as its session's retention rule says (docs/decisions/0031).

A sweep looks at a few sessions at a time, in the order of their ids; the database says how far each is, so whoever dies
leaves nothing undone, and whoever comes second finds nothing to do. It removes the content of messages that are told
by notes and shown no longer, and where nothing is to be kept, a session in which nothing was said for so long.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog

from app.kit.clock import Clock
from app.kit.db import Database, Tx
from app.kit.repeating import Repeated
from app.memory.retaining_store import Expired, Old, RetainingStore
from app.memory.rules import Rules
from app.sessions.deleting import Deleting, Receipt
from app.sessions.metrics import SessionMetrics
from app.sessions.model import SearchIndex

log = structlog.get_logger("daybook.retention")

FIRST = UUID(int=0)


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
        clock: Clock,
        config: RetainingConfig,
        metrics: SessionMetrics,
    ) -> None:
        self._database = database
        self._store = store
        self._index = index
        self._deleting = deleting
        self._service_rules = service_rules
        self._clock = clock
        self._config = config
        self._metrics = metrics
        self._swept = FIRST
        self._repeated = Repeated(self.sweep, seconds=config.sweep_seconds, name="daybook-retention", waits_first=True)

    def start(self) -> None:
        self._repeated.start()

    async def stop(self) -> None:
        await self._repeated.stop()

    async def sweep(self) -> int:
        """Look at the next few sessions, and remove what is too old of each. Answers how many had something."""
        rule, now = self._service_rules.get("retention"), self._clock.now()
        found = await self._store.look(self._swept, self._config.sweep_sessions, rule=rule, now=now)
        for session in found.found:
            try:
                await self._expire(session, now)
            except Exception as error:  # noqa: BLE001 - one that fails keeps back no other; it is found again
                log.warning("session_not_expired", session=str(session), error=type(error).__name__)
        self._swept = found.last or FIRST
        return len(found.found)

    async def _expire(self, session: UUID, now: datetime) -> None:
        """A batch at a time, each a transaction, until nothing of the session is too old."""
        more = True
        while more:
            async with self._database.tx() as tx:
                old = await self._store.lock(tx, session)
                told = None if old is None else await self._let_go(tx, old, now)
            more = old is not None and self._tell(old, told)

    async def _let_go(self, tx: Tx, old: Old, now: datetime) -> Receipt | Expired | None:
        """The session whole, or a batch of its messages. None of what a memory that is off shows in its place."""
        rules = Rules.resolve(self._service_rules, old.config)
        if rules.retention is None:
            return None
        before = now - timedelta(days=rules.retention.days)
        shared = old.memory_id != old.id  # what others share goes with their resource alone
        if rules.retention.keep == "nothing" and old.last_active_at < before and not shared:
            return await self._deleting.forget(tx, old.gone)
        if old.rebuilding or not rules.enabled:
            return None
        expired = await self._store.expire(tx, old, before=before, limit=self._config.batch_messages)
        if expired is not None:
            await self._index.forget_messages(tx, old.id, from_seq=expired.from_seq, to_seq=expired.to_seq)
        return expired

    def _tell(self, old: Old, told: Expired | Receipt | None) -> bool:
        """What was done, once it is. Answers whether there may be more of the session."""
        match told:
            case Receipt():
                log.info("session_expired", session=old.key, **told.rows)
                self._metrics.expired(messages=told.rows["messages"], sessions=told.sessions)
                return False
            case Expired():
                log.info("messages_expired", session=old.key, messages=told.messages, to_seq=told.to_seq)
                self._metrics.expired(messages=told.messages, sessions=0)
                return told.to_seq - told.from_seq + 1 == self._config.batch_messages
            case None:
                return False
