"""Measures each way of filling a budget on one talk."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import httpx2

from app.memory import rules
from benchmarks.quality.baselines import BASELINES, message_tokens, within
from benchmarks.quality.coverage import Held, held, shown
from benchmarks.quality.grounding import grounded
from benchmarks.quality.memory import Memory
from benchmarks.quality.talks import Source, Split, Talk

BUDGETS = (2_000, 4_000, 8_000)
LOG, RECALL = "log", "log + recall"
SPAN_TOKENS = 300
# Around the log of a context: the guide, messages not yet observed, and the lines of one span more before the log is
# condensed.
AROUND_TOKENS = 700
# The log's share of the rest; recall has what is left (DAYBOOK_RECALL__TOKENS). Chosen on the dev conversations
# (docs/eval.md).
LOG_SHARE = {LOG: 1.0, RECALL: 0.3}
METHODS = (*BASELINES, *LOG_SHARE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One talk by one method. ``tokens`` is the mean over its questions; ``categories`` and ``held`` are by question.

    ``compression``: tokens observed per token of the log; ``grounded``: by line. Both only for a memory.
    """

    source: Source
    split: Split
    method: str
    budget: int
    tokens: float
    categories: tuple[str, ...]
    held: tuple[Held, ...]
    compression: float | None = None
    grounded: tuple[bool, ...] = ()


def _config(budget: int, share: float) -> dict[str, Any]:
    """The config of a session whose context stays below ``budget`` tokens, without what is recalled.

    The log is condensed as a whole (``rewrite``), a little at a time, so that it fills its part of the budget.
    """
    log = round(share * (budget - AROUND_TOKENS))
    return {
        "strategy": "rewrite",
        "min_interval": 0,
        "message_tokens": SPAN_TOKENS,
        "message_budget": SPAN_TOKENS + 100,
        "keep_last": 0,
        "buffer_every": None,
        "observation_tokens": log,
        "reflect_keep": 0,
        "reflect_to": 0.8,
        "memory_budget": ceil(log / rules.LOG_SHARE),  # a smaller one would have the log condensed sooner
        "previous_observation_tokens": 1_000,
    }


def recall_tokens(budget: int) -> int:
    """The tokens left for recall in a context with a smaller log."""
    return round((1 - LOG_SHARE[RECALL]) * (budget - AROUND_TOKENS))


def baselines(talk: Talk) -> Iterator[Measured]:
    for name, build in BASELINES.items():
        order = build(talk)
        orders = [order(question.text) for question in talk.questions]
        for budget in BUDGETS:
            chosen = [within(talk, seqs, budget) for seqs in orders]
            found = zip(talk.questions, chosen, strict=True)
            yield _measured(
                talk,
                method=name,
                budget=budget,
                tokens=_mean([sum(message_tokens(talk, seq) for seq in seqs) for seqs in chosen]),
                held=tuple(held(talk, question, shown(seqs)) for question, seqs in found),
            )


def told_memory(http: httpx2.Client, talk: Talk, method: str, budget: int) -> Memory:
    """The memory of a talk that was posted; its contexts, without what is recalled, stay below the budget."""
    memory = Memory(http, talk)
    memory.tell(_config(budget, LOG_SHARE[method]))
    return memory


def remembered(http: httpx2.Client, talk: Talk, method: str, budget: int) -> Measured:
    """Measure the memory of a session of its own, over HTTP. The service recalls ``recall_tokens(budget)``."""
    memory = told_memory(http, talk, method, budget)
    if method == RECALL:
        contexts = [memory.compiled(question) for question in talk.questions]
    else:
        contexts = [memory.compiled()] * len(talk.questions)
    found = zip(talk.questions, contexts, strict=True)
    return _measured(
        talk,
        method=method,
        budget=budget,
        tokens=_mean([context.tokens for context in contexts]),
        held=tuple(held(talk, question, shown(one.tail, one.log, one.recalled)) for question, one in found),
        compression=memory.compression(),
        grounded=tuple(grounded(talk, contexts[0].log)),
    )


def _measured(talk: Talk, **found: Any) -> Measured:
    categories = tuple(question.category for question in talk.questions)
    return Measured(source=talk.source, split=talk.split, categories=categories, **found)


def _mean(numbers: Sequence[int]) -> float:
    return sum(numbers) / max(1, len(numbers))
