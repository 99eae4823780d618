"""Calls of a role's model within a step: paid for, redacted, judged, recorded and counted."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic

from app.kit.offload import aside
from app.llm.port import CIRCUIT_OPEN, ModelError
from app.memory.gates import Rejection, Verdict
from app.memory.means import Means
from app.memory.model import Call, Draft, ReflectorInput, Role, Source
from app.memory.narrowing import Narrowing, known_good
from app.memory.outcomes import BROKE, Outcome, StepFailed
from app.memory.records import Attempt, Lease, Run
from app.memory.steps import Consolidate, Reflect
from app.redaction.model import Redact
from app.sessions.model import Message

TRIES = 2
PROBE = "probe"  # a call that asks whether the model answers at all
OF_REFLECTOR = frozenset({Reflect.name, Consolidate.name})  # kinds of calls; the others are the observer's
COUNTED = ("input_tokens", "cached_input_tokens", "output_tokens")
REJECTED_CHARS_MAX = 20_000  # of a refused output kept for inspection


@dataclass(frozen=True, slots=True, kw_only=True)
class Calling(Generic[Source]):
    """``name`` is what errors call the role."""

    name: str
    role: Role[Source]
    means: Means

    async def accepted(
        self,
        attempt: Attempt,
        source: Source,
        judge: Callable[[Draft], Verdict],
        *,
        kind: str,
        from_seq: int,
        to_seq: int,
    ) -> Verdict | None:
        """The verdict that passed the gates. A rejected draft is retried once with the reason (memory-rules.md 4).

        None if a cap on cost forbids the first call. Raises StepFailed, also if a cap forbids the second call.
        """
        rejection: Rejection | None = None
        for _ in range(TRIES):
            draft = await self.draft(attempt, source, kind=kind, from_seq=from_seq, to_seq=to_seq)
            if draft is None:
                break
            verdict = await aside(judge, draft)
            attempt.runs[-1] = with_verdict(attempt.runs[-1], draft, verdict)
            if verdict.rejected is None:
                return verdict
            rejection = verdict.rejected
            source = replace(source, rejected=verdict.reason)
        if rejection is None:
            return None
        raise self.rejected(rejection, source)

    def rejected(self, rejection: Rejection, source: Source) -> StepFailed:
        detail = f"the {self.name}'s output was rejected: {rejection.reason}"
        return StepFailed(rejection, detail, shown=_shown(source))

    async def give_up(self, attempt: Attempt, source: Source, failed: StepFailed, narrowing: Narrowing) -> None:
        """Raise ``failed`` again, unless the model fails at this one part alone, and answers a probe."""
        answers = narrowing.asks(failed.kind) and await self._answers(attempt, known_good(source))
        if not (answers and narrowing.gives_up(failed.kind)):
            failed.slow = answers
            raise failed

    async def _answers(self, attempt: Attempt, source: Source) -> bool:
        """Probe the model; False if it fails, or a cap forbids the call."""
        try:
            draft = await self.draft(attempt, source, kind=PROBE)
        except StepFailed:
            return False
        if draft is None:
            return False
        attempt.runs[-1] = replace(attempt.runs[-1], outcome="recorded", error=None)
        return True

    async def draft(
        self, attempt: Attempt, source: Source, *, kind: str, from_seq: int | None = None, to_seq: int | None = None
    ) -> Draft | None:
        """One call, added to the runs; None if a cap forbids it. Raises StepFailed.

        Its run counts as failed until the caller replaces it by the outcome. The text is redacted at once, for a model
        may write secrets that it was not shown, and in a thread, for an operator's hook may be slow.
        """
        redact = self.means.redaction.of(attempt.loaded.tenant)
        started = time.perf_counter()
        try:
            held = partial(self._held, attempt.lease)
            draft = await self.means.charging.paid(attempt, self.role, source, held)
        except ModelError as error:
            latency = round((time.perf_counter() - started) * 1000)
            call = Call(
                provider=self.role.name, model=error.model, prompt_version="", usage=error.usage, latency_ms=latency
            )
            if error.kind != CIRCUIT_OPEN:
                told = f"{error.kind}: {error}"[:REJECTED_CHARS_MAX]
                attempt.runs.append(_failed(kind, call, told, from_seq=from_seq, to_seq=to_seq))
            if error.reply is not None:
                refused = (await _redacted(error.reply.text, redact))[:REJECTED_CHARS_MAX]
                attempt.runs[-1] = replace(attempt.runs[-1], rejected_output=refused)
            raise StepFailed(error.kind, str(error), shown=_shown(source), retry_after=error.retry_after) from error
        if draft is None:
            return None
        attempt.runs.append(_failed(kind, draft.call, BROKE, from_seq=from_seq, to_seq=to_seq))
        return replace(draft, text=await _redacted(draft.text, redact))

    async def _held(self, lease: Lease) -> None:
        """Raises StepFailed if the lease is lost: what was loaded may have been erased since, and is not sent then."""
        if not await self.means.store.holds(lease):
            raise StepFailed(Outcome.STALE, "the lease was lost")


def _shown(source: Source) -> tuple[Message, ...]:
    return () if isinstance(source, ReflectorInput) else source.messages


def with_verdict(run: Run, draft: Draft, verdict: Verdict) -> Run:
    """The run of the call that wrote the draft, with the verdict as its outcome."""
    if verdict.rejected is None:
        return replace(run, outcome="recorded", error=None, grounded_share=verdict.grounded_share)
    return replace(
        run,
        outcome="rejected",
        error=verdict.rejected,
        grounded_share=verdict.grounded_share,
        rejected_output=draft.text[:REJECTED_CHARS_MAX],
    )


async def _redacted(text: str, redact: Redact | None) -> str:
    return text if redact is None else await asyncio.to_thread(redact, text)


def _failed(kind: str, call: Call, error: str, *, from_seq: int | None, to_seq: int | None) -> Run:
    """The run of a call without a result, with the usage that the provider told, or an estimate."""
    return Run(
        kind=kind,
        provider=call.provider,
        model=call.model,
        prompt_version=call.prompt_version,
        outcome="failed",
        input_tokens=call.usage.input_tokens,
        cached_input_tokens=call.usage.cached_input_tokens,
        output_tokens=call.usage.output_tokens,
        cost_usd=call.usage.cost_usd,
        latency_ms=call.latency_ms,
        from_seq=from_seq,
        to_seq=to_seq,
        error=error,
    )


def add_usage(usage: dict[str, Any], runs: Sequence[Run]) -> dict[str, Any]:
    """The memory's running totals, by observer and reflector, with the ``runs`` of one step added.

    All of them count for the role of the step, a probe too.
    """
    totals = {role: dict(values) for role, values in usage.items()}
    role = "reflector" if any(run.kind in OF_REFLECTOR for run in runs) else "observer"
    for run in runs:
        total = totals.setdefault(role, {})
        total["calls"] = total.get("calls", 0) + 1
        total["cost_usd"] = round(total.get("cost_usd", 0.0) + (run.cost_usd or 0.0), 9)
        for name in COUNTED:
            total[name] = total.get(name, 0) + getattr(run, name)
    return totals
