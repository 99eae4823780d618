"""A log whose reader has stopped: nothing waits for it, order is kept, and what is lost is told."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
import structlog

from app.kit.nonblocking import NonBlockingStream, may_hang

LINES = [f"line {number} {'.' * 90}\n" for number in range(5_000)]


@pytest.fixture(params=[("pipe", True), ("socket", True), ("pipe", False), ("socket", False)], ids=str)
def ends(request: pytest.FixtureRequest) -> Iterator[tuple[int, int]]:
    """Where it is read, and where it is written; nobody reads. Who shares the latter may have had it never wait."""
    kind, waits = request.param
    with ExitStack() as stack:
        if kind == "pipe":
            read, write = os.pipe()
        else:
            read, write = (end.detach() for end in socket.socketpair())
        os.set_blocking(write, waits)
        stack.callback(os.close, write)
        stack.callback(os.close, read)
        yield read, write


def read_lines(descriptor: int, last: str) -> list[str]:
    text = ""
    while not text.endswith(last):
        text += os.read(descriptor, 65_536).decode()
    return text.splitlines(keepends=True)


def test_only_what_another_process_reads_may_hang(ends: tuple[int, int]) -> None:
    _, write = ends
    with open(os.devnull, "w", encoding="utf-8") as file:  # noqa: PTH123 - no path, but a descriptor is asked about
        assert (may_hang(write), may_hang(file.fileno())) == (True, False)


def test_lines_wait_for_their_reader_in_their_order(ends: tuple[int, int]) -> None:
    read, write = ends
    stream = NonBlockingStream(write)
    for line in LINES:
        stream.write(line)
    assert read_lines(read, LINES[-1]) == LINES


def test_a_long_line_is_written_whole(ends: tuple[int, int]) -> None:
    read, write = ends
    stream = NonBlockingStream(write)
    long = "x" * 300_000 + "\n"
    stream.write(long)
    stream.write("the next\n")
    assert read_lines(read, "the next\n") == [long, "the next\n"]


def test_over_the_bound_lines_are_lost_and_counted(ends: tuple[int, int]) -> None:
    """Once or more often: of a socket that says it has no room, there is some to a write that waits."""
    read, write = ends
    stream = NonBlockingStream(write, waiting_bytes_max=10_000)
    structlog.configure(
        processors=[structlog.processors.JSONRenderer()],
        logger_factory=lambda *_: structlog.WriteLogger(stream),  # type: ignore[arg-type] # as much of a file as it needs
    )
    kept: list[str] = []
    told: list[int] = []
    try:
        for line in LINES:
            stream.write(line)
        while len(kept) + sum(told) < len(LINES):
            for line in read_lines(read, "\n"):
                if line.startswith("{"):
                    told.append(json.loads(line)["lines"])
                else:
                    kept.append(line)
    finally:
        structlog.reset_defaults()
    assert told
    assert len(kept) + sum(told) == len(LINES)
    assert kept == [line for line in LINES if line in set(kept)]


def test_without_a_reader_it_is_an_error_as_of_any_stream() -> None:
    read, write = os.pipe()
    os.close(read)
    with pytest.raises(BrokenPipeError):
        NonBlockingStream(write).write("line\n")
    os.close(write)


LOGGING = """
import structlog
from app.kit.logging import configure

configure(json=True, level="info")
former = structlog.get_logger("daybook.former")
former.info("a")
configure(json=True, level="info")  # as a process does that locates its database, and then serves
later = structlog.get_logger("daybook.later")
former.info("b", text="x" * 200_000)
later.info("c", text="y" * 200_000)
former.info("d")
later.info("e")
"""


def test_what_a_process_said_before_its_end_is_written_whole_and_in_order_however_it_was_set_up() -> None:
    ended = subprocess.run([sys.executable, "-c", LOGGING], capture_output=True, text=True, check=True)
    assert [json.loads(line)["event"] for line in ended.stderr.splitlines()] == ["a", "b", "c", "d", "e"]


UNREAD = """
import os

read, write = os.pipe()
os.dup2(write, 2)

import structlog
from app.locating import log_to_stderr
from app.settings import load_settings

log_to_stderr(load_settings(log_json=True))
log = structlog.get_logger("daybook.unread")
for _ in range(2_000):
    log.info("line", text="x" * 100)
log.info("last")
seen = b""
while not any(end in seen for end in (b"log_lines_lost", b'"last"')):
    seen += os.read(read, 65_536)
print("log_lines_lost" in seen.decode())
"""


@pytest.mark.parametrize(("most", "lost"), [(64 * 1024, "True"), (1024 * 1024, "False")])
def test_how_much_waits_for_a_reader_is_a_setting(most: int, lost: str) -> None:
    environment = {**os.environ, "DAYBOOK_LOG_WAITING_BYTES_MAX": str(most)}
    ended = subprocess.run(
        [sys.executable, "-c", UNREAD], capture_output=True, text=True, check=True, env=environment, timeout=60
    )
    assert ended.stdout.split() == [lost]
