"""``daybook serve`` as an operator meets it: its own database, and one clear line where it cannot start."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import asyncpg
import httpx2 as httpx
import psutil
import pytest

from app.commands import issuing
from app.settings import Settings
from tests.journeys.looks import items, until
from tests.journeys.processes import (
    COMMAND,
    END_SECONDS,
    PROJECT,
    START_SECONDS,
    Running,
    command,
    free_port,
    process,
    reachable_folder,
    surroundings,
)
from tests.journeys.talk import plain_talk

EXIT_MISTAKE = 2  # something the operator can mend
ANY_PORT = ("--port", "0")
CALLERS = ("s1", "s2", "s3", "s4")


@pytest.fixture
def data_dir() -> Iterator[Path]:
    with reachable_folder() as folder:
        yield folder / "data"
        for server in servers_of(folder):  # a failed test's
            server.kill()


@pytest.fixture
async def empty_url(postgres: str) -> AsyncIterator[str]:
    """DSN of a database without a single table."""
    name = f"daybook_empty_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"
    connection = await asyncpg.connect(postgres)
    await connection.execute(f"CREATE DATABASE {name}")
    yield postgres.replace("/postgres?", f"/{name}?", 1)
    await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await connection.close()


def servers_of(folder: Path) -> list[psutil.Process]:
    """The running processes that have the folder on their command line."""
    found = psutil.process_iter(["cmdline"])
    return [process for process in found if any(str(folder) in word for word in process.info["cmdline"] or ())]


def one_line(*arguments: str, **environment: str) -> str:
    """What a command that must not start says: one line, exit 2, no traceback."""
    ended = command(*arguments, environment=environment)
    assert (ended.returncode, ended.stdout) == (EXIT_MISTAKE, ""), ended.stderr
    assert ended.stderr.startswith("daybook: ")
    assert ended.stderr.count("\n") == 1
    return ended.stderr


async def test_the_services_own_database_survives_a_kill_and_is_gone_after_a_stop(data_dir: Path) -> None:
    environment = {"DAYBOOK_DATA_DIR": str(data_dir)}
    posted = plain_talk(8)
    async with process(environment) as first:
        await first.append("s", *posted)
        taken = one_line("serve", *ANY_PORT, **environment)
        await first.kill()
    async with process(environment) as second:
        stored = await items(second, "/sessions/s/messages")
        ready = await second.get("/readyz")
        assert servers_of(data_dir)
        second.send(signal.SIGTERM)
        assert await second.ended() == 0
        assert servers_of(data_dir) == []

    assert [message["id"] for message in stored] == [message["id"] for message in posted]
    assert str(data_dir) in ready["database"]
    assert f"pid {first.child.pid}" in taken
    assert str(data_dir) in taken
    assert "DAYBOOK_DATA_DIR" in taken


@pytest.fixture
def terminal() -> Iterator[None]:
    """What is started meanwhile is hung up with its terminal, also where these tests run under ``nohup``."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("terminal")
async def test_a_closed_terminal_ends_it_and_its_own_database(data_dir: Path) -> None:
    async with process({"DAYBOOK_DATA_DIR": str(data_dir)}) as service:
        await service.append("s", *plain_talk(2))
        service.send(signal.SIGHUP)
        assert await service.ended() == 0
        assert servers_of(data_dir) == []


async def test_the_services_own_database_is_started_again_when_it_is_killed(data_dir: Path) -> None:
    posted = plain_talk(8)
    async with process({"DAYBOOK_DATA_DIR": str(data_dir)}) as service:
        await service.append("s", *posted[:4])
        killed = await postmaster(data_dir)
        psutil.Process(int(killed[0])).kill()
        await until(partial(postmaster, data_dir), lambda found: found not in ([], killed), seconds=START_SECONDS)
        await until(partial(is_ready, service), bool, seconds=START_SECONDS)
        await service.append("s", *posted)
        stored = await items(service, "/sessions/s/messages")
        service.send(signal.SIGTERM)
        assert await service.ended() == 0
        assert servers_of(data_dir) == []

    assert [message["id"] for message in stored] == [message["id"] for message in posted]


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("postgresql://daybook:secret@127.0.0.1:{port}/daybook", "Connect"),
        ("localhost/daybook", "DSN"),
    ],
    ids=["nobody-listens", "no-dsn"],
)
def test_a_wrong_database_url_is_one_clear_line(url: str, reason: str) -> None:
    said = one_line("serve", *ANY_PORT, DAYBOOK_DATABASE_URL=url.format(port=free_port()))

    assert "DAYBOOK_DATABASE_URL" in said
    assert reason in said
    assert "secret" not in said


def test_a_database_that_does_not_exist_is_one_clear_line(postgres: str) -> None:
    assert '"nowhere"' in one_line(
        "serve", *ANY_PORT, DAYBOOK_DATABASE_URL=postgres.replace("/postgres?", "/nowhere?", 1)
    )


async def test_a_key_in_the_database_lets_it_be_served_off_loopback(database_url: str) -> None:
    asked = issuing.wanted(tenant="acme", scopes=["read"], name="", expires=None)
    secret, _ = await asyncio.to_thread(issuing.create, Settings(database_url=database_url), asked)
    open_host = {"DAYBOOK_DATABASE_URL": database_url, "DAYBOOK_HOST": "0.0.0.0"}  # noqa: S104 - behind a key
    async with process(open_host) as service:
        answers = [
            await service.client.get("/sessions", headers=headers)
            for headers in ({}, {"Authorization": f"Bearer {secret}"})
        ]
    assert [answer.status_code for answer in answers] == [401, 200]


def test_without_a_key_only_loopback_is_served(database_url: str) -> None:
    said = one_line("serve", *ANY_PORT, DAYBOOK_HOST="0.0.0.0", DAYBOOK_DATABASE_URL=database_url)  # noqa: S104 - to be refused

    assert "DAYBOOK_BOOTSTRAP_KEY" in said
    assert "DAYBOOK_HOST=127.0.0.1" in said
    assert "daybook keys create" in said


def test_a_taken_port_is_one_clear_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = one_line("serve", "--port", port)

    assert f"127.0.0.1 port {port}: Address already in use" in said
    assert "DAYBOOK_PORT" in said


async def test_an_unmigrated_database_is_told_by_readyz_until_it_is_migrated(empty_url: str) -> None:
    environment = {"DAYBOOK_DATABASE_URL": empty_url}
    async with process({**environment, "DAYBOOK_MIGRATE": "never"}) as service:
        problem = await service.client.get("/readyz")
        alive = await service.client.get("/healthz")
        assert command("migrate", environment=environment).returncode == 0
        await until(partial(is_ready, service), bool)
        await service.append("s", *plain_talk(2))

    assert (problem.status_code, alive.status_code) == (503, 200)
    assert problem.headers["content-type"] == "application/problem+json"
    assert "daybook migrate" in problem.json()["detail"]


async def migrated_by_a_newer_version(url: str) -> None:
    """A migration as one of the next version may be: it only adds."""
    connection = await asyncpg.connect(url)
    for row in await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'"):
        await connection.execute(f"ALTER TABLE {row['tablename']} ADD COLUMN of_tomorrow text")
    await connection.execute("UPDATE alembic_version SET version_num = '9999'")
    await connection.close()


def test_a_session_goes_to_and_from_no_database_that_is_not_migrated(empty_url: str, tmp_path: Path) -> None:
    environment = {"DAYBOOK_DATABASE_URL": empty_url}
    file = tmp_path / "s1.ndjson"
    file.write_text("{}\n")
    for arguments in (("export", "s1"), ("import", str(file), "--session", "s1")):
        told = command(*arguments, environment=environment)
        assert (told.returncode, told.stdout) == (2, "")
        assert told.stderr.count("\n") == 1
        assert "daybook migrate" in told.stderr


async def test_a_version_whose_database_a_newer_one_migrated_goes_on_and_can_start_anew(empty_url: str) -> None:
    environment = {"DAYBOOK_DATABASE_URL": empty_url}
    async with process(environment) as running:
        known = (await running.get("/readyz"))["known"]
        await use_what_is_used_most(running, "before")
        await migrated_by_a_newer_version(empty_url)
        for _ in range(2):
            ready = await running.get("/readyz")
            await use_what_is_used_most(running, "before")
        async with process(environment) as started:
            await use_what_is_used_most(started, "after")
            logs = [running.log, started.log, command("migrate", environment=environment).stderr]

    assert (ready["status"], ready["migration"], ready["known"]) == ("ready", "9999", known)
    assert [log.count("database_newer") for log in logs] == [1, 1, 1]


async def use_what_is_used_most(service: Running, key: str) -> None:
    """What most requests are, and a step of the memory."""
    assert (await service.client.put(f"/sessions/{key}", json={"resource_id": "user-1"})).is_success
    for message in plain_talk(2):
        await service.append(key, message)
    answer = await service.client.post(f"/sessions/{key}/memory/observe", params={"wait_ms": 50_000})
    assert answer.json()["memory"]["last_error"] is None
    assert (await service.context(key, query="anything"))["memory_version"] > 0
    await items(service, f"/sessions/{key}/messages")
    await items(service, "/sessions")
    assert (await service.memory(key))["coverage"]["gaps"] == []
    assert (await service.client.put(f"/sessions/{key}/state/place", json="Lisbon")).is_success
    assert (await service.client.put(f"/sessions/{key}/artifacts/a", content=b"x")).is_success
    assert await is_exported(service) or await is_exported(service)


async def is_exported(service: Running) -> bool:
    """An export that comes upon a statement of before a migration breaks off; the next one prepares it anew."""
    with suppress(httpx.RemoteProtocolError):
        return (await service.client.get("/resources/user-1/export")).is_success
    return False


async def postmaster(data_dir: Path) -> list[str]:
    """Its process's id, as the server wrote it; none while it starts."""
    with contextlib.suppress(FileNotFoundError):
        return (data_dir / "pgdata-18" / "postmaster.pid").read_text().split()[:1]
    return []


async def is_ready(service: Running) -> bool:
    return (await service.client.get("/readyz")).is_success


async def test_open_event_streams_end_when_the_service_is_told_to(database_url: str) -> None:
    async with process({"DAYBOOK_DATABASE_URL": database_url}) as service:
        await service.append("s", *plain_talk(2))
        async with service.client.stream("GET", "/sessions/s/memory/events") as stream:
            service.send(signal.SIGTERM)
            assert [line async for line in stream.aiter_lines() if line.startswith("event:")] == []
        assert await service.ended() == 0


def workers_of(service: Running) -> list[psutil.Process]:
    """The processes that serve, not the one that supervises them."""
    found = []
    for child in psutil.Process(service.child.pid).children():
        with suppress(psutil.NoSuchProcess):  # one that has just ended
            if "spawn_main" in " ".join(child.cmdline()):
                found.append(child)
    return found


async def both_workers_of(service: Running) -> list[psutil.Process]:
    """The first may answer before the second has begun."""
    return await until(partial(asyncio.to_thread, workers_of, service), lambda found: len(found) == 2)


async def test_several_workers_serve_one_socket_and_one_that_dies_is_replaced(database_url: str) -> None:
    async with process({"DAYBOOK_DATABASE_URL": database_url, "DAYBOOK_WORKERS": "2"}) as service:
        posted = plain_talk(40)
        first = {worker.pid for worker in await both_workers_of(service)}
        for number, message in enumerate(posted):
            if number == 20:
                min(workers_of(service), key=lambda worker: worker.pid).kill()
            await until(partial(appended, service, message), bool)
        await until(
            partial(asyncio.to_thread, workers_of, service),
            lambda found: len(found) == 2 and first != {worker.pid for worker in found},
            seconds=90,
        )
        stored = await items(service, "/sessions/s/messages")
        assert [message["id"] for message in stored] == [message["id"] for message in posted]


async def test_no_request_fails_while_the_workers_are_replaced(database_url: str) -> None:
    async with process({"DAYBOOK_DATABASE_URL": database_url, "DAYBOOK_WORKERS": "2"}) as service:
        first = {worker.pid for worker in await both_workers_of(service)}
        replaced = asyncio.Event()

        async def converse(key: str) -> list[str]:
            posted: list[str] = []
            for message in cycle(plain_talk(40)):
                if replaced.is_set():
                    break
                posted.append(f"m-{len(posted)}")
                await service.append(key, message | {"id": posted[-1]})
                await asyncio.sleep(0.02)  # callers that never rest leave workers that start no processor
            return posted

        talks = asyncio.gather(*(converse(key) for key in CALLERS))
        service.send(signal.SIGHUP)
        await until(
            partial(asyncio.to_thread, workers_of, service),
            lambda found: len(found) == 2 and not first & {worker.pid for worker in found},
            seconds=START_SECONDS,
        )
        replaced.set()
        for key, posted in zip(CALLERS, await talks, strict=True):
            assert [message["id"] for message in await items(service, f"/sessions/{key}/messages")] == posted
        service.send(signal.SIGTERM)
        assert await service.ended() == 0


async def appended(service: Running, message: dict[str, Any]) -> bool:
    """Whether it is stored. A worker that ends may close a connection under a request, which is then sent again."""
    try:
        await service.append("s", message)
    except httpx.TransportError:
        return False
    return True


async def test_workers_end_with_the_process_that_supervises_them(database_url: str) -> None:
    async with process({"DAYBOOK_DATABASE_URL": database_url, "DAYBOOK_WORKERS": "2"}) as service:
        workers = await both_workers_of(service)
        await service.kill()
        gone, alive = await asyncio.to_thread(psutil.wait_procs, workers, timeout=60)
        assert (len(gone), alive) == (2, [])


@asynccontextmanager
async def starting(folder: Path, *options: str, **environment: str) -> AsyncIterator[tuple[Process, Path]]:
    """A service on a port that the system chooses, just when it says that it starts, and its log."""
    log = folder / "log"
    with log.open("wb") as file:
        child = await asyncio.create_subprocess_exec(
            *(*COMMAND, "serve", *ANY_PORT, *options),
            cwd=PROJECT,
            env=surroundings(environment),
            stdout=subprocess.DEVNULL,
            stderr=file,
            start_new_session=True,
        )
    try:
        async with asyncio.timeout(START_SECONDS):
            while '"starting"' not in log.read_text(encoding="utf-8"):
                assert child.returncode is None, log.read_text(encoding="utf-8")
                await asyncio.sleep(0.005)  # between two looks at another process
        yield child, log
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()


async def test_the_log_tells_the_port_that_the_system_chose_and_a_model_that_is_not_asked(
    database_url: str, tmp_path: Path
) -> None:
    environment = {"DAYBOOK_DATABASE_URL": database_url, "DAYBOOK_MODEL": "gpt-9"}
    async with starting(tmp_path, **environment) as (child, log):
        line = next(line for line in log.read_text(encoding="utf-8").splitlines() if '"starting"' in line)
        async with httpx.AsyncClient(base_url=json.loads(line)["url"]) as client:
            service = Running(line, client, child, log)
            await until(service.ready, bool, seconds=START_SECONDS)
    assert '"settings":["DAYBOOK_MODEL"]' in service.log  # which nobody is asked for, as there is no key


@pytest.mark.parametrize(("workers", "seconds"), [(1, 0), (2, 0.3), (2, 1)])
async def test_ctrl_c_while_it_starts_ends_it_without_a_traceback(
    database_url: str, tmp_path: Path, workers: int, seconds: float
) -> None:
    options = ("--workers", str(workers))
    async with starting(tmp_path, *options, DAYBOOK_DATABASE_URL=database_url) as (child, log):
        await asyncio.sleep(seconds)  # wherever it is by then
        os.killpg(child.pid, signal.SIGINT)  # as a terminal does
        code = await asyncio.wait_for(child.wait(), END_SECONDS)

    told = log.read_text(encoding="utf-8")
    assert code == 0, told
    assert all(line.startswith("{") for line in told.splitlines()), told


def test_what_no_worker_could_start_with_is_one_clear_line(database_url: str) -> None:
    environment = {"DAYBOOK_DATABASE_URL": database_url, "DAYBOOK_WORKERS": "2"}
    without_replies = {"DAYBOOK_PROVIDER": "scripted", "DAYBOOK_MODEL": "/nowhere.json"}
    assert "/nowhere.json" in one_line("serve", *ANY_PORT, **environment, **without_replies)


WORKER = """
import gc
from app.locating import Location
from app.commands.serving import worker_app
from app.settings import load_settings

app = worker_app(load_settings(), Location(url="postgresql://nobody@localhost/none", name="none"))
print(gc.isenabled(), gc.get_freeze_count(), len(gc.get_objects()))
looks = []
gc.callbacks.append(lambda phase, _: looks.append(phase))
made = [[] for _ in range(9_000)]
print(len(looks), end=" ")
made += [[] for _ in range(9_000)]
print(len(looks) > 0)
"""


def test_the_collector_of_garbage_leaves_alone_what_a_worker_began_with() -> None:
    """A process that did not come from ``daybook serve`` itself, as each of several workers is."""
    command = [sys.executable, "-c", WORKER]
    told = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True)
    enabled, frozen, others, *_ = told.stdout.split()
    assert enabled == "True"
    assert int(frozen) > 100 * int(others)


def test_the_collector_of_garbage_looks_once_in_ten_thousand_objects() -> None:
    command = [sys.executable, "-c", WORKER]
    told = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True)
    assert told.stdout.split()[-2:] == ["0", "True"]
