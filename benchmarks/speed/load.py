"""The load generator: requests over raw connections, from a process of its own, so that it is not measured itself.

A closed loop sends the next request of a connection when the last is answered. An open loop sends at a fixed rate,
whatever is answered, and counts a request's latency from its scheduled time.
"""

import asyncio
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import cast

import uvloop

LENGTH = b"content-length: "
END = b"\r\n\r\n"
OK = (b"200", b"201", b"202")
OPEN_CONNECTIONS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """``requests`` are sent in turn, over and over. ``rate``, in requests per second, makes an open loop."""

    port: int
    requests: Sequence[bytes]
    connections: int
    seconds: float
    rate: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The latencies, in ms, of successful requests; ``cpu_seconds`` is the CPU time of the generator."""

    latencies: list[float]
    failed: int
    seconds: float
    cpu_seconds: float
    answer_bytes: int


def run(plan: Plan) -> Load:
    """Run the whole load. Raises OSError if nobody listens."""
    return uvloop.run(_run(plan))


async def _run(plan: Plan) -> Load:
    sending = Sending(plan)
    loop = asyncio.get_running_loop()
    connections = [
        (await loop.create_connection(lambda: Connection(sending), "127.0.0.1", plan.port))[1]
        for _ in range(plan.connections)
    ]
    started, cpu = time.perf_counter(), time.process_time()
    sending.end = started + plan.seconds
    if plan.rate is None:
        for connection in connections:
            connection.ready()
    else:
        await _arrive(sending, connections, started, rate=plan.rate, number=round(plan.seconds * plan.rate))
    await sending.finished.wait()
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu
    for connection in connections:
        connection.close()
    return Load(
        latencies=sending.latencies,
        failed=sending.failed,
        seconds=seconds,
        cpu_seconds=cpu_seconds,
        answer_bytes=sending.answer_bytes,
    )


async def _arrive(
    sending: "Sending", connections: list["Connection"], started: float, *, rate: float, number: int
) -> None:
    """Send so many requests at their times; one without a free connection waits, which counts as latency."""
    sending.idle.extend(connections)
    for due in (started + nth / rate for nth in range(number)):
        if (ahead := due - time.perf_counter()) > 0:
            await asyncio.sleep(ahead)
        sending.arrived(due)
    sending.no_more()


@dataclass(slots=True)
class Sending:
    """The state that all connections share."""

    plan: Plan
    end: float = 0.0
    latencies: list[float] = field(default_factory=list)
    failed: int = 0
    answer_bytes: int = 0
    finished: asyncio.Event = field(default_factory=asyncio.Event)
    idle: deque["Connection"] = field(default_factory=deque)
    _requests: Iterator[bytes] = field(init=False)
    _late: deque[float] = field(default_factory=deque)
    _under_way: int = 0
    _ended: bool = False

    def __post_init__(self) -> None:
        self._requests = cycle(self.plan.requests)

    def arrived(self, at: float) -> None:
        if self.idle:
            self._send(self.idle.popleft(), at)
        else:
            self._late.append(at)

    def next(self, connection: "Connection") -> None:
        """Give a free connection its next request, if there is one."""
        if self._late:
            self._send(connection, self._late.popleft())
        elif self.plan.rate is not None:
            self.idle.append(connection)
        elif time.perf_counter() < self.end:
            self._send(connection, time.perf_counter())
        else:
            self._ended = True
        self._look()

    def no_more(self) -> None:
        self._ended = True
        self._look()

    def answered(self, latency: float, size: int, *, good: bool) -> None:
        self._under_way -= 1
        self.answer_bytes = size
        if good:
            self.latencies.append(latency * 1000)
        else:
            self.failed += 1

    def _send(self, connection: "Connection", at: float) -> None:
        self._under_way += 1
        connection.send(next(self._requests), at)

    def _look(self) -> None:
        if self._ended and not self._under_way and not self._late:
            self.finished.set()


class Connection(asyncio.Protocol):
    """One connection with one request at a time; only the status and length of an answer are read."""

    def __init__(self, sending: Sending) -> None:
        self._sending = sending
        self._transport: asyncio.Transport | None = None
        self._head = b""
        self._missing = 0
        self._size = 0
        self._at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's class does not inherit from it

    def ready(self) -> None:
        self._sending.next(self)

    def send(self, request: bytes, at: float) -> None:
        assert self._transport is not None  # noqa: S101 - nothing is sent before the connection is made
        self._at = at
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        if self._missing:
            self._missing -= len(data)
        else:
            self._head += data
            head, found, body = self._head.partition(END)
            if not found:
                return
            self._size = _length(head)
            self._missing = self._size - len(body)
        if self._missing <= 0:
            self._answered()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _answered(self) -> None:
        good = self._head[9:12] in OK
        self._head, self._missing = b"", 0
        self._sending.answered(time.perf_counter() - self._at, self._size, good=good)
        self._sending.next(self)


def _length(head: bytes) -> int:
    """The body's length. Raises ValueError for an answer without a Content-Length, which is not supported here."""
    lowered = head.lower()
    start = lowered.index(LENGTH) + len(LENGTH)
    return int(lowered[start:].split(b"\r\n", 1)[0])
