"""The demo: replays the sample conversation into the service that answers, or into one started for it."""

import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files

from app.replay.client import Service
from app.replay.errors import ReplayError
from app.replay.run import replay_file
from app.settings import without_password

START_SECONDS_MAX = 120.0  # a first start makes the database
STOP_SECONDS_MAX = 30.0
DEMO_CONFIG = {"preset": "compact", "timezone": "Europe/Lisbon"}  # small thresholds, and where the sample takes place


def run_demo(url: str, *, key: str | None, session: str) -> None:
    """Replay the sample with preset compact and print the compiled context. Raises ReplayError."""
    sample = files("app").joinpath("samples/support.jsonl")
    with _service(url, key=key) as service, as_file(sample) as path:
        replay_file(service, path, session=session, config=DEMO_CONFIG, wait_ms=10_000)
        sys.stdout.write(service.context(session, format="text")["payload"]["text"] + "\n")


@contextmanager
def _service(url: str, *, key: str | None) -> Iterator[Service]:
    with Service(url, key=key) as service:
        if service.is_ready():
            yield service
            return
    sys.stderr.write(f"No service answers at {without_password(url)}; starting one for the demo.\n")
    with _started(_free_port()) as own_url, Service(own_url, key=key) as service:
        yield service


@contextmanager
def _started(port: int) -> Iterator[str]:
    """A service of our own for the time being, on the database that ``daybook serve`` would use."""
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "app.cli", "serve", "--host", "127.0.0.1", "--port", str(port)]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)  # noqa: S603 - our own interpreter and module
        try:
            if not _becomes_ready(process, url):
                log.seek(0)
                raise ReplayError(f"the service did not start:\n{log.read().decode(errors='replace').strip()}")
            yield url
        finally:
            _stop(process)


def _becomes_ready(process: subprocess.Popen[bytes], url: str) -> bool:
    until = time.monotonic() + START_SECONDS_MAX
    with Service(url) as service:
        while process.poll() is None and time.monotonic() < until:
            if service.is_ready():
                return True
            time.sleep(0.1)
    return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
