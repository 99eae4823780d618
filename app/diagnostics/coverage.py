"""The coverage map: by what each message of a session is remembered (architecture.md section 5, law 1)."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.memory.model import Ranges
from app.memory.spans import merged, ranges

ERASED, REBUILDING, SKIP = "erased", "rebuilding", "skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """What stands for seqs ``first``..``last``: ``by`` for those in ``covers``, for others what else covers them.

    If nothing does, they were skipped. A reflection spans deleted observations between those that it condenses.
    """

    first: int
    last: int
    by: str
    covers: Ranges


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    first: int
    last: int
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """``intervals`` are contiguous from 1 to the last seq unless there are ``gaps``, which a sound memory has not."""

    intervals: tuple[Interval, ...]
    gaps: tuple[tuple[int, int], ...]


def coverage(
    chunks: Sequence[Covered], *, derived_seq: int, last_seq: int, erased: Sequence[int] = (), blanked: bool = False
) -> Coverage:
    """The map of a session: ``chunks`` are live, buffered or deleted; what follows ``derived_seq`` is the tail.

    The seqs ``erased`` are told as erased, whatever covered them. If there are any, or notes were ``blanked`` for an
    erasure in another session, chunks are gone with their ranges, and a gap before ``derived_seq`` cannot be told from
    skipped messages.
    """
    is_told = not erased and not blanked
    behind = [] if is_told else [Covered(first=1, last=derived_seq, by=ERASED, covers=())]
    pieces = [*_pieces([*chunks, *behind]), Interval(first=derived_seq + 1, last=last_seq, by="tail")]
    intervals = _joined(_cut(pieces, ranges(erased)))
    return Coverage(intervals=tuple(intervals), gaps=tuple(_gaps(intervals, last_seq)))


def _pieces(chunks: Sequence[Covered]) -> Iterator[Interval]:
    """What is covered, in the order of the log, and as skips, of which some are empty, what else the chunks span."""
    claimed = (Interval(first=first, last=last, by=chunk.by) for chunk in chunks for first, last in chunk.covers)
    claims = deque(sorted(claimed, key=lambda claim: claim.first))
    for at, end in merged((chunk.first, chunk.last) for chunk in chunks):
        while claims and claims[0].first <= end:
            claim = claims.popleft()
            yield Interval(first=at, last=claim.first - 1, by=SKIP)
            yield claim
            at = claim.last + 1  # noqa: PLW2901 - the walk through the span
        yield Interval(first=at, last=end, by=SKIP)


def _cut(intervals: Iterable[Interval], erased: Ranges) -> Iterator[Interval]:
    """The intervals with the erased messages cut out, in one walk along both: there may be thousands of either.

    None that is empty is left.
    """
    holes = deque(erased)
    for interval in intervals:
        at = interval.first
        while holes and holes[0][0] <= interval.last:
            first, last = max(holes[0][0], at), min(holes[0][1], interval.last)
            if at < first:
                yield Interval(first=at, last=first - 1, by=interval.by)
            if first <= last:
                yield Interval(first=first, last=last, by=ERASED)
                at = last + 1
            if holes[0][1] > interval.last:
                break
            holes.popleft()
        if at <= interval.last:
            yield Interval(first=at, last=interval.last, by=interval.by)


def _joined(pieces: Iterable[Interval]) -> list[Interval]:
    joined: list[Interval] = []
    for piece in pieces:
        before = joined[-1] if joined else None
        if before is not None and before.by == piece.by and before.last + 1 == piece.first:
            joined[-1] = Interval(first=before.first, last=piece.last, by=piece.by)
        else:
            joined.append(piece)
    return joined


def _gaps(intervals: Sequence[Interval], last_seq: int) -> Iterator[tuple[int, int]]:
    expected = 1
    for interval in intervals:
        if interval.first > expected:
            yield expected, interval.first - 1
        expected = max(expected, interval.last + 1)
    if expected <= last_seq:
        yield expected, last_seq
