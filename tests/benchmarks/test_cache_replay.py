import asyncio
from datetime import datetime, timedelta
from typing import Any

import httpx2
import pytest

from benchmarks.cache.blocks import full_history, window
from benchmarks.cache.conversations import Conversation
from benchmarks.cache.evidence import Held, held
from benchmarks.cache.observer import observed, reflected
from benchmarks.cache.pricing import Block, Request
from benchmarks.cache.replay import Agent, MemoryCall, Turn, replayed
from benchmarks.cache.report import markdown
from benchmarks.cache.strategies import CACHED, PLAIN
from benchmarks.cache.summary import SCHEMES, Replayed, figures, prices, warm_reads
from benchmarks.document import with_figures
from tests.conftest import StartService
from tests.model_server import ModelServer

BEGIN = datetime.fromisoformat("2026-08-01T10:00:00+00:00")
TOWNS = ("Lisbon", "Porto", "Braga", "Faro", "Évora", "Coimbra", "Aveiro", "Leiria", "Viseu", "Guarda")
SCHEME = SCHEMES["Anthropic, 5 minutes"]


def talk() -> Conversation:
    """Twenty turns about ten towns, with a night between the first ten and the last."""
    messages: list[dict[str, Any]] = []
    for number, town in enumerate(TOWNS):
        at = BEGIN + timedelta(minutes=number, days=number // 5)
        asked = f"I moved to {town} in 19{60 + number} and lived at number {number + 11} near the old harbour market."
        answer = f"Noted: {town}. " + "It is a fine place with many things to see and to do for everyone. " * 6
        for role, text in (("user", asked), ("assistant", answer)):
            messages.append({"role": role, "content": text, "created_at": at.isoformat()})
    return Conversation(name="towns", kind="test", messages=tuple(messages), evidence=((1,), (1, 19)))


def test_the_actor_is_called_once_for_each_message_of_the_user() -> None:
    assert [call.stop for call in talk().calls] == list(range(1, 20, 2))


def test_the_full_history_holds_everything_and_a_window_what_fits() -> None:
    long = Conversation(name="x", kind="test", messages=talk().messages * 10)
    whole, recent = list(full_history(long))[-1], list(window(long))[-1]

    assert len(whole.blocks) == 1 + 199
    assert whole.tokens > recent.tokens > 7_500
    assert recent.tokens <= 8_000 + 500
    assert recent.blocks[1:] == whole.blocks[-len(recent.blocks) + 1 :]


def test_recall_changes_the_system_prompt_and_so_leaves_nothing_to_read() -> None:
    long = Conversation(name="x", kind="test", messages=talk().messages * 10)
    turns = tuple(Turn(request=request) for request in window(long, recall=True))

    last = list(prices(Replayed(conversation=long, strategy="recall", turns=turns, held=()), SCHEME))[-9:]

    assert all(price.billed.read == 0 for price in last)


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        (["user: {said}"], (1.0, 0.0)),
        (["assistant: {said}"], (1.0, 0.0)),
        (["system: * 🔴 [fact] User moved to Lisbon in 1960, number 11 near the old harbour market. #1"], (1.0, 1.0)),
        (["system: * 🔴 [fact] User moved to Lisbon in 1960, number 11 near the old harbour market. #1-4"], (1.0, 1.0)),
        (["system: * 🔴 [fact] User moved to Lisbon in 1960, number 11 near the old harbour market. #3"], (0.0, 0.0)),
        (["system: * 🔴 [fact] User moved to Lisbon. #1"], (0.0, 0.0)),
        (["user: I moved to Lisbon"], (0.0, 0.0)),
    ],
    ids=["shown", "by whom is not asked", "cited", "in a range", "another cited", "less than half", "cut"],
)
def test_evidence_is_held_by_the_message_or_by_a_line_that_cites_it(
    blocks: list[str], expected: tuple[float, float]
) -> None:
    one = talk()
    filled = [text.format(said=one.messages[0]["content"]) for text in blocks]

    found = next(held(one, [Block(text=text, tokens=1) for text in filled]))
    assert (found.covered, found.noted) == expected


def test_only_calls_of_one_epoch_with_a_warm_cache_are_asked_what_they_read() -> None:
    prefix = (Block(text="s", tokens=2_000, breakpoint=True),)
    times = (0, 60, 120, 1_000)
    turns = [
        Turn(request=Request(at=BEGIN + timedelta(seconds=seconds), blocks=prefix), epoch=epoch)
        for seconds, epoch in zip(times, ("1", "1", "2", "2"), strict=True)
    ]
    paid = list(prices(Replayed(conversation=talk(), strategy="x", turns=tuple(turns), held=()), SCHEME))

    assert list(warm_reads(turns, paid)) == [(2_000, 2_000)]


def test_the_memory_is_paid_at_the_price_of_its_model() -> None:
    turn = Turn(
        request=Request(at=BEGIN, blocks=(Block(text="s", tokens=1_000_000),)),
        memory=(MemoryCall(kind="observe", input_tokens=1_000_000, output_tokens=100_000),),
    )
    found = figures([Replayed(conversation=talk(), strategy=PLAIN, turns=(turn,), held=())], SCHEME)

    assert (found.actor_usd, found.memory_usd) == pytest.approx((3.0, 1.5))  # $3; $1 and $5 a million


async def test_a_conversation_goes_through_the_service_and_is_priced(
    start_service: StartService, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, config = talk(), {"preset": "compact", "message_tokens": 300}
    with ModelServer(observer=observed, reflector=reflected) as server:
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        async with start_service(provider="anthropic") as service:
            turns = await asyncio.to_thread(_replayed, service.url, one, config)
            memory = await service.memory("towns")

    calls = [call for turn in turns for call in turn.memory]
    assert len(turns) == 10
    assert len(calls) == memory["usage"]["observer"]["calls"] > 1
    assert sum(call.input_tokens for call in calls) == memory["usage"]["observer"]["input_tokens"]
    assert turns[-1].request.tokens < list(full_history(one))[-1].tokens
    assert [*held(one, turns[-1].request.blocks)][1].covered >= 0.5  # the newest message stands there itself
    assert any("[fact] User: I moved to" in block.text for block in turns[-1].request.blocks)
    assert len({turn.epoch for turn in turns}) > 2

    replays = [
        Replayed(conversation=one, strategy="daybook", turns=tuple(turns), held=(Held(covered=1.0, noted=0.5),)),
        *(
            Replayed(
                conversation=one,
                strategy=name,
                turns=tuple(map(_turn, full_history(one))),
                held=(Held(covered=1.0, noted=0.5),),
            )
            for name in (PLAIN, CACHED)
        ),
    ]
    text = with_figures("before\n<!-- figures -->\nold\n<!-- end of figures -->\nafter\n", markdown(replays))
    assert text.startswith("before")
    assert "| full history, cached | " in text
    assert "old" not in text


def _turn(request: Request) -> Turn:
    return Turn(request=request)


def _replayed(url: str, one: Conversation, config: dict[str, Any]) -> list[Turn]:
    with httpx2.Client(base_url=url, timeout=60) as client:
        return replayed(Agent(client, "towns"), one, config, on_turn=lambda _: None)
