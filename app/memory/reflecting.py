"""The Reflect and Consolidate steps: condense a part of the log, judge the result, record it in the part's place."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import structlog

from app.kit.db import Tx
from app.kit.offload import aside
from app.kit.tracing import traced
from app.memory import locking_store, reflection_store
from app.memory.calling import Calling, add_usage, with_verdict
from app.memory.extractive.roles import ExtractiveReflector
from app.memory.gates import Rejection, Verdict, restore
from app.memory.judging import reflection_verdict
from app.memory.means import Means
from app.memory.model import Item, Reflector, ReflectorInput
from app.memory.narrowing import CONDENSED, Narrowing
from app.memory.outcomes import Outcome, StepFailed
from app.memory.protected import coverage, lost, protected
from app.memory.records import Attempt
from app.memory.reflection_sources import (
    Sources,
    consolidate_sources,
    new_reflection,
    reflect_sources,
    reflector_input,
    restored_most,
    target_tokens,
)
from app.memory.rules import COMPRESSION_SHARES, PROTECTED_COVERAGE, Rules
from app.memory.steps import Consolidate, Reflect

CAUSES = {Reflect.name: "reflected", Consolidate.name: "consolidated"}  # of versions
BUILT_IN: Final = ExtractiveReflector()

log = structlog.get_logger("daybook.engine")


class Reflecting:
    def __init__(self, means: Means, reflector: Reflector) -> None:
        self._means, self._store = means, means.store
        self._reflector = reflector
        self._calling = Calling(name="reflector", role=reflector, means=means)
        self._built_in = replace(self._calling, role=BUILT_IN)

    async def run(self, attempt: Attempt, step: Reflect | Consolidate) -> Outcome:
        """Condense. Raises StepFailed, which ``stepping`` records.

        A note that the model fails at alone (``narrowing``) is condensed without a model; if it does not get smaller by
        itself, together with all that the step condenses. Reflections that the model leaves too large are as well.
        """
        loaded, rules = attempt.loaded, attempt.rules
        whole = reflect_sources(loaded, step) if isinstance(step, Reflect) else consolidate_sources(loaded, step)
        narrowing = Narrowing.of(loaded, CONDENSED)
        sources = self._within(rules, whole.part(narrowing))
        is_built_in = self._reflector.name == BUILT_IN.name
        try:
            sources, best = await self._written(attempt, sources)
            if best is None and attempt.runs and isinstance(step, Consolidate) and not is_built_in:
                log.warning("consolidated_without_model", notes=len(sources.chunks))
                best = await self._condensed(self._built_in, attempt, sources)
        except StepFailed as failed:
            await self._calling.give_up(attempt, reflector_input(loaded, rules, sources), failed, narrowing)
            log.warning("condensed_without_model", notes=len(sources.chunks))
            best = await self._condensed(self._built_in, attempt, sources)
            if best is None:
                sources = whole
                best = await self._condensed(self._built_in, attempt, sources)
        if not attempt.runs:
            return Outcome.UNAFFORDABLE
        ahead = isinstance(step, Reflect) and step.ahead
        with traced(self._means.tracer, "record"):
            async with self._means.database.tx() as tx:
                return await self._record(tx, attempt, sources, best, ahead=ahead)

    def _within(self, rules: Rules, sources: Sources) -> Sources:
        """As many of the oldest as the model's output limit leaves room to condense."""
        return sources.within(self._reflector.target_tokens_max, reflect_to=rules.reflect_to)

    def _exceeds(self, rules: Rules, sources: Sources) -> bool:
        return len(self._within(rules, sources).chunks) < len(sources.chunks)

    async def _written(self, attempt: Attempt, sources: Sources) -> tuple[Sources, Verdict | None]:
        """The model's result and its sources: fewer, if the model's output limit became known by this call."""
        try:
            return sources, await self._condensed(self._calling, attempt, sources)
        except StepFailed as failed:
            if failed.kind != Rejection.CUT_OFF or not self._exceeds(attempt.rules, sources):
                raise
        less = self._within(attempt.rules, sources)
        return less, await self._condensed(self._calling, attempt, less)

    async def _condensed(self, calling: Calling[ReflectorInput], attempt: Attempt, sources: Sources) -> Verdict | None:
        """As ``_think``, with the citations of a shared log numbered for the model (``shared_citations``)."""
        sources = await asyncio.to_thread(sources.numbered)
        of = {"daybook.notes": len(sources.chunks), "daybook.tokens": sources.tokens}
        with traced(self._means.tracer, "think", attributes=of):
            best = await self._think(calling, attempt, sources)
        return None if best is None else replace(best, items=sources.numbering.named(best.items))

    async def _think(self, calling: Calling[ReflectorInput], attempt: Attempt, sources: Sources) -> Verdict | None:
        """The smallest valid result of at most 4 tries, each asking for less detail (memory-rules.md section 5).

        Stops at a result below the target. After one that lost protected lines, or a call that failed, no harder try
        is made and the best earlier result is taken. None if every result was no smaller than its sources, or if a
        cap on cost forbade the first call; then there are no runs. Raises StepFailed if there is no valid result for
        any other reason. The record of the result's call tells how many protected lines are lost, as there was no room
        to put them back.
        """
        source = reflector_input(attempt.loaded, attempt.rules, sources)
        target = target_tokens(attempt.rules, sources)
        guarded = await aside(protected, sources.items)
        best: Verdict | None = None
        before, written = len(attempt.runs), 0
        reasons: list[Rejection] = []
        for compression in range(1, len(COMPRESSION_SHARES) + 1):
            harder = replace(source, compression=compression)
            try:
                verdict = await self._try(calling, attempt, harder, sources)
            except StepFailed:
                if best is None:
                    raise
                break
            if verdict is None:
                break
            if verdict.rejected is not None:
                reasons.append(verdict.rejected)
                source = replace(source, rejected=verdict.reason)
                continue
            faithful = not guarded or await aside(coverage, guarded, verdict.items) > PROTECTED_COVERAGE
            if best is None or (faithful and verdict.tokens < best.tokens):
                best, written = verdict, len(attempt.runs) - 1
            if not faithful or best.tokens < target:
                break
            source = replace(source, rejected=verdict.reason)
        tried = len(attempt.runs) - before == len(COMPRESSION_SHARES)
        if reasons and best is None and not (tried and all(reason is Rejection.NOT_SMALLER for reason in reasons)):
            raise calling.rejected(reasons[-1], source)
        return None if best is None else await _restored(best, guarded, sources, attempt, written)

    async def _try(
        self, calling: Calling[ReflectorInput], attempt: Attempt, source: ReflectorInput, sources: Sources
    ) -> Verdict | None:
        """Raises StepFailed also for a result that was cut off, if the model can write that of fewer sources."""
        most = self._reflector.target_tokens_max or source.target_tokens
        source = replace(source, target_tokens=min(source.target_tokens, most))
        draft = await calling.draft(attempt, source, kind=sources.kind)
        if draft is None:
            return None
        verdict = await aside(
            reflection_verdict,
            draft,
            sources.items,
            tokens=sources.tokens,
            limit_tokens=sources.limit_tokens,
            size=sources.numbering.size,
        )
        attempt.runs[-1] = with_verdict(attempt.runs[-1], draft, verdict)
        if verdict.rejected is Rejection.CUT_OFF and self._exceeds(attempt.rules, sources):
            raise calling.rejected(verdict.rejected, source)
        return verdict

    async def _record(
        self, tx: Tx, attempt: Attempt, sources: Sources, best: Verdict | None, *, ahead: bool
    ) -> Outcome:
        loaded = attempt.loaded
        fenced = await locking_store.fence(tx, attempt.lease, loaded.session_id)
        if fenced is None:
            return Outcome.STALE
        usage = add_usage(fenced.usage, attempt.runs)
        await self._store.add_runs(tx, attempt.lease, attempt.runs)
        if best is None:
            log_tokens = sum(chunk.tokens for chunk in loaded.chunks)
            await reflection_store.record_unhelped(
                tx, loaded, fenced, step=sources.kind, log_tokens=log_tokens, usage=usage
            )
            return Outcome.UNHELPED
        new = new_reflection(sources, best)
        if ahead:
            await reflection_store.buffer_reflection(tx, loaded, fenced, new, usage=usage)
            return Outcome.RECORDED
        await reflection_store.record_reflection(tx, loaded, fenced, new, usage=usage)
        await self._store.add_version(tx, loaded.memory_id, CAUSES[sources.kind], [loaded.session_id])
        return Outcome.RECORDED


async def _restored(
    best: Verdict, guarded: Sequence[Item], sources: Sources, attempt: Attempt, written: int
) -> Verdict:
    """The verdict with the protected lines it lost; the run that wrote it records how many of them find no room."""
    runs, most = attempt.runs, restored_most(attempt.loaded, attempt.rules, sources)
    best = await aside(restore, best, guarded, limit_tokens=most, size=sources.numbering.size)
    if gone := await aside(lost, guarded, best.items):
        told = f"no room for {len(gone)} of the {len(guarded)} protected lines"
        runs[written] = replace(runs[written], error=told)
    return best
