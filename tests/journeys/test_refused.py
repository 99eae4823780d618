"""What a provider does not take of a conversation: it keeps nothing back that comes after it, and is told."""

from typing import Any

import asyncpg

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
PATIENT = {"failures_max": 100}


def talk() -> list[Json]:
    told = plain_talk(NUMBER)
    told[AT - 1]["content"] += f" And the {POISON} was found."
    return told


def filtered(asked: Asked) -> Said | None:
    return FILTERED if asked.has(POISON) else None


async def settled(service: Service, database_url: str, status: str) -> Json:
    """``/memory`` as soon as it is in this state with all said; the waits before are not waited out."""

    async def hurried() -> Json:
        await connection.execute("UPDATE memories SET due_at = now() WHERE attempts BETWEEN 1 AND 7 AND due_at > now()")
        return await service.memory(KEY)

    connection = await asyncpg.connect(database_url)
    try:
        return await until(hurried, lambda memory: memory["status"] == status and not memory["lease"], seconds=120)
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


async def test_a_model_of_a_small_context_is_shown_as_much_as_it_takes(
    start_service: StartService, models: ModelServer, database_url: str
) -> None:
    models.said_to = lambda asked: TOO_LONG if len(asked.prompt) > 1_500 else None
    async with start_service(provider="openai", memory=MEMORY, llm=PATIENT) as service:
        await service.append(KEY, *talk())
        await settled(service, database_url, "idle")
        now = await look(service, KEY)

    check_all(LIMITS, now, None)
    assert now.memory["pending"]["tokens"] < MEMORY["message_tokens"]
    assert not any("refused to read it" in one["text"] for one in now.observations)
    assert max(len(one.prompt) for one in models.asked(PromptKind.OBSERVER)) > 1_500


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
