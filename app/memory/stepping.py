"""Executes the steps that policy answers, under one lease, until it answers ``Wait`` (architecture.md 1.4).

While other memories wait, it stops after the first step that was recorded, so that no memory holds a worker for long.
"""

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import structlog

from app.kit.db import is_away
from app.kit.helper_process import ProcessLost
from app.kit.tracing import traced
from app.llm.port import CIRCUIT_OPEN, TOO_LONG
from app.memory import locking_store
from app.memory.calling import add_usage
from app.memory.executing import Executing
from app.memory.means import Means
from app.memory.metrics import MemoryMetrics
from app.memory.narrowing import FAILED, SLOW, counted
from app.memory.outcomes import BROKE, Outcome, StepFailed
from app.memory.policy import backoff
from app.memory.queue_store import QueueStore
from app.memory.records import Attempt, Lease, Run, Standing
from app.memory.redacting import redacted_memory
from app.memory.rules import Rules
from app.memory.spending import affordable_step
from app.memory.steps import Activate, Buffer, NoteFacts, Observe, Rebuild, Request, Step, Wait
from app.memory.turns import Seen, about, in_turn, seen, state_of, tried

log = structlog.get_logger("daybook.engine")

DONE = frozenset({Outcome.RECORDED, Outcome.PART, Outcome.FULL})
FOUND_NOTHING = frozenset({Outcome.NO_BOUNDARY, Outcome.NOTHING_SAFE})  # the memory is unchanged: no new look
OF_ONE_SESSION = (NoteFacts, Rebuild, Observe, Buffer)  # steps; the others are about all that share the memory


class Stepping:
    def __init__(
        self,
        means: Means,
        *,
        queue: QueueStore,
        executing: Executing,
        service_rules: dict[str, Any],
        lease_seconds: float,
        attempts_max: int,
        metrics: MemoryMetrics,
    ) -> None:
        self._means, self._store = means, means.store
        self._queue = queue
        self._executing = executing
        self._service_rules = service_rules
        self._lease_seconds = lease_seconds
        self._attempts_max = attempts_max
        self._metrics = metrics
        self._stopping = False

    def stop(self) -> None:
        """Begin no more steps."""
        self._stopping = True

    async def run(self, lease: Lease, *, others_wait: Callable[[], bool]) -> bool:
        """Execute steps until policy answers ``Wait``, or a step is recorded while ``others_wait``.

        Answers whether the memory may be claimed again at once.
        """
        activated = recorded = False
        looked: dict[tuple[UUID, Outcome], Seen] = {}
        found: Standing | None = None
        while True:
            if found is None:
                with traced(self._means.tracer, "look"):
                    found = await self._store.look(lease)
            if found is None:
                return False
            rules = Rules.resolve(self._service_rules, found.config)
            standing = in_turn(found, looked)
            state = state_of(standing, rules, tried=tried(standing, looked), activated=activated)
            step = affordable_step(state, self._means.charging.caps, await self._means.charging.allowance(standing))
            if isinstance(step, Wait):
                return await self._queue.settle(lease, step, standing.requested_at)
            if self._stopping:
                await self._queue.give_back(lease)
                return False
            once = activated and standing.requested is Request.ACTIVATE  # another run would activate a second time
            if recorded and not once and others_wait():
                await self._queue.give_back(lease)
                return True
            outcome = await self._attempt(lease, about(step, standing), rules, step)
            if outcome is Outcome.STALE:
                await self._queue.give_back(lease)
            if outcome is None or outcome is Outcome.STALE:
                return False
            looked[standing.session_id, outcome] = seen(standing)
            activated = activated or isinstance(step, Activate)
            recorded = recorded or outcome in DONE
            found = found if outcome in FOUND_NOTHING else None

    async def _attempt(self, lease: Lease, standing: Standing, rules: Rules, step: Step) -> Outcome | None:
        """Execute one step; None if it failed. A failure is recorded and ends the lease."""
        structlog.contextvars.bind_contextvars(session=standing.session_key, step=step.name, epoch=lease.epoch)
        runs: list[Run] = []
        try:
            return await self._done(lease, standing, rules, step, runs)
        except Exception as error:  # a bug is a failure like another: recorded, and tried again later
            if is_away(error):
                raise
            log.exception("step_broke")
            kind = TOO_LONG if isinstance(error, ProcessLost) else BROKE  # less of it may be done in time
            unquoted = [*map(_unquoted, runs)]  # nothing tells whether what they quote is still said
            await self._fail(lease, standing, step, StepFailed(kind, type(error).__name__), unquoted)
            return None

    async def _done(
        self, lease: Lease, standing: Standing, rules: Rules, step: Step, runs: list[Run]
    ) -> Outcome | None:
        """Execute the step and log its outcome; None if it failed in a way that it foresaw."""
        try:
            with traced(
                self._means.tracer, f"step {step.name}", attributes={"daybook.session": standing.session_key}
            ) as going:
                outcome = await self._execute(lease, standing, rules, step, runs)
                going.set_attribute("daybook.outcome", outcome)
        except StepFailed as failure:
            told, runs[:] = tuple(runs), ()  # what cannot be recorded is not tried twice
            await self._fail(lease, standing, step, failure, told)
            return None
        self._metrics.stepped(step.name, outcome)
        log.info("step", outcome=outcome)
        return outcome

    async def _execute(self, lease: Lease, standing: Standing, rules: Rules, step: Step, runs: list[Run]) -> Outcome:
        work = await self._executing.work(standing, rules, step)
        if isinstance(work, Outcome):
            return work
        await self._queue.renew(lease, seconds=self._lease_seconds, step=step.name)
        with traced(self._means.tracer, "load"):
            loaded = await self._store.load(lease, standing)
        if loaded is None:
            return Outcome.STALE
        return await work(await self._shown(Attempt(lease=lease, loaded=loaded, rules=rules, runs=runs)))

    async def _shown(self, attempt: Attempt) -> Attempt:
        redact = self._means.redaction.of(attempt.loaded.tenant)
        if redact is None:
            return attempt
        loaded, rules = await asyncio.to_thread(redacted_memory, attempt.loaded, attempt.rules, redact)
        return replace(attempt, loaded=loaded, rules=rules)

    async def _fail(
        self, lease: Lease, standing: Standing, step: Step, failure: StepFailed, runs: Sequence[Run]
    ) -> None:
        """Record the failure and back off (memory-rules.md 3.8). A call prevented by an open circuit is no attempt."""
        shown = standing.conversation_id if isinstance(step, OF_ONE_SESSION) else None
        untried = failure.kind == CIRCUIT_OPEN
        attempts = max(standing.attempts, 1) if untried else standing.attempts + 1
        jitter = random.random()  # noqa: S311 - spreads retries, guards nothing
        error: dict[str, Any] = {"step": step.name, "kind": failure.kind, "message": str(failure)[:1000]}
        error[FAILED] = counted(standing, step.name, failure.kind, *[SLOW] * failure.slow)
        if shown is not None:
            error["session"] = standing.session_key
        async with self._means.database.tx() as tx:
            fenced = await locking_store.fence(tx, lease, standing.session_id)
            if fenced is None:
                return
            if not await locking_store.still_said(tx, standing.session_id, failure.shown):  # what is gone is not quoted
                runs, error["message"] = [*map(_unquoted, runs)], ""
            await self._store.count_usage(tx, standing.memory_id, add_usage(fenced.usage, runs))
            await self._store.add_runs(tx, lease, runs, shown=shown)
            error["at"] = fenced.now.isoformat()
            failures = 1 if untried else attempts
            seconds = backoff(failures, attempts_max=self._attempts_max, retry_after=failure.retry_after, jitter=jitter)
            told = None if untried and standing.attempts else error
            until = fenced.now + timedelta(seconds=seconds)
            await self._queue.fail(tx, lease, attempts=attempts, error=told, until=until)
        self._metrics.stepped(step.name, failure.kind)
        log.warning("step_failed", kind=failure.kind, attempts=attempts)


def _unquoted(run: Run) -> Run:
    error = None if run.error is None else run.error.partition(":")[0]
    return replace(run, error=error, rejected_output=None)
