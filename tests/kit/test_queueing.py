"""Who waits for one thing, and for how long."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kit.errors import Unavailable
from app.kit.queueing import Queues, Shared


async def test_one_thing_has_half_of_the_places_and_the_others_come_in_their_order() -> None:
    queues, came, go_on = Queues(places=5, seconds=60), asyncio.Queue[int](), asyncio.Event()

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


@pytest.mark.parametrize(
    ("places", "taken"), [(10, [5, 2, 1, 1, 0]), (7, [3, 2, 1, 0, 0]), (2, [1, 0, 0, 0, 0]), (1, [1, 0, 0, 0, 0])]
)
async def test_things_that_are_held_up_leave_room_for_the_next(places: int, taken: list[int]) -> None:
    queues = Queues(places=places, seconds=0)
    async with AsyncExitStack() as held:
        assert [await _as_many_as_come(queues, thing, held) for thing in range(5)] == taken


async def _as_many_as_come(queues: Queues, thing: int, held: AsyncExitStack) -> int:
    for number in range(100):
        try:
            await held.enter_async_context(queues.turn(thing))
        except TimeoutError:
            return number
    raise AssertionError


@given(
    places=st.integers(1, 12),
    things=st.lists(st.integers(0, 4), max_size=60),
    patience=st.lists(st.booleans(), min_size=60, max_size=60),
)
def test_whoever_waits_comes_in_the_end_and_the_last_place_is_nobodys(
    places: int, things: list[int], patience: list[bool]
) -> None:
    """Some break off; nobody is passed by another of the same thing."""
    queues, order, at_once, most = Queues(places=places, seconds=60), list[tuple[int, int]](), Counter[int](), [0]

    async def act(thing: int, number: int) -> None:
        async with queues.turn(thing):
            order.append((thing, number))
            at_once[thing] += 1
            most[0] = max(most[0], at_once.total())
            try:
                await asyncio.sleep(0)
            finally:
                at_once[thing] -= 1

    async def all_of_them() -> None:
        acting = [asyncio.create_task(act(thing, number)) for number, thing in enumerate(things)]
        await asyncio.sleep(0)
        for task, patient in zip(acting, patience, strict=False):
            if not patient:
                task.cancel()
        await asyncio.gather(*acting, return_exceptions=True)

    asyncio.run(all_of_them())
    came = {number for _, number in order}
    assert {number for number in range(len(things)) if patience[number]} <= came
    assert most[0] <= max(1, places - 1)
    assert all(_is_sorted([number for thing, number in order if thing == one]) for one in range(5))
    assert not queues._waiting
    assert not queues._taken


def _is_sorted(numbers: list[int]) -> bool:
    return numbers == sorted(numbers)


@pytest.mark.parametrize(
    ("places", "taken"),
    [(100, [50, 25, 13, 6, 3, 2, 1, 0]), (3, [2, 1, 0]), (2, [1, 1, 0]), (1, [1, 0]), (0, [0])],
)
async def test_what_tenants_share_is_used_to_the_last_place_and_none_has_more_than_is_free(
    places: int, taken: list[int]
) -> None:
    shared = Shared(places=places)
    async with AsyncExitStack() as held:
        assert [await _as_many_places(shared, tenant, held) for tenant in range(len(taken))] == taken


async def test_where_none_is_another_s_tenant_all_that_is_shared_can_be_had() -> None:
    shared = Shared(places=5)
    async with AsyncExitStack() as held:
        assert [await _as_many_places(shared, object(), held) for _ in range(6)] == [1] * 5 + [0]


async def _as_many_places(shared: Shared, sharer: object, held: AsyncExitStack) -> int:
    count = 0
    try:
        while count < (1 if type(sharer) is object else 1_000):
            await held.enter_async_context(shared.place(sharer, refusal=Unavailable("no place")))
            count += 1
    except Unavailable:
        pass
    return count


async def test_who_fails_in_a_place_that_is_shared_is_not_taken_for_one_without_a_place() -> None:
    shared = Shared(places=1)
    with pytest.raises(TimeoutError):
        async with shared.place("a", refusal=Unavailable("no place")):
            raise TimeoutError
    async with shared.place("b", refusal=Unavailable("no place")):
        pass


@pytest.mark.parametrize(("seconds", "caller_seconds"), [(0.01, 60), (60, 0.01)])
async def test_who_waits_too_long_or_breaks_off_is_as_if_he_had_not_come(seconds: float, caller_seconds: float) -> None:
    queues = Queues(places=1, seconds=seconds)
    async with queues.turn("a"):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(caller_seconds), queues.turn("a"):
                raise AssertionError
    assert not queues._waiting
    async with asyncio.timeout(1), queues.turn("a"):
        assert list(queues._taken) == ["a"]


async def test_a_place_that_was_taken_for_who_breaks_off_in_that_moment_goes_to_the_next() -> None:
    queues, came = Queues(places=1, seconds=60), asyncio.Queue[int]()

    async def act(number: int) -> None:
        async with queues.turn("a"):
            came.put_nowait(number)

    async with queues.turn("a"):
        first, second = asyncio.create_task(act(1)), asyncio.create_task(act(2))
        await asyncio.sleep(0)
    first.cancel()  # its place was taken, and it does not know yet
    await asyncio.gather(first, second, return_exceptions=True)
    assert first.cancelled()
    assert [came.get_nowait() for _ in range(came.qsize())] == [2]
