"""What can become of a step, and what its calls have used."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from app.memory.records import Run
from app.memory.steps import Consolidate, Reflect
from app.sessions.model import Message

REFLECTED = frozenset({Reflect.name, Consolidate.name})  # kinds of calls by which a step is the reflector's
BROKE = "internal"  # the kind of a failure that is a bug, or an operator's hook's
_COUNTED = ("input_tokens", "cached_input_tokens", "output_tokens")


class Outcome(StrEnum):
    RECORDED = "recorded"
    PART = "part"  # recorded, of a span longer than this call may be shown
    FULL = "full"  # recorded, but for facts that the resource has no room for
    NOTHING_SAFE = "nothing_safe"  # no whole closed group to observe
    NO_BOUNDARY = "no_boundary"  # no topic ends among the messages
    UNAFFORDABLE = "unaffordable"  # a cap on cost forbids the first call
    DISCARDED = "discarded"  # what was made ahead has lost a source
    UNHELPED = "unhelped"  # condensing gave nothing smaller
    STALE = "stale"  # the lease, or what was read, is gone: nothing was written


class StepFailed(Exception):
    """A step that recorded nothing but its calls, and is to be tried again.

    What they and ``message`` quote is of the messages ``shown``, if of any. ``slow``: the model was not done in time
    with one part alone, and answered to another.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        shown: Sequence[Message] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.shown = tuple(shown)
        self.retry_after = retry_after
        self.slow = False


def add_usage(usage: dict[str, Any], runs: Sequence[Run]) -> dict[str, Any]:
    """The memory's running totals, by observer and reflector, with the calls of ``runs`` added, which are of one step.

    So all are of one role: also the call that asks whether its model answers at all.
    """
    totals = {role: dict(values) for role, values in usage.items()}
    role = "reflector" if any(run.kind in REFLECTED for run in runs) else "observer"
    for run in runs:
        total = totals.setdefault(role, {})
        total["calls"] = total.get("calls", 0) + 1
        total["cost_usd"] = round(total.get("cost_usd", 0.0) + (run.cost_usd or 0.0), 9)
        for name in _COUNTED:
            total[name] = total.get(name, 0) + getattr(run, name)
    return totals
