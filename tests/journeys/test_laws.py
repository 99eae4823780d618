"""The laws hold after every turn of a mixed conversation, whoever observes."""

import os
from functools import partial
from itertools import product
from typing import Any

import pytest

from tests.conftest import StartService
from tests.journeys.laws import COMPACT, Limits, check_all, posted_again_changes_nothing
from tests.journeys.looks import Look, driven, items
from tests.journeys.talk import mixed_talk

TINY: dict[str, Any] = {
    "message_tokens": 300,
    "observation_tokens": 400,
    "message_budget": 350,
    "memory_budget": 1_200,
    "max_observations": 6,
    "keep_last": 6,
    "buffer_every": None,
    "consolidate_at": 3,
}
BUFFERED = {**TINY, "message_tokens": 500, "message_budget": 700, "buffer_every": 0.25}
TINY_LIMITS = Limits(message_budget=350, memory_budget=1_200, max_observations=6)
OBSERVERS = ("extractive", "anthropic", "openai")
BUFFERED_LIMITS = Limits(message_budget=700, memory_budget=1_200, max_observations=6)


RULES: dict[str, tuple[dict[str, Any], Limits, int]] = {
    "compact": ({"preset": "compact"}, COMPACT, 56),
    "tiny": (TINY, TINY_LIMITS, 30),
    "buffered": (BUFFERED, BUFFERED_LIMITS, 30),
}
# Each observer and each set of rules; `make fuzz`, which has the time, takes every pair.
PAIRS = [("extractive", "compact"), ("anthropic", "tiny"), ("openai", "buffered")]


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize(("observer", "rules"), [*product(OBSERVERS, RULES)] if os.environ.get("LONG") else PAIRS)
async def test_every_law_holds_after_every_turn(start_service: StartService, observer: str, rules: str) -> None:
    config, limits, scenes = RULES[rules]
    requests = mixed_talk(seed=7, scenes=scenes)
    async with start_service(provider=observer, memory=config) as service:
        looks = await driven(service, "s", requests, partial(check_all, limits))
        for request in requests[::20]:
            await posted_again_changes_nothing(service, "s", request)
        stored = await items(service, "/sessions/s/messages")

    assert [message["id"] for message in stored] == [message["id"] for request in requests for message in request]
    assert sum(message["sealed"] for message in stored) == looks[-1].derived_seq
    assert worth_a_journey(looks)
    assert any(look.memory["buffered"]["observations"] for look in looks) is (config is BUFFERED)


def worth_a_journey(looks: list[Look]) -> bool:
    """The laws were put to a test: much was observed and condensed, and epochs lasted several turns."""
    epochs = [look.contexts["neutral"]["cache"]["epoch"] for look in looks]
    log = looks[-1].memory["log"]
    return len(looks[-1].observations) >= 5 and log["generation"] >= 1 and len(set(epochs)) < len(epochs) / 2
