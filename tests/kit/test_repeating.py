import asyncio

import pytest

from app.kit.errors import Unavailable
from app.kit.repeating import Repeated


class Work:
    """Fails as it is told, then goes on until it was done ``times`` times; then ``done``."""

    def __init__(self, *failures: BaseException, times: int = 1) -> None:
        self._failures = list(failures)
        self._left = times
        self.done = asyncio.Event()

    async def __call__(self) -> None:
        if self._failures:
            raise self._failures.pop(0)
        self._left -= 1
        if self._left == 0:
            self.done.set()


async def test_repeated_work_is_done_again_and_again() -> None:
    work = Work(times=3)
    repeated = Repeated(work, seconds=0, name="work")
    repeated.start()
    await asyncio.wait_for(work.done.wait(), 60)
    await repeated.stop()


@pytest.mark.parametrize("error", [Unavailable("It is away."), ConnectionError(), KeyError("x")])
async def test_no_failure_ends_it(error: Exception) -> None:
    work = Work(error, error)
    repeated = Repeated(work, seconds=0, name="work")
    repeated.start()
    await asyncio.wait_for(work.done.wait(), 60)
    await repeated.stop()


async def test_what_waits_first_does_nothing_at_the_start() -> None:
    work, other = Work(), Work()
    waiting = Repeated(work, seconds=3_600, name="waits", waits_first=True)
    beside = Repeated(other, seconds=3_600, name="does not")
    waiting.start()
    beside.start()
    await asyncio.wait_for(other.done.wait(), 60)
    assert not work.done.is_set()
    await asyncio.gather(waiting.stop(), beside.stop())


async def test_the_owner_of_repeated_work_ends_it_also_before_its_start() -> None:
    repeated = Repeated(Work(), seconds=3_600, name="work")
    await repeated.stop()
    repeated.start()
    assert "work" in {task.get_name() for task in asyncio.all_tasks()}
    await repeated.stop()
    assert "work" not in {task.get_name() for task in asyncio.all_tasks()}


async def test_work_that_answers_its_cancelling_with_a_time_out_ends_too() -> None:
    """As where a connection is given back whose server hangs."""
    begun = asyncio.Event()

    async def work() -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise TimeoutError from None

    repeated = Repeated(work, seconds=3_600, name="work")
    repeated.start()
    await begun.wait()
    await asyncio.wait_for(repeated.stop(), 10)
