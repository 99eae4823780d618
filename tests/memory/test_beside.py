"""What the process beside the service computes of real conversations is what the service would, to the last bit."""

import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar

import pytest

from app.kit.beside import SMALL_BYTES, Beside
from app.kit.tokens import text_tokens
from app.llm.port import Usage
from app.memory.boundaries import span_of
from app.memory.extractive.extractor import extracts
from app.memory.extractive.observer import observations
from app.memory.extractive.reflector import reflections, values
from app.memory.gates import restore
from app.memory.judging import judged_facts, judged_observation, judged_reflection
from app.memory.model import Call, Draft, ExtractorInput, ObserverInput, ReflectorInput
from app.memory.policy import Buffer, Observe
from app.memory.protected import coverage, protected
from app.memory.rules import Rules
from tests.memory.extractive.measure import conversation

P = ParamSpec("P")
T = TypeVar("T")

CONVERSATIONS = ("locomo/conv-26", "multilingual/zh_memorybank", "multilingual/ja_xpersona_long60")
RULES = Rules.resolve({}, {})
SECONDS = 60.0  # until an answer, on a machine that is busy


@pytest.fixture(params=["0", "1", "2"])
def beside(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Beside:
    """Its process has an order of its own in which it goes through a set, as each has that no test starts."""
    monkeypatch.setenv("PYTHONHASHSEED", request.param)
    return Beside(idle_seconds=1.0)


def both(beside: Beside, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What is computed here, and there."""
    asked = partial(work, *args, **kwargs)
    assert len(pickle.dumps(asked)) > SMALL_BYTES  # or it is not done there
    here = asked()
    assert beside.submit(asked).result(SECONDS) == here
    return here


def draft(text: str) -> Draft:
    call = Call(provider="extractive", model="m", prompt_version="1", usage=Usage(), latency_ms=0)
    return Draft(text=text, call=call)


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_it_is_the_same_wherever_it_is_computed(beside: Beside, shared_data: Path, name: str) -> None:
    messages, _ = conversation(shared_data / f"{name}.jsonl")
    both(beside, span_of, Buffer(want_tokens=3_200, least_tokens=1_600, at_boundary=True), messages, RULES)
    span = both(beside, span_of, Observe(want_tokens=8_000, force_closed=False), messages, RULES)
    assert span is not None
    seen = ObserverInput(messages=span.messages)
    observed = draft(both(beside, observations, seen, count=text_tokens))
    _, verdict = both(beside, judged_observation, observed, span, task=None, timezone=RULES.zone)
    both(beside, values, verdict.items)

    half = ReflectorInput(
        items=verdict.items,
        source_tokens=verdict.tokens,
        target_tokens=verdict.tokens // 2,
        now=messages[-1].created_at,
    )
    reflected = draft(both(beside, reflections, half, count=text_tokens))
    smaller = both(beside, judged_reflection, reflected, verdict.items, tokens=verdict.tokens, limit_tokens=None)
    guarded = both(beside, protected, verdict.items)
    both(beside, coverage, guarded, smaller.items)
    both(beside, restore, smaller, guarded, limit_tokens=None)

    for source in (ExtractorInput(messages=span.messages), ExtractorInput(items=verdict.items)):
        extracted = draft(both(beside, extracts, source, count=text_tokens))
        both(beside, judged_facts, extracted, source)
