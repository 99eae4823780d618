"""The usual measure: a model answers each question from the compiled context, and judges the answer by the right one.

It takes a key of a provider and costs money; what each question cost stands beside its verdict.
"""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias
from uuid import uuid4

import httpx2
from pydantic import TypeAdapter

from app.llm.port import Model, ModelError, ModelReply, ModelRequest
from benchmarks.quality.ledger import Ledger
from benchmarks.quality.measuring import LOG_SHARE, RECALL, config
from benchmarks.quality.memory import Memory
from benchmarks.quality.talks import Question, Source, Talk

Ask: TypeAlias = Callable[[ModelRequest], ModelReply]

BUDGET = 4_000  # of a context
ANSWER_TOKENS, VERDICT_TOKENS = 300, 16
TRIES, WAIT_SECONDS = 4, 5.0

ANSWER = """\
You answer a question about an earlier conversation. Use only what the conversation below says; work out dates from \
the days it was said on. Answer in one short sentence. If it does not say, answer "I don't know"."""
JUDGE = """\
You grade an answer to a question about a conversation. It is right if it says what the expected answer says, in \
whatever words, and contradicts nothing of it; a date counts in any form. Answer with one word: yes or no."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A question with its answer. Tokens and US dollars are of answering and judging together; None: no list price."""

    source: Source
    category: str
    question: str
    answer: str
    is_right: bool
    input_tokens: int
    cached_input_tokens: int
    output_tokens: int
    cost_usd: float | None


VERDICT = TypeAdapter(Verdict)


def verdicts(http: httpx2.Client, talk: Talk, ask: Ask, ledger: Ledger) -> Iterator[Verdict]:
    """Of every question of the talk; a model is asked of those only that the ledger does not know."""
    keys = [f"answers/{talk.name}/{question.text}" for question in talk.questions]
    memory = Memory(http, uuid4().hex, talk)
    if not all(map(ledger.knows, keys)):
        memory.tell(config(BUDGET, LOG_SHARE[RECALL]))
    for key, question in zip(keys, talk.questions, strict=True):
        yield ledger.once(key, VERDICT, partial(_verdict, memory, talk.source, question, ask))


def _verdict(memory: Memory, source: Source, question: Question, ask: Ask) -> Verdict:
    asked = f"{memory.text(question.text)}\n\nIt is {question.now[:10]}. Question: {question.text}"
    answer = ask(ModelRequest(system=ANSWER, prompt=asked, max_output_tokens=ANSWER_TOKENS))
    graded = f"Question: {question.text}\nExpected answer: {question.answer}\nGiven answer: {answer.text.strip()}"
    grade = ask(ModelRequest(system=JUDGE, prompt=graded, max_output_tokens=VERDICT_TOKENS))
    both = (answer.usage, grade.usage)
    costs = [usage.cost_usd for usage in both if usage.cost_usd is not None]
    return Verdict(
        source=source,
        category=question.category,
        question=question.text,
        answer=answer.text.strip(),
        is_right=grade.text.strip().casefold().startswith("yes"),
        input_tokens=sum(usage.input_tokens for usage in both),
        cached_input_tokens=sum(usage.cached_input_tokens for usage in both),
        output_tokens=sum(usage.output_tokens for usage in both),
        cost_usd=sum(costs) if len(costs) == len(both) else None,
    )


async def patiently(model: Model, request: ModelRequest, *, wait_seconds: float = WAIT_SECONDS) -> ModelReply:
    """The reply, asked for again while the provider says that it may come later. Raises ModelError."""
    for left in reversed(range(TRIES)):
        try:
            return await model.complete(request)
        except ModelError as error:
            if not (error.retryable and left):
                raise
            await asyncio.sleep(error.retry_after or wait_seconds)
    raise AssertionError("the last try returns or raises")
