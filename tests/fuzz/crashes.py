"""Runs the scenario with one death each, several at once, and compares where it ends with where it ends without."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from difflib import unified_diff
from pathlib import Path
from pprint import pformat
from types import TracebackType
from typing import Any, Self

import asyncpg
import httpx2 as httpx

from app.kit.db import Database, DatabaseConfig
from app.sessions.store import session_id
from tests.conftest import TABLES, _clone, _database
from tests.fuzz import laws, scenario
from tests.fuzz.crashing import Life, Point
from tests.fuzz.statements import names
from tests.journeys.looks import until
from tests.journeys.processes import PROJECT, free_port, surroundings

APP = PROJECT / "app"
FLOORS = ("memory", "sessions")  # all that writes
NAMES = ["begin", "commit", *names(*(file for floor in FLOORS for file in sorted((APP / floor).glob("*.py"))))]
NEVER_REACHED = "the scenario does not reach it"
Outline = dict[str, Any]


class Zygote:
    """The process that the services are forked from."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.crashing"],
            cwd=PROJECT,
            env=surroundings({}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._one = asyncio.Lock()

    async def start(self, life: Life) -> int:
        """Begin a life; answers its pid."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        async with self._one:
            self._process.stdin.write(life.line())
            self._process.stdin.flush()
            return int(await asyncio.to_thread(self._process.stdout.readline))

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


class Lane:
    """One database, and the services that live and die on it one after the other."""

    def __init__(self, zygote: Zygote, url: str, folder: Path) -> None:
        self._zygote = zygote
        self._url = url
        self._marker = folder / "died"
        self._scripts = {"faulty": folder / "faulty.json", "sound": folder / "sound.json"}
        self._scripts["faulty"].write_text(json.dumps(scenario.FAULTY), encoding="utf-8")
        self._scripts["sound"].write_text(json.dumps(scenario.SOUND), encoding="utf-8")
        self._pid = 0

    async def run(self, point: Point | None) -> tuple[Outline, bool]:
        """The scenario from an empty database to its end; answers that, and whether the point was reached."""
        await self._empty()
        self._marker.unlink(missing_ok=True)
        client = await self._begin("faulty", point)
        try:
            for step in scenario.STEPS:
                client = await self._insist(step, client)
            await self._end(signal.SIGTERM)
            await client.aclose()
            client = await self._begin("sound", None)
            await scenario.ask("redrive", client)
            return await self._outline(client), self._marker.exists()
        finally:
            await client.aclose()
            await self._end(signal.SIGKILL)

    async def _insist(self, step: scenario.Step, client: httpx.AsyncClient) -> httpx.AsyncClient:
        """The step as a client makes it that tries again; what died is started again by its supervisor."""
        try:
            await step(client)
        except httpx.TransportError:
            await client.aclose()
            client = await self._begin("sound", None)
            await step(client)
        return client

    async def _begin(self, script: str, point: Point | None) -> httpx.AsyncClient:
        await self._end(signal.SIGKILL)
        port = free_port()
        reflector = {"provider": "scripted", "model": str(self._scripts[script])}
        settings = {**scenario.SETTINGS, "reflector": reflector}
        life = Life(url=self._url, port=port, settings=settings, marker=str(self._marker), dies_at=point)
        self._pid = await self._zygote.start(life)
        client = httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60)
        await until(lambda: self._answers(client), bool, seconds=30)
        return client

    async def _answers(self, client: httpx.AsyncClient) -> bool:
        with contextlib.suppress(httpx.TransportError):
            return (await client.get("/healthz")).status_code == httpx.codes.OK
        return not self._alive()

    def _alive(self) -> bool:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, 0)
            return True
        return False

    async def _end(self, how: signal.Signals) -> None:
        if self._pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, how)

            async def gone() -> bool:
                return not self._alive()

            await until(gone, bool)
            self._pid = 0

    async def _empty(self) -> None:
        connection = await asyncpg.connect(self._url)
        for table in TABLES:
            await connection.execute(f"DELETE FROM {table}")  # noqa: S608 - our own table names
        await connection.close()

    async def _outline(self, client: httpx.AsyncClient) -> Outline:
        """What is the same however often a service died: all but ids, times and what failed."""
        database = Database(DatabaseConfig(url=self._url, pool_min=1, pool_max=1))
        await database.open()
        try:
            facts = await laws.read_facts(database, session_id("default", scenario.KEY))
        finally:
            await database.close()
        assert facts is not None
        laws.check(facts, None)
        log = (await client.get(f"{scenario.SESSION}/memory/log")).json()
        memory = (await client.get(f"{scenario.SESSION}/memory")).json()
        return {
            "messages": [(row["id"], row["seq"], row["tokens"]) for row in facts.messages],
            "observations": _rows(facts.observations, "from_seq to_seq status text born_version retired_version"),
            "reflections": _rows(facts.reflections, "from_seq to_seq status text born_version retired_version level"),
            "causes": [row["cause"] for row in facts.versions],
            "counters": {name: size for name, size in facts.memory.items() if name.endswith("_tokens")},
            "idle": (memory["status"], memory["attempts"], memory["last_error"], memory["lease"]),
            "cursor": memory["cursor"],
            "coverage": [(one["from"], one["to"], one["by"].split(":")[0]) for one in memory["coverage"]["intervals"]],
            "log": log["text"],
        }


def _difference(now: Any, was: Any) -> str:
    """The lines that are there on one side only."""
    before, after = (pformat(side, width=200).splitlines() for side in (was, now))
    return "\n".join(line for line in unified_diff(before, after, lineterm="", n=0))


def _rows(rows: Iterable[laws.Row], columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in columns.split()) for row in rows]


class Lanes:
    """Several lanes side by side on one server."""

    def __init__(self, server: str, folder: Path, *, number: int) -> None:
        self._server = server
        self._folder = folder
        self._number = number
        self._zygote = Zygote()
        self._lanes: asyncio.Queue[Lane] = asyncio.Queue()

    async def __aenter__(self) -> Self:
        for number in range(self._number):
            name = f"daybook_crash_{os.getpid()}_{number}"
            await _clone(self._server, name)
            folder = self._folder / name
            folder.mkdir()
            self._lanes.put_nowait(Lane(self._zygote, _database(self._server, name), folder))
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._zygote.close()

    async def wrong(self, points: Sequence[Point], *, told: Callable[[str], None] | None = None) -> dict[Point, str]:
        """The points at which a death shows in the end, each with what differs; ``told`` hears of the progress."""
        expected, _ = await self._run(None)
        found: dict[Point, str] = {}
        judging = [self._judged(point, expected) for point in points]
        for done, judged in enumerate(asyncio.as_completed(judging), start=1):
            point, how = await judged
            found |= {point: how} if how else {}
            if told is not None:
                told(f"{done}/{len(points)} deaths, {len(found)} differ or were not reached")
        return found

    async def _judged(self, point: Point, expected: Outline) -> tuple[Point, str]:
        try:
            outline, reached = await self._run(point)
        except AssertionError as error:
            return point, f"{error}"[:2_000] or "a law is broken"
        told = [f"{name}: {_difference(outline[name], was)}" for name, was in expected.items() if outline[name] != was]
        return point, "; ".join(told) if reached else NEVER_REACHED

    async def _run(self, point: Point | None) -> tuple[Outline, bool]:
        lane = await self._lanes.get()
        try:
            return await lane.run(point)
        finally:
            self._lanes.put_nowait(lane)
