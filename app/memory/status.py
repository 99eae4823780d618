"""The one word for where a memory stands (api.md, Memory)."""

from datetime import datetime
from enum import StrEnum

from app.memory.policy import has_stalled
from app.memory.steps import (
    Activate,
    ActivateReflection,
    Buffer,
    Consolidate,
    NoteFacts,
    Observe,
    Rebuild,
    Reflect,
)


class MemoryStatus(StrEnum):
    IDLE = "idle"
    DUE = "due"
    BUFFERING = "buffering"
    OBSERVING = "observing"
    REFLECTING = "reflecting"
    BACKING_OFF = "backing_off"
    STALLED = "stalled"
    PAUSED = "paused"  # a cap on cost is reached
    DISABLED = "disabled"


STEPS = {
    Buffer.name: MemoryStatus.BUFFERING,
    Activate.name: MemoryStatus.OBSERVING,
    Observe.name: MemoryStatus.OBSERVING,
    Rebuild.name: MemoryStatus.OBSERVING,
    NoteFacts.name: MemoryStatus.OBSERVING,
    Reflect.name: MemoryStatus.REFLECTING,
    ActivateReflection.name: MemoryStatus.REFLECTING,
    Consolidate.name: MemoryStatus.REFLECTING,
}


def memory_status(
    *,
    enabled: bool,
    due: bool,
    due_at: datetime | None,
    lease_owner: str | None,
    lease_step: str | None,
    attempts: int,
    attempts_max: int,
    paused: bool,
) -> MemoryStatus:
    """``due`` is ``due_at <= now`` by the database's clock: then a lease, if any, has run out.

    ``attempts`` are failures in a row, which has stalled at ``attempts_max``.
    """
    if not enabled:
        return MemoryStatus.DISABLED
    if lease_owner is not None and not due:
        return STEPS.get(lease_step or "", MemoryStatus.DUE)
    if has_stalled(attempts, attempts_max=attempts_max):
        return MemoryStatus.STALLED
    if attempts and due_at is not None:
        return MemoryStatus.BACKING_OFF
    if due:
        return MemoryStatus.DUE
    return MemoryStatus.PAUSED if paused and due_at is not None else MemoryStatus.IDLE
