"""The log as the context shows it: the reflections and observations that fit (memory-rules.md section 6)."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.context.budget import effective, newest_within
from app.context.model import Ask, Block, Snapshot
from app.context.sections import observation_block, reflection_block
from app.memory.model import Observation, Reflection


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """What is shown, reflections highest level first and observations oldest first, and what did not fit."""

    reflections: tuple[Block, ...] = ()
    observations: tuple[Block, ...] = ()
    dropped_reflections: tuple[Block, ...] = ()
    dropped_observations: tuple[Block, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.reflections or self.observations)


def fitting_log(snapshot: Snapshot, ask: Ask) -> Log:
    """Reflections first, then observations in what they leave; of each the newest. Empty when the memory is off."""
    if not snapshot.rules.enabled:
        return Log()
    rules, anchor = snapshot.rules, snapshot.anchor_date
    budget = effective(ask.memory_budget, rules.memory_budget)
    reflections, dropped_reflections = _split(
        [reflection_block(entry, anchor=anchor) for entry in sorted(snapshot.reflections, key=_age)],
        tokens_max=budget,
        count_max=effective(ask.max_reflections, rules.max_reflections),
    )
    observations, dropped_observations = _split(
        [observation_block(entry, anchor=anchor) for entry in sorted(snapshot.observations, key=_age)],
        tokens_max=None if budget is None else budget - sum(block.tokens for block in reflections),
        count_max=effective(ask.max_observations, rules.max_observations),
    )
    level = {f"reflection:{entry.id}": entry.level for entry in snapshot.reflections}
    return Log(
        reflections=tuple(sorted(reflections, key=lambda block: -level[block.id])),
        observations=observations,
        dropped_reflections=dropped_reflections,
        dropped_observations=dropped_observations,
    )


def _age(entry: Reflection | Observation) -> tuple[int, int, int]:
    return entry.to_seq, entry.from_seq, entry.id


def _split(
    blocks: Sequence[Block], *, tokens_max: int | None, count_max: int | None
) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
    """The blocks kept and the blocks dropped, each in their order."""
    kept = set(newest_within([block.tokens for block in blocks], tokens_max=tokens_max, count_max=count_max))
    return (
        tuple(block for index, block in enumerate(blocks) if index in kept),
        tuple(block for index, block in enumerate(blocks) if index not in kept),
    )
