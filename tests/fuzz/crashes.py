"""Runs the scenario with deaths of the service, several at once, and compares the final state with that without."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import unified_diff
from functools import cache, partial
from pathlib import Path
from pprint import pformat
from types import TracebackType
from typing import Any, Self

import httpx2 as httpx

from app.kit.db import Database, DatabaseConfig
from app.sessions.store import session_id
from tests.databases import TABLES, Emptying, clone
from tests.fuzz import laws, scenario
from tests.fuzz.crashing import DIED, PORT, STATEMENTS, Life, Point
from tests.fuzz.statements import writes
from tests.journeys.looks import until
from tests.journeys.processes import PROJECT, surroundings

# Statements that only commands execute; each is a transaction by itself, or an import is one.
OF_COMMANDS = frozenset({"redrive", "insert_key", "revoke_key", "import_rows", "import_due"}) | {
    "import_artifact",
    "import_deleted_artifact",
}
BEHIND = frozenset({"touch_keys"})  # after a request: a death loses only the time of a key's last use
START_SECONDS = 60.0
Outline = dict[str, Any]

# What differs between two runs with the same outcome: attempts, their times, and ids from sequences.
OWN_TABLES = frozenset({"runs", "spending", "tenant_spending"})
OWN_COLUMNS = frozenset({"lease_epoch", "usage", "retired_by", "replaced_by", "sources"})


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The final state of a run, and its number of deaths.

    ``steps`` are the statements until the last step, in order; ``statements`` all before the last life.
    """

    outline: Outline
    steps: list[str]
    statements: list[str]
    deaths: int


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
        """Start a service; returns its pid."""
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
    """One database, and the services that run on it one after the other."""

    def __init__(self, zygote: Zygote, url: str, folder: Path) -> None:
        self._zygote = zygote
        self._url = url
        self._emptying = Emptying(url)
        self._folder = folder
        self._scripts = {"faulty": folder / "faulty.json", "sound": folder / "sound.json"}
        self._scripts["faulty"].write_text(json.dumps(scenario.FAULTY), encoding="utf-8")
        self._scripts["sound"].write_text(json.dumps(scenario.SOUND), encoding="utf-8")
        self._planned = deque[Point]()
        self._client = httpx.AsyncClient()
        self._pid = 0

    async def run(self, *deaths: Point) -> End:
        """Run the scenario from an empty database to its end; the first life dies at the first point, and so on."""
        await self._emptying()
        (self._folder / STATEMENTS).write_text("", encoding="utf-8")
        self._planned = deque(deaths)
        try:
            await self._begin(faulty=True)
            for step in scenario.STEPS:
                await self._insist(step, scenario.rest)
            steps = self._told()
            await self._insist(scenario.LAST)
            await self._end(signal.SIGTERM)
            told = self._told()
            self._planned.clear()
            await self._begin()
            await self._insist(partial(scenario.ask, "redrive"), scenario.rest)
            return End(
                outline=await outline(self._url, self._client),
                steps=[line for line in steps if line != DIED],
                statements=[line for line in told if line != DIED],
                deaths=told.count(DIED),
            )
        finally:
            await self._client.aclose()
            await self._emptying.close()
            await self._end(signal.SIGKILL)

    def _told(self) -> list[str]:
        return (self._folder / STATEMENTS).read_text(encoding="utf-8").split()

    async def _insist(self, *steps: scenario.Step) -> None:
        """Run the steps as a client with retries; a service that died is restarted, as by its supervisor."""
        for _ in range(len(self._planned) + 1):
            with contextlib.suppress(httpx.TransportError):
                for step in steps:
                    await step(self._client)
                return
            await self._begin()
        for step in steps:
            await step(self._client)

    async def _begin(self, *, faulty: bool = False) -> None:
        """Start the next life, which dies at the next planned point; with model faults if that needs them."""
        await self._end(signal.SIGKILL)
        await self._client.aclose()
        (self._folder / PORT).unlink(missing_ok=True)
        dies_at = self._planned.popleft() if self._planned else None
        faulty = faulty or (dies_at is not None and dies_at.name in scenario.OF_FAULTS)
        script = self._scripts["faulty" if faulty else "sound"]
        settings = {**scenario.SETTINGS, "reflector": {"provider": "scripted", "model": str(script)}}
        life = Life(url=self._url, settings=settings, folder=str(self._folder), dies_at=dies_at)
        self._pid = await self._zygote.start(life)
        port = await until(self._port, bool, seconds=START_SECONDS)
        self._client = httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60)

    async def _port(self) -> str:
        """The port it listens on; "" until it does."""
        with contextlib.suppress(FileNotFoundError):
            return (self._folder / PORT).read_text(encoding="utf-8")
        assert self._alive(), "it ended before it listened"
        return ""

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


async def outline(url: str, client: httpx.AsyncClient) -> Outline:
    """The state that must not depend on deaths: all but ids, times and failures. Checks every law first."""
    database = Database(DatabaseConfig(url=url, pool_min=1, pool_max=1))
    await database.open()
    try:
        facts = await laws.read_facts(database, session_id("default", scenario.KEY))
        assert facts is not None
        laws.check(facts, None)
        for table in ("message_terms", "message_vectors"):
            await until(partial(_lacking, database, table), (0).__eq__)
        tables = {name: await _rows(database, name) for name in TABLES if name not in OWN_TABLES}
    finally:
        await database.close()
    log = (await client.get(f"{scenario.SESSION}/memory/log")).json()
    memory = (await client.get(f"{scenario.SESSION}/memory")).json()
    return tables | {
        "idle": (memory["status"], memory["attempts"], memory["last_error"], memory["lease"]),
        "cursor": memory["cursor"],
        "coverage": [(one["from"], one["to"], one["by"].split(":")[0]) for one in memory["coverage"]["intervals"]],
        "log": log["text"],
    }


async def _lacking(database: Database, table: str) -> int:
    """The number of messages without a row in this table of the search index, which is filled in the background."""
    async with database.connection() as connection:
        found: int = await connection.fetchval(
            "SELECT count(*) FROM messages m WHERE NOT EXISTS"  # noqa: S608 - our own table names
            f" (SELECT FROM {table} t WHERE t.session_id = m.session_id AND t.seq = m.seq)"
        )
    return found


async def _rows(database: Database, table: str) -> list[dict[str, Any]]:
    """All rows, in a fixed order, without ``OWN_COLUMNS`` and sequences, and with all times equal."""
    async with database.connection() as connection:
        columns = await connection.fetch(OWN, table)
        own = {found["name"] for found in columns} | OWN_COLUMNS
        rows = await connection.fetch(f"SELECT * FROM {table}")  # noqa: S608 - our own table names
    told = [{name: _told(value) for name, value in row.items() if name not in own} for row in rows]
    return sorted(told, key=repr)


def _told(value: Any) -> Any:
    return "a time" if isinstance(value, datetime) else value


OWN = """
SELECT column_name AS name FROM information_schema.columns
WHERE table_schema = 'public' AND table_name = $1 AND (is_identity = 'YES' OR column_default LIKE 'nextval(%')
"""


def _difference(now: Any, was: Any) -> str:
    """The lines that only one side has."""
    before, after = (pformat(side, width=200).splitlines() for side in (was, now))
    return "\n".join(line for line in unified_diff(before, after, lineterm="", n=0))


class Lanes:
    """Several concurrent lanes on one server."""

    def __init__(self, server: str, folder: Path, *, number: int) -> None:
        self._server = server
        self._folder = folder
        self._number = number
        self._zygote = Zygote()
        self._lanes: asyncio.Queue[Lane] = asyncio.Queue()

    async def __aenter__(self) -> Self:
        for number in range(self._number):
            name = f"daybook_crash_{os.getpid()}_{number}"
            url = await clone(self._server, name)
            folder = self._folder / name
            folder.mkdir()
            self._lanes.put_nowait(Lane(self._zygote, url, folder))
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._zygote.close()

    async def run(self, *deaths: Point) -> End:
        """Run the scenario on the next free lane."""
        lane = await self._lanes.get()
        try:
            return await lane.run(*deaths)
        finally:
            self._lanes.put_nowait(lane)

    async def wrong(
        self, expected: End, lives: Iterable[Sequence[Point]], *, told: Callable[[str], None] = lambda _: None
    ) -> dict[str, str]:
        """The runs whose final state differs, each with the difference; ``told`` gets the progress."""
        judging = [self._judged(deaths, expected) for deaths in lives]
        found: dict[str, str] = {}
        for done, judged in enumerate(asyncio.as_completed(judging), start=1):
            deaths, how = await judged
            found |= {str(deaths): how} if how else {}
            told(f"{done}/{len(judging)} runs with deaths, {len(found)} differ")
        return found

    async def _judged(self, deaths: Sequence[Point], expected: End) -> tuple[Sequence[Point], str]:
        try:
            end = await self.run(*deaths)
        except AssertionError as error:
            return deaths, f"{error}"[:2_000] or "a law is broken"
        found = [
            f"{name}: {_difference(end.outline[name], was)}"
            for name, was in expected.outline.items()
            if end.outline[name] != was
        ]
        if end.deaths < len(deaths):
            found.append(f"it died {end.deaths} times only: the scenario does not reach the next")
        return deaths, "\n".join(found)


@cache
def written() -> list[str]:
    """The names of the code's writing statements."""
    return [name for name in writes(PROJECT / "app") if name not in OF_COMMANDS | BEHIND]


def unreached(end: End) -> list[str]:
    """The code's writing statements that the scenario does not reach."""
    return [name for name in written() if name not in end.statements]


BACKGROUND = frozenset({"index_messages", "write_vectors"})  # statements that no step waits for


def dealt(end: End, *, runs: int) -> list[list[Point]]:
    """A death after every writing statement, and after a commit, spread over so many runs.

    In a run the deaths are ordered by the last execution of their statement, so that no life begins too late for its
    death. Statements that are executed before the last step, which is interrupted, count until then. Those of
    BACKGROUND come first, because they may be executed later than in the undisturbed run.
    """
    last = {name: number for number, name in enumerate(end.steps)} | dict.fromkeys(BACKGROUND, -1)
    met = sorted({*written(), "commit"} & {*end.statements})
    order = sorted(met, key=lambda name: last.get(name, len(end.steps)))
    return [[Point(name=name) for name in order[number::runs]] for number in range(runs)]


def single(end: End, *, number_max: int) -> list[list[Point]]:
    """One death per run: before and after each of the first executions of each statement, including reads."""
    made = Counter(end.statements)
    return [
        [Point(name=name, number=number, after=after)]
        for name in made
        for number in range(1, min(made[name], number_max) + 1)
        for after in (False, True)
    ]
