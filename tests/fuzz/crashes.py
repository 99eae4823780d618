"""Runs the scenario with deaths in it, several at once, and compares where it ends with where it ends without."""

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

# What no service executes; each is a transaction by itself, or an import is one.
OF_COMMANDS = frozenset({"redrive", "insert_key", "revoke_key", "import_rows", "import_due"}) | {
    "import_artifact",
    "import_deleted_artifact",
}
BEHIND = frozenset({"touch_keys"})  # of no request: what a death loses of it is when a key was last used
START_SECONDS = 60.0
Outline = dict[str, Any]

# What differs between two runs in which the same happened: who tried how often and when, and ids from sequences.
OWN_TABLES = frozenset({"runs", "spending", "tenant_spending"})
OWN_COLUMNS = frozenset({"lease_epoch", "usage", "retired_by", "replaced_by", "sources"})


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """Where a run ended, and how many deaths it died.

    ``steps`` are the statements made until the last step, in their order, ``statements`` all before the last life.
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
        self._emptying = Emptying(url)
        self._folder = folder
        self._scripts = {"faulty": folder / "faulty.json", "sound": folder / "sound.json"}
        self._scripts["faulty"].write_text(json.dumps(scenario.FAULTY), encoding="utf-8")
        self._scripts["sound"].write_text(json.dumps(scenario.SOUND), encoding="utf-8")
        self._planned = deque[Point]()
        self._client = httpx.AsyncClient()
        self._pid = 0

    async def run(self, *deaths: Point) -> End:
        """The scenario from an empty database to its end; the first life dies the first death, and so on."""
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
        """The steps as a client makes them that tries again; what died is started again by its supervisor."""
        for _ in range(len(self._planned) + 1):
            with contextlib.suppress(httpx.TransportError):
                for step in steps:
                    await step(self._client)
                return
            await self._begin()
        for step in steps:
            await step(self._client)

    async def _begin(self, *, faulty: bool = False) -> None:
        """The next life, which dies the next death that is planned; with faults where that needs them."""
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
        """Where it listens; "" until it does."""
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
    """What is the same however often a service died, with every law checked: all but ids, times and what failed."""
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
    """How many messages have no row there yet, of what search is made of in the background."""
    async with database.connection() as connection:
        found: int = await connection.fetchval(
            "SELECT count(*) FROM messages m WHERE NOT EXISTS"  # noqa: S608 - our own table names
            f" (SELECT FROM {table} t WHERE t.session_id = m.session_id AND t.seq = m.seq)"
        )
    return found


async def _rows(database: Database, table: str) -> list[dict[str, Any]]:
    """All rows, in a fixed order, without ``OWN_COLUMNS`` and sequences; of a time only whether there is one."""
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
    """The lines that are there on one side only."""
    before, after = (pformat(side, width=200).splitlines() for side in (was, now))
    return "\n".join(line for line in unified_diff(before, after, lineterm="", n=0))


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
        """The scenario on the next lane that is free."""
        lane = await self._lanes.get()
        try:
            return await lane.run(*deaths)
        finally:
            self._lanes.put_nowait(lane)

    async def wrong(
        self, expected: End, lives: Iterable[Sequence[Point]], *, told: Callable[[str], None] = lambda _: None
    ) -> dict[str, str]:
        """The runs in which deaths show in the end, each with what differs; ``told`` hears of the progress."""
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
    """The statements of the code that write."""
    return [name for name in writes(PROJECT / "app") if name not in OF_COMMANDS | BEHIND]


def unreached(end: End) -> list[str]:
    """The statements of the code that write, and that the scenario does not reach."""
    return [name for name in written() if name not in end.statements]


BACKGROUND = frozenset({"index_messages", "write_vectors"})  # what no step waits for


def dealt(end: End, *, runs: int) -> list[list[Point]]:
    """A death after every statement that writes, and after a commit, spread over so many runs.

    In a run the one comes first whose last chance passes first: so no life begins too late for its death. What can be
    met before the last step, which is cut short at a moment of its own, is met there. What no step waits for comes
    before all: it may be later than in the run that nothing disturbed.
    """
    last = {name: number for number, name in enumerate(end.steps)} | dict.fromkeys(BACKGROUND, -1)
    met = sorted({*written(), "commit"} & {*end.statements})
    order = sorted(met, key=lambda name: last.get(name, len(end.steps)))
    return [[Point(name=name) for name in order[number::runs]] for number in range(runs)]


def single(end: End, *, number_max: int) -> list[list[Point]]:
    """One death a run: before and after each of the first so many of each statement, reads too."""
    made = Counter(end.statements)
    return [
        [Point(name=name, number=number, after=after)]
        for name in made
        for number in range(1, min(made[name], number_max) + 1)
        for after in (False, True)
    ]
