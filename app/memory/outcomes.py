"""How a step can end."""

from collections.abc import Sequence
from enum import StrEnum

from app.sessions.model import Message

BROKE = "internal"  # the kind of a failure that is a bug, or an operator's hook's


class Outcome(StrEnum):
    RECORDED = "recorded"
    PART = "part"  # recorded, of a span longer than this call may be shown
    FULL = "full"  # recorded, but for facts that the resource has no room for
    NOTHING_SAFE = "nothing_safe"  # no whole closed group to observe
    NO_BOUNDARY = "no_boundary"  # no topic ends among the messages
    UNAFFORDABLE = "unaffordable"  # a cap on cost forbids the first call
    DISCARDED = "discarded"  # the buffered reflection has lost a source
    UNHELPED = "unhelped"  # a reflection did not shrink the log
    STALE = "stale"  # the lease is lost, or what was read has changed: nothing was written


class StepFailed(Exception):
    """A step that recorded nothing but its calls, and is retried.

    The calls and ``message`` may quote the messages ``shown``. ``slow``: the model timed out at a single part, but
    answered a probe.
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
