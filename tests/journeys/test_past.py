"""Any past context is rebuilt byte for byte (architecture.md 1.5), and branches go on from any past."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count, cycle
from typing import Any

import pytest

from tests.conftest import Service, StartService
from tests.journeys.looks import Json, items
from tests.journeys.talk import Requests, mixed_talk
from tests.memory.changing.test_branching import check, facts

KEY = "s"
FORMATS = ("neutral", "anthropic", "openai", "openai-responses", "gemini", "text")
WAIT_MS = 50_000
NOW = "2099-01-01T10:00:00Z"  # later than any anchor, which a caller's ``now`` would move otherwise
MEMORY = {
    "message_tokens": 200,
    "observation_tokens": 250,
    "message_budget": 700,
    "memory_budget": 1_200,
    "keep_last": 5,
    "block_after": 1_000,  # never behind: that is told by a notice, and is not known afterwards
    "cache_ttl": 0,
}
DIRECT = {**MEMORY, "buffer_every": None}
AHEAD = {**MEMORY, "buffer_every": 0.25}

CHANGES: tuple[Json, ...] = (
    {"keep_last": 1, "message_budget": 200},
    {"enabled": False},
    {"enabled": True, "memory_budget": 150},
    {"timezone": "Asia/Seoul", "max_observations": 1, "memory_budget": None},
    {"cache_ttl": 3_600},
    {"message_budget": None},
    {"cache_ttl": 0, "max_observations": None, "message_budget": 700},
)


@dataclass(frozen=True, slots=True)
class Seen:
    """The bytes of every context that was answered, the last of each moment and format; one format a look, in turn."""

    contexts: dict[tuple[int, int], dict[str, bytes]] = field(default_factory=dict)
    formats: Iterator[str] = field(default_factory=lambda: cycle(FORMATS))

    async def look(self, service: Service, **parameters: Any) -> tuple[int, int]:
        shape = next(self.formats)
        content = await context(service, shape, **parameters)
        answer = json.loads(content)
        moment = answer["memory_version"], answer["as_of_seq"]
        self.contexts.setdefault(moment, {})[shape] = content
        return moment


async def context(service: Service, shape: str, *, key: str = KEY, **parameters: Any) -> bytes:
    query = {"format": shape, "explain": True, "now": NOW, **parameters}
    answer = await service.client.get(f"/sessions/{key}/context", params=query)
    assert answer.status_code == 200, answer.text
    return answer.content


def day_by_day(requests: Requests) -> Requests:
    """The same, each request some days after the one before, in a future that the server's clock does not reach."""
    days = count(1)
    begin = datetime(2031, 3, 1, 9, 0, tzinfo=UTC)
    return [
        [message | {"created_at": at.isoformat()} for message in request]
        for request, at in ((request, begin + timedelta(days=3 * next(days))) for request in requests)
    ]


async def control(service: Service, number: int) -> None:
    """An operator's hand: edits, deletions and steps by turns."""
    live = await items(service, f"/sessions/{KEY}/memory/observations", status="active")
    match number % 5:
        case 0 if live:
            text = f"* 🔴 [fact] User was edited {number} times. #{live[0]['from_seq']}"
            await service.client.patch(f"/sessions/{KEY}/memory/observations/{live[0]['id']}", json={"text": text})
        case 1 if live:
            await service.client.delete(f"/sessions/{KEY}/memory/observations/{live[-1]['id']}")
        case 2:
            await service.reflect(KEY)
        case 3:
            cursor = (await service.memory(KEY))["cursor"]
            body = {"up_to_seq": cursor["last_seq"] - 3}
            await service.client.post(f"/sessions/{KEY}/compact", json=body)
        case _:
            await service.observe(KEY)


async def configure(service: Service, seen: Seen, config: Json) -> None:
    """Change the config. The moment is rebuilt with the new one, so what was seen of it before is forgotten."""
    moment = await seen.look(service, wait_ms=WAIT_MS)
    del seen.contexts[moment]
    await service.configure(KEY, **config)
    await seen.look(service)


async def lived(service: Service, requests: Requests) -> Seen:
    """Go through the conversation, and look after everything that happens."""
    seen = Seen()
    changes = iter(CHANGES)
    for number, request in enumerate(requests):
        if number % 4 == 3:
            await configure(service, seen, next(changes, {}))
        await service.append(KEY, *request, wait_ms=WAIT_MS if number % 3 else 0)
        await seen.look(service)
        if number % 4 == 2:
            await control(service, number // 4)
            await seen.look(service)
    return seen


@pytest.mark.parametrize("memory", [DIRECT, AHEAD], ids=["direct", "ahead"])
async def test_every_context_that_was_answered_is_rebuilt_byte_for_byte(
    start_service: StartService, memory: Json
) -> None:
    requests = day_by_day(mixed_talk(seed=11, scenes=16))
    async with start_service(memory=memory, context={"previous_pieces_max": 0}) as service:  # each call for itself
        seen = await lived(service, requests)
        newest = await service.memory(KEY)
        causes = {version["cause"] for version in await items(service, f"/sessions/{KEY}/memory/versions")}
        for (version, seq), contexts in seen.contexts.items():
            for shape, content in contexts.items():
                rebuilt = await context(service, shape, as_of_version=version, as_of_seq=seq)
                assert rebuilt == content, (version, seq, shape)

    assert causes >= {"observed", "reflected", "edited", "deleted", "compacted"}
    assert newest["log"]["version"] > 10
    assert len(seen.contexts) > 20


async def test_a_branch_from_anywhere_begins_with_the_bytes_of_then_and_goes_on_soundly(
    start_service: StartService,
) -> None:
    requests = day_by_day(mixed_talk(seed=3, scenes=14))
    lived_through, goes_on = requests[:-4], requests[-4:]
    async with start_service(memory=AHEAD) as service:
        await lived(service, lived_through)
        before = await facts(service, KEY)
        for seq in range(1, before.last_seq + 1, 3):
            name = f"{KEY}-{seq}"
            answer = await service.client.post(f"/sessions/{KEY}/branch", json={"key": name, "at_seq": seq})
            assert answer.status_code == 201, answer.text
            for shape in FORMATS:
                then = await context(service, shape, as_of_seq=seq)
                assert unnamed(await context(service, shape, key=name)) == unnamed(then)
            check(await facts(service, name))
            if seq % 2:
                for request in goes_on:
                    await service.append(name, *request, wait_ms=WAIT_MS)
                check(await facts(service, name))
        after = await facts(service, KEY)

    assert (after.messages, after.memory, after.observations) == (before.messages, before.memory, before.observations)
    assert before.memory["log_version"] > 5


def unnamed(content: bytes) -> Json:
    """An answer without the names that the session's key is a part of."""
    answer: Json = json.loads(content)
    answer["session"] = ""
    answer["payload"].pop("prompt_cache_key", None)
    return answer
