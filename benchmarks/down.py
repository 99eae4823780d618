"""Whether appends and contexts keep their latency while the observer is down: ``python -m benchmarks.down``.

Phases with a healthy model (A) and with one whose calls hang until their time-out (B) take turns in one run, so that
what else the machine does meets both. Each phase has sessions of its own and the same conversation. At the end of a
phase B ``/memory`` tells the lag; then the model returns, and the time is taken until every memory has caught up,
with nobody asking for it.
"""

import argparse
import asyncio
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.timing import Timings, save, show
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
    """What ``/memory`` tells of a session at the end of a phase, and how long it then took to catch up."""

    status: str
    attempts: int
    last_error: str | None
    pending_messages: int
    pending_tokens: int
    caught_up_after_seconds: float


async def converse(service: Running, key: str, phase: str, timings: Timings, *, seconds: float) -> None:
    """Append a turn, get the context, and again."""
    talk = plain_talk(10_000)
    end = time.monotonic() + seconds
    for start in range(0, len(talk), TURN):
        if time.monotonic() >= end:
            return
        await timings.timed(phase, "append", service.append(key, *talk[start : start + TURN]))
        await timings.timed(phase, "context", service.context(key, format="anthropic"))


async def caught_up(service: Running, key: str) -> Json:
    """``/memory`` once it has nothing to do and has observed something; nobody asks the memory to."""

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
            for number in range(rounds):
                for phase in (HEALTHY, DOWN):
                    keys = [f"{phase}-{number}-{session}" for session in range(sessions)]
                    found = await phase_of(service, models, phase, keys, timings, seconds=seconds)
                    lags += found if phase == DOWN else []
    return figures(timings, lags)


def figures(timings: Timings, lags: list[Lag]) -> dict[str, Any]:
    latency = {
        operation: {phase: timings.summary(phase, operation) for phase in (HEALTHY, DOWN)}
        for operation in ("append", "context")
    }
    for found in latency.values():
        found["ratio"] = {name: found[DOWN][name] / found[HEALTHY][name] for name in ("p50_ms", "p95_ms")}
    return {"latency": latency, "lag": [asdict(lag) for lag in lags]}


def tell(found: dict[str, Any]) -> None:
    rows = [
        [operation, name, values[HEALTHY][name], values[DOWN][name], values["ratio"][name], values[DOWN]["requests"]]
        for operation, values in found["latency"].items()
        for name in ("p50_ms", "p95_ms")
    ]
    show("Latency", ["operation", "", HEALTHY, DOWN, "ratio", "requests (down)"], rows)
    show("Lag at the end of a phase without a model", list(found["lag"][0]), [lag.values() for lag in found["lag"]])


def main() -> int:
    parser = argparse.ArgumentParser(description="Latency of appends and contexts while the observer is down.")
    parser.add_argument("--rounds", type=int, default=3, help="of one phase each")
    parser.add_argument("--sessions", type=int, default=4, help="conversations at once")
    parser.add_argument("--seconds", type=float, default=10.0, help="of a phase")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    asked = parser.parse_args()
    with own_server("bench") as dsn:
        found = asyncio.run(measure(dsn, rounds=asked.rounds, sessions=asked.sessions, seconds=asked.seconds))
    tell(found)
    save(asked.json, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
