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
