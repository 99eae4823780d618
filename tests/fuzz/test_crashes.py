"""kill -9 after every statement of the memory's work and of the message log: the end is the same as without.

The statements are read from the code, so that one which the scenario does not reach fails. ``make fuzz`` also kills
before each, and at its later runs.
"""

from pathlib import Path

from tests.fuzz.crashes import NAMES, Lanes
from tests.fuzz.crashing import Point

LANES = 6


async def test_a_kill_after_any_statement_shows_nowhere_in_the_end(postgres: str, tmp_path: Path) -> None:
    async with Lanes(postgres, tmp_path, number=LANES) as lanes:
        wrong = await lanes.wrong([Point(name=name) for name in NAMES])

    assert wrong == {}
