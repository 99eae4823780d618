"""kill -9 after every statement that writes: the end is the same as without.

The statements are read from the code, so that a new one which the scenario does not reach fails here; how one is added
is told in scenario.py. Here a service dies several times in a run, and each day has one of the runs, so that each
statement is died after within six days; ``make fuzz`` kills once a run, before and after each statement, reads too,
and at its later runs.
"""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from tests.fuzz.crashes import End, Lanes, dealt, unreached

RUNS, DAYS = 6, 6


@pytest.fixture(scope="module")
async def lanes(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Lanes]:
    async with Lanes(postgres, tmp_path_factory.mktemp("lanes"), number=RUNS // DAYS) as running:
        yield running


@pytest.fixture(scope="module")
async def undisturbed(lanes: Lanes) -> End:
    """Where the scenario ends when nobody dies."""
    return await lanes.run()


async def test_the_scenario_reaches_every_statement_that_writes(undisturbed: End) -> None:
    assert unreached(undisturbed) == []


async def test_deaths_after_statements_that_write_show_nowhere_in_the_end(lanes: Lanes, undisturbed: End) -> None:
    today = datetime.now(tz=UTC).toordinal() % DAYS
    assert await lanes.wrong(undisturbed, dealt(undisturbed, runs=RUNS)[today::DAYS]) == {}
