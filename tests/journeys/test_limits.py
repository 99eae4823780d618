"""Limits of the memory that are settings, in force in the running service."""

from tests.conftest import StartService
from tests.journeys.looks import WAIT_MS, Json, items

LOOKED = 500


async def test_an_observation_looks_at_as_many_messages_as_the_setting_says_and_the_next_goes_on(
    start_service: StartService,
) -> None:
    said = [{"role": "user", "content": f"My locker is number {number}."} for number in range(LOOKED + 100)]
    limits = {"sessions": {"messages_max": len(said)}, "engine": {"pending_messages_max": LOOKED}}
    async with start_service(provider="extractive", memory={"buffer_every": None, "keep_last": 0}, **limits) as service:
        await service.configure("s", message_tokens=1_000_000)
        await service.append("s", *said)
        observed = [0]
        while observed[-1] < len(said):
            await service.observe("s")
            observed.append((await service.memory("s"))["cursor"]["observed_seq"])
            assert observed[-1] > observed[-2]
        notes = await items(service, "/sessions/s/memory/observations")

    spans = [(note["from_seq"], note["to_seq"]) for note in notes]
    assert spans[0] == (1, LOOKED)
    assert spans[-1][-1] == len(said)


async def test_a_result_behind_all_that_one_look_reads_is_not_waited_for(start_service: StartService) -> None:
    call = {"type": "tool_call", "id": "c1", "name": "watch", "arguments": {}}
    shut = [{"role": "assistant", "content": f"Locker {number} is shut."} for number in range(LOOKED)]
    said: list[Json] = [
        {"role": "assistant", "content": [call]},
        *shut,
        {"role": "user", "content": "Thank you, that is all."},
    ]
    limits = {"sessions": {"messages_max": len(said)}, "engine": {"pending_messages_max": LOOKED}}
    memory = {"message_tokens": 1_000, "block_after": 9.0, "buffer_every": None, "keep_last": 0}
    async with start_service(provider="extractive", memory=memory, **limits) as service:
        await service.append("s", *said, wait_ms=WAIT_MS)
        noted = await service.memory("s")

    assert noted["cursor"]["observed_seq"] > 1
    assert noted["status"] == "idle"
