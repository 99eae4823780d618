"""The coverage map: which note stands for each message of a session (architecture.md section 5, law 1)."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.memory.ranges import Ranges, merged, ranges

ERASED, REBUILDING, SKIP = "erased", "rebuilding", "skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """A note over seqs ``first``..``last``: ``by`` stands for those in ``covers``; other notes may cover the rest.

    Seqs that nothing covers were skipped. A reflection may span deleted observations between those that it condenses.
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
    """``intervals`` are contiguous from 1 to the last seq, except for ``gaps``, which a sound memory does not have."""

    intervals: tuple[Interval, ...]
    gaps: tuple[tuple[int, int], ...]


def coverage(
    chunks: Sequence[Covered], *, derived_seq: int, last_seq: int, erased: Sequence[int] = (), blanked: bool = False
) -> Coverage:
    """The map of a session: ``chunks`` are live, buffered or deleted; messages after ``derived_seq`` are the tail.

    The seqs ``erased`` count as erased, whatever covered them. If there are any, or notes were ``blanked`` for an
    erasure in another session, the ranges of lost chunks are unknown, and no gap before ``derived_seq`` is reported.
    """
    is_told = not erased and not blanked
    behind = [] if is_told else [Covered(first=1, last=derived_seq, by=ERASED, covers=())]
    pieces = [*_pieces([*chunks, *behind]), Interval(first=derived_seq + 1, last=last_seq, by="tail")]
    intervals = _joined(_cut(pieces, ranges(erased)))
    return Coverage(intervals=tuple(intervals), gaps=tuple(_gaps(intervals, last_seq)))


def _pieces(chunks: Sequence[Covered]) -> Iterator[Interval]:
    """The covered intervals in order, and between them, as skips (some empty), the rest of what the chunks span."""
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
    """The intervals with the erased messages cut out, without empty ones.

    One pass along both, because there may be thousands of either.
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
