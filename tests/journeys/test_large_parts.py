"""Large tool results from append to context: shown in full, then as previews whose handles lead to the whole."""

import re
from typing import Any

import pytest

from app.context.model import Format
from app.kit.tokens import text_tokens
from tests.conftest import Service, StartService
from tests.context.shapes import check_anthropic, check_openai, flat
from tests.journeys.talk import plain_talk
from tests.model_replies import PromptKind, block
from tests.model_server import ModelServer

FORMATS = list(Format)
HANDLE = re.compile(r"artifact://(s1)/(message:\d+:\d+)\?version=1")
LINES = 700


def output(number: int) -> str:
    """Over 10,000 bytes, of lines that tell them apart."""
    return "\n".join(f"row {line} of result {number}" for line in range(LINES))


def turn(number: int) -> list[dict[str, Any]]:
    call = {"type": "tool_call", "id": f"c{number}", "name": "query", "arguments": {"n": number}}
    answer = {"type": "tool_result", "tool_call_id": f"c{number}", "output": output(number)}
    return [
        {"role": "user", "content": f"Please run query {number}."},
        {"role": "assistant", "content": [call]},
        {"role": "tool", "content": [answer]},
        {"role": "assistant", "content": f"Query {number} is done."},
    ]


async def contexts(service: Service) -> dict[Format, dict[str, Any]]:
    return {shape: await service.context("s1", format=shape.value) for shape in FORMATS}


def in_full(context: dict[str, Any], number: int) -> bool:
    """Whether a line from the middle of a result is shown."""
    return f"row {LINES // 2} of result {number}" in str(context["payload"])


@pytest.fixture
async def settled(service: Service) -> Service:
    """Four turns with a large result each, all observed; the last two results stay inline."""
    await service.configure("s1", keep_last=40, keep_last_tool_results=2)
    for number in range(4):
        await service.append("s1", *turn(number))
    await service.observe("s1")
    return service


async def test_before_an_activation_every_result_is_shown_in_full(service: Service) -> None:
    await service.configure("s1", keep_last_tool_results=1)
    for number in range(3):
        await service.append("s1", *turn(number))
    for context in (await contexts(service)).values():
        assert [in_full(context, number) for number in range(3)] == [True, True, True]


async def test_results_before_an_activation_are_previews_though_it_observed_but_the_oldest(service: Service) -> None:
    rules = {"message_tokens": 12_000, "retain_tokens": 11_000, "buffer_every": None}
    await service.configure("s1", keep_last=40, keep_last_tool_results=1, **rules)
    await service.append("s1", *(said for number in range(4) for said in turn(number)), wait_ms=50_000)
    assert 0 < (await service.memory("s1"))["cursor"]["observed_seq"] < len(turn(0)) * 2
    context = await service.context("s1")
    assert [in_full(context, number) for number in range(4)] == [False, False, False, True]


async def test_after_it_the_older_ones_are_previews_in_every_format(settled: Service) -> None:
    for shape, context in (await contexts(settled)).items():
        assert [in_full(context, number) for number in range(4)] == [False, False, True, True], shape
        assert [found[1] for found in HANDLE.findall(str(context["payload"]))] == ["message:3:0", "message:7:0"]
        assert f"{len(output(0))} bytes" in str(context["payload"])
        assert (
            sum(context["tokens"][name] for name in context["tokens"] if name != "total") == context["tokens"]["total"]
        )
    check_anthropic((await settled.context("s1", format="anthropic"))["payload"])
    check_openai((await settled.context("s1", format="openai"))["payload"])


async def test_a_handle_leads_to_the_whole_and_can_be_searched(settled: Service) -> None:
    payload = (await settled.context("s1"))["payload"]
    for number, (key, name) in enumerate(HANDLE.findall(str(payload))):
        path = f"/sessions/{key}/artifacts/{name}"
        assert (await settled.client.get(path)).text == output(number)
        answer = await settled.client.post(f"{path}/grep", json={"pattern": f"^row {LINES // 2} "})
        assert [match["text"] for match in answer.json()["matches"]] == [f"row {LINES // 2} of result {number}"]


async def test_the_log_keeps_every_result_verbatim(settled: Service) -> None:
    messages = (await settled.get("/sessions/s1/messages", kind="tool_result"))["items"]
    assert [message["content"][0]["output"] for message in messages] == [output(number) for number in range(4)]


async def test_a_preview_costs_what_it_is(settled: Service) -> None:
    context = await settled.context("s1", explain="true")
    tokens = {segment["id"]: segment["tokens"] for segment in context["segments"]}
    assert tokens["message:3"] < 1_000 < tokens["message:11"]


async def test_which_ones_are_previews_changes_with_the_next_activation_alone(settled: Service) -> None:
    before = await contexts(settled)
    for number in range(4, 7):
        await settled.append("s1", *turn(number))
        after = await contexts(settled)
        for shape in FORMATS:
            assert after[shape]["cache"]["epoch"] == before[shape]["cache"]["epoch"]
            start = flat(before[shape]["payload"], shape)  # the assistant spoke last: nothing is volatile
            assert flat(after[shape]["payload"], shape)[: len(start)] == start, shape
        before = after
    await settled.observe("s1")
    shown = [in_full(before[Format.NEUTRAL], number) for number in range(7)]
    assert shown == [False, False, True, True, True, True, True]
    context = await settled.context("s1")
    assert [in_full(context, number) for number in range(7)] == [False] * 5 + [True, True]


async def test_the_past_is_rebuilt_with_the_previews_it_had(settled: Service) -> None:
    now = await settled.context("s1")
    await settled.append("s1", *turn(4), *turn(5), *turn(6))
    await settled.observe("s1")
    then = await settled.context("s1", as_of_version=now["memory_version"], as_of_seq=now["as_of_seq"])
    assert then["payload"]["messages"] == now["payload"]["messages"]


async def test_no_call_of_the_observer_is_shown_more_than_its_limit(
    start_service: StartService, models: ModelServer
) -> None:
    limit, labels = 500, 200
    talk = [*plain_talk(24), {"role": "user", "content": "It was long. " * 1_000}]
    memory = {"preset": "compact", "observer_input_tokens": limit}
    async with start_service(provider="anthropic", memory=memory) as service:
        await service.append("s1", *talk)
        answer = await service.client.post("/sessions/s1/memory/observe", params={"wait_ms": 50_000})

    shown = [block(asked.prompt, "messages") or "" for asked in models.asked(PromptKind.OBSERVER)]
    assert answer.json()["memory"]["cursor"]["observed_seq"] == len(talk)
    assert len(shown) > 2
    assert all(text_tokens(view) < limit + labels for view in shown)
    assert ["tokens left out" in view for view in shown] == [False] * (len(shown) - 1) + [True]
