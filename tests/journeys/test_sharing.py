"""Three sessions with one memory, and three processes on one database: nothing is lost, and nothing observed twice."""

import asyncio
import os
import random
from dataclasses import replace
from functools import partial

import pytest

from tests.conftest import Service
from tests.journeys.laws import COMPACT, check_all, coverage_is_whole, observed_exactly_once
from tests.journeys.looks import items, look, until
from tests.journeys.processes import process
from tests.journeys.talk import plain_talk
from tests.model_replies import PromptKind, block, messages
from tests.model_server import ModelServer

KEYS = ("one", "two", "three")
LONG = bool(os.environ.get("LONG"))
TURNS = 360 if LONG else 60
RULES = {"message_tokens": 300, "buffer_every": 0.25, "retain_tokens": 0.2, "observation_tokens": 400, "keep_last": 2}
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
    prompts = [asked.prompt for asked in models.asked(PromptKind.OBSERVER)]
    shown = [said.seq for prompt in prompts for said in messages(block(prompt, "messages") or "")]
    assert len(shown) == observed > 0


@pytest.mark.parametrize("seed", range(40 if LONG else 2))
async def test_the_laws_hold_through_any_history_of_sessions_that_share(service: Service, seed: int) -> None:
    """Messages of any size, calls that stay open, other rules, steps that are asked for, notes edited and deleted."""
    chance = random.Random(seed)  # noqa: S311 - chooses what is tried
    await service.client.put("/resources/ana", json={"config": RULES})
    for key in KEYS:
        await service.client.put(f"/sessions/{key}", json={"resource_id": "ana", "config": {"scope": "resource"}})
    for number in range(1, 41):
        await ACTS[chance.choices(range(len(ACTS)), (12, 3, 2, 1, 1, 1))[0]](service, chance, number)
    for key in KEYS:
        await service.context(key, wait_ms=60_000)
    for key in KEYS:
        now = await look(service, key)
        now = replace(now, observations=[note for note in now.observations if note["session"] == key])
        coverage_is_whole(now)
        observed_exactly_once(now)


async def say(service: Service, chance: random.Random, number: int) -> None:
    words = f"On May {number % 28 + 1} Ana paid invoice {number} of {number}20 euros. " * chance.choice((1, 2, 6, 20))
    role = chance.choice(("user", "assistant", "system"))
    await service.append(chance.choice(KEYS), {"role": role, "content": words, "observe": chance.random() > 0.1})


async def call(service: Service, chance: random.Random, number: int) -> None:
    key, id_ = chance.choice(KEYS), f"c{number}"
    made = {"id": id_, "type": "function", "function": {"name": "pay", "arguments": "{}"}}
    await service.append(key, {"role": "assistant", "content": None, "tool_calls": [made]})
    if chance.random() < 0.7:  # most are answered
        await service.append(key, {"role": "tool", "tool_call_id": id_, "content": f"Paid {number}20 euros."})


async def ask(service: Service, chance: random.Random, _number: int) -> None:
    step = chance.choice(("observe", "reflect"))
    await service.client.post(f"/sessions/{chance.choice(KEYS)}/memory/{step}", params={"wait_ms": 50_000})


async def rule(service: Service, chance: random.Random, _number: int) -> None:
    config = {
        "message_tokens": chance.choice((60, 300, 900)),
        "buffer_every": chance.choice((None, 0.25, 80)),
        "retain_tokens": chance.choice((0, 0.2, 100)),
        "observation_tokens": chance.choice((100, 400)),
        "keep_last": chance.choice((0, 4)),
    }
    await service.client.put("/resources/ana", json={"config": config})


async def edit(service: Service, chance: random.Random, _number: int) -> None:
    path = f"/sessions/{chance.choice(KEYS)}/memory/observations"
    live = [note["id"] for note in await items(service, path) if note["status"] == "active"]
    if live:
        await service.client.patch(f"{path}/{chance.choice(live)}", json={"text": "* 🟡 Ana pays."})


async def forget(service: Service, chance: random.Random, _number: int) -> None:
    kind = chance.choice(("observations", "reflections"))
    path = f"/sessions/{chance.choice(KEYS)}/memory/{kind}"
    known = [note["id"] for note in await items(service, path) if note["status"] != "retired"]
    if known:
        await service.client.delete(f"{path}/{chance.choice(known)}")


ACTS = (say, call, ask, rule, edit, forget)
