"""Law 9: however much is observed, the live log stays within its budget, and each message is told by it."""

import random
from collections import Counter
from dataclasses import replace

from app.memory.rules import COMPRESSION_SHARES
from tests.conftest import StartService
from tests.journeys.laws import Limits, check_all
from tests.journeys.looks import WAIT_MS, Json, items, look
from tests.model_replies import Asked, PromptKind, block, messages
from tests.model_server import ModelServer

KEY = "s"
RULES = {"message_tokens": 3_000, "observation_tokens": 6_000, "memory_budget": 9_000, "keep_last": 0}
LIMITS = Limits(message_budget=45_000, memory_budget=9_000)
MESSAGES = 10  # of a request
TOKENS_EACH = 2_000  # of observations, that a request comes to at least
TOKENS, TOKENS_AT_LENGTH = 24_000, 500_000  # of observations
WORDS = ["harbour", "lamp", "invoice", "river", "cellar", "ticket", "garden", "violin", "cheese", "parcel", "winter"]


def tell_all(asked: Asked) -> str:
    """An observer that leaves nothing out but the ends of the messages, so that much is to be condensed."""
    said = list(messages(block(asked.prompt, "messages") or ""))
    lines = [f"* 🟡 ({one.time}) [fact] {one.text[: len(one.text) * 3 // 4]} #{one.seq}" for one in said]
    return "\n".join(["<observations>", f"Date: {said[0].day}", *lines, "</observations>"])


def request(number: int) -> list[Json]:
    chance = random.Random(number)  # noqa: S311 - a conversation, no secret
    texts = [" ".join([f"Item {number * 100 + n}:", *chance.choices(WORDS, k=250)]) for n in range(MESSAGES)]
    return [{"id": f"m-{number}-{n}", "role": "user", "content": text} for n, text in enumerate(texts)]


async def test_the_live_log_stays_within_its_budget_however_much_is_observed(
    start_service: StartService, models: ModelServer, at_length: bool
) -> None:
    models.answers[PromptKind.OBSERVER] = tell_all
    wanted, least = (TOKENS_AT_LENGTH if at_length else TOKENS), TOKENS_EACH
    generations = set[int]()
    async with start_service(provider="anthropic", memory=RULES) as service:
        for number in range(wanted // least):
            await service.append(KEY, *request(number), wait_ms=WAIT_MS)
            memory = await service.memory(KEY)
            generations.add(memory["log"]["generation"])
            assert (memory["status"], memory["last_error"], memory["coverage"]["gaps"]) == ("idle", None, [])
            assert memory["log"]["tokens"] <= RULES["memory_budget"]
        observations = await items(service, f"/sessions/{KEY}/memory/observations")
        check_all(LIMITS, await look(service, KEY), None)

    assert sum(one["tokens"] for one in observations) >= wanted
    assert len(generations) >= wanted // (2 * RULES["observation_tokens"])


def write_a_third(asked: Asked) -> str:
    """A reflector that writes every third line of what it is shown, however much less it is asked for."""
    lines = [line for line in (block(asked.prompt, "log") or "").split("\n") if line.startswith("* ")]
    return "\n".join(["<observations>", "Date: May 2, 2026", *lines[::3], "</observations>"])


async def test_nor_does_it_grow_where_a_reflector_never_makes_one_of_several(
    start_service: StartService, models: ModelServer
) -> None:
    """Reflections become one no larger than one of them, which takes a fifth (memory-rules.md 3.6)."""
    models.answers |= {PromptKind.OBSERVER: tell_all, PromptKind.REFLECTOR: write_a_third}
    budget = 4_000
    rules = RULES | {"observation_tokens": 1_000, "memory_budget": budget}
    async with start_service(provider="openai", memory=rules) as service:
        for number in range(12):
            await service.append(KEY, *request(number), wait_ms=WAIT_MS)
            memory = await service.memory(KEY)
            assert (memory["status"], memory["last_error"], memory["coverage"]["gaps"]) == ("idle", None, [])
            assert memory["log"]["tokens"] <= budget
        runs = await items(service, f"/sessions/{KEY}/memory/runs")
        check_all(replace(LIMITS, memory_budget=budget), await look(service, KEY), None)

    consolidating = Counter((run["provider"], run["outcome"]) for run in runs if run["kind"] == "consolidate")
    assert consolidating["extractive", "recorded"] > 0
    assert consolidating["openai", "rejected"] == len(COMPRESSION_SHARES) * consolidating["extractive", "recorded"]


async def test_no_reflection_is_left_out_of_a_context_for_the_number_of_them(start_service: StartService) -> None:
    """Each is of what nothing else tells: the oldest, that go first, are of most of the conversation."""
    rules = {"preset": "compact", "message_tokens": 40, "observation_tokens": 250, "max_reflections": 2}
    async with start_service(memory=rules) as service:
        for number in range(60):
            said = f"I paid invoice {number} for shop {number % 7} in Porto."
            await service.append(KEY, {"role": "user", "content": said}, wait_ms=WAIT_MS)
            context = await service.context(KEY)
            assert (context["omitted"]["reflections"], context["omitted"]["observations"]) == (0, 0)
        memory = await service.memory(KEY)

    assert memory["log"]["generation"] > rules["max_reflections"]
    assert memory["coverage"]["gaps"] == []
