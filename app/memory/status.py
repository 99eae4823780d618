"""The status of a memory as one word (api.md, Memory)."""

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
from app.sessions.model import QueueState


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


def memory_status(queue: QueueState, *, enabled: bool, attempts_max: int) -> MemoryStatus:
    """``enabled`` as the rules say; ``attempts_max``: failures in a row at which a memory has stalled."""
    if not enabled:
        return MemoryStatus.DISABLED
    if queue.leased and not queue.due:
        return STEPS.get(queue.lease_step or "", MemoryStatus.DUE)
    if has_stalled(queue.attempts, attempts_max=attempts_max):
        return MemoryStatus.STALLED
    if queue.attempts and queue.due_at is not None:
        return MemoryStatus.BACKING_OFF
    if queue.due:
        return MemoryStatus.DUE
    return MemoryStatus.PAUSED if queue.paused and queue.due_at is not None else MemoryStatus.IDLE
