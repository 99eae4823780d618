"""One statement, asked for by several in the same turn of the event loop: one connection, transaction and round trip.

Of a short statement under load that is most of the cost; what is left is its own (docs/decisions/0059-*).
"""

import asyncio
from asyncio import Future, Task
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import asyncpg

from app.kit.db import AWAY, Database, Row, is_away

TOGETHER_MAX: Final = 4  # of one transaction: more save little, and none of them is answered before the last is done


@dataclass(frozen=True, slots=True)
class _Asked:
    arguments: Sequence[Any]
    row: Future[Row | None]


class Together:
    """``statement`` answers one row, waits for no lock of a row, and can be tried again though it was executed.

    So those who are in a transaction of the same hold nobody up, and are in no deadlock.
    """

    def __init__(self, database: Database, statement: str) -> None:
        self._database = database
        self._statement = statement
        self._asked: list[_Asked] = []
        self._sending: set[Task[None]] = set()

    async def row(self, arguments: Sequence[Any]) -> Row | None:
        """What the statement answers to these; None where they are for a statement of their own.

        That is where nobody else asked, where what was asked with them failed, and so all was rolled back, and where
        a transaction names its tenant. Raises what ``is_away`` tells of.
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
        for start in range(0, len(waiting), TOGETHER_MAX):
            batch = waiting[start : start + TOGETHER_MAX]
            if len(batch) == 1:
                batch[0].row.set_result(None)
            else:
                task = asyncio.create_task(self._execute(batch), name="daybook-together")
                self._sending.add(task)
                task.add_done_callback(self._sending.discard)

    async def _execute(self, batch: Sequence[_Asked]) -> None:
        """Whoever breaks off meanwhile has asked nevertheless."""
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
