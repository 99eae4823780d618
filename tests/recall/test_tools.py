"""The tools are what the SDKs take, and their arguments what the routes take."""

from typing import Any

import pytest
from anthropic.types import ToolParam
from jsonschema import Draft202012Validator
from openai.types.chat import ChatCompletionFunctionToolParam
from pydantic import TypeAdapter

from app.recall.schemas import RecallIn, ResourceRecallIn
from app.recall.tools import EXPAND, EXPAND_SHARED, RECALL, RECALL_SHARED
from app.sessions.schemas import MessageQuery
from tests.conftest import Service
from tests.test_problems import assert_problem


@pytest.mark.parametrize(
    ("tool_format", "sdk"), [("openai", ChatCompletionFunctionToolParam), ("anthropic", ToolParam)]
)
@pytest.mark.parametrize("scope", ["session", "resource"])
async def test_the_sdk_takes_the_tools_as_they_are(service: Service, tool_format: str, sdk: Any, scope: str) -> None:
    tools = (await service.get("/tools", format=tool_format, scope=scope))["tools"]
    assert TypeAdapter(list[sdk]).validate_python(tools) == tools
    assert len(tools) == 2


@pytest.mark.parametrize(
    ("tool", "route"),
    [
        (RECALL, RecallIn),
        (EXPAND, MessageQuery),
        (RECALL_SHARED, ResourceRecallIn),
        (EXPAND_SHARED, MessageQuery),
    ],
)
def test_what_a_model_may_give_the_route_takes(tool: dict[str, Any], route: Any) -> None:
    Draft202012Validator.check_schema(tool["parameters"])
    assert tool["parameters"]["properties"].keys() <= route.model_fields.keys()


async def test_a_hit_of_recall_is_expanded_to_its_messages(service: Service) -> None:
    await service.append("s", *({"role": "user", "content": f"door {word}"} for word in ("one", "two", "three")))
    answer = await service.client.post("/sessions/s/recall", json={"query": "two", "limit": 1})
    (hit,) = answer.json()["hits"]
    expanded = await service.get("/sessions/s/messages", from_seq=hit["from_seq"], to_seq=hit["to_seq"])
    assert [item["content"][0]["text"] for item in expanded["items"]] == ["door two"]


async def test_in_a_shared_memory_a_hit_leads_to_its_conversation_and_nobody_elses_is_read(service: Service) -> None:
    shared = {"resource_id": "ana", "config": {"scope": "resource"}}
    for key, own in (("monday", shared), ("tuesday", shared), ("other", {"resource_id": "ben"}), ("alone", {})):
        assert (await service.client.put(f"/sessions/{key}", json=own)).is_success
        await service.append(
            key, *({"role": "user", "content": f"{word} of {key}"} for word in ("door", "gate", "wall"))
        )
    answer = await service.client.post("/resources/ana/recall", json={"query": "gate of tuesday", "limit": 1})
    (hit,) = answer.json()["hits"]
    assert hit["session"] == "tuesday"

    asked = {"from_seq": hit["from_seq"], "to_seq": hit["to_seq"]}
    read = {
        conversation: await service.client.get(
            "/sessions/monday/messages", params=asked | ({} if conversation is None else {"conversation": conversation})
        )
        for conversation in (None, "monday", "tuesday", "other", "alone", "nobody")
    }
    assert {name: answer.status_code for name, answer in read.items() if not answer.is_success} == {
        "other": 404,
        "alone": 404,
        "nobody": 404,
    }
    assert [
        item["content"][0]["text"] for answer in read.values() if answer.is_success for item in answer.json()["items"]
    ] == ["gate of monday", "gate of monday", "gate of tuesday"]
    for answer in (read["other"], read["nobody"]):
        assert_problem(answer, 404, "session-not-found")
        assert "'monday' shares its memory with no" in answer.json()["detail"]


async def test_a_page_of_one_conversation_goes_on_in_no_other(service: Service) -> None:
    shared = {"resource_id": "ana", "config": {"scope": "resource"}}
    for key in ("monday", "tuesday"):
        assert (await service.client.put(f"/sessions/{key}", json=shared)).is_success
        await service.append(key, *({"role": "user", "content": f"{word} of {key}"} for word in ("door", "gate")))
    first = await service.get("/sessions/monday/messages", conversation="tuesday", limit=1)
    asked = {"limit": 1, "cursor": first["next_cursor"]}
    second = await service.get("/sessions/monday/messages", **asked, conversation="tuesday")
    mixed = await service.client.get("/sessions/monday/messages", params=asked)
    assert [page["items"][0]["content"][0]["text"] for page in (first, second)] == [
        "door of tuesday",
        "gate of tuesday",
    ]
    assert mixed.status_code == 422


async def test_a_format_of_nobody_is_refused(service: Service) -> None:
    assert (await service.client.get("/tools", params={"format": "smoke"})).status_code == 422
