"""Sends requests and retries them until they are answered, as our documentation asks of clients.

Requests go one after another over a raw kept-alive connection, because an HTTP library would take as much CPU as the
service that is measured.
"""

import asyncio
import random
from dataclasses import dataclass
from itertools import count
from typing import Any

import orjson

OK, LATER = frozenset({200, 201}), frozenset({429, 503})
PATIENCE_SECONDS = 15.0  # for one answer
GIVE_UP_SECONDS = 180.0  # for a request with all its retries
BACKOFF_SECONDS, BACKOFF_SECONDS_MAX = 0.05, 1.0
END = b"\r\n\r\n"


class Wrong(Exception):
    """A wrong answer: a refusal, none at all, or another than expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An HTTP response. ``retry_after`` in seconds."""

    status: int
    retry_after: float
    body: bytes


class Exchange:
    """A client over one connection. ``retries`` counts the requests that were sent again."""

    def __init__(self, port: int, chance: random.Random) -> None:
        self._port = port
        self._chance = chance
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.retries = 0

    async def ask(self, request: bytes) -> Any:
        """The answer's body. Raises Wrong."""
        try:
            async with asyncio.timeout(GIVE_UP_SECONDS):
                return await self._until_answered(request)
        except TimeoutError as error:
            raise Wrong(f"no answer within {GIVE_UP_SECONDS:g} s") from error

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    async def _until_answered(self, request: bytes) -> Any:
        attempts = count()
        while (answer := await self._tried(request)) is None or answer.status in LATER:
            self.retries += 1
            await asyncio.sleep(max(self._backoff(next(attempts)), answer.retry_after if answer else 0))
        if answer.status not in OK:
            raise Wrong(f"{answer.status}: {answer.body[:300].decode(errors='replace')}")
        return orjson.loads(answer.body)

    async def _tried(self, request: bytes) -> Answer | None:
        """The answer of one try; None if the connection ended or no answer came. The next try then reconnects."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                return await self._once(request)
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            self.close()
            return None

    async def _once(self, request: bytes) -> Answer:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        writer.write(request)
        first, *lines = (await reader.readuntil(END))[: -len(END)].split(b"\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines)}
        body = await reader.readexactly(int(headers[b"content-length"]))
        if headers.get(b"connection") == b"close":
            self.close()
        return Answer(status=int(first[9:12]), retry_after=float(headers.get(b"retry-after", 0)), body=body)

    def _backoff(self, attempt: int) -> float:
        """Seconds of exponential backoff with full jitter, so that callers do not all come back at once."""
        return self._chance.uniform(0, min(BACKOFF_SECONDS_MAX, BACKOFF_SECONDS * 2**attempt))
