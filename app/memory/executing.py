"""Which part of the memory executes each step."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, assert_never

from app.memory.activating import Activating
from app.memory.changing.rebuilding import Rebuilding
from app.memory.facts.noting import Noting
from app.memory.observing import Observing
from app.memory.outcomes import Outcome
from app.memory.records import Attempt, Standing
from app.memory.reflecting import Reflecting
from app.memory.rules import Rules
from app.memory.steps import (
    Activate,
    ActivateReflection,
    Buffer,
    Consolidate,
    NoteFacts,
    Observe,
    Rebuild,
    Reflect,
    Step,
)

Work: TypeAlias = Callable[[Attempt], Awaitable[Outcome]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Executing:
    observing: Observing
    activating: Activating
    reflecting: Reflecting
    rebuilding: Rebuilding
    noting: Noting

    async def work(self, standing: Standing, rules: Rules, step: Step) -> Work | Outcome:
        """What executes the step, or the outcome if there is nothing to observe."""
        match step:
            case Observe() | Buffer():
                return await self._observed(standing, rules, step)
            case NoteFacts():
                return self.noting.run
            case Rebuild():
                return self.rebuilding.run
            case Activate():
                return partial(self.activating.run, step=step)
            case ActivateReflection():
                return self.activating.reflection
            case Reflect() | Consolidate():
                return partial(self.reflecting.run, step=step)
            case _:
                assert_never(step)

    async def _observed(self, standing: Standing, rules: Rules, step: Observe | Buffer) -> Work | Outcome:
        """Find the span before any note is loaded: most searches for a topic boundary find none."""
        found = await self.observing.find(standing, rules, step)
        if isinstance(found, Outcome):
            return found
        return partial(self.observing.run, span=found, ahead=isinstance(step, Buffer))
