"""The run: measures capacity, then loads the service with half of it during the incidents, then reads all sessions.

The memory works when requests leave it time, so at full speed it falls behind. So capacity is the turns divided by the
time until the work that they cause is done too.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.soak.callers import Heard, Plan, Turn, run
from benchmarks.soak.ground import Ground
from benchmarks.soak.keeping import drained, kept
from benchmarks.soak.laws import Kept
from benchmarks.soak.schedule import Schedule
from benchmarks.soak.watching import Sample, watch
from tests.journeys.test_load import misbehave
from tests.model_server import ModelServer

CALLERS = 32
SHARE = 0.5  # of the capacity
FAULT_EVERY = 10  # calls of the model


@dataclass(frozen=True, slots=True, kw_only=True)
class Soaked:
    """The results. ``turns`` and ``samples`` are of the steady load; their times count from its begin."""

    capacity: float  # turns per second, including the memory's work
    rate: float
    turns: Sequence[Turn]
    samples: Sequence[Sample]
    told: dict[str, int]
    kept: dict[str, Kept]
    retries: int
    wrong: Sequence[str]
    calls: int
    faults: dict[str, int]
    due: int
    drained_seconds: float


async def soaked(
    ground: Ground,
    dsn: str,
    models: ModelServer,
    sender: ProcessPoolExecutor,
    when: Schedule,
    on_progress: Callable[[str], None],
) -> Soaked:
    async def load(prefix: str, seconds: float, rate: float | None) -> Heard:
        plan = Plan(port=ground.port, prefix=prefix, callers=CALLERS, seconds=seconds, rate=rate)
        return await asyncio.get_running_loop().run_in_executor(sender, run, plan)

    samples: list[Sample] = []
    async with _meanwhile(misbehave(models, every=FAULT_EVERY), watch(ground, dsn, samples)):
        on_progress("capacity")
        fast = await load("fast-", when.capacity, None)
        await drained(ground.service, dsn, left=CALLERS)
        capacity = len(fast.turns) / (time.monotonic() - fast.began)
        incidents = asyncio.create_task(_happen(ground, when, on_progress))
        steady = await load("steady-", when.steady, capacity * SHARE)
        await incidents
    models.release()
    on_progress("the work that is left")
    due, seconds = await drained(ground.service, dsn)
    told = fast.told | steady.told
    on_progress("reading all sessions")
    return Soaked(
        capacity=capacity,
        rate=capacity * SHARE,
        turns=[Turn(turn.at - steady.began, turn.milliseconds) for turn in steady.turns],
        samples=[replace(one, at=one.at - steady.began) for one in samples if one.at >= steady.began],
        told=told,
        kept=await kept(ground.service, told),
        retries=fast.retries + steady.retries,
        wrong=fast.wrong + steady.wrong,
        calls=len(models.requests),
        faults=dict(Counter(one.fault.value for one in models.requests if one.fault)),
        due=due,
        drained_seconds=seconds,
    )


async def _happen(ground: Ground, when: Schedule, on_progress: Callable[[str], None]) -> None:
    began = time.monotonic()
    on_progress("steady load")
    for at, incident in when.incidents:
        await asyncio.sleep(began + at - time.monotonic())
        on_progress(incident)
        await ground.befall(incident)


@asynccontextmanager
async def _meanwhile(*works: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run endless tasks beside the block; one that fails ends the block."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work) for work in works]
        yield
        for task in tasks:
            task.cancel()
