"""What a measurement starts around it is gone when it is, also where it was ended."""

import subprocess
import sys

import psutil

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


def test_a_run_that_is_ended_leaves_no_database_behind() -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDS_POSTGRES], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        server = psutil.Process(int(run.stdout.readline()))
        run.terminate()
        assert run.wait(60) == SIGTERMED
        _, alive = psutil.wait_procs([server], timeout=10)
        assert alive == []
