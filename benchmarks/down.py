"""Measures the latency of appends and contexts while the observer is down: ``python -m benchmarks.down``.

Phases with a healthy model (A) and with one whose calls hang until their time-out (B) alternate in one run, so that
other load on the machine affects both. Each phase has sessions of its own and the same conversation. At the end of a
phase B the lag is read from ``/memory``; then the model returns, and the time until every memory has caught up by
itself is measured.
"""

import asyncio
import time
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.timing import Timings, save, show, show_compared
from tests.databases import own_server
from tests.journeys.looks import Json, until
from tests.journeys.processes import Running, process
from tests.journeys.talk import plain_talk
from tests.model_server import Fault, ModelServer

HEALTHY, DOWN = "healthy", "down"
SETTINGS = {
    "DAYBOOK_PROVIDER": "anthropic",
    "DAYBOOK_MEMORY__MESSAGE_TOKENS": "2000",
    "DAYBOOK_MEMORY__MESSAGE_BUDGET": "8000",
    "DAYBOOK_LLM__TIMEOUT_SECONDS": "5",
    "DAYBOOK_LOG_LEVEL": "error",
}
TURN = 2  # messages
CATCH_UP_SECONDS = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lag:
    """The state of a session's memory at the end of a phase, and how long it then took to catch up."""

    status: str
    attempts: int
    last_error: str | None
    pending_messages: int
    pending_tokens: int
    caught_up_after_seconds: float


async def converse(service: Running, key: str, phase: str, timings: Timings, *, seconds: float) -> None:
    """Append a turn and get the context, repeatedly."""
    talk = plain_talk(10_000)
    end = time.monotonic() + seconds
    for start in range(0, len(talk), TURN):
        if time.monotonic() >= end:
            return
        await timings.timed(phase, "append", service.append(key, *talk[start : start + TURN]))
        await timings.timed(phase, "context", service.context(key, format="anthropic"))


async def caught_up(service: Running, key: str) -> Json:
    """``/memory`` once it is idle and has observed something, without a request to do so."""

    def done(memory: Json) -> bool:
        return bool(memory["status"] == "idle" and memory["cursor"]["observed_seq"] > 0)

    return await until(lambda: service.memory(key), done, seconds=CATCH_UP_SECONDS)


async def phase_of(
    service: Running, models: ModelServer, phase: str, keys: list[str], timings: Timings, *, seconds: float
) -> list[Lag]:
    models.always = Fault.HANG if phase == DOWN else None
    await asyncio.gather(*(converse(service, key, phase, timings, seconds=seconds) for key in keys))
    at_end = [await service.memory(key) for key in keys]
    models.always = None
    returned = time.monotonic()
    models.release()
    lags = []
    for key, memory in zip(keys, at_end, strict=True):
        await caught_up(service, key)
        lags.append(_lag(memory, time.monotonic() - returned))
    return lags


def _lag(memory: Json, seconds: float) -> Lag:
    error = memory["last_error"]
    return Lag(
        status=memory["status"],
        attempts=memory["attempts"],
        last_error=error and error["kind"],
        pending_messages=memory["pending"]["messages"],
        pending_tokens=memory["pending"]["tokens"],
        caught_up_after_seconds=seconds,
    )


async def measure(dsn: str, *, rounds: int, sessions: int, seconds: float) -> dict[str, Any]:
    timings, lags = Timings(), list[Lag]()
    with ModelServer() as models:
        environment = {**models.environment(), **SETTINGS, "DAYBOOK_DATABASE_URL": dsn}
        async with process(environment) as service:
            await converse(service, "warm-up", "warm-up", timings, seconds=seconds / 4)
            for number, phase in product(range(rounds), (HEALTHY, DOWN)):
                keys = [f"{phase}-{number}-{session}" for session in range(sessions)]
                found = await phase_of(service, models, phase, keys, timings, seconds=seconds)
                lags += found if phase == DOWN else []
    return figures(timings, lags)


def figures(timings: Timings, lags: list[Lag]) -> dict[str, Any]:
    latency = {operation: timings.compared(operation, HEALTHY, DOWN) for operation in ("append", "context")}
    return {"latency": latency, "lag": [asdict(lag) for lag in lags]}


def main(
    rounds: Annotated[int, typer.Option(help="of one phase each")] = 3,
    sessions: Annotated[int, typer.Option(help="conversations at once")] = 4,
    seconds: Annotated[float, typer.Option(help="of a phase")] = 10.0,
    json: Annotated[Path | None, typer.Option(help="where to write the figures")] = None,
) -> None:
    """Latency of appends and contexts while the observer is down."""
    with own_server("bench") as dsn:
        found = asyncio.run(measure(dsn, rounds=rounds, sessions=sessions, seconds=seconds))
    show_compared("Latency", found["latency"], HEALTHY, DOWN)
    show("Lag at the end of a phase without a model", list(found["lag"][0]), [lag.values() for lag in found["lag"]])
    save(json, found)


if __name__ == "__main__":
    typer.run(main)
