"""What can become of a step, and the records of its calls: what the steps that ask a model share."""

import asyncio
import time
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any

from app.llm.port import ModelError
from app.memory.model import Call, Draft
from app.memory.records import Run
from app.redaction.model import Redact

REJECTED_CHARS_MAX = 20_000  # of a refused output kept for inspection

REFLECTED = frozenset({"reflect", "consolidate"})  # kinds of calls; the others are made by the observer's model
_COUNTED = ("input_tokens", "cached_input_tokens", "output_tokens")


class Outcome(StrEnum):
    RECORDED = "recorded"
    NOTHING_SAFE = "nothing_safe"  # no whole closed group to observe
    NO_BOUNDARY = "no_boundary"  # no topic ends among the messages
    UNAFFORDABLE = "unaffordable"  # a cap on cost forbids the first call
    DISCARDED = "discarded"  # what was made ahead has lost a source
    UNHELPED = "unhelped"  # condensing gave nothing smaller
    STALE = "stale"  # the lease, or what was read, is gone: nothing was written


class StepFailed(Exception):
    """A step that recorded nothing and is to be tried again. ``runs`` are its calls, kept all the same."""

    def __init__(self, kind: str, message: str, *, runs: Sequence[Run], retry_after: float | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.runs = tuple(runs)
        self.retry_after = retry_after


async def called(
    thinking: Awaitable[Draft | None], *, kind: str, provider: str, runs: Sequence[Run], redact: Redact | None
) -> Draft | None:
    """Await a draft, or None where a cap forbids the call. Raises StepFailed with the record of the failed call.

    What the model wrote is redacted before anything is made of it, as it may say what it was not told: in a thread, as
    an operator's hook may take its time.
    """
    started = time.perf_counter()
    try:
        draft = await thinking
    except ModelError as error:
        latency = round((time.perf_counter() - started) * 1000)
        refused = None if error.reply is None else await _redacted(error.reply.text, redact)
        failed = _failed(kind, error, provider=provider, latency_ms=latency, refused=refused)
        raise StepFailed(error.kind, str(error), runs=[*runs, failed], retry_after=error.retry_after) from error
    return None if draft is None else replace(draft, text=await _redacted(draft.text, redact))


async def _redacted(text: str, redact: Redact | None) -> str:
    return text if redact is None else await asyncio.to_thread(redact, text)


def _failed(kind: str, error: ModelError, *, provider: str, latency_ms: int, refused: str | None) -> Run:
    """The record of a call without a draft; a refusal has its tokens, and what was said, a late answer its input."""
    usage = error.usage
    return Run(
        kind=kind,
        provider=provider,
        model=error.model,
        prompt_version="",
        outcome="failed",
        input_tokens=usage.input_tokens,
        cached_input_tokens=usage.cached_input_tokens,
        output_tokens=usage.output_tokens,
        cost_usd=usage.cost_usd,
        latency_ms=latency_ms,
        error=f"{error.kind}: {error}"[:REJECTED_CHARS_MAX],
        rejected_output=None if refused is None else refused[:REJECTED_CHARS_MAX],
    )


def run_of(kind: str, draft: Draft, *, rejected: str | None, grounded_share: float | None = None) -> Run:
    call: Call = draft.call
    return Run(
        kind=kind,
        provider=call.provider,
        model=call.model,
        prompt_version=call.prompt_version,
        outcome="recorded" if rejected is None else "rejected",
        input_tokens=call.usage.input_tokens,
        cached_input_tokens=call.usage.cached_input_tokens,
        output_tokens=call.usage.output_tokens,
        cost_usd=call.usage.cost_usd,
        latency_ms=call.latency_ms,
        error=rejected,
        grounded_share=grounded_share,
        rejected_output=None if rejected is None else draft.text[:REJECTED_CHARS_MAX],
    )


def add_usage(usage: dict[str, Any], runs: Sequence[Run]) -> dict[str, Any]:
    """The memory's running totals, by observer and reflector, with the calls of ``runs`` added."""
    totals = {role: dict(values) for role, values in usage.items()}
    for run in runs:
        total = totals.setdefault("reflector" if run.kind in REFLECTED else "observer", {})
        total["calls"] = total.get("calls", 0) + 1
        total["cost_usd"] = round(total.get("cost_usd", 0.0) + (run.cost_usd or 0.0), 9)
        for name in _COUNTED:
            total[name] = total.get(name, 0) + getattr(run, name)
    return totals
