"""The services that are measured. Another is plugged in by a class of this protocol (docs/benchmarks/speed.md)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import asyncpg

from benchmarks.speed.filling import fill
from benchmarks.speed.floor import SCHEMA
from benchmarks.speed.words import said

KEY = "bench-key-of-16-characters-or-more"


class Target(Protocol):
    """A running service. Methods return complete HTTP/1.1 requests; ``pids`` are the processes of the service."""

    @property
    def name(self) -> str: ...

    @property
    def port(self) -> int: ...

    @property
    def pids(self) -> Sequence[int]: ...

    async def fill(self, sessions: list[str], messages: int) -> None:
        """Make sessions of so many messages each, in the fastest way."""

    def append(self, session: str, first: int, messages: int) -> bytes:
        """A request that stores the messages of ``words.said`` from number ``first`` on."""

    def context(self, session: str) -> bytes:
        """A request for the context of the agent's next call."""

    def memory(self, session: str) -> bytes:
        """A request for the state of a session's memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Daybook:
    """The service with a key. Without an observer (``down``) filled sessions are not observed."""

    name: str = "daybook"
    port: int
    pids: Sequence[int]
    dsn: str
    wake_tokens: int = 6_000  # when the memory first looks: buffer_every of memory-rules.md section 2
    down: bool = False

    async def fill(self, sessions: list[str], messages: int) -> None:
        await fill(self.dsn, sessions, messages, observed=not self.down, wake_tokens=self.wake_tokens)

    def append(self, session: str, first: int, messages: int) -> bytes:
        return request("POST", f"/sessions/{session}/messages", _said(first, messages), key=KEY)

    def context(self, session: str) -> bytes:
        return request("GET", f"/sessions/{session}/context", key=KEY)

    def memory(self, session: str) -> bytes:
        return request("GET", f"/sessions/{session}/memory", key=KEY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """``benchmarks/speed/floor.py``, which has one kind of read."""

    name: str = "floor"
    port: int
    pids: Sequence[int]
    dsn: str

    async def fill(self, sessions: list[str], messages: int) -> None:
        connection = await asyncpg.connect(self.dsn)
        try:
            await connection.execute(SCHEMA)
            await connection.execute(FILL_FLOOR, sessions, messages, [said(number) for number in range(97)])
            await connection.execute("VACUUM ANALYZE floor_messages")
        finally:
            await connection.close()

    def append(self, session: str, first: int, messages: int) -> bytes:
        return request("POST", f"/sessions/{session}/messages", _said(first, messages))

    def context(self, session: str) -> bytes:
        return request("GET", f"/sessions/{session}/messages")

    memory = context


FILL_FLOOR = """
INSERT INTO floor_messages (session, role, content)
SELECT key, 'user', ($3::text[])[1 + n % array_length($3::text[], 1)]
FROM generate_series(1, $2) n, unnest($1::text[]) i (key)
"""


def request(method: str, path: str, body: object = None, *, key: str | None = None) -> bytes:
    """A request as sent by a client on a kept-alive connection."""
    content = b"" if body is None else json.dumps(body).encode()
    headers = [f"{method} {path} HTTP/1.1", "Host: localhost", "Accept: */*", "User-Agent: bench"]
    headers += [f"Authorization: Bearer {key}"] if key else []
    headers += ["Content-Type: application/json", f"Content-Length: {len(content)}"] if content else []
    return "\r\n".join([*headers, "", ""]).encode() + content


def _said(first: int, messages: int) -> dict[str, object]:
    roles = ("user", "assistant")
    numbers = range(first, first + messages)
    return {"messages": [{"role": roles[number % 2], "content": said(number)} for number in numbers]}
