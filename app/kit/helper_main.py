"""The program of the helper process (``helper_process.py``): does one piece of work after the other."""

import os
import pickle
import signal
import traceback
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Final

NICENESS: Final = 10  # a tenth of a processor that others want whole
STANDARD_INPUT: Final = 0
PLACES: Final = "places"  # an attribute of an error that is sent: where it was, and nothing that it says


def main() -> None:
    """Do what is asked on standard input, until nobody is there to ask. A thread has what a work raises as a value."""
    os.nice(NICENESS)
    for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.SIG_IGN)  # sent to all processes of a service, whose steps are not done yet
    pipe = Connection(STANDARD_INPUT)
    with ThreadPoolExecutor(max_workers=1) as thread, suppress(EOFError, OSError):
        while True:
            pipe.send_bytes(_told(thread.submit(_done, pipe.recv_bytes())))


def _done(asked: bytes) -> bytes:
    return pickle.dumps((True, pickle.loads(asked)()), pickle.HIGHEST_PROTOCOL)  # noqa: S301 - our own parent wrote it


def _told(done: Future[bytes]) -> bytes:
    """Whether the work went well, and what it answered or raised."""
    error = done.exception()
    if error is None:
        return done.result()
    vars(error)[PLACES] = traceback.format_tb(error.__traceback__)
    return pickle.dumps((False, error), pickle.HIGHEST_PROTOCOL)


if __name__ == "__main__":
    main()
