"""What a provider does not take of a conversation: it keeps nothing back that comes after it, and is told."""

from collections.abc import Callable
from typing import Any

import asyncpg
import pytest

from tests.conftest import Service, StartService
from tests.journeys.laws import Limits, check_all
from tests.journeys.looks import Json, items, look, until
from tests.journeys.talk import plain_talk
from tests.model_replies import Asked, PromptKind
from tests.model_server import ModelServer, Said

KEY = "s"
MEMORY: dict[str, Any] = {
    "message_tokens": 400,
    "observation_tokens": 4_000,
    "message_budget": 2_000,
    "memory_budget": 6_000,
    "keep_last": 0,
    "buffer_every": None,
    "retain_tokens": 0,
}
LIMITS = Limits(message_budget=2_000, memory_budget=6_000)
NUMBER = 32  # messages, over 1,600 tokens
POISON = "bludgeon"
AT = 7
FILTERED = Said(
    status=400,
    body={
        "error": {
            "code": "content_filter",
            "type": "invalid_request_error",
            "message": "The response was filtered due to the prompt triggering the content management policy.",
        }
    },
)
TOO_LONG = Said(status=400, body={"error": {"message": "This model's maximum context length is 8192 tokens."}})
MINUTE = Said(
    status=429,
    body={
        "error": {
            "message": "This request would exceed your organization's rate limit of 1,000 input tokens per minute"
        }
    },
)
PATIENT = {"failures_max": 100}
PARTS = MEMORY | {"message_tokens": 100}


def talk() -> list[Json]:
    told = plain_talk(NUMBER)
    told[AT - 1]["content"] += f" And the {POISON} was found."
    return told


def filtered(asked: Asked) -> Said | None:
    return FILTERED if asked.has(POISON) else None


def of(kind: PromptKind) -> Callable[[Asked], Said | None]:
    """What refuses to this role alone, as of another provider."""
    return lambda asked: filtered(asked) if asked.kind is kind else None


async def settled(service: Service, database_url: str, status: str) -> Json:
    """``/memory`` as soon as it is in this state with all said; the waits before are not waited out."""

    async def hurried() -> Json:
        waiting = "attempts BETWEEN 1 AND 7 AND lease_owner IS NULL AND due_at > now()"
        await connection.execute(f"UPDATE memories SET due_at = now() WHERE {waiting}")  # noqa: S608 - our own text
        return await service.memory(KEY)

    connection = await asyncpg.connect(database_url)
    try:
        return await until(hurried, lambda memory: memory["status"] == status and not memory["lease"], seconds=300)
    finally:
        await connection.close()


async def test_a_message_that_a_filter_refuses_is_passed_over_and_all_others_are_noted(
    start_service: StartService, models: ModelServer, provider: str, database_url: str
) -> None:
    models.said_to = filtered
    async with start_service(provider=provider, memory=MEMORY, llm=PATIENT) as service:
        await service.append(KEY, *talk())
        memory = await settled(service, database_url, "idle")
        now = await look(service, KEY)
        calls = await items(service, f"/sessions/{KEY}/memory/runs")

    check_all(LIMITS, now, None)
    noted = [one for one in now.observations if "refused to read it" in one["text"]]
    assert [(one["from_seq"], one["to_seq"]) for one in noted] == [(AT, AT)]
    assert f"#{AT}" in noted[0]["text"]
    assert memory["cursor"]["observed_seq"] > AT + 1
    assert (memory["attempts"], memory["last_error"]) == (0, None)
    assert not any(POISON in one["text"] for one in now.observations)
    assert memory["usage"]["observer"]["calls"] == len(calls) == len(models.asked(PromptKind.OBSERVER))
    assert {run["error"].partition(":")[0] for run in calls if run["outcome"] == "failed"} == {"refused"}
    assert [run["kind"] for run in calls].count("probe") == 1


async def test_a_provider_that_refuses_everything_has_nothing_passed_over(
    start_service: StartService, models: ModelServer, database_url: str
) -> None:
    models.always = FILTERED
    async with start_service(provider="openai", memory=MEMORY, llm=PATIENT) as service:
        await service.append(KEY, *talk())
        memory = await settled(service, database_url, "stalled")
        calls = await items(service, f"/sessions/{KEY}/memory/runs")

    assert (memory["cursor"]["observed_seq"], memory["pending"]["messages"]) == (0, NUMBER)
    assert (memory["attempts"], memory["last_error"]["kind"]) == (8, "refused")
    assert memory["usage"]["observer"]["calls"] == len(calls) == len(models.requests)


@pytest.mark.parametrize(("provider", "said"), [("openai", TOO_LONG), ("anthropic", MINUTE)])
async def test_a_model_of_a_small_context_is_shown_as_much_as_it_takes(
    start_service: StartService, models: ModelServer, database_url: str, provider: str, said: Said
) -> None:
    models.said_to = lambda asked: said if len(asked.prompt) > 1_500 else None
    async with start_service(provider=provider, memory=MEMORY, llm=PATIENT) as service:
        await service.append(KEY, *talk())
        await settled(service, database_url, "idle")
        now = await look(service, KEY)

    check_all(LIMITS, now, None)
    assert now.memory["pending"]["tokens"] < MEMORY["message_tokens"]
    assert not any("refused to read it" in one["text"] for one in now.observations)
    assert max(len(one.prompt) for one in models.asked(PromptKind.OBSERVER)) > 1_500


async def test_a_message_larger_than_the_model_s_context_is_noted_without_a_limit_too(
    start_service: StartService, models: ModelServer, database_url: str
) -> None:
    models.said_to = lambda asked: TOO_LONG if len(asked.prompt) > 6_000 else None
    long = {"role": "user", "content": " ".join(f"Invoice {number} is paid." for number in range(1_000))}
    memory = MEMORY | {"observer_input_tokens": 0}
    async with start_service(provider="openai", memory=memory, llm=PATIENT) as service:
        await service.append(KEY, *talk(), long, *plain_talk(NUMBER + 2)[NUMBER:])
        await settled(service, database_url, "idle")
        now = await look(service, KEY)

    assert now.memory["cursor"]["observed_seq"] > NUMBER
    assert now.memory["pending"]["tokens"] < MEMORY["message_tokens"]


async def test_what_is_observed_again_after_an_erasure_is_passed_over_too(
    start_service: StartService, models: ModelServer, provider: str, database_url: str
) -> None:
    async with start_service(provider=provider, memory=MEMORY, llm=PATIENT) as service:
        await service.append(KEY, *talk())
        await settled(service, database_url, "idle")
        models.said_to = filtered
        answer = await service.client.delete(f"/sessions/{KEY}/messages/m-{AT - 1}")
        memory = await settled(service, database_url, "idle")
        now = await look(service, KEY)

    assert answer.status_code == 200, answer.text
    assert memory["coverage"]["gaps"] == []
    assert not any(one["by"] == "rebuilding" for one in memory["coverage"]["intervals"])
    assert [one["to_seq"] for one in now.observations if "refused to read it" in one["text"]] == [AT]


async def noted_in_parts(service: Service, database_url: str) -> list[Json]:
    """What is noted of a conversation whose first message is refused, in four chunks."""
    first, *others = talk()
    told = [first | {"content": f"My name is Ana, and I found a {POISON}. {first['content']}"}, *others]
    for at in range(0, NUMBER, 8):
        body = {"messages": told[at : at + 8], "resource_id": "ana"}
        answer = await service.client.post(f"/sessions/{KEY}/messages", json=body)
        assert answer.status_code == 201, answer.text
        await settled(service, database_url, "idle")
    chunks = (await look(service, KEY)).observations
    assert [POISON in one["text"] for one in chunks] == [True, False, False, False]
    return chunks


def who_did(calls: list[Json], kind: str) -> list[str]:
    return [run["provider"] for run in reversed(calls) if run["kind"] == kind and run["outcome"] == "recorded"]


@pytest.mark.parametrize(("strategy", "by_model"), [("leveled", True), ("rewrite", False)])
async def test_notes_that_a_filter_refuses_are_condensed_without_a_model_and_others_with_one(
    start_service: StartService,
    models: ModelServer,
    provider: str,
    database_url: str,
    strategy: str,
    *,
    by_model: bool,
) -> None:
    models.said_to = of(PromptKind.REFLECTOR)
    memory = PARTS | {"strategy": strategy, "min_interval": 0, "reflect_keep": 0}
    async with start_service(provider=provider, memory=memory, llm=PATIENT) as service:
        chunks = await noted_in_parts(service, database_url)
        tokens = sum(one["tokens"] for one in chunks)
        await service.configure(KEY, observation_tokens=tokens - chunks[0]["tokens"])
        found = await settled(service, database_url, "idle")
        now = await look(service, KEY)
        calls = await items(service, f"/sessions/{KEY}/memory/runs")

    check_all(LIMITS, now, None)
    assert found["log"]["tokens"] < tokens
    kinds = [run["kind"] for run in calls]
    assert found["usage"]["observer"]["calls"] == kinds.count("observe") == 4
    assert found["usage"]["reflector"]["calls"] == len(kinds) - 4
    assert "probe" in kinds
    condensed = who_did(calls, "reflect")
    assert (condensed[0], condensed.count("extractive"), provider in condensed) == ("extractive", 1, by_model)


async def test_a_log_that_a_filter_refuses_is_read_for_facts_without_a_model_and_the_rest_with_one(
    start_service: StartService, models: ModelServer, provider: str, database_url: str
) -> None:
    models.said_to = of(PromptKind.EXTRACTOR)
    async with start_service(provider=provider, memory=PARTS, llm=PATIENT) as service:
        await noted_in_parts(service, database_url)
        await service.client.post(f"/sessions/{KEY}/end")
        await settled(service, database_url, "idle")
        calls = await items(service, f"/sessions/{KEY}/memory/runs")
        facts = await items(service, "/resources/ana/facts")

    read = who_did(calls, "note_facts")
    assert (read[0], read.count("extractive"), read.count(provider)) == ("extractive", 1, len(read) - 1)
    assert len(read) > 1
    assert any("Ana" in fact["text"] for fact in facts)


async def test_messages_that_a_filter_refuses_are_read_for_facts_without_a_model(
    start_service: StartService, models: ModelServer, provider: str, database_url: str
) -> None:
    models.said_to = of(PromptKind.EXTRACTOR)
    said = [
        {"role": "user", "content": f"My name is Ana, and I found a {POISON}."},
        {"role": "user", "content": "I live in Lisbon."},
    ]
    async with start_service(provider=provider, memory=MEMORY, llm=PATIENT) as service:
        answer = await service.client.post(f"/sessions/{KEY}/messages", json={"messages": said, "resource_id": "ana"})
        assert answer.status_code == 201, answer.text
        await service.client.post(f"/sessions/{KEY}/end")
        await settled(service, database_url, "idle")
        calls = await items(service, f"/sessions/{KEY}/memory/runs")

    assert who_did(calls, "note_facts") == ["extractive", provider]


@pytest.mark.parametrize("kind", [PromptKind.REFLECTOR, PromptKind.EXTRACTOR])
async def test_a_provider_that_refuses_all_of_a_role_has_nothing_done_without_it(
    start_service: StartService, models: ModelServer, database_url: str, kind: PromptKind
) -> None:
    models.said_to = lambda asked: FILTERED if asked.kind is kind else None
    async with start_service(provider="openai", memory=PARTS, llm=PATIENT) as service:
        await noted_in_parts(service, database_url)
        await service.configure(KEY, observation_tokens=50, reflect_keep=0) if kind is PromptKind.REFLECTOR else None
        await service.client.post(f"/sessions/{KEY}/end")
        memory = await settled(service, database_url, "stalled")
        calls = await items(service, f"/sessions/{KEY}/memory/runs")

    assert memory["last_error"]["kind"] == "refused"
    assert not any(run["provider"] == "extractive" for run in calls)
