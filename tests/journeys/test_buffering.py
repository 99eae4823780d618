"""Observing ahead: invisible until the threshold, then live in one version; early only where the cache is cold."""

import itertools
from typing import Any

import pytest

from tests.conftest import Service

CONFIG = {"message_tokens": 4_000, "buffer_every": 0.25, "retain_tokens": 800, "observation_tokens": 50_000}
WORDS = "On {day} May I paid invoice {n} of 120 euros to Ana, and we decided to move the shop to Porto in June."


def turn(number: int) -> dict[str, Any]:
    role = "user" if number % 2 else "assistant"
    return {"id": f"m-{number}", "role": role, "content": " ".join([WORDS.format(day=1 + number % 28, n=number)] * 2)}


async def fill(service: Service, key: str, *, until_pending: int, first: int = 1, **more: Any) -> int:
    """Append turns until so many tokens wait; answers the number of the next turn."""
    number = first
    pending = 0
    while pending < until_pending:
        answer = await service.append(key, turn(number), wait_ms=50_000, **more)
        pending = answer["memory"]["pending_tokens"]
        number += 1
        assert number < first + 400
    return number


async def test_what_is_observed_ahead_stays_out_of_the_context(service: Service) -> None:
    await service.configure("ahead", **CONFIG)
    await fill(service, "ahead", until_pending=3_400)
    memory = await service.memory("ahead")
    assert memory["log"]["version"] == 0
    assert memory["buffered"]["observations"] >= 2
    assert memory["cursor"]["observed_seq"] == 0
    assert memory["cursor"]["buffered_seq"] > 0
    assert {by.split(":")[0] for by in (interval["by"] for interval in memory["coverage"]["intervals"])} == {
        "buffered",
        "tail",
    }
    assert memory["coverage"]["gaps"] == []
    context = await service.context("ahead")
    assert context["tokens"]["observations"] == 0
    assert len(context["payload"]["messages"]) == memory["cursor"]["last_seq"]


async def test_the_context_changes_once_per_threshold_and_not_once_per_call(service: Service) -> None:
    await service.configure("once", **CONFIG)
    versions: list[int] = []
    number = 1
    while len(versions) < 150:
        await service.append("once", turn(number), wait_ms=50_000)
        context = await service.context("once")
        versions.append(context["memory_version"])
        number += 1
    memory = await service.memory("once")
    runs = (await service.get("/sessions/once/memory/runs", limit=500))["items"]
    changes = sum(before != after for before, after in itertools.pairwise(versions))
    assert changes == memory["log"]["version"]
    assert changes >= 2
    assert len(runs) >= 3 * changes
    assert memory["coverage"]["gaps"] == []
    assert memory["cursor"]["tail_from_seq"] <= memory["cursor"]["observed_seq"] + 1
    log = await service.get("/sessions/once/memory/observations", status="active")
    assert sum(item["message_tokens"] for item in log["items"]) + memory["pending"]["tokens"] == await total(service)


async def test_a_topic_that_is_closed_is_observed_from_half_a_step_on_and_up_to_there(service: Service) -> None:
    await service.configure("topic", **CONFIG)  # a step is 1,000 tokens
    number = await fill(service, "topic", until_pending=550)
    assert (await service.memory("topic"))["buffered"]["observations"] == 0
    closed = {"role": "system", "kind": "boundary", "content": "The invoices are done."}
    answer = await service.append("topic", closed, wait_ms=50_000)
    end = answer["messages"][0]["seq"]
    for _ in range(4):
        await service.append("topic", turn(number), wait_ms=50_000)
        number += 1
    memory = await service.memory("topic")
    assert (memory["buffered"]["observations"], memory["cursor"]["buffered_seq"]) == (1, end)
    assert 500 <= memory["buffered"]["message_tokens"] < 1_000
    assert memory["coverage"]["gaps"] == []


@pytest.mark.parametrize("said", ["That's all for now, thanks!", "好的，就这些了，谢谢！"])
async def test_what_a_user_closes_in_words_is_where_a_step_is_cut(service: Service, said: str) -> None:
    await service.configure("words", **CONFIG)
    number = await fill(service, "words", until_pending=600)
    answered = {"role": "assistant", "content": "You are welcome."}
    end = (await service.append("words", {"role": "user", "content": said}, answered))["messages"][0]["seq"]
    await fill(service, "words", until_pending=1_000, first=number)
    memory = await service.memory("words")
    assert (memory["buffered"]["observations"], memory["cursor"]["buffered_seq"]) == (1, end + 1)


@pytest.mark.parametrize(("said", "observed"), [("That's all, thanks!", 1), ("That's all I had for lunch.", 0)])
async def test_a_topic_that_is_closed_in_words_is_observed_though_nothing_follows(
    service: Service, said: str, observed: int
) -> None:
    await service.configure("last", **CONFIG)
    await fill(service, "last", until_pending=550)
    await service.append("last", {"role": "user", "content": said}, wait_ms=50_000)
    memory = await service.memory("last")
    assert (memory["buffered"]["observations"], memory["coverage"]["gaps"]) == (observed, [])


async def total(service: Service) -> int:
    page = await service.get("/sessions/once/messages", limit=500)
    return sum(item["tokens"] for item in page["items"])


async def test_a_change_of_the_agents_model_activates_early(service: Service) -> None:
    await service.configure("model", **CONFIG)
    number = await fill(service, "model", until_pending=3_000)
    await report(service, number, "small")
    assert (await service.memory("model"))["log"]["version"] == 0
    await report(service, number + 1, "large")
    memory = await service.memory("model")
    assert memory["log"]["version"] == 1
    assert memory["pending"]["tokens"] < 3_000


async def report(service: Service, number: int, model: str) -> None:
    body = {"messages": [turn(number)], "usage": {"model": model, "input_tokens": 10}}
    answer = await service.client.post("/sessions/model/messages", json=body, params={"wait_ms": 50_000})
    assert answer.status_code == 201


async def test_an_idle_gap_activates_early(service: Service) -> None:
    await service.configure("idle", **CONFIG)
    number = await fill(service, "idle", until_pending=3_000)
    await service.configure("idle", cache_ttl=0)
    await service.append("idle", turn(number), wait_ms=50_000)
    assert (await service.memory("idle"))["log"]["version"] == 1


async def test_who_asks_for_an_observation_gets_everything_live(service: Service) -> None:
    await service.configure("asked", **CONFIG)
    await fill(service, "asked", until_pending=2_500)
    answer = await service.client.post("/sessions/asked/memory/observe", params={"wait_ms": 50_000})
    memory = answer.json()["memory"]
    assert memory["buffered"]["observations"] == 0
    assert memory["pending"]["tokens"] == 0
    assert memory["cursor"]["observed_seq"] == memory["cursor"]["last_seq"]


async def test_any_number_of_messages_to_skip_holds_nothing_up(service: Service) -> None:
    await service.configure("skips", preset="compact")
    for _ in range(21):
        await service.append("skips", *({"role": "system", "content": "Stay brief."} for _ in range(100)))
    for number in range(1, 31):
        await service.append("skips", turn(number), wait_ms=50_000)
    memory = await service.memory("skips")
    assert memory["cursor"]["observed_seq"] > 2_100
    assert memory["coverage"]["gaps"] == []
    assert memory["coverage"]["intervals"][0] == {"from": 1, "to": 2_100, "by": "skip"}
