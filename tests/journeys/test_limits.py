"""Limits of the memory that are settings, in force in the running service."""

from tests.conftest import StartService
from tests.journeys.looks import items

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
