"""Facts are found by recall (docs/facts.md)."""

from typing import Any

from tests.conftest import Service
from tests.recall.test_routes import recall, said

FACTS = "/resources/ana/facts"


async def note(service: Service, text: str, **fields: Any) -> dict[str, Any]:
    answer = await service.client.post(FACTS, json={"text": text, "category": "profile"} | fields)
    assert answer.status_code == 201, answer.text
    fact: dict[str, Any] = answer.json()
    return fact


async def found(service: Service, query: str, path: str = "resources/ana", **asked: Any) -> list[str]:
    return [hit["text"] for hit in await recall(service, path, query, **({"kinds": ["facts"]} | asked))]


async def say(service: Service, *texts: str, key: str = "s1") -> None:
    body = {"messages": [said(text) for text in texts], "resource_id": "ana"}
    assert (await service.client.post(f"/sessions/{key}/messages", json=body)).status_code == 201


async def test_a_fact_is_found_with_since_when_it_is_true_and_what_it_rests_on(service: Service) -> None:
    await say(service, "So be it.", "Yes.")
    sources = [{"session": "s1", "cites": [1, 2]}]
    await note(service, "User lives in Lisbon.", valid_from="2026-08-01T10:00:00Z", sources=sources)
    [hit] = await recall(service, "resources/ana", "Lisbon")
    assert hit.pop("score") > 0
    assert hit == {
        "kind": "fact",
        "session": "s1",
        "from_seq": 1,
        "to_seq": 2,
        "text": "User lives in Lisbon.",
        "role": None,
        "name": None,
        "trust": "operator",
        "created_at": "2026-08-01T10:00:00Z",
        "cites": [1, 2],
        "neighbours": [],
    }


async def test_a_fact_by_hand_is_found_from_any_session_of_its_resource_and_has_no_place(service: Service) -> None:
    await note(service, "User lives in Lisbon.")
    await say(service, "Hello")
    await service.append("s2", said("Hello"))
    [hit] = await recall(service, "sessions/s1", "Lisbon")
    assert (hit["kind"], hit["session"], hit["from_seq"], hit["to_seq"]) == ("fact", None, None, None)
    assert await recall(service, "sessions/s2", "Lisbon") == await recall(service, "resources/boris", "Lisbon") == []
    assert await found(service, "Lisbon", kinds=["messages", "observations"]) == []


async def test_what_is_true_is_found_and_what_was_true_by_its_time(service: Service) -> None:
    await note(service, "Lives in Porto.", valid_from="2026-01-01T00:00:00Z", valid_to="2026-06-01T00:00:00Z")
    await note(service, "Lives in Lisbon.", valid_from="2026-06-01T00:00:00Z")
    cases = {
        "lives": ["Lives in Lisbon."],
        "lives last March": ["Lives in Porto."],
        "lives in July 2026": ["Lives in Lisbon."],
    }
    for query, expected in cases.items():
        assert await found(service, query, now="2026-08-02T00:00:00Z") == expected, query
    assert await found(service, "lives", now="2026-03-01T00:00:00Z") == ["Lives in Porto."]


async def test_a_fact_is_not_told_beside_the_words_it_rests_on(service: Service) -> None:
    await say(service, "I live in Lisbon", "It rains")
    for cites in ([1], [2]):
        await note(service, f"Lives in Lisbon {cites}.", sources=[{"session": "s1", "cites": cites}])
    hits = await recall(service, "resources/ana", "Lisbon", kinds=["messages", "facts"], limit=50)
    told = [hit["text"] for hit in hits]
    assert "I live in Lisbon" in told
    assert [text for text in told if text.startswith("Lives")] == []
    assert len(await found(service, "Lisbon")) == 2


async def test_a_fact_is_not_told_beside_any_of_the_words_it_rests_on(service: Service) -> None:
    await say(service, "I live in Lisbon")
    await say(service, "It rains", key="s2")
    sources = [{"session": "s1", "cites": [1]}, {"session": "s2", "cites": [1]}]
    for told in (sources, sources[::-1]):
        await note(service, f"Lives in Lisbon, says {told[0]['session']}.", sources=told)
    for path in ("resources/ana", "sessions/s1"):
        hits = await recall(service, path, "Lisbon", kinds=["messages", "facts"], limit=50)
        assert [hit["text"] for hit in hits] == ["I live in Lisbon"]
    assert len(await found(service, "Lisbon")) == len(await found(service, "Lisbon", "sessions/s2")) == 2


async def test_only_facts_of_one_session_can_be_asked_for(service: Service) -> None:
    for key in ("s1", "s2"):
        await say(service, "Hello", key=key)
        await note(service, f"Lives in Lisbon, says {key}.", sources=[{"session": key, "cites": [1]}])
    assert await found(service, "Lisbon", session="s2") == ["Lives in Lisbon, says s2."]
