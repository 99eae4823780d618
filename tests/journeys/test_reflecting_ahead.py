"""A reflection made ahead: no context shows it until the threshold, then it is live in one version."""

from typing import Any

from tests.conftest import Service, StartService
from tests.journeys.looks import Json
from tests.journeys.test_buffering import turn
from tests.model_replies import PromptKind
from tests.model_server import ModelServer

KEY = "ahead"
TURNS_MAX = 200
CONFIG: dict[str, Any] = {
    "message_tokens": 600,
    "buffer_every": 0.5,
    "retain_tokens": 100,
    "observation_tokens": 1_500,
    "reflect_keep": 0.5,
    "memory_budget": 0,
}


async def reflections(service: Service, status: str) -> list[Json]:
    page = await service.get(f"/sessions/{KEY}/memory/reflections", status=status)
    return list(page["items"])


async def talk_until(service: Service, status: str, first: int) -> int:
    """Append turns until there is a reflection of this status; answers the number of the next turn."""
    for number in range(first, first + TURNS_MAX):
        await service.append(KEY, turn(number), wait_ms=50_000)
        if await reflections(service, status):
            return number + 1
    raise AssertionError(f"no reflection was ever {status}")


async def reflector_calls(service: Service) -> int:
    return int((await service.memory(KEY))["usage"]["reflector"]["calls"])


async def test_a_reflection_made_ahead_is_invisible_until_the_threshold_and_then_live_in_one_version(
    service: Service,
) -> None:
    await service.configure(KEY, **CONFIG)
    number = await talk_until(service, "buffered", 1)
    [made], memory, context = await reflections(service, "buffered"), await service.memory(KEY), await told(service)
    assert made["born_version"] is None
    assert memory["log"]["reflections"] == memory["log"]["generation"] == 0
    assert CONFIG["observation_tokens"] / 2 <= memory["log"]["tokens"] < CONFIG["observation_tokens"]
    assert not [piece for piece in memory["coverage"]["intervals"] if piece["by"].startswith("reflection")]
    assert context["tokens"]["reflections"] == 0

    calls = await reflector_calls(service)
    before = (await service.memory(KEY))["log"]["version"]
    await talk_until(service, "active", number)
    [live], memory = await reflections(service, "active"), await service.memory(KEY)
    assert (live["id"], live["text"], live["sources"]) == (made["id"], made["text"], made["sources"])
    assert before < live["born_version"] <= memory["log"]["version"]
    assert memory["log"]["generation"] == 1
    assert memory["coverage"]["gaps"] == []
    assert memory["coverage"]["intervals"][0]["by"] == f"reflection:{live['id']}"
    again = len(await reflections(service, "buffered"))  # what stays may be enough to begin anew
    assert await reflector_calls(service) - calls == 0 or again
    retired = (await service.get(f"/sessions/{KEY}/memory/observations", status="retired"))["items"]
    assert {note["id"] for note in retired} == set(live["sources"])
    assert {note["retired_version"] for note in retired} == {live["born_version"]}
    assert (await told(service))["tokens"]["reflections"] > 0


async def told(service: Service) -> Json:
    return await service.context(KEY)


async def test_a_reflection_made_ahead_goes_with_a_source_that_is_changed(service: Service) -> None:
    await service.configure(KEY, **CONFIG)
    await talk_until(service, "buffered", 1)
    [made] = await reflections(service, "buffered")
    notes = f"/sessions/{KEY}/memory"
    edit = {"text": "* 🔴 [fact] Ana keeps the shop in Porto. #1"}
    refused = await service.client.patch(f"{notes}/reflections/{made['id']}", json=edit)
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/not-live")
    assert (await service.client.delete(f"{notes}/reflections/{made['id']}")).status_code == 409

    assert (await service.client.patch(f"{notes}/observations/{made['sources'][0]}", json=edit)).status_code == 200
    gone = next(note for note in await reflections(service, "retired") if note["id"] == made["id"])
    assert (gone["born_version"], gone["retired_version"]) == (None, None)
    assert all(note["id"] != made["id"] for note in await reflections(service, "buffered"))
    assert (await service.memory(KEY))["log"]["generation"] == 0
    late = await service.client.patch(f"{notes}/reflections/{made['id']}", json=edit)
    assert "changed" in late.json()["detail"]


async def test_a_rewrite_goes_with_a_reflection_that_is_changed(service: Service) -> None:
    await service.configure(KEY, **CONFIG | {"strategy": "rewrite"})
    await talk_until(service, "buffered", await talk_until(service, "active", 1))
    [live], [made] = await reflections(service, "active"), await reflections(service, "buffered")
    edit = {"text": "* 🔴 [fact] Ana keeps the shop in Porto. #1"}
    path = f"/sessions/{KEY}/memory/reflections/{live['id']}"
    assert (await service.client.patch(path, json=edit)).status_code == 200
    assert made["id"] in {note["id"] for note in await reflections(service, "retired")}


async def test_where_nothing_is_buffered_the_threshold_is_waited_for(service: Service) -> None:
    await service.configure(KEY, **(CONFIG | {"buffer_every": None}))
    await talk_until(service, "active", 1)
    assert await reflections(service, "buffered") == []
    assert await reflections(service, "retired") == []


async def test_a_model_is_asked_once_for_a_reflection(start_service: StartService, models: ModelServer) -> None:
    """Made ahead and activated it cost one call; asked for in between it would cost another."""
    async with start_service(provider="openai", memory=CONFIG) as service:
        await talk_until(service, "active", 1)
        [live], ahead = await reflections(service, "active"), await reflections(service, "buffered")
        runs = (await service.get(f"/sessions/{KEY}/memory/runs", limit=500))["items"]
    asked = models.asked(PromptKind.REFLECTOR)
    recorded = [run for run in runs if run["kind"] == "reflect" and run["outcome"] == "recorded"]
    assert live["generation"] == 1
    assert 1 + len(ahead) <= len(recorded) <= len(asked)
    assert len([run for run in runs if run["kind"] == "reflect"]) == len(asked)
