"""Reads the state of a session through the public API, turn by turn."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import asyncpg

from tests.conftest import Service

T = TypeVar("T")
Json = dict[str, Any]

PAGE = 500
POLL_SECONDS = 0.02
WAIT_MS = 50_000
FORMATS = ("neutral", "openai", "anthropic")


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A session at one moment: ``/memory``, its contexts by format, all its observations, all its messages."""

    memory: Json
    contexts: dict[str, Json]
    observations: list[Json]
    stored: list[Json]

    @property
    def cursor(self) -> dict[str, int]:
        cursor: dict[str, int] = self.memory["cursor"]
        return cursor

    @property
    def derived_seq(self) -> int:
        """The newest message that is in an observation, be it only a buffered one."""
        return max(self.cursor["observed_seq"], self.cursor["buffered_seq"])


async def look(service: Service, key: str, *, formats: Sequence[str] = FORMATS, before: Look | None = None) -> Look:
    """The session as it is now. Messages that ``before`` has are not read again, because they never change."""
    known = before.stored if before else []
    return Look(
        memory=await service.memory(key),
        contexts={shape: await service.context(key, format=shape, explain=True) for shape in formats},
        observations=await items(service, f"/sessions/{key}/memory/observations"),
        stored=known + await items(service, f"/sessions/{key}/messages", after_seq=len(known)),
    )


async def driven(
    service: Service,
    key: str,
    requests: Iterable[Sequence[Json]],
    check: Callable[[Look, Look | None], None],
    *,
    formats: Sequence[str] = FORMATS,
) -> list[Look]:
    """Post the requests one by one, let the memory catch up after each, look, and check each look with the last."""
    looks: list[Look] = []
    for messages in requests:
        await service.append(key, *messages, wait_ms=WAIT_MS)
        before = looks[-1] if looks else None
        looks.append(await look(service, key, formats=formats, before=before))
        check(looks[-1], before)
    return looks


async def items(service: Service, path: str, **parameters: Any) -> list[Json]:
    """Every item of a list, page by page."""
    found: list[Json] = []
    cursor: dict[str, str] = {}
    while True:
        page = await service.get(path, limit=PAGE, **parameters, **cursor)
        found += page["items"]
        if page["next_cursor"] is None:
            return found
        cursor = {"cursor": page["next_cursor"]}


async def until(ask: Callable[[], Awaitable[T]], holds: Callable[[T], bool], *, seconds: float = 90.0) -> T:
    """Poll ``ask`` until ``holds`` is true for its answer, and return that; fails after ``seconds``."""
    end = time.monotonic() + seconds
    while not holds(answer := await ask()):
        assert time.monotonic() < end, answer
        await asyncio.sleep(POLL_SECONDS)
    return answer


async def until_stalled(service: Service, database_url: str, key: str) -> Json:
    """``/memory`` of a memory that always fails, after its eighth attempt; the back-off before that is skipped."""

    async def hurried() -> Json:
        await connection.execute(
            "UPDATE memories SET attempts = 7, due_at = now() WHERE attempts BETWEEN 1 AND 6 AND lease_owner IS NULL"
        )
        return await service.memory(key)

    connection = await asyncpg.connect(database_url)
    try:
        return await until(hurried, lambda memory: memory["status"] == "stalled")
    finally:
        await connection.close()
