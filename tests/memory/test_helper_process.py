"""What the helper process computes of real conversations is what the service would, to the last bit."""

import ast
import os
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar

import pytest

from app import memory
from app.kit.helper_process import SMALL_BYTES, HelperProcess
from app.llm.port import Usage
from app.memory.boundaries import span_of
from app.memory.extractive.extractor import extracts
from app.memory.extractive.observer import observations
from app.memory.extractive.reflector import reflections
from app.memory.gates import restore
from app.memory.judging import facts_verdict, observation_verdict, reflection_verdict
from app.memory.model import Call, Draft, ExtractorInput, ObserverInput, ReflectorInput
from app.memory.protected import coverage, lost, protected
from app.memory.rules import Rules
from app.memory.shared_citations import NO_NAMES
from app.memory.steps import Buffer, Observe
from tests.memory.extractive.measure import conversation

P = ParamSpec("P")
T = TypeVar("T")

CONVERSATIONS = ("locomo/conv-26", "multilingual/zh_memorybank", "multilingual/ja_xpersona_long60")
RULES = Rules.resolve({}, {})
SECONDS = 60.0  # until an answer, on a machine that is busy


class Both:
    """Computes here, and in a process beside this one; knows what it was given."""

    def __init__(self) -> None:
        self._beside = HelperProcess(idle_seconds=1.0)
        self.works: set[str] = set()

    def __call__(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        asked = partial(work, *args, **kwargs)
        assert len(pickle.dumps(asked)) > SMALL_BYTES  # or it is not done there
        here = asked()
        assert self._beside.submit(asked).result(SECONDS) == here
        self.works.add(work.__name__)
        return here


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> Both:
    """Its process goes through a set in another order than this one, as each has its own that no test starts."""
    monkeypatch.setenv("PYTHONHASHSEED", "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2")
    return Both()


def given_aside() -> set[str]:
    """What the service has computed there, by the names of the functions."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in Path(memory.__path__[0]).rglob("*.py"))
    calls = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args)
    return {ast.unparse(call.args[0]) for call in calls if ast.unparse(call.func) == "aside"}


def draft(text: str) -> Draft:
    call = Call(provider="extractive", model="m", prompt_version="1", usage=Usage(), latency_ms=0)
    return Draft(text=text, call=call)


@pytest.mark.parametrize("name", CONVERSATIONS if os.environ.get("LONG") else CONVERSATIONS[:2])
def test_what_is_observed_is_the_same_wherever_it_is_computed(both: Both, shared_data: Path, name: str) -> None:
    messages, _ = conversation(shared_data / f"{name}.jsonl")
    both(span_of, Buffer(want_tokens=3_200, least_tokens=1_600, at_boundary=True), messages, RULES)
    span = both(span_of, Observe(want_tokens=8_000, force_closed=False), messages, RULES)
    assert span is not None
    seen = ObserverInput(messages=span.messages)
    observed = draft(both(observations, seen))
    verdict = both(observation_verdict, observed, seen, tokens=span.tokens, task=None)

    half = ReflectorInput(
        items=verdict.items,
        source_tokens=verdict.tokens,
        target_tokens=verdict.tokens // 2,
        now=messages[-1].created_at,
    )
    reflected = draft(both(reflections, half))
    smaller = both(
        reflection_verdict, reflected, verdict.items, tokens=verdict.tokens, limit_tokens=None, size=NO_NAMES.size
    )
    guarded = both(protected, verdict.items)
    both(coverage, guarded, smaller.items)
    both(lost, guarded, smaller.items)
    both(restore, smaller, guarded, limit_tokens=verdict.tokens, size=NO_NAMES.size)

    for source in (ExtractorInput(messages=span.messages), ExtractorInput(items=verdict.items)):
        extracted = draft(both(extracts, source))
        both(facts_verdict, extracted, source)
    # The replies are those of the three extractive roles, the judges are the three above.
    assert given_aside() - {"self.reply", "judge"} <= both.works
