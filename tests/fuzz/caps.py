"""Sets the daily caps on spending, lets days pass, and checks that caps hold."""

from collections.abc import Sequence

from app.kit.db import Database
from app.memory.spending import Cap, Caps
from tests.fuzz.model import CALL_TOKENS
from tests.fuzz.processes import SHORT_LEASE, Process

SPENT = "SELECT coalesce(max(tokens), 0) FROM {} WHERE day = (now() AT TIME ZONE 'UTC')::date"
DAY = """
DELETE FROM {0} WHERE day < (now() AT TIME ZONE 'UTC')::date;
UPDATE {0} SET day = day - 1;
"""
PAUSED = "SELECT count(*) FROM memories WHERE paused AND due_at > now() AND lease_owner IS NULL"
MIDNIGHT = "UPDATE memories SET due_at = now() WHERE paused AND due_at IS NOT NULL AND lease_owner IS NULL"


class Purse:
    """The caps of all processes. They are read at a start, so each change restarts every process."""

    def __init__(self, database: Database, processes: Sequence[Process]) -> None:
        self._database = database
        self._processes = processes
        self._highest: dict[str, int | None] = {}  # the highest cap of the day, by the table of its account
        self._before = self._uncounted()

    async def allow(self, caps: Caps) -> None:
        """Set the caps, and resume paused memories, as an engine does that starts."""
        for process in self._processes:
            process.caps = caps
            await process.kill()
        await self._processes[0].queue.resume()
        for table, cap in _caps(caps).items():
            before = self._highest.get(table, 0)
            self._highest[table] = None if before is None or cap.tokens is None else max(before, cap.tokens)

    async def day_passes(self) -> None:
        async with self._database.connection() as connection:
            for table in self._highest:
                await connection.execute(DAY.format(table))
            await connection.execute(MIDNIGHT)
        self._highest = {table: cap.tokens for table, cap in _caps(self._processes[0].caps).items()}

    async def check(self) -> None:
        """No cap is exceeded by more than one call, plus the calls whose reservation had lapsed (docs/decisions/0016).

        A short lease may lapse and be renewed unnoticed, so with one a further call of each process is allowed. Without
        caps no memory is paused.
        """
        lapsed = len(self._processes) if self._processes[0].lease_seconds == SHORT_LEASE else 0
        late = self._uncounted() - self._before + lapsed
        async with self._database.connection() as connection:
            assert self._processes[0].caps.are_set or not await connection.fetchval(PAUSED)
            for table, cap in self._highest.items():
                spent = await connection.fetchval(SPENT.format(table))
                assert cap is None or spent < cap + CALL_TOKENS * (1 + late), f"{table}: {spent} of {cap}"

    def _uncounted(self) -> int:
        return sum(process.uncounted for process in self._processes)


def _caps(caps: Caps) -> dict[str, Cap]:
    return {"spending": caps.session, "tenant_spending": caps.tenant}
