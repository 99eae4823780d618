"""Who waits for one thing, and for how long."""

import asyncio

import pytest

from app.kit.queueing import Queues


async def test_so_many_are_at_one_thing_and_the_others_come_in_their_order() -> None:
    queues, came, go_on = Queues(at_once_max=2, seconds=60), asyncio.Queue[int](), asyncio.Event()

    async def act(number: int) -> None:
        async with queues.turn("a"):
            came.put_nowait(number)
            await go_on.wait()

    async with asyncio.TaskGroup() as group:
        for number in range(5):
            group.create_task(act(number))
        first = [await came.get(), await came.get()]
        async with queues.turn("b"):
            assert came.empty()
        go_on.set()
    assert first + [came.get_nowait() for _ in range(3)] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(("seconds", "caller_seconds"), [(0.01, 60), (60, 0.01)])
async def test_who_waits_too_long_or_breaks_off_leaves_the_queue_as_it_was(
    seconds: float, caller_seconds: float
) -> None:
    queues = Queues(at_once_max=1, seconds=seconds)
    async with queues.turn("a"):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(caller_seconds), queues.turn("a"):
                raise AssertionError
        assert list(queues._queues) == ["a"]
    assert not queues._queues
    async with queues.turn("a"):
        assert list(queues._queues) == ["a"]
