"""Runs PgBouncer in transaction mode in front of a database of the tests, if it is installed."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest

PORT = 6432  # part of the socket's file name; there is no TCP
CONNECTIONS = 2  # to the server, for all clients: fewer than a service opens, so that they share them
START_SECONDS = 20.0
CONFIG = """
[databases]
* = host={host} port={port} user={user}
[pgbouncer]
pool_mode = transaction
default_pool_size = {connections}
max_client_conn = 200
listen_addr =
listen_port = {own_port}
unix_socket_dir = {folder}
auth_type = any
logfile = {folder}/pgbouncer.log
pidfile = {folder}/pgbouncer.pid
"""


@contextmanager
def pooled(dsn: str) -> Iterator[str]:
    """The DSN's database behind a PgBouncer of our own, stopped at the end. Skips the test if none is installed."""
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")
    if program is None:
        pytest.skip("pgbouncer is not installed")
    (host,), (port,) = parse_qs(urlsplit(dsn).query)["host"], parse_qs(urlsplit(dsn).query)["port"]
    folder = Path(tempfile.mkdtemp(prefix="daybook-pooler-"))
    user = urlsplit(dsn).username
    config = CONFIG.format(host=host, port=port, user=user, connections=CONNECTIONS, own_port=PORT, folder=folder)
    process = _start(program, folder, config, server=Path(host))
    try:
        _wait_until_it_listens(process, folder)
        yield f"postgresql://{user}@/{urlsplit(dsn).path[1:]}?host={quote(str(folder), safe='')}&port={PORT}"
    finally:
        process.send_signal(signal.SIGINT)  # its safe shutdown; SIGTERM is its immediate one
        try:
            process.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(folder)


def is_pooled(dsn: str) -> bool:
    return f"&port={PORT}" in dsn


def _start(program: str, folder: Path, config: str, *, server: Path) -> "subprocess.Popen[bytes]":
    """Run it as the server's user, because the socket is closed to others, and PgBouncer refuses to run as root."""
    written, owner = folder / "pgbouncer.ini", server.stat()
    written.write_text(config, encoding="utf-8")
    own = owner.st_uid == os.geteuid()
    if not own:
        os.chown(folder, owner.st_uid, owner.st_gid)
        folder.chmod(0o755)
    return subprocess.Popen(
        [program, "-q", str(written)],
        cwd="/",
        user=None if own else owner.st_uid,
        group=None if own else owner.st_gid,
        extra_groups=None if own else [],
        stderr=subprocess.DEVNULL,
    )


def _wait_until_it_listens(process: "subprocess.Popen[bytes]", folder: Path) -> None:
    """Wait until a connection succeeds: the socket's file exists before PgBouncer listens on it."""
    until = time.monotonic() + START_SECONDS
    while not _listens(folder / f".s.PGSQL.{PORT}"):
        if process.poll() is not None or time.monotonic() > until:
            log = folder / "pgbouncer.log"
            raise RuntimeError(f"pgbouncer did not start: {log.read_text() if log.exists() else 'it wrote no log'}")
        time.sleep(0.01)


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(path)) == 0
