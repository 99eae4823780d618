"""A Daybook of the benchmark's own, and what a benchmark asks of it over HTTP."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx2

from app.kit.signals import leave_when_told
from tests.journeys.processes import free_port, surroundings

START_SECONDS_MAX, STOP_SECONDS_MAX, ANSWER_SECONDS_MAX = 120.0, 30.0, 120.0
LOOK_SECONDS = 0.1
WAIT_MS = 60_000  # for the memory, which has minutes in a real conversation
MESSAGES_MAX = 100  # of one append
T = TypeVar("T")


@contextmanager
def running_service(settings: Mapping[str, str]) -> Iterator[httpx2.Client]:
    """A client of a service on an empty database, with this environment beside our own; it ends with us.

    Raises RuntimeError where it ends at once, TimeoutError where it does not answer.
    """
    leave_when_told()
    with tempfile.TemporaryDirectory(prefix="daybook-bench-") as folder:
        Path(folder).chmod(0o755)  # the database's server may run as another user
        port = free_port()
        command = [sys.executable, "-m", "app.cli", "serve", "--port", str(port), "--data-dir", f"{folder}/data"]
        environment = surroundings({"DAYBOOK_LOG_LEVEL": "error", **settings})
        process = subprocess.Popen(command, env=environment)  # noqa: S603 - our own module
        try:
            with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=ANSWER_SECONDS_MAX) as client:
                wait_until_ready(process, client)
                yield client
        finally:
            process.terminate()
            process.wait(STOP_SECONDS_MAX)


def wait_until_ready(
    process: "subprocess.Popen[bytes]", client: httpx2.Client, *, look_seconds: float = LOOK_SECONDS
) -> None:
    """Raises RuntimeError where the process ends instead, TimeoutError where it does not answer."""
    wait_until(
        lambda: process.poll() is not None or _is_ready(client), seconds=START_SECONDS_MAX, look_seconds=look_seconds
    )
    if process.poll() is not None:
        raise RuntimeError("the service did not start")


def wait_until(holds: Callable[[], bool], *, seconds: float, look_seconds: float = LOOK_SECONDS) -> None:
    """Looks again and again. Raises TimeoutError once so many seconds have passed without it."""
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() >= until:
            raise TimeoutError(f"waited for {seconds:g} s in vain")
        time.sleep(look_seconds)


def ask(http: httpx2.Client, method: str, path: str, *, json: Any = None, **query: Any) -> Any:
    """The body of the answer. Raises RuntimeError, with what it says, for one that is no success."""
    answer = http.request(method, path, json=json, params=query)
    if not answer.is_success:
        raise RuntimeError(f"{method} {answer.request.url}: {answer.status_code} {answer.text}")
    return answer.json()


def batches(messages: Sequence[T]) -> Iterator[Sequence[T]]:
    """Messages as many at a time as one append takes."""
    for begin in range(0, len(messages), MESSAGES_MAX):
        yield messages[begin : begin + MESSAGES_MAX]


def _is_ready(client: httpx2.Client) -> bool:
    try:
        return client.get("/readyz").is_success
    except httpx2.TransportError:
        return False
