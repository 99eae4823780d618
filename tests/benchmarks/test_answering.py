"""Answers and their verdicts, by a scripted provider over real HTTP and a running service."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from app.llm.build import LlmConfig, build_model
from app.llm.embedding import EmbeddingProvider
from app.llm.port import ModelError, ModelReply, ModelRequest, Provider
from benchmarks.quality.__main__ import Part, runnable
from benchmarks.quality.answering import VERDICT, Verdict, patiently, verdicts
from benchmarks.quality.ledger import Ledger
from benchmarks.quality.report import ALL, judged, judged_table
from benchmarks.quality.talks import Source, Talk
from tests.benchmarks.test_quality import SAID, told
from tests.conftest import Service
from tests.model_replies import Asked
from tests.model_server import Fault, ModelServer

KEYS = {"ANTHROPIC_API_KEY", "OPENAI_API_KEY"}
MODEL = "claude-haiku-5-5"
REQUEST = ModelRequest(system="Be brief", prompt="Hello", max_output_tokens=10)
RIGHT = Verdict(
    source=Source.LOCOMO,
    category="1",
    question="Where does Maria work?",
    answer="In a bakery",
    is_right=True,
    input_tokens=1,
    cached_input_tokens=0,
    output_tokens=1,
    cost_usd=None,
)


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


async def test_a_run_that_was_broken_off_goes_on_with_what_was_not_judged(
    service: Service, server: ModelServer, tmp_path: Path
) -> None:
    one = told(*SAID, question="Where does Maria work?", answer="In a bakery", evidence=(3,))
    talk = replace(one, questions=(*one.questions, replace(one.questions[0], text="And where is that?")))

    def broken_off() -> Verdict:
        with httpx2.Client(base_url=service.url, timeout=60) as http:
            given = verdicts(http, talk, ask, Ledger(tmp_path / "eval.jsonl", resume=False))
            first = next(given)
            server.fail_next(Fault.UNAUTHORIZED)
            with pytest.raises(ModelError):
                next(given)
        return first

    first = await asyncio.to_thread(broken_off)
    asked = len(server.requests)
    assert asked == 3  # the answer, its verdict, and what was refused

    again = await given(service, talk, Ledger(tmp_path / "eval.jsonl", resume=True))

    assert [verdict.question for verdict in again] == ["Where does Maria work?", "And where is that?"]
    assert again[0] == first
    assert len(server.requests) == asked + 2


def test_what_cannot_be_run_is_left_out_and_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert runnable(None, Provider.EXTRACTIVE, None) == [Part.RETRIEVAL, Part.CONTEXT, Part.FACTS]
    assert [line.split()[:4] for line in capsys.readouterr().err.splitlines()] == [
        ["left", "out:", "part", "vectors"],
        ["left", "out:", "part", "answers"],
    ]
    assert runnable(None, Provider.ANTHROPIC, EmbeddingProvider.LOCAL) == list(Part)
    assert capsys.readouterr().err == ""


def test_without_a_key_the_command_says_what_it_wants() -> None:
    environment = {name: value for name, value in os.environ.items() if name not in KEYS}
    command = [sys.executable, "-m", "benchmarks.quality", "--part", "answers"]

    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=90)

    assert ended.returncode == 2
    assert "set ANTHROPIC_API_KEY or OPENAI_API_KEY" in " ".join(ended.stderr.replace("│", " ").split())


def put(folder: Path, *questions: str) -> None:
    """A conversation in the files of LoCoMo, and what is asked about it."""
    place = folder / "locomo"
    place.mkdir()
    rows = [
        {"conversation": "conv-1", "session": "1", "turn_id": f"t{seq}", "role": "user", "speaker": "Maria"}
        | {"content": content, "created_at": f"2026-08-01T10:00:0{seq}Z"}
        for seq, content in enumerate(SAID)
    ]
    asked = [
        {"conversation": "conv-1", "question": question, "answer": "In a bakery", "category": 1}
        | {"evidence_turn_ids": ["t2"]}
        for question in questions
    ]
    for name, lines in (("conv-1.jsonl", rows), ("questions.jsonl", asked)):
        (place / name).write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")


def test_the_command_goes_on_with_what_is_left_by_the_provider_whose_key_is_set(
    server: ModelServer, tmp_path: Path
) -> None:
    put(tmp_path, "Where does Maria work?", "And where is that?")
    so_far = tmp_path / "eval.jsonl"
    Ledger(so_far, resume=False).once("answers/conv-1/Where does Maria work?", VERDICT, lambda: RIGHT)
    command = [
        sys.executable,
        "-m",
        "benchmarks.quality",
        "--part",
        "answers",
        "--haystacks",
        "0",
        "--longmemeval",
        "0",
    ]
    places = ["--data", str(tmp_path), "--so-far", str(so_far), "--no-write", "--resume"]
    environment = {name: value for name, value in os.environ.items() if name != "ANTHROPIC_API_KEY"}

    ended = subprocess.run(
        [*command, *places], env=environment, capture_output=True, text=True, check=False, timeout=240
    )

    assert ended.returncode == 0, ended.stderr
    assert [one.api for one in server.requests] == ["openai"] * 2  # an answer, and its verdict
    assert len(so_far.read_bytes().splitlines()) == 2
    figures = ended.stdout.partition("answers: Run of")[2]
    assert "1.000" in figures


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
