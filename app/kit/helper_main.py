"""The main program of the helper process (``helper_process.py``): does one piece of work after the other."""

import os
import pickle
import signal
import traceback
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Final

NICENESS: Final = 10  # gets a tenth of a busy processor
STANDARD_INPUT: Final = 0
PLACES: Final = "places"  # an attribute of an error that is sent: its traceback, without its message


def main() -> None:
    """Do the work sent on standard input, until that is closed. A thread's Future catches whatever the work raises."""
    os.nice(NICENESS)
    for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.SIG_IGN)  # all processes of a service get them, but its steps are still running
    pipe = Connection(STANDARD_INPUT)
    with ThreadPoolExecutor(max_workers=1) as thread, suppress(EOFError, OSError):
        while True:
            pipe.send_bytes(_told(thread.submit(_done, pipe.recv_bytes())))


def _done(asked: bytes) -> bytes:
    return pickle.dumps((True, pickle.loads(asked)()), pickle.HIGHEST_PROTOCOL)  # noqa: S301 - our own parent wrote it


def _told(done: Future[bytes]) -> bytes:
    """The pickled outcome: whether the work succeeded, and its result or error."""
    error = done.exception()
    if error is None:
        return done.result()
    vars(error)[PLACES] = traceback.format_tb(error.__traceback__)
    return pickle.dumps((False, error), pickle.HIGHEST_PROTOCOL)


if __name__ == "__main__":
    main()
