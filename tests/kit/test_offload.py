import asyncio
import threading
from dataclasses import dataclass, field

import pytest

from app.kit.offload import REST_FACTOR, REST_SECONDS_MAX, Lane, aside, others_seconds


@dataclass
class Process:
    """A process of which the clock and the work of others are told. A sleep is taken at once."""

    now: float = 100.0
    others: float = 0.0
    slept: list[float] = field(default_factory=list)

    def lane(self) -> Lane:
        return Lane(others=lambda: self.others, monotonic=lambda: self.now, sleep=self.sleep)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def works(self, seconds: float, *, beside: float) -> None:
        self.now += seconds
        self.others += beside


@pytest.mark.parametrize(("beside", "rested"), [(0.0, 0.0), (0.01, REST_FACTOR * 0.01), (5.0, REST_SECONDS_MAX)])
def test_it_rests_after_others_had_to_compute_beside_it(beside: float, rested: float) -> None:
    process = Process()
    lane = process.lane()
    lane.run(lambda: process.works(10.0, beside=beside))
    lane.run(lambda: None)
    assert process.slept == pytest.approx([0.0, rested])


def test_what_comes_later_than_the_rest_does_not_wait() -> None:
    process = Process()
    lane = process.lane()
    lane.run(lambda: process.works(1.0, beside=0.1))
    process.now += REST_FACTOR * 0.1
    lane.run(lambda: None)
    assert process.slept == pytest.approx([0.0, 0.0])


def test_what_fails_is_told_and_rested_from_all_the_same() -> None:
    process = Process()
    lane = process.lane()

    def fails() -> None:
        process.works(1.0, beside=0.1)
        raise LookupError

    with pytest.raises(LookupError):
        lane.run(fails)
    lane.run(lambda: None)
    assert process.slept == pytest.approx([0.0, REST_FACTOR * 0.1])


def test_the_work_of_this_thread_is_not_that_of_others() -> None:
    before = others_seconds()
    sum(range(1_000_000))
    ended = threading.Thread(target=sum, args=(range(2_000_000),))
    alone = others_seconds() - before
    ended.start()
    ended.join()
    assert others_seconds() - before > alone


async def test_one_comes_after_the_other_off_the_event_loop() -> None:
    at_work: list[int] = []

    def work(number: int, *, fails: bool = False) -> tuple[int, int]:
        at_work.append(number)
        assert at_work == [number]
        at_work.remove(number)
        if fails:
            raise LookupError(number)
        return number, threading.get_ident()

    done = await asyncio.gather(*(aside(work, number) for number in range(20)))
    assert [number for number, _ in done] == list(range(20))
    assert {thread for _, thread in done} - {threading.get_ident()} == {done[0][1]}
    with pytest.raises(LookupError):
        await aside(work, 20, fails=True)
