"""Group commit: executions of one statement that are asked for in one turn of the event loop share a transaction.

They share a connection and a round trip too, most of what a short statement costs under load (docs/decisions/0059-*).
"""

import asyncio
from asyncio import Future, Task
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import asyncpg

from app.kit.db import AWAY, Database, Row, is_away

GROUP_MAX: Final = 4  # in one transaction: more save little, and none is answered before the last is done


@dataclass(frozen=True, slots=True)
class _Asked:
    arguments: Sequence[Any]
    row: Future[Row | None]


class GroupCommit:
    """``statement`` answers one row, is idempotent, and never waits for a row lock: so executions cannot deadlock."""

    def __init__(self, database: Database, statement: str) -> None:
        self._database = database
        self._statement = statement
        self._asked: list[_Asked] = []
        self._sending: set[Task[None]] = set()

    async def row(self, arguments: Sequence[Any]) -> Row | None:
        """The row that the statement answers; None if the caller has to execute it alone.

        It has to if nobody else asked, if another execution failed and all were rolled back, and if each transaction
        has to name its tenant. Raises errors for which ``is_away`` is true.
        """
        if self._database.is_guarded:
            return None
        loop = asyncio.get_running_loop()
        if not self._asked:
            loop.call_soon(self._send)
        asked = _Asked(arguments, loop.create_future())
        self._asked.append(asked)
        return await asked.row

    def _send(self) -> None:
        waiting = [asked for asked in self._asked if not asked.row.done()]
        self._asked = []
        for start in range(0, len(waiting), GROUP_MAX):
            batch = waiting[start : start + GROUP_MAX]
            if len(batch) == 1:
                batch[0].row.set_result(None)
            else:
                task = asyncio.create_task(self._execute(batch), name="daybook-group-commit")
                self._sending.add(task)
                task.add_done_callback(self._sending.discard)

    async def _execute(self, batch: Sequence[_Asked]) -> None:
        """Execute them in one transaction, also for a caller that was cancelled meanwhile."""
        rows: Sequence[Row | None] = [None] * len(batch)
        try:
            async with self._database.connection() as connection:
                rows = await connection.fetchmany(self._statement, [asked.arguments for asked in batch])
        except (asyncpg.PostgresError, ValueError, *AWAY) as error:
            for asked in batch:
                if is_away(error) and not asked.row.done():
                    asked.row.set_exception(error)
        finally:
            for asked, row in zip(batch, rows, strict=True):
                if not asked.row.done():
                    asked.row.set_result(row)
