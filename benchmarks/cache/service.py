"""A Daybook of the benchmark's own: a process on a free port with an empty database."""

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx2

from app.kit.signals import leave_when_told
from app.settings import PREFIX
from benchmarks.cache.rates import Models
from benchmarks.waiting import wait_until
from tests.model_server import ModelServer

START_SECONDS_MAX, STOP_SECONDS_MAX, ANSWER_SECONDS_MAX = 120.0, 30.0, 120.0


@contextmanager
def running_service(settings: Mapping[str, str]) -> Iterator[httpx2.Client]:
    """A client of a service with this environment beside our own, which ends with us, also by a signal.

    Raises RuntimeError where it ends at once, TimeoutError where it does not answer.
    """
    leave_when_told()
    with tempfile.TemporaryDirectory(prefix="daybook-bench-") as folder:
        Path(folder).chmod(0o755)  # the database's server may run as another user
        port = _free_port()
        command = [sys.executable, "-m", "app.cli", "serve", "--port", str(port), "--data-dir", f"{folder}/data"]
        process = subprocess.Popen(command, env=_environment(settings))  # noqa: S603 - our own module
        try:
            with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=ANSWER_SECONDS_MAX) as client:
                _wait_until_ready(process, client)
                yield client
        finally:
            process.terminate()
            process.wait(STOP_SECONDS_MAX)


def led_to(server: ModelServer, models: Models) -> dict[str, str]:
    """The settings of a service whose memory asks ``server``."""
    return {
        **server.environment(),
        "DAYBOOK_PROVIDER": models.provider.value,
        "DAYBOOK_OBSERVER__MODEL": models.memory,
        "DAYBOOK_REFLECTOR__MODEL": models.memory,
    }


def _environment(settings: Mapping[str, str]) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.upper().startswith(PREFIX)}
    return {**inherited, "DAYBOOK_LOG_LEVEL": "error", **settings}


def _wait_until_ready(process: subprocess.Popen[bytes], client: httpx2.Client) -> None:
    wait_until(lambda: process.poll() is not None or _is_ready(client), seconds=START_SECONDS_MAX)
    if process.poll() is not None:
        raise RuntimeError("the service did not start")


def _is_ready(client: httpx2.Client) -> bool:
    try:
        return client.get("/readyz").is_success
    except httpx2.TransportError:
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
