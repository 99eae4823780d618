"""Starts a service for a benchmark, and sends requests to it."""

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
WAIT_MS = 60_000  # for the memory, which in a real conversation has minutes
MESSAGES_MAX = 100  # of one append
T = TypeVar("T")


@contextmanager
def running_service(settings: Mapping[str, str]) -> Iterator[httpx2.Client]:
    """A client of a service on an empty database, with these settings added to our environment; ended with the block.

    Raises RuntimeError if the service ends at once, TimeoutError if it does not answer.
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
    """Raises RuntimeError if the process ends instead, TimeoutError if it does not answer."""
    wait_until(
        lambda: process.poll() is not None or _is_ready(client), seconds=START_SECONDS_MAX, look_seconds=look_seconds
    )
    if process.poll() is not None:
        raise RuntimeError("the service did not start")


def wait_until(holds: Callable[[], bool], *, seconds: float, look_seconds: float = LOOK_SECONDS) -> None:
    """Poll until ``holds`` is true. Raises TimeoutError after ``seconds``."""
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() >= until:
            raise TimeoutError(f"waited for {seconds:g} s in vain")
        time.sleep(look_seconds)


def ask(http: httpx2.Client, method: str, path: str, *, json: Any = None, **query: Any) -> Any:
    """The body of the answer. Raises RuntimeError, with the body, if it is no success."""
    answer = http.request(method, path, json=json, params=query)
    if not answer.is_success:
        raise RuntimeError(f"{method} {answer.request.url}: {answer.status_code} {answer.text}")
    return answer.json()


def batches(messages: Sequence[T]) -> Iterator[Sequence[T]]:
    """The messages in batches of one append."""
    for begin in range(0, len(messages), MESSAGES_MAX):
        yield messages[begin : begin + MESSAGES_MAX]


def _is_ready(client: httpx2.Client) -> bool:
    try:
        return client.get("/readyz").is_success
    except httpx2.TransportError:
        return False
