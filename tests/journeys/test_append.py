"""Append: stored once, counted once, in order, whatever is retried and however many write at once."""

import asyncio

from tests.conftest import Service


async def test_two_tries_of_one_request_at_once_store_it_once(service: Service) -> None:
    for turn in range(200):
        body = {"messages": [{"id": f"m-{turn}", "role": "user", "content": f"Turn {turn} of the talk"}]}
        tries = [service.client.post("/sessions/twice/messages", json=body) for _ in range(2)]
        answers = await asyncio.gather(*tries)
        assert sorted(answer.status_code for answer in answers) == [200, 201]
        assert {answer.json()["messages"][0]["seq"] for answer in answers} == {turn + 1}
    page = await service.get("/sessions/twice/messages", limit=500)
    memory = await service.memory("twice")
    assert [item["seq"] for item in page["items"]] == list(range(1, 201))
    assert memory["pending"]["tokens"] == sum(item["tokens"] for item in page["items"])


async def test_fifty_clients_appending_to_one_session_leave_no_gap(service: Service) -> None:
    async def talk(client: int) -> list[int]:
        seqs = []
        for turn in range(6):
            answer = await service.append("busy", {"id": f"c{client}-{turn}", "role": "user", "content": "Hello there"})
            seqs.append(answer["messages"][0]["seq"])
        return seqs

    given = [seq for seqs in await asyncio.gather(*(talk(client) for client in range(50))) for seq in seqs]
    assert sorted(given) == list(range(1, 301))
    assert (await service.memory("busy"))["cursor"]["last_seq"] == 300
