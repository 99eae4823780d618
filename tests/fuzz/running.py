"""Binds the state machine to a database."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis import Phase

from app.kit.db import Database, DatabaseConfig
from tests.fuzz.engine_laws import EngineLaws
from tests.fuzz.processes import Process

PROCESSES = 3
PHASES = (Phase.generate, Phase.shrink)  # not explain, which repeats a failing history many times


@contextmanager
def machine(url: str) -> Iterator[type[EngineLaws]]:
    """The state machine on this database, with processes that all its runs share."""
    database = Database(DatabaseConfig(url=url, pool_min=2, pool_max=12))
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as own:  # with a factory it leaves the tests' loop alone
        own.run(database.open())
        workers = [Process(database, number=number) for number in range(PROCESSES)]

        class OnDatabase(EngineLaws):
            runner = own
            parts = (database, workers)

        try:
            yield OnDatabase
        finally:
            for worker in workers:
                own.run(worker.close())
            own.run(database.close())
