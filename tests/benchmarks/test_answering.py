"""Answers and their verdicts, by a scripted provider over real HTTP and a running service."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from app.llm.build import build_model
from app.llm.embedding import EmbeddingProvider
from app.llm.port import LlmConfig, ModelError, ModelReply, ModelRequest, Provider, Stop, Usage
from benchmarks.quality.__main__ import Part, runnable
from benchmarks.quality.answering import REPLY, Asked, Verdict, answered, asked, judged, patiently
from benchmarks.quality.baselines import BM25, NEWEST
from benchmarks.quality.ledger import Ledger
from benchmarks.quality.measuring import LOG, RECALL
from benchmarks.quality.report import ALL, judged_table
from benchmarks.quality.report import judged as figures
from benchmarks.quality.talks import Source, Talk
from benchmarks.service import wait_until
from tests.benchmarks.test_quality import SAID, told
from tests.conftest import Service
from tests.model_replies import Asked as Request
from tests.model_replies import PromptKind
from tests.model_server import Fault, ModelServer

KEYS = {"ANTHROPIC_API_KEY", "OPENAI_API_KEY"}
MODEL = "claude-haiku-5-5"
NEWS = "Then I walked along the river, saw the boats come in and bought some bread for my sister. "
REQUEST = ModelRequest(system="Be brief", prompt="Hello", max_output_tokens=10)
BAKERY = ModelReply(text="In a bakery", stop=Stop.END, usage=Usage(), model=MODEL)


def replied(asked: Request) -> str:
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


def judgement(question: Asked, ledger: Ledger) -> Verdict:
    return judged(question, answered(question, ask, ledger), ask, ledger)


async def given(service: Service, talk: Talk, ledger: Ledger, method: str = RECALL) -> list[Verdict]:
    def judgements() -> list[Verdict]:
        with httpx2.Client(base_url=service.url, timeout=60) as http:
            return [judgement(question, ledger) for question in asked(http, talk, method, ledger)]

    return await asyncio.to_thread(judgements)


async def test_a_question_is_answered_from_the_context_and_the_answer_judged_once(
    service: Service, server: ModelServer, tmp_path: Path
) -> None:
    talk = told(*SAID, question="Where does Maria work?", answer="In a bakery", evidence=(3,))

    (verdict,) = await given(service, talk, Ledger(tmp_path / "eval.jsonl", resume=False))

    assert (verdict.answer, verdict.is_right) == ("In a bakery", True)
    assert verdict.input_tokens > 0
    assert verdict.cost_usd is not None
    requests = len(server.requests)
    assert requests == 2
    assert await given(service, talk, Ledger(tmp_path / "eval.jsonl", resume=True)) == [verdict]
    assert len(server.requests) == requests  # a run that goes on asks nothing again

    category, whole = figures([verdict])
    assert (category.category, whole.category, whole.accuracy, whole.cost_usd) == ("one", ALL, 1, verdict.cost_usd)
    assert (whole.method, whole.questions) == (RECALL, 1)
    headings, rows = judged_table([category, whole])
    assert [len(row) for row in rows] == [len(headings)] * 2


async def test_a_run_that_was_broken_off_goes_on_with_what_was_not_asked(
    service: Service, server: ModelServer, tmp_path: Path
) -> None:
    talk = told(*SAID, question="Where does Maria work?", answer="In a bakery", evidence=(3,))
    broken_off = Ledger(tmp_path / "eval.jsonl", resume=False)
    with httpx2.Client(base_url=service.url, timeout=60) as http:
        (question,) = await asyncio.to_thread(asked, http, talk, RECALL, broken_off)
    answer = await asyncio.to_thread(answered, question, ask, broken_off)
    server.fail_next(Fault.UNAUTHORIZED)
    with pytest.raises(ModelError):
        await asyncio.to_thread(judged, question, answer, ask, broken_off)
    assert len(server.requests) == 2  # the answer, and what was refused

    (verdict,) = await given(service, talk, Ledger(tmp_path / "eval.jsonl", resume=True))

    assert verdict.is_right
    assert len(server.requests) == 3


@pytest.mark.parametrize("method", [NEWEST, BM25, LOG, RECALL])
async def test_a_model_is_shown_the_context_of_the_method_on_the_day_of_the_question(
    service: Service, tmp_path: Path, method: str
) -> None:
    talk = told(*SAID, NEWS * 20, "Good night", question="Where does Maria work?", answer="In a bakery", evidence=(3,))
    later = replace(talk.questions[0], now="2026-12-24T10:00:00Z")
    with httpx2.Client(base_url=service.url, timeout=60) as http:
        ledger = Ledger(tmp_path / "eval.jsonl", resume=False)
        (question,) = await asyncio.to_thread(asked, http, replace(talk, questions=(later,)), method, ledger)

    assert "found work in a bakery" in question.prompt
    assert question.prompt.endswith("It is 2026-12-24. Question: Where does Maria work?")
    assert ("Today is Thursday, December 24, 2026." in question.prompt) == (method in {LOG, RECALL})


@pytest.mark.parametrize(
    ("grade", "is_right"), [("Yes.", True), ("**yes**", True), ("no", False), ("Yesterday", False)]
)
def test_a_verdict_is_read_whatever_stands_around_it(
    server: ModelServer, tmp_path: Path, grade: str, *, is_right: bool
) -> None:
    server.answers[PromptKind.OTHER] = lambda _asked: grade
    question = Asked(
        talk="c",
        source=Source.LOCOMO,
        category="one",
        method=BM25,
        question="Where does Maria work?",
        expected="In a bakery",
        prompt="",
    )

    assert judged(question, BAKERY, ask, Ledger(tmp_path / "eval.jsonl", resume=False)).is_right is is_right


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
    Ledger(so_far, resume=False).once(f"answers/conv-1/{BM25}/Where does Maria work?", REPLY, lambda: BAKERY)
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
    of = ["--method", BM25, "--method", RECALL, "--model", "small"]
    environment = {name: value for name, value in os.environ.items() if name != "ANTHROPIC_API_KEY"}

    ended = subprocess.run(
        [*command, *places, *of], env=environment, capture_output=True, text=True, check=False, timeout=240
    )

    assert ended.returncode == 0, ended.stderr
    assert [one.api for one in server.requests] == ["openai"] * 7  # all but the answer that was known
    assert {one.asked.model for one in server.requests} == {"small"}
    assert len(so_far.read_bytes().splitlines()) == 10  # two contexts, and two answers and verdicts by each method
    shown = ended.stdout.partition("answers: Run of")[2]
    rows = [[cell.strip() for cell in line.split("│")] for line in shown.splitlines() if ALL in line]
    # "And where is that?" has no word of what was said.
    assert [row[2:6] for row in rows] == [[BM25, ALL, "2", "0.500"], [RECALL, ALL, "2", "1.000"]]


def test_the_command_ends_when_told_though_a_model_has_not_answered(server: ModelServer, tmp_path: Path) -> None:
    put(tmp_path, "Where does Maria work?", "And where is that?")
    server.fail_next(Fault.HANG, times=9)
    places = ["--data", str(tmp_path), "--so-far", str(tmp_path / "eval.jsonl"), "--no-write"]
    command = [sys.executable, "-m", "benchmarks.quality", "--part", "answers", *places]
    running = subprocess.Popen([*command, "--haystacks", "0", "--longmemeval", "0", "--method", BM25])
    wait_until(lambda: server.in_flight == 2, seconds=120)

    running.terminate()

    assert running.wait(20) == 128 + signal.SIGTERM


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
