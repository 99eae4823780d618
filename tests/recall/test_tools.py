"""The tools are what the SDKs take, and their arguments what the routes take."""

from typing import Any

import pytest
from anthropic.types import ToolParam
from jsonschema import Draft202012Validator
from openai.types.chat import ChatCompletionFunctionToolParam
from pydantic import TypeAdapter

from app.recall.schemas import RecallIn
from app.recall.tools import EXPAND, RECALL
from app.sessions.schemas import MessageQuery
from tests.conftest import Service


@pytest.mark.parametrize(
    ("tool_format", "sdk"), [("openai", ChatCompletionFunctionToolParam), ("anthropic", ToolParam)]
)
async def test_the_sdk_takes_the_tools_as_they_are(service: Service, tool_format: str, sdk: Any) -> None:
    tools = (await service.get("/tools", format=tool_format))["tools"]
    assert TypeAdapter(list[sdk]).validate_python(tools) == tools
    assert len(tools) == 2


@pytest.mark.parametrize(("tool", "route"), [(RECALL, RecallIn), (EXPAND, MessageQuery)])
def test_what_a_model_may_give_the_route_takes(tool: dict[str, Any], route: Any) -> None:
    Draft202012Validator.check_schema(tool["parameters"])
    assert tool["parameters"]["properties"].keys() <= route.model_fields.keys()


async def test_a_hit_of_recall_is_expanded_to_its_messages(service: Service) -> None:
    await service.append("s", *({"role": "user", "content": f"door {word}"} for word in ("one", "two", "three")))
    answer = await service.client.post("/sessions/s/recall", json={"query": "two", "limit": 1})
    (hit,) = answer.json()["hits"]
    expanded = await service.get("/sessions/s/messages", from_seq=hit["from_seq"], to_seq=hit["to_seq"])
    assert [item["content"][0]["text"] for item in expanded["items"]] == ["door two"]


async def test_a_format_of_nobody_is_refused(service: Service) -> None:
    assert (await service.client.get("/tools", params={"format": "smoke"})).status_code == 422
