"""The context as it was (api.md, Context: ``as_of_version``, ``as_of_seq``)."""

from typing import Any

import pytest

from app.context.schemas import ContextIn, ContextQuery
from app.context.service import ContextService
from app.sessions.errors import MessageNotFound
from tests.conftest import Service
from tests.context.turns import FACTS, KEY, NOW, alone, observe, say

CONTEXT = f"/sessions/{KEY}/context"


async def then(service: Service, **parameters: Any) -> dict[str, Any]:
    return alone(await service.context(KEY, now=NOW, **parameters))


async def problem(service: Service, **parameters: Any) -> tuple[int, str]:
    answer = await service.client.get(CONTEXT, params=parameters)
    return answer.status_code, answer.json()["type"].removeprefix("/problems/")


async def test_a_seq_is_the_last_context_before_the_next_message(service: Service) -> None:
    await service.configure(KEY, keep_last=0)
    await say(service, FACTS[0])
    observed = await observe(service)
    second = await say(service, FACTS[1])
    assert await then(service, as_of_seq=1) == observed
    assert await then(service, as_of_seq=2) == second
    await observe(service)
    assert await then(service, as_of_seq=2) == await then(service) != second
    assert (await then(service, as_of_seq=0))["payload"] == {"system": [], "messages": []}


async def test_a_version_is_the_context_at_its_recording(service: Service) -> None:
    await service.configure(KEY, keep_last=0)
    await say(service, FACTS[0])
    first = await observe(service)
    await say(service, FACTS[1])
    await say(service, FACTS[2])
    second = await observe(service)
    await say(service, "Bye.")
    assert await then(service, as_of_version=1) == first
    assert await then(service, as_of_version=2) == second
    empty = await then(service, as_of_version=0)
    assert (empty["as_of_seq"], empty["memory_version"], empty["payload"]["messages"]) == (0, 0, [])


async def test_a_version_and_a_seq_name_the_context_whose_answer_had_both(service: Service) -> None:
    said = [await say(service, fact) for fact in FACTS[:2]]
    observed = await observe(service)
    third = await say(service, FACTS[2])
    assert await then(service, as_of_version=0, as_of_seq=1) == said[0]
    assert await then(service, as_of_version=0, as_of_seq=2) == said[1]
    assert await then(service, as_of_version=1, as_of_seq=2) == observed
    assert await then(service, as_of_version=1, as_of_seq=3) == third
    for version, seq in ((0, 3), (1, 1), (1, 0)):
        assert await problem(service, as_of_version=version, as_of_seq=seq) == (404, "version-not-found")


async def test_what_never_was_is_not_found(service: Service) -> None:
    assert (await then(service, as_of_version=0, as_of_seq=0))["memory_version"] == 0
    assert await problem(service, as_of_version=1) == (404, "version-not-found")
    assert await problem(service, as_of_seq=1) == (404, "message-not-found")
    await say(service, FACTS[0])
    await observe(service)
    assert await problem(service, as_of_version=2) == (404, "version-not-found")
    assert await problem(service, as_of_seq=2) == (404, "message-not-found")
    assert await problem(service, as_of_seq=2**63 - 1) == (404, "message-not-found")
    for parameters in ({"as_of_seq": -1}, {"as_of_version": "x"}, {"as_of_version": 2**63}):
        assert (await problem(service, **parameters))[0] == 422


async def test_the_past_has_its_own_config_and_its_own_day(service: Service) -> None:
    """Neither a change of the rules nor an idle gap since then shows."""
    await service.configure(KEY, cache_ttl=0, keep_last=0)
    await say(service, FACTS[0], created_at="2030-01-01T10:00:00Z")
    before = await observe(service)
    after_gap = await say(service, FACTS[1], created_at="2030-02-01T10:00:00Z")
    await observe(service)
    await service.configure(KEY, enabled=False, message_budget=1)
    assert "today" in before["payload"]["system"][1]["text"]
    assert "1 month ago" in after_gap["payload"]["system"][1]["text"]
    assert await then(service, as_of_version=1) == before
    assert await then(service, as_of_version=1, as_of_seq=2) == after_gap
    assert (await then(service, as_of_seq=2))["payload"]["system"] == []
    assert (await then(service))["payload"]["system"] == []
    assert (await then(service, as_of_version=1, as_of_seq=1))["cache"]["epoch"] == "1:2030-01-01:1"


async def test_the_past_tells_the_day_it_was(service: Service) -> None:
    """Without a ``now`` of the caller's, today is the day of the newest message then."""
    await say(service, FACTS[0], created_at="2031-05-05T10:00:00Z")
    await observe(service)
    first = alone(await service.context(KEY))
    await say(service, FACTS[1], created_at="2031-06-06T10:00:00Z")
    assert "Today is Monday, May 5, 2031" in first["payload"]["messages"][-1]["content"][-1]["text"]
    assert alone(await service.context(KEY, as_of_seq=1)) == first


async def test_the_caller_s_own_parts_stand_in_the_past_too(service: Service) -> None:
    await say(service, FACTS[0])
    body = {"system": "You help.", "incoming": [{"role": "user", "content": "And then?"}], "now": NOW}
    live = (await service.client.post(CONTEXT, json=body)).json()
    await say(service, FACTS[1])
    answer = await service.client.post(CONTEXT, json=body, params={"as_of_seq": 1})
    assert alone(answer.json()) == alone(live)


async def test_a_long_tail_is_cut_as_it_was(service: Service) -> None:
    seen = {}
    for seq in range(1, 41):
        await service.append(KEY, {"role": "user", "content": f"This is what was said in turn {seq}."})
        if seq % 13 == 1:
            seen[seq] = [await then(service, message_budget=budget) for budget in (0, 1, 100)]
    for seq, contexts in seen.items():
        assert [await then(service, message_budget=budget, as_of_seq=seq) for budget in (0, 1, 100)] == contexts


async def test_nobody_sees_the_past_of_another_tenant(service: Service) -> None:
    await say(service, FACTS[0])
    contexts: ContextService = service.app.state.context
    with pytest.raises(MessageNotFound):
        await contexts.context(tenant="other", key=KEY, query=ContextQuery(as_of_seq=1), body=ContextIn())
