"""Compares two versions of the log: what entered the context and what left it (api.md, ``context/diff``)."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.kit.errors import Invalid
from app.memory.errors import VersionNotFound
from app.memory.ranges import Ranges


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A note that entered or left in ``version``. ``why``: the version's cause, or what retired the note."""

    kind: str
    id: int
    entered: bool
    version: int
    why: str
    text: str
    tokens: int
    from_seq: int
    to_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Two versions of a log, the earlier one first, and the first and last seq of the tail as each was recorded."""

    newest: int
    since: int
    until: int
    tail_since: tuple[int, int]
    tail_until: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    since: int
    until: int
    entered: tuple[Change, ...]
    left: tuple[Change, ...]
    messages_entered: Ranges
    messages_left: Ranges


def diff(span: Span, changes: Sequence[Change]) -> Diff:
    """The difference. Notes that came and went between the two versions are in neither list."""
    return Diff(
        since=span.since,
        until=span.until,
        entered=tuple(change for change in changes if change.entered),
        left=tuple(change for change in changes if not change.entered),
        messages_entered=_without(span.tail_until, span.tail_since),
        messages_left=_without(span.tail_since, span.tail_until),
    )


def check(key: str, span: Span) -> None:
    """Raises VersionNotFound for a version that is not there yet, Invalid for a reversed span."""
    if max(span.since, span.until) > span.newest:
        raise VersionNotFound(f"the newest version of the memory of session '{key}' is {span.newest}")
    if span.since > span.until:
        raise Invalid.at("from_version", "from_version is after to_version")


def _without(messages: tuple[int, int], others: tuple[int, int]) -> Ranges:
    """The pieces of the first range that are not in the second."""
    first, last = messages
    pieces = (first, min(last, others[0] - 1)), (max(first, others[1] + 1), last)
    return tuple((begin, end) for begin, end in pieces if begin <= end)
