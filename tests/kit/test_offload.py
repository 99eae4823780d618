import asyncio
import os
from functools import partial

from app.kit.offload import aside
from tests.kit.works import PADDING, place


async def test_what_nobody_waits_for_is_done_in_another_process_and_what_is_small_is_not() -> None:
    (much, _), (small, _) = await asyncio.gather(aside(place, PADDING), aside(place))
    assert (much == os.getpid(), small) == (False, os.getpid())


async def test_work_that_nobody_wants_any_more_holds_up_nothing() -> None:
    left = asyncio.create_task(aside(place, PADDING))
    await asyncio.sleep(0)
    left.cancel()
    await asyncio.gather(left, return_exceptions=True)
    assert left.cancelled()
    pid, _ = await aside(place, PADDING)
    assert pid != os.getpid()


async def test_one_comes_after_the_other() -> None:
    answers = await asyncio.gather(*(aside(partial(sorted, [number, 0, *PADDING])) for number in range(1, 20)))
    assert [answer[-1] for answer in answers] == list(range(1, 20))
