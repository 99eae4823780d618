"""Ends sessions when the caller says so or after a long silence; the next message continues the session.

The end makes the session's memory due, so that facts are taken from its messages (api.md, Sessions; docs/facts.md).
"""

from dataclasses import dataclass
from uuid import UUID

import structlog

from app.kit.db import AWAY, Database, Row
from app.kit.repeating import Repeated
from app.sessions import ending_store
from app.sessions.errors import SessionNotFound
from app.sessions.model import BEFORE_ALL, MemoryPort
from app.sessions.store import SessionRecord, session_id, session_of

log = structlog.get_logger("daybook.background")


@dataclass(frozen=True, slots=True, kw_only=True)
class EndingConfig:
    """``ended_after``: seconds without a message that end a session; 0: never.

    Every ``look_seconds`` the next ``look_sessions`` of all sessions, by id, are examined.
    """

    ended_after: float = 86_400.0
    look_seconds: float = 5.0
    look_sessions: int = 500


class Ending:
    def __init__(self, *, database: Database, memory: MemoryPort, config: EndingConfig) -> None:
        self._database = database
        self._memory = memory
        self._config = config
        self._looked = BEFORE_ALL
        self._repeated = Repeated(self.look, seconds=config.look_seconds, name="daybook-ending")

    def start(self) -> None:
        if self._config.ended_after:
            self._repeated.start()

    async def stop(self) -> None:
        await self._repeated.stop()

    async def end(self, tenant: str, key: str) -> SessionRecord:
        """End the session; one that has ended keeps its time. Raises SessionNotFound."""
        row = await self._end(session_id(tenant, key))
        if row is None:
            raise SessionNotFound(key)
        return session_of(row)

    async def look(self) -> int:
        """End those of the next few sessions that were idle for too long. Answers how many were."""
        async with self._database.connection() as connection:
            last, idle = await ending_store.idle(
                connection, self._looked, self._config.look_sessions, seconds=self._config.ended_after
            )
        self._looked = last or BEFORE_ALL
        for session in idle:
            try:
                await self._end(session, idle_seconds=self._config.ended_after)
            except AWAY as error:  # e.g. another holds the lock: a later round finds the session again
                log.warning("session_not_ended", session=str(session), error=type(error).__name__)
        return len(idle)

    async def _end(self, session: UUID, *, idle_seconds: float | None = None) -> Row | None:
        async with self._database.connection(of=session) as connection:
            row = await ending_store.end(connection, session, idle_seconds=idle_seconds)
        if row is not None:
            self._memory.wake(row["memory_id"])
        return row
