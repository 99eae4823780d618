"""The process beside the service: what is done in it, and when it ends."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from pickle import PicklingError

import psutil
import pytest

from app.kit.helper_main import NICENESS
from app.kit.helper_process import TRIES, HelperProcess, ProcessLost
from app.kit.logging import tell_failure
from tests.journeys.looks import until
from tests.kit.works import PADDING, die, fail, hang, place

NICEST = 19  # more there is not
MORE_THAN_A_PIPE_HOLDS = bytes(10_000_000)
SECONDS = 60.0  # until an answer, on a machine that is busy
STARTER = """
from tests.kit.works import PADDING, place
from app.kit.helper_process import HelperProcess
print(HelperProcess().submit(__import__("functools").partial(place, PADDING)).result()[0], flush=True)
input()
"""


def answered(future: Future[tuple[int, int]]) -> tuple[int, int]:
    return future.result(SECONDS)


async def until_gone(pid: int) -> None:
    async def is_there() -> bool:
        with contextlib.suppress(psutil.NoSuchProcess):
            return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
        return False

    await until(is_there, lambda there: not there, seconds=SECONDS)


@pytest.fixture(scope="module")
def shared() -> HelperProcess:
    return HelperProcess(idle_seconds=SECONDS)


def test_much_is_done_in_one_other_process_that_gives_way(shared: HelperProcess) -> None:
    places = [answered(shared.submit(partial(place, PADDING))) for _ in range(3)]
    assert places == [(shared.pid, min(NICEST, os.nice(0) + NICENESS))] * 3


def test_what_is_small_is_done_in_this_process(shared: HelperProcess) -> None:
    assert answered(shared.submit(place)) == (os.getpid(), os.nice(0))


def test_what_work_raises_is_raised_and_the_log_tells_where_it_was(shared: HelperProcess) -> None:
    with pytest.raises(LookupError, match="nothing of that name") as raised:
        shared.submit(partial(fail, "nothing of that name", PADDING)).result(SECONDS)
    told = tell_failure(None, "error", {"exc_info": raised.value})["exception"]
    assert "in fail" in told
    assert told.splitlines()[-1] == "LookupError"


def test_what_cannot_be_sent_is_told_to_who_asked(shared: HelperProcess) -> None:
    with pytest.raises((AttributeError, PicklingError), match="local object"):
        shared.submit(lambda: PADDING).result(SECONDS)


def test_a_process_that_was_killed_is_replaced_before_anybody_notices(shared: HelperProcess) -> None:
    first, _ = answered(shared.submit(partial(place, PADDING)))
    os.kill(first, signal.SIGKILL)
    second, _ = answered(shared.submit(partial(place, PADDING)))
    assert second != first


def test_work_that_kills_its_process_fails_and_the_next_does_not(shared: HelperProcess) -> None:
    with pytest.raises(ProcessLost, match=f"{TRIES} times"):
        shared.submit(partial(die, PADDING)).result(SECONDS)
    assert answered(shared.submit(partial(place, PADDING)))[0] == shared.pid


def test_work_that_hangs_is_given_up() -> None:
    with pytest.raises(ProcessLost):
        HelperProcess(answer_seconds=0.01).submit(partial(hang, PADDING)).result(SECONDS)


async def test_a_process_that_does_not_read_what_it_is_sent_is_replaced() -> None:
    beside = HelperProcess(answer_seconds=10.0)  # in which a process also starts on a machine that is busy
    first, _ = answered(beside.submit(partial(place, PADDING)))
    os.kill(first, signal.SIGSTOP)
    second, _ = answered(beside.submit(partial(place, MORE_THAN_A_PIPE_HOLDS)))
    assert second != first
    await until_gone(first)


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_all_processes_of_a_service_does_not_end_it(shared: HelperProcess, ending: signal.Signals) -> None:
    first = answered(shared.submit(partial(place, PADDING)))
    os.kill(first[0], ending)
    assert answered(shared.submit(partial(place, PADDING))) == first


async def test_the_process_ends_when_there_was_nothing_to_do_for_a_while() -> None:
    beside = HelperProcess(idle_seconds=0.01)
    pid, _ = answered(beside.submit(partial(place, PADDING)))
    await until_gone(pid)
    assert answered(beside.submit(partial(place, PADDING)))[0] != pid


@pytest.fixture
def starter() -> Iterator[subprocess.Popen[str]]:
    project = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", STARTER], cwd=project, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


@pytest.mark.parametrize("end", [subprocess.Popen.kill, subprocess.Popen.terminate])
async def test_the_process_ends_with_the_one_that_started_it(
    starter: subprocess.Popen[str], end: Callable[[subprocess.Popen[str]], None]
) -> None:
    assert starter.stdout is not None
    pid = int(starter.stdout.readline())
    end(starter)
    await until_gone(pid)
