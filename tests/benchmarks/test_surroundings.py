"""What a measurement starts around it is gone when it is, also where it was ended."""

import subprocess
import sys

import psutil
import pytest

SIGTERMED = 128 + 15  # as a shell tells it
HOLDS_POSTGRES = """
import asyncio
from benchmarks.speed.surroundings import postgres

async def hold():
    async with postgres() as server:
        print(server.pid, flush=True)
        await asyncio.Event().wait()

asyncio.run(hold())
"""
HOLDS_SERVICE = """
import signal
import psutil
from benchmarks.service import running_service

with running_service({"DAYBOOK_MEMORY__ENABLED": "false"}):
    print(*(child.pid for child in psutil.Process().children()), flush=True)
    signal.pause()
"""


@pytest.mark.parametrize("script", [HOLDS_POSTGRES, HOLDS_SERVICE])
def test_a_run_that_is_ended_leaves_nothing_behind(script: str) -> None:
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        started = [psutil.Process(int(pid)) for pid in run.stdout.readline().split()]
        assert started
        run.terminate()
        assert run.wait(60) == SIGTERMED
        _, alive = psutil.wait_procs(started, timeout=60)
        assert alive == []
