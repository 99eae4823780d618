"""A model that writes less than a reflection of the defaults may have: the log is condensed all the same."""

import random
import re
from functools import partial
from typing import Any

import pytest

from tests.conftest import Service, StartService
from tests.journeys.looks import Json, items, until
from tests.model_replies import Asked, PromptKind, reflect
from tests.model_server import Fault, ModelServer, Said

KEY = "s"
MEMORY: dict[str, Any] = {"message_tokens": 400, "buffer_every": None, "retain_tokens": 0, "keep_last": 0}
LIMIT_SAID = "Invalid max_tokens value, the valid range of max_tokens is [1, {most}]"
LINE = "* 🔴 (10:{at:02d}) [fact] User told of {words}. #{n}"
PLANS = "gardens bridges letters rooms engines songs harbours kitchens orchards maps towers rivers lamps boats tables"


def wordy(asked: Asked) -> str:
    """About 3,000 tokens, in few lines: to judge many takes long."""
    number = int(re.findall(r"^#(\d+) ", asked.prompt, re.MULTILINE)[-1])
    chance = random.Random(number)  # noqa: S311 - the same for the same message
    told = [", ".join(chance.choices(PLANS.split(), k=75)) for _ in range(20)]
    lines = [LINE.format(at=at, n=number, words=words) for at, words in enumerate(told)]
    return "\n".join(["<observations>", "Date: Aug 1, 2026", *lines, "</observations>"])


def said(number: int) -> Json:
    """Two of them are observed, of 400 to 500 tokens: what is said of those need not be less."""
    text = f"Turn {number}: what is to be done for plan {number}, with all that belongs to it in words. "
    return {"role": "user" if number % 2 else "assistant", "content": text * 11}


async def noted(service: Service, last: int) -> Json:
    """``/memory`` with all noted, and nothing left to do."""

    def done(memory: Json) -> bool:
        return bool(memory["cursor"]["observed_seq"] == last and memory["status"] == "idle")

    return await until(partial(service.memory, KEY), done, seconds=60)


@pytest.mark.parametrize("most", [8_192, 4_096])
@pytest.mark.parametrize("strategy", ["leveled", "rewrite"])
async def test_a_log_is_condensed_by_a_model_of_a_small_output(
    start_service: StartService, models: ModelServer, most: int, strategy: str
) -> None:
    def limited(asked: Asked) -> Said | Fault | None:
        if asked.max_tokens > most:
            return Said(status=400, body={"error": {"message": LIMIT_SAID.format(most=most)}})
        if asked.kind is PromptKind.REFLECTOR and len(reflect(asked)) / 4 > most:
            return Fault.CUT_OFF
        return None

    models.answers[PromptKind.OBSERVER] = wordy
    models.said_to = limited
    async with start_service(provider="openai", memory=MEMORY | {"strategy": strategy}) as service:
        for number in range(1, 9):
            await service.append(KEY, said(2 * number - 1), said(2 * number))
            memory = await noted(service, 2 * number)
        calls = await items(service, f"/sessions/{KEY}/memory/runs")

    condensed = [run["outcome"] for run in reversed(calls) if run["kind"] == "reflect"]
    assert condensed.count("recorded") >= 1, [(run["kind"], run["error"]) for run in calls]
    assert condensed.index("recorded") <= 2, "a call that showed the limit, and a cut one at most"
    assert memory["log"]["reflections"] >= 1
    assert memory["attempts"] == 0
