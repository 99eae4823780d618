"""Real conversations of hundreds of turns, and real agents' transcripts in their native shapes."""

import json
import os
from functools import partial
from pathlib import Path
from uuid import UUID

import pytest

from tests.conftest import Service
from tests.journeys.laws import COMPACT, check_all
from tests.journeys.looks import FORMATS, WAIT_MS, Json, driven, items

KEY = "s"
SMALL = {"preset": "compact", "message_tokens": 400, "observation_tokens": 700, "memory_budget": 2_000}
FEW = 8  # messages a request; turn by turn is driven in test_laws.py, and at length by `make fuzz`
ALL = ("conv-30", "conv-26", "conv-41", "conv-42", "conv-43")  # `make fuzz` takes all, the suite the first
LONGEST = 4  # transcripts of each source and shape


@pytest.mark.parametrize("name", ALL if os.environ.get("LONG") else ALL[:1])
async def test_a_long_conversation_is_remembered_whole(service: Service, shared_data: Path, name: str) -> None:
    turns = [turn_message(turn) for turn in lines(shared_data / "locomo" / f"{name}.jsonl")]
    requests = batches(turns, 1 if name == ALL[0] and os.environ.get("LONG") else FEW)
    await service.configure(KEY, preset="compact")

    looks = await driven(service, KEY, requests, partial(check_all, COMPACT), formats=["neutral"])

    last, reflections = looks[-1], await items(service, f"/sessions/{KEY}/memory/reflections")
    assert [stored["id"] for stored in last.stored] == [turn["id"] for turn in turns]
    assert [stored["content"][0]["text"] for stored in last.stored] == [turn["content"] for turn in turns]
    assert max(reflection["level"] for reflection in reflections) >= 1
    assert last.memory["log"]["reflections"] >= 1
    assert last.memory["compression"]["ratio"] > 2


@pytest.mark.parametrize("scope", ["session", "resource"])
async def test_a_log_that_is_small_for_what_is_said_is_shown_whole(
    service: Service, shared_data: Path, scope: str
) -> None:
    """Law 9. In a shared log each citation names its session, by a UUID a third of all, and it is condensed as well."""
    turns = [turn_message(turn) for turn in lines(shared_data / "locomo" / "conv-26.jsonl")]
    keys = [str(UUID(int=number)) for number in range(2)]
    for key in keys:
        body = {"resource_id": "ana", "config": SMALL | {"scope": scope}}
        assert (await service.client.put(f"/sessions/{key}", json=body)).status_code == 201
    for number, request in enumerate(batches(turns[:240], FEW)):
        key = keys[0 if scope == "session" else number % 2]
        await service.append(key, *request, wait_ms=WAIT_MS)
        memory, context = await service.memory(key), await service.context(key)
        assert (memory["status"], memory["last_error"]) == ("idle", None)
        assert memory["log"]["tokens"] <= SMALL["memory_budget"]
        assert (context["omitted"]["reflections"], context["omitted"]["observations"]) == (0, 0)
    runs = await items(service, f"/sessions/{keys[0]}/memory/runs")
    assert {"observe", "reflect", "consolidate"} == {run["kind"] for run in runs}
    assert {run["outcome"] for run in runs} == {"recorded"}


async def test_transcripts_of_real_agents_are_taken_and_given_as_they_are(service: Service, shared_data: Path) -> None:
    transcripts = longest(lines(shared_data / "tools" / "conversations.jsonl"))
    for number, transcript in enumerate(transcripts):
        key = f"s{number}"
        await service.configure(key, preset="compact")
        posted = [{**message, "id": f"m-{index}"} for index, message in enumerate(transcript["messages"])]

        looks = await driven(service, key, batches(posted, FEW), partial(check_all, COMPACT), formats=FORMATS)

        assert [stored["id"] for stored in looks[-1].stored] == [message["id"] for message in posted]
    assert {transcript["format"] for transcript in transcripts} == {"anthropic", "openai"}


def lines(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def turn_message(turn: Json) -> Json:
    """A turn of LoCoMo as a request has it."""
    fields = {name: turn[name] for name in ("role", "content", "created_at")}
    return {**fields, "id": turn["turn_id"], "name": turn["speaker"]}


def batches(messages: list[Json], size: int) -> list[list[Json]]:
    return [messages[start : start + size] for start in range(0, len(messages), size)]


def longest(transcripts: list[Json]) -> list[Json]:
    """The longest ones of every source and shape."""
    kinds = sorted({(one["source"], one["format"]) for one in transcripts})
    of_kind = ([one for one in transcripts if (one["source"], one["format"]) == kind] for kind in kinds)
    return [one for group in of_kind for one in sorted(group, key=lambda one: -len(one["messages"]))[:LONGEST]]
