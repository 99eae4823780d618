"""Has a model answer each question from a context, and judge the answer by the expected one (LLM as a judge).

It needs a provider's key and costs money; the cost of each question is in its verdict. Contexts are made first, then
all answers, then all verdicts; each is saved, so that an interrupted run pays for nothing twice.
"""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import httpx2
from pydantic import TypeAdapter

from app.llm.port import Model, ModelError, ModelReply, ModelRequest
from benchmarks.quality.baselines import BASELINES, BM25, NEWEST, within, written
from benchmarks.quality.ledger import Ledger
from benchmarks.quality.measuring import RECALL, told_memory
from benchmarks.quality.talks import Question, Source, Talk

Ask: TypeAlias = Callable[[ModelRequest], ModelReply]

BUDGET = 4_000  # of a context
USUAL = (NEWEST, BM25, RECALL)  # methods
ANSWER_TOKENS, VERDICT_TOKENS = 300, 16
TRIES, WAIT_SECONDS = 4, 5.0

ANSWER = """\
You answer a question about an earlier conversation. Use only what the conversation below says; work out dates from \
the days it was said on. Answer in one short sentence. If it does not say, answer "I don't know". If the question asks \
for advice, give the advice that suits what the conversation says of the user."""
JUDGE = """\
You grade an answer to a question about a conversation. It is right if it says what the expected answer says, in \
whatever words, and contradicts nothing of it; a date counts in any form. Where the expected answer tells what the \
user would prefer, an answer is right that goes by it, though it need not have all of it. Answer with one word: \
yes or no."""
YES = re.compile(r"\W*yes\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question with its prompt: a context, the day, and the question itself."""

    talk: str
    source: Source
    category: str
    method: str
    question: str
    expected: str
    prompt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A question with its answer. Tokens and US dollars are those of answering and judging; None: no list price."""

    source: Source
    category: str
    method: str
    question: str
    answer: str
    is_right: bool
    input_tokens: int
    cached_input_tokens: int
    output_tokens: int
    cost_usd: float | None


ASKED = TypeAdapter(tuple[Asked, ...])
REPLY = TypeAdapter(ModelReply)
VERDICT = TypeAdapter(Verdict)


def asked(http: httpx2.Client, talk: Talk, method: str, ledger: Ledger) -> tuple[Asked, ...]:
    """Every question of the talk, with a context by the method; for a memory the talk is posted to the service."""
    key = f"asked/{talk.name}/{method}/{len(talk.questions)}"
    return ledger.once(key, ASKED, partial(_asked, http, talk, method))


def _asked(http: httpx2.Client, talk: Talk, method: str) -> tuple[Asked, ...]:
    text = _contexts(http, talk, method)
    return tuple(
        Asked(
            talk=talk.name,
            source=talk.source,
            category=question.category,
            method=method,
            question=question.text,
            expected=question.answer,
            prompt=f"{text(question)}\n\nIt is {question.now[:10]}. Question: {question.text}",
        )
        for question in talk.questions
    )


def _contexts(http: httpx2.Client, talk: Talk, method: str) -> Callable[[Question], str]:
    if method in BASELINES:
        order = BASELINES[method](talk)
        return lambda question: written(talk, within(talk, order(question.text), BUDGET))
    return partial(told_memory(http, talk, method, BUDGET).text, recall=method == RECALL)


def answered(asked: Asked, ask: Ask, ledger: Ledger) -> ModelReply:
    request = ModelRequest(system=ANSWER, prompt=asked.prompt, max_output_tokens=ANSWER_TOKENS)
    return ledger.once(_key("answers", asked), REPLY, partial(ask, request))


def judged(asked: Asked, answer: ModelReply, ask: Ask, ledger: Ledger) -> Verdict:
    return ledger.once(_key("verdicts", asked), VERDICT, partial(_judged, asked, answer, ask))


def _key(step: str, asked: Asked) -> str:
    return f"{step}/{asked.talk}/{asked.method}/{asked.question}"


def _judged(asked: Asked, answer: ModelReply, ask: Ask) -> Verdict:
    graded = f"Question: {asked.question}\nExpected answer: {asked.expected}\nGiven answer: {answer.text.strip()}"
    grade = ask(ModelRequest(system=JUDGE, prompt=graded, max_output_tokens=VERDICT_TOKENS))
    both = (answer.usage, grade.usage)
    costs = [usage.cost_usd for usage in both if usage.cost_usd is not None]
    return Verdict(
        source=asked.source,
        category=asked.category,
        method=asked.method,
        question=asked.question,
        answer=answer.text.strip(),
        is_right=YES.match(grade.text) is not None,
        input_tokens=sum(usage.input_tokens for usage in both),
        cached_input_tokens=sum(usage.cached_input_tokens for usage in both),
        output_tokens=sum(usage.output_tokens for usage in both),
        cost_usd=sum(costs) if len(costs) == len(both) else None,
    )


async def patiently(model: Model, request: ModelRequest, *, wait_seconds: float = WAIT_SECONDS) -> ModelReply:
    """The model's reply, with retries of retryable errors. Raises ModelError."""
    for left in reversed(range(TRIES)):
        try:
            return await model.complete(request)
        except ModelError as error:
            if not (error.retryable and left):
                raise
            await asyncio.sleep(error.retry_after or wait_seconds)
    raise AssertionError("the last try returns or raises")
