"""The fixture of a session and two processes of the service, within this process, on the tests' database."""

from collections.abc import AsyncIterator

import pytest

from app.kit.db import Database, DatabaseConfig
from tests.fuzz.processes import Process
from tests.fuzz.world import World


@pytest.fixture
async def world(database_url: str) -> AsyncIterator[World]:
    """One session and two processes."""
    database = Database(DatabaseConfig(url=database_url, pool_max=6))
    await database.open()
    processes = [Process(database, number=number) for number in range(2)]
    try:
        yield World(database, processes)
    finally:
        for process in processes:
            await process.close()
        await database.close()
