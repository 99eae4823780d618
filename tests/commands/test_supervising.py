"""Several processes on one socket, looked at step by step; as a whole service: tests/journeys."""

import multiprocessing
import os
import resource
import signal
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.process import BaseProcess

import httpx2 as httpx
import psutil
import pytest
import uvicorn

from app.commands.supervising import Supervisor
from app.kit.errors import StartError
from tests.journeys.looks import until

FOR_EVER = 3_600.0


SERVES, DIES = "starlette.applications:Starlette", "nowhere:app"


@pytest.fixture
def supervised() -> Iterator[Callable[..., Supervisor]]:
    """Makes a supervisor of such processes; those of uvicorn's signals are given back at the end, none is left."""
    signals = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTTIN, signal.SIGTTOU]
    signals += [signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH]
    before = {each: signal.getsignal(each) for each in signals}
    made: list[Supervisor] = []

    def make(
        app: str, *, workers: int = 1, end_seconds: float = FOR_EVER, again_seconds: float = FOR_EVER
    ) -> Supervisor:
        config = uvicorn.Config(
            app,
            factory=True,
            port=0,
            workers=workers,
            lifespan="off",
            log_config=None,
            timeout_worker_healthcheck=60,
        )
        made.append(Supervisor(config, end_seconds=end_seconds, again_seconds=again_seconds))
        return made[-1]

    yield make
    for supervisor in made:
        for process in processes():
            process.kill()
        supervisor.terminate_all()
        supervisor.join_all()
        for listening in supervisor.sockets:
            listening.close()
    for each, handler in before.items():
        signal.signal(each, handler)


def processes() -> list[BaseProcess]:
    return multiprocessing.active_children()


def are(count: int, found: list[BaseProcess]) -> bool:
    return len(found) == count


async def looked(supervisor: Supervisor) -> list[BaseProcess]:
    supervisor.keep_subprocess_alive()
    return processes()


def begun(supervisor: Supervisor) -> BaseProcess:
    supervisor.init_processes()
    (first,) = processes()
    return first


def test_one_that_dies_at_once_for_ever_is_started_again_only_after_a_while(
    supervised: Callable[..., Supervisor],
) -> None:
    supervisor = supervised(SERVES)
    first = begun(supervisor)
    first.kill()
    first.join()
    for _ in range(5):
        supervisor.keep_subprocess_alive()
    assert processes() == []


def test_where_none_can_start_it_ends_by_itself(supervised: Callable[..., Supervisor]) -> None:
    assert not supervised(DIES, workers=2).serve()
    assert processes() == []


async def answers(supervisor: Supervisor) -> bool:
    host, port = supervisor.sockets[0].getsockname()
    async with httpx.AsyncClient() as client:
        try:
            return (await client.get(f"http://{host}:{port}/")).status_code == httpx.codes.NOT_FOUND
        except httpx.TransportError:
            return False


async def test_one_that_cannot_start_ends_nothing_where_another_only_just_serves(
    supervised: Callable[..., Supervisor],
) -> None:
    """As where the database goes away within a second of the first answer: that ended the service."""
    supervisor = supervised(SERVES)
    first = begun(supervisor)
    supervisor.config.app = DIES
    supervisor.handle_ttin()
    (second,) = (process for process in processes() if process is not first)
    second.join()
    await until(partial(answers, supervisor), bool)
    for _ in range(3):
        await looked(supervisor)
    assert not supervisor.should_exit.is_set()


async def rolled(supervisor: Supervisor) -> BaseProcess:
    """The one in the place of another that was well: it is known to serve."""
    old = processes()
    supervisor.restart_all()
    (fresh,) = await until(partial(looked, supervisor), lambda found: len(found) == 1 and found != old, seconds=60)
    return fresh


async def test_one_that_served_is_replaced_as_soon_as_it_is_seen_to_be_dead(
    supervised: Callable[..., Supervisor],
) -> None:
    supervisor = supervised(SERVES)
    begun(supervisor)
    served = await rolled(supervisor)
    served.kill()
    served.join()
    assert len(await looked(supervisor)) == 1


async def test_processes_that_die_or_are_replaced_leave_no_file_open(
    supervised: Callable[..., Supervisor],
) -> None:
    supervisor = supervised(SERVES)
    begun(supervisor)
    await rolled(supervisor)
    before = await files_open(supervisor)
    for _ in range(2):
        (await rolled(supervisor)).kill()
        await rolled(supervisor)
    await until(partial(files_open, supervisor), lambda found: found == before)


async def files_open(supervisor: Supervisor) -> int:
    await looked(supervisor)
    return psutil.Process().num_fds()


async def test_signals_make_it_one_more_and_one_less_but_never_none(supervised: Callable[..., Supervisor]) -> None:
    supervisor = supervised(SERVES)
    begun(supervisor)
    for told, count in ((signal.SIGTTIN, 2), (signal.SIGTTOU, 1), (signal.SIGTTOU, 1)):
        signal.raise_signal(told)
        supervisor.handle_signals()
        found = await until(partial(looked, supervisor), partial(are, count))
        assert len(found) == count


def test_one_that_hangs_when_it_is_to_end_is_killed(supervised: Callable[..., Supervisor]) -> None:
    supervisor = supervised(SERVES, end_seconds=0.0)
    first = begun(supervisor)
    assert first.pid is not None
    os.kill(first.pid, signal.SIGSTOP)
    supervisor.terminate_all()
    supervisor.join_all()
    assert processes() == []


async def test_one_that_hangs_is_replaced_where_all_are(supervised: Callable[..., Supervisor]) -> None:
    supervisor = supervised(SERVES, end_seconds=0.0)
    first = begun(supervisor)
    assert first.pid is not None
    os.kill(first.pid, signal.SIGSTOP)
    assert await rolled(supervisor) is not first


async def test_where_those_that_are_new_cannot_start_the_old_stay(supervised: Callable[..., Supervisor]) -> None:
    supervisor = supervised(SERVES)
    begun(supervisor)
    served = await rolled(supervisor)
    supervisor.config.app = DIES
    supervisor.restart_all()
    assert len(await looked(supervisor)) == 2
    assert await until(partial(looked, supervisor), lambda found: len(found) == 1, seconds=60) == [served]


class Files:
    """How many this process may have open."""

    def __init__(self) -> None:
        self._before = resource.getrlimit(resource.RLIMIT_NOFILE)

    def end(self) -> None:
        os.close(lowest := os.dup(0))
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, self._before[1]))

    def begin(self) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, self._before)


@pytest.fixture
def scarce_files() -> Iterator[Files]:
    files = Files()
    yield files
    files.begin()


def test_where_the_system_lets_none_be_started_another_is_tried_later(
    supervised: Callable[..., Supervisor], scarce_files: Files
) -> None:
    supervisor = supervised(SERVES, again_seconds=0.0)
    first = begun(supervisor)
    first.kill()
    first.join()
    scarce_files.end()
    supervisor.keep_subprocess_alive()
    assert processes() == []
    scarce_files.begin()
    supervisor.keep_subprocess_alive()
    assert len(processes()) == 1


def test_where_the_system_lets_none_be_started_at_first_that_is_one_line(
    supervised: Callable[..., Supervisor], scarce_files: Files
) -> None:
    supervisor = supervised(SERVES)
    scarce_files.end()
    with pytest.raises(StartError, match="could not be started"):
        supervisor.serve()
