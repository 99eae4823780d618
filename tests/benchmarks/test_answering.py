"""Answers and their verdicts, by a scripted provider over real HTTP and a running service."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from app.llm.build import LlmConfig, build_model
from app.llm.port import ModelError, ModelReply, ModelRequest, Provider
from benchmarks.quality.answering import Verdict, patiently, verdicts
from benchmarks.quality.ledger import Ledger
from benchmarks.quality.report import ALL, judged, judged_table
from benchmarks.quality.talks import Talk
from tests.benchmarks.test_quality import SAID, told
from tests.conftest import Service
from tests.model_replies import Asked
from tests.model_server import Fault, ModelServer

MODEL = "claude-haiku-5-5"
REQUEST = ModelRequest(system="Be brief", prompt="Hello", max_output_tokens=10)


def replied(asked: Asked) -> str:
    """Where the context says so the bakery, and a judge who wants just that."""
    if "Given answer: " in asked.prompt:
        return "Yes." if asked.prompt.endswith("In a bakery") else "no"
    return "In a bakery" if "found work in a bakery" in asked.prompt else "I don't know"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer(other=replied) as running:
        for name, value in running.environment().items():
            monkeypatch.setenv(name, value)
        yield running


def ask(request: ModelRequest) -> ModelReply:
    async def asked() -> ModelReply:
        model = build_model(Provider.ANTHROPIC, MODEL, LlmConfig())
        try:
            return await patiently(model, request, wait_seconds=0)
        finally:
            await model.close()

    return asyncio.run(asked())


async def given(service: Service, talk: Talk, ledger: Ledger) -> list[Verdict]:
    with httpx2.Client(base_url=service.url, timeout=60) as http:
        return await asyncio.to_thread(lambda: list(verdicts(http, talk, ask, ledger)))


async def test_a_question_is_answered_from_the_context_and_the_answer_judged_once(
    service: Service, server: ModelServer, tmp_path: Path
) -> None:
    talk = told(*SAID, question="Where does Maria work?", answer="In a bakery", evidence=(3,))

    (verdict,) = await given(service, talk, Ledger(tmp_path / "eval.jsonl", resume=False))

    assert (verdict.answer, verdict.is_right) == ("In a bakery", True)
    assert verdict.input_tokens > 0
    assert verdict.cost_usd is not None
    asked = len(server.requests)
    assert asked == 2
    assert await given(service, talk, Ledger(tmp_path / "eval.jsonl", resume=True)) == [verdict]
    assert len(server.requests) == asked  # a run that goes on asks nothing again

    category, whole = judged([verdict])
    assert (category.category, whole.category, whole.accuracy, whole.cost_usd) == ("one", ALL, 1, verdict.cost_usd)
    headings, rows = judged_table([category, whole])
    assert [len(row) for row in rows] == [len(headings)] * 2


@pytest.mark.usefixtures("server")
async def test_what_the_context_does_not_say_is_judged_wrong(service: Service, tmp_path: Path) -> None:
    talk = told(SAID[0], question="Where does Maria work?", answer="In a bakery")

    (verdict,) = await given(service, talk, Ledger(tmp_path / "eval.jsonl", resume=False))

    assert (verdict.answer, verdict.is_right) == ("I don't know", False)


def test_a_provider_that_is_busy_is_asked_again(server: ModelServer) -> None:
    server.fail_next(Fault.OVERLOADED, times=2, retry_after=None)

    assert ask(REQUEST).text == "I don't know"
    assert len(server.requests) == 3


@pytest.mark.parametrize(("fault", "times", "asked"), [(Fault.UNAUTHORIZED, 1, 1), (Fault.SERVER_ERROR, 9, 4)])
def test_a_provider_that_refuses_or_stays_busy_ends_the_run(
    server: ModelServer, fault: Fault, times: int, asked: int
) -> None:
    server.fail_next(fault, times=times, retry_after=None)

    with pytest.raises(ModelError):
        ask(REQUEST)
    assert len(server.requests) == asked
