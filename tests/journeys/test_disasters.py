"""What happens to real deployments, to real processes: nothing is lost, and the service comes back by itself."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from fcntl import F_SETPIPE_SZ, fcntl
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import asyncpg
import httpx2 as httpx
import pytest

from app.artifacts.objects import open_objects
from tests.connections import listening
from tests.databases import TEMPLATE
from tests.journeys.looks import items, until
from tests.journeys.processes import Running, command, free_port, process
from tests.journeys.talk import plain_talk
from tests.journeys.test_serving import workers_of

PIPE_BYTES = 4096
BACKENDS = "SELECT pid FROM pg_stat_activity WHERE datname = $1"
ASKED = f"{BACKENDS} AND wait_event_type = 'Lock'"
READ_ONLY = "default_transaction_read_only"


@pytest.fixture
async def own_url(postgres: str, worker_url: str) -> AsyncIterator[str]:  # noqa: ARG001 - which makes the template
    """DSN of a migrated database of the test's own, as a role of its own: both may be broken."""
    name = f"daybook_disasters_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"
    connection = await asyncpg.connect(postgres)
    await connection.execute(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
    await connection.execute(f"CREATE ROLE {name} LOGIN SUPERUSER")
    yield postgres.replace("/postgres?", f"/{name}?", 1).replace("postgres@", f"{name}@", 1)
    await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await connection.execute(f"DROP ROLE {name}")
    await connection.close()


# By what is broken: the statements that break it and mend it. Those that work are ended after the first, not after the
# second. {0} is the name of the database and of the role.
TROUBLES = {
    "read-only": (
        f"ALTER DATABASE {{0}} SET {READ_ONLY} = on",
        f"ALTER DATABASE {{0}} RESET {READ_ONLY}",
    ),
    "no login": ("ALTER ROLE {0} NOLOGIN", "ALTER ROLE {0} LOGIN"),
    "closed": ("ALTER DATABASE {0} ALLOW_CONNECTIONS false", "ALTER DATABASE {0} ALLOW_CONNECTIONS true"),
}


async def test_a_database_that_takes_nothing_is_away_and_comes_back(own_url: str, postgres: str) -> None:
    name = own_url.partition("://")[2].partition("@")[0]
    owner = await asyncpg.connect(postgres)
    posted = plain_talk(8 * (len(TROUBLES) + 1))
    environment = {"DAYBOOK_DATABASE_URL": own_url, "DAYBOOK_MIGRATE": "never", "DAYBOOK_WORKERS": "2"}
    async with process(environment) as service:
        told = []
        await service.append("s", *posted[:8])
        for number, (breaks, mends) in enumerate(TROUBLES.values(), start=1):
            await broken(owner, breaks.format(name), name)
            told.append(await service.client.post("/sessions/s/messages", json={"messages": posted[8 * number :][:1]}))
            await owner.execute(mends.format(name))
            await until(partial(is_stored, service, posted[8 * number :][:8]), bool)
        stored = await items(service, "/sessions/s/messages")
        log = service.log
    await owner.close()

    assert [answer.status_code for answer in told] == [503] * len(TROUBLES)
    assert all(int(answer.headers["Retry-After"]) >= 1 for answer in told)
    assert [message["id"] for message in stored] == [message["id"] for message in posted]
    assert "database_away" in log
    assert "Exception in ASGI application" not in log


async def broken(owner: asyncpg.Connection, statement: str, name: str) -> None:
    """What is set counts for new connections only."""
    await owner.execute(statement)
    await owner.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1", name)


async def is_stored(service: Running, messages: list[dict[str, object]]) -> bool:
    answer = await service.client.post("/sessions/s/messages", json={"messages": messages})
    assert answer.status_code in {httpx.codes.CREATED, httpx.codes.SERVICE_UNAVAILABLE}, answer.text
    return answer.is_success


DONE = b"Z\x00\x00\x00\x05I"  # ReadyForQuery outside of a transaction: what was asked is committed


class DeafOnce:
    """A way to the database on which the answer to what has ``word`` in it is lost, once."""

    def __init__(self, dsn: str, word: bytes) -> None:
        (folder,), (port,) = parse_qs(urlsplit(dsn).query)["host"], parse_qs(urlsplit(dsn).query)["port"]
        self._server = f"{folder}/.s.PGSQL.{port}"
        self._word = word
        self._heard: asyncio.StreamWriter | None = None  # who asked with the word
        self.is_lost = False

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_unix_connection(self._server)
        try:
            await asyncio.gather(self._asked(reader, to_server, writer), self._answered(from_server, writer))
        finally:
            to_server.close()

    async def _asked(
        self, reader: asyncio.StreamReader, server: asyncio.StreamWriter, asking: asyncio.StreamWriter
    ) -> None:
        while read := await reader.read(65_536):
            if self._word in read and not self.is_lost:
                self._heard = asking
            server.write(read)
        server.close()

    async def _answered(self, reader: asyncio.StreamReader, asking: asyncio.StreamWriter) -> None:
        while read := await reader.read(65_536):
            if asking is not self._heard:
                asking.write(read)
            elif read.endswith(DONE):
                self.is_lost = True
                break
        asking.close()


@asynccontextmanager
async def by_way_of(way: DeafOnce, dsn: str) -> AsyncIterator[str]:
    parts = urlsplit(dsn)
    async with listening(way.connected) as port:
        yield f"postgresql://{parts.username}@127.0.0.1:{port}{parts.path}"


async def test_where_the_answer_of_the_database_was_lost_nobody_is_told_that_nothing_was_stored(
    database_url: str,
) -> None:
    said = {"id": "m-1", "role": "user", "content": "Seventeen herons stood in the rain."}
    way = DeafOnce(database_url, b"Seventeen herons")
    async with (
        by_way_of(way, database_url) as url,
        process({"DAYBOOK_DATABASE_URL": url, "DAYBOOK_MIGRATE": "never"}) as service,
    ):
        await service.append("s", {"id": "m-0", "role": "user", "content": "Hello."})  # the first makes the session
        lost = await service.client.post("/sessions/s/messages", json={"messages": [said]})
        stored = await items(service, "/sessions/s/messages")
        again = await service.client.post("/sessions/s/messages", json={"messages": [said]})

    assert way.is_lost
    assert (lost.status_code, again.status_code) == (503, 200)
    assert [message["id"] for message in stored] == ["m-0", "m-1"]
    assert "nothing" not in lost.json()["detail"]
    assert "may have been stored or not" in lost.json()["detail"]


@pytest.mark.parametrize("workers", ["1", "2"])
async def test_a_log_that_nobody_reads_any_more_holds_up_neither_requests_nor_the_end(
    database_url: str, workers: str
) -> None:
    """As of a collector that hangs: this pipe takes a page, some 20 lines."""
    read, write = os.pipe()
    fcntl(write, F_SETPIPE_SZ, PIPE_BYTES)
    environment = {"DAYBOOK_DATABASE_URL": database_url, "DAYBOOK_MIGRATE": "never", "DAYBOOK_WORKERS": workers}
    try:
        async with process(environment, log_to=write) as service:
            for _ in range(100):
                await service.context("s")
            service.send(signal.SIGTERM)
            assert await service.ended() == 0
    finally:
        os.close(read)
        os.close(write)


async def serving(service: Running) -> list[int]:
    """The processes that serve, those that were started first, first."""
    return sorted(worker.pid for worker in await asyncio.to_thread(workers_of, service))


async def test_a_worker_that_hangs_keeps_no_other_from_being_replaced_nor_the_service_from_ending(
    database_url: str,
) -> None:
    environment = {
        "DAYBOOK_DATABASE_URL": database_url,
        "DAYBOOK_MIGRATE": "never",
        "DAYBOOK_WORKERS": "2",
        "DAYBOOK_ENGINE__GRACE_SECONDS": "1",
    }
    async with process(environment) as service:
        hanging, killed = await until(partial(serving, service), lambda found: len(found) == 2)
        os.kill(hanging, signal.SIGSTOP)
        os.kill(killed, signal.SIGKILL)
        found = await until(
            partial(serving, service), lambda found: len(found) == 2 and killed not in found, seconds=30
        )
        assert hanging in found
        assert await is_ready_anew(service)
        service.send(signal.SIGHUP)
        anew = await until(
            partial(serving, service), lambda anew: len(anew) == 2 and not {*found} & {*anew}, seconds=90
        )
        os.kill(anew[0], signal.SIGSTOP)
        service.send(signal.SIGTERM)
        assert await service.ended() == 0


async def test_a_worker_that_dies_while_the_database_is_away_is_replaced_when_it_is_back(
    own_url: str, postgres: str
) -> None:
    name = own_url.partition("://")[2].partition("@")[0]
    breaks, mends = TROUBLES["closed"]
    environment = {"DAYBOOK_DATABASE_URL": own_url, "DAYBOOK_MIGRATE": "never", "DAYBOOK_WORKERS": "2"}
    owner = await asyncpg.connect(postgres)
    async with process(environment) as service:
        first = await until(partial(serving, service), lambda found: len(found) == 2)
        names: set[str] = set()
        await until(partial(told_names, service, names), lambda found: len(found) == 2)  # each has begun to serve
        await broken(owner, breaks.format(name), name)
        os.kill(first[0], signal.SIGKILL)
        await until(partial(could_not_start, service), bool, seconds=60)
        await owner.execute(mends.format(name))
        await until(partial(serving, service), lambda found: len(found) == 2 and first[0] not in found, seconds=60)
        await until(partial(is_ready_anew, service), bool)
        service.send(signal.SIGTERM)
        assert await service.ended() == 0
    await owner.close()


async def test_a_database_that_hangs_keeps_no_service_from_ending(own_url: str, postgres: str) -> None:
    """As behind a network that lets nothing through: whoever asks it anything waits."""
    environment = {
        "DAYBOOK_DATABASE_URL": own_url,
        "DAYBOOK_MIGRATE": "never",
        "DAYBOOK_POOL__CONNECT_SECONDS": "3",
        "DAYBOOK_POOL__STATEMENT_SECONDS": "5",
    }
    owner, locking = await asyncpg.connect(postgres), await asyncpg.connect(own_url)
    name = own_url.partition("://")[2].partition("@")[0]
    async with process(environment) as service:
        await until(partial(is_ready_anew, service), bool)
        await locking.execute("BEGIN; LOCK TABLE memories, sessions")
        await until(partial(owner.fetch, ASKED, name), bool)  # the background: of a frozen backend nothing tells it
        asked = [row["pid"] for row in await owner.fetch(BACKENDS, name) if row["pid"] != locking.get_server_pid()]
        for pid in asked:
            os.kill(pid, signal.SIGSTOP)
        try:
            service.send(signal.SIGTERM)
            assert await service.ended() == 0
        finally:
            for pid in asked:
                os.kill(pid, signal.SIGCONT)
    await locking.close()
    await owner.close()


@pytest.mark.parametrize(("workers", "told"), [("1", "the service"), ("2", "a worker process")])
async def test_a_service_that_cannot_start_ends_and_says_why(
    own_url: str, postgres: str, workers: str, told: str
) -> None:
    name = own_url.partition("://")[2].partition("@")[0]
    owner = await asyncpg.connect(postgres)
    await owner.execute(f"ALTER ROLE {name} NOSUPERUSER CONNECTION LIMIT 1")  # a worker wants two
    await owner.close()
    environment = {
        "DAYBOOK_DATABASE_URL": own_url,
        "DAYBOOK_MIGRATE": "never",
        "DAYBOOK_BOOTSTRAP_KEY": "a-key-of-sixteen-or-more",
        "DAYBOOK_WORKERS": workers,
    }
    ended = await asyncio.to_thread(partial(command, "serve", "--port", str(free_port()), environment=environment))
    assert ended.returncode == 2
    assert "too many connections for role" in ended.stderr
    assert ended.stderr.splitlines()[-1] == f"daybook: {told} could not start; its log says why"


async def told_names(service: Running, names: set[str]) -> set[str]:
    """Those of the processes that answered so far."""
    async with httpx.AsyncClient(base_url=service.url, timeout=60) as client:
        names.add((await client.get("/overview")).json()["process"]["name"])
    return names


async def is_ready_anew(service: Running) -> bool:
    """Asked on a connection of its own: one that is kept may be that of a process that hangs or is gone."""
    async with httpx.AsyncClient(base_url=service.url, timeout=60) as client:
        return (await client.get("/readyz")).is_success


async def could_not_start(service: Running) -> bool:
    return "Application startup failed" in service.log


@pytest.fixture
def wrong_clock() -> dict[str, str]:
    """Variables by which a process takes the time for a year later."""
    found = [
        *Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"),
        *map(Path, filter(None, [os.getenv("FAKETIME_LIB")])),
    ]
    if not found:
        pytest.skip("libfaketime is not installed")
    return {"LD_PRELOAD": str(found[-1]), "FAKETIME": "+365d", "FAKETIME_DISABLE_SHM": "1"}


BACKDATED = """
UPDATE messages SET ingested_at = ingested_at - interval '31 days'
WHERE session_id = (SELECT id FROM sessions WHERE key = $1)
"""


async def test_a_process_whose_clock_is_ahead_removes_nothing_too_early(
    database_url: str, wrong_clock: dict[str, str]
) -> None:
    environment = {
        **wrong_clock,
        "DAYBOOK_DATABASE_URL": database_url,
        "DAYBOOK_MIGRATE": "never",
        "DAYBOOK_MEMORY__KEEP_LAST": "0",
        "DAYBOOK_MEMORY__RETENTION__DAYS": "30",
        "DAYBOOK_RETENTION__SWEEP_SECONDS": "1",
    }
    connection = await asyncpg.connect(database_url)
    async with process(environment) as service:
        for key in ("fresh", "old", "older"):
            await service.append(key, *plain_talk(8))
            observed = await service.client.post(f"/sessions/{key}/memory/observe", params={"wait_ms": 50_000})
            assert observed.is_success
        for key in ("old", "older"):  # one sweep after the other: that one was done is seen by the next
            await connection.execute(BACKDATED, key)
            await until(partial(expired, service, key), bool)
        left = await expired(service, "fresh")
    await connection.close()
    assert left == 0


async def expired(service: Running, key: str) -> int:
    """The newest message that was removed."""
    seq: int = (await service.memory(key))["retention"]["expired_seq"]
    return seq


async def test_a_process_whose_clock_is_ahead_deletes_no_object_that_a_put_is_about_to_name(
    database_url: str, wrong_clock: dict[str, str], tmp_path: Path
) -> None:
    url = f"file://{tmp_path}/objects"
    environment = {
        **wrong_clock,
        "NO_FAKE_STAT": "1",  # a store dates its objects itself
        "DAYBOOK_DATABASE_URL": database_url,
        "DAYBOOK_MIGRATE": "never",
        "DAYBOOK_ARTIFACTS__URL": url,
        "DAYBOOK_ARTIFACTS__SWEEP_SECONDS": "1",
    }
    async with process(environment):
        objects = open_objects(url)
        fresh = await objects.write(uuid4(), b"not named yet")
        for _ in range(2):  # one sweep after the other: the second has seen both
            orphan = tmp_path / "objects" / await objects.write(uuid4(), b"never named")
            two_hours_ago = orphan.stat().st_mtime - 7_200
            os.utime(orphan, (two_hours_ago, two_hours_ago))
            await until(partial(asyncio.to_thread, orphan.exists), lambda there: not there)
        assert (tmp_path / "objects" / fresh).exists()


@pytest.mark.parametrize("workers", ["1", "2"])
async def test_a_service_that_was_started_without_standard_streams_serves(database_url: str, workers: str) -> None:
    environment = {"DAYBOOK_DATABASE_URL": database_url, "DAYBOOK_MIGRATE": "never", "DAYBOOK_WORKERS": workers}
    async with process(environment, by=("sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh")) as service:
        await service.append("s", *plain_talk(4))
        assert len(await items(service, "/sessions/s/messages")) == 4
        service.send(signal.SIGTERM)
        assert await service.ended() == 0
