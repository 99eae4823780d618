"""Three sessions with one memory, and three processes on one database: nothing is lost, and nothing observed twice."""

import asyncio
import os
from dataclasses import replace
from functools import partial

import pytest

from tests.journeys.laws import COMPACT, check_all
from tests.journeys.looks import items, look, until
from tests.journeys.processes import process
from tests.journeys.talk import plain_talk
from tests.model_replies import PromptKind, messages
from tests.model_server import ModelServer

KEYS = ("one", "two", "three")
TURNS = 360 if os.environ.get("LONG") else 60
SHARED = {"scope": "resource", "preset": "compact"}


@pytest.fixture
def environment(database_url: str, models: ModelServer) -> dict[str, str]:
    return {
        **models.environment(),
        "DAYBOOK_DATABASE_URL": database_url,
        "DAYBOOK_MIGRATE": "never",
        "DAYBOOK_PROVIDER": "anthropic",
        "DAYBOOK_ENGINE__SWEEP_SECONDS": "0.1",
        "DAYBOOK_POOL__MAX": "4",
    }


async def test_three_sessions_of_one_memory_and_three_processes_keep_the_laws(
    environment: dict[str, str], models: ModelServer
) -> None:
    turns = plain_talk(TURNS)
    async with process(environment) as first, process(environment) as second, process(environment) as third:
        services = (first, second, third)
        for key in KEYS:
            answer = await first.client.put(f"/sessions/{key}", json={"resource_id": "ana", "config": SHARED})
            assert answer.status_code == 201

        async def converse(key: str, offset: int) -> None:
            for number in range(0, TURNS, 3):
                await services[(number // 3 + offset) % len(services)].append(key, *turns[number : number + 3])

        await asyncio.gather(*(converse(key, offset) for offset, key in enumerate(KEYS)))
        await until(partial(first.memory, "one"), lambda memory: memory["status"] == "idle", seconds=90)
        spans = []
        for key, service in zip(KEYS, services, strict=True):
            now = await look(service, key)
            own = [note for note in now.observations if note["session"] == key]
            check_all(COMPACT, replace(now, observations=own), None)
            assert [said["id"] for said in now.stored] == [said["id"] for said in turns]
            spans += [(note["from_seq"], note["to_seq"]) for note in own]
        runs = await items(first, "/sessions/one/memory/runs")
        observed = sum([(await first.memory(key))["cursor"]["observed_seq"] for key in KEYS])

    assert sorted(spans) == sorted((run["from_seq"], run["to_seq"]) for run in runs if run["kind"] == "observe")
    shown = [said.seq for asked in models.asked(PromptKind.OBSERVER) for said in messages(_span(asked.prompt))]
    assert len(shown) == observed > 0


def _span(prompt: str) -> str:
    _, _, rest = prompt.partition("<messages>\n")
    return rest.partition("\n</messages>")[0]
