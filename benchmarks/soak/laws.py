"""The laws that must hold at the end, computed from answers and samples. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from statistics import median, quantiles

from benchmarks.soak.callers import Turn
from benchmarks.soak.schedule import Incident, Schedule
from benchmarks.soak.watching import Sample

GROWTH_MAX = 0.05  # of resident memory, in the quiet part
COUNT_GROWTH_MAX = 2.0  # threads, open files, connections
P50_RATIO_MAX, P99_RATIO_MAX = 1.5, 3.0  # after an incident against before it
MOMENT_SECONDS = 5
SLOW = 2.0  # times the p50 before the incident
TURNS_MIN = 20  # in a window, for its percentiles to mean something
SAMPLES_MIN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """A law and whether it holds; ``seen`` is the figure it is judged by."""

    name: str
    holds: bool
    seen: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A session as read at the end: its messages in order, and the state of its memory."""

    ids: Sequence[str]
    seqs: Sequence[int]
    gaps: int
    settled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """``p99_ms`` is the median of the p99s of MOMENT_SECONDS each, so that one stall (by a vacuum) does not count."""

    p50_ms: float
    p99_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """Latencies before and after one incident; ``seconds`` until turns took less than SLOW times as long as before."""

    incident: Incident
    at: float
    before: Latency
    after: Latency
    seconds: int

    @property
    def p50_ratio(self) -> float:
        return self.after.p50_ms / self.before.p50_ms

    @property
    def p99_ratio(self) -> float:
        return self.after.p99_ms / self.before.p99_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """A level at the begin of the quiet part and at its end, by a line fitted to all samples."""

    name: str
    first: float
    last: float

    @property
    def grown(self) -> float:
        return self.last - self.first


def kept_laws(told: Mapping[str, int], kept: Mapping[str, Kept], expected: Callable[[int], list[str]]) -> Iterator[Law]:
    """``told``: the number of messages acknowledged as stored, by session; ``expected`` returns their ids."""
    lost = sum(len(set(expected(number)) - set(kept[key].ids)) for key, number in told.items())
    doubled = sum(len(one.ids) - len(set(one.ids)) for one in kept.values())
    unordered = [key for key, one in kept.items() if [*one.seqs] != [*range(1, len(one.seqs) + 1)]]
    gaps = sum(one.gaps for one in kept.values())
    busy = [key for key, one in kept.items() if not one.settled]
    yield _none("no message that was answered as stored is lost", lost, f"of {sum(told.values()):,}")
    yield _none("none is stored twice", doubled, f"of {sum(len(one.ids) for one in kept.values()):,}")
    yield _none("every session's seqs go from 1 to its end", len(unordered), f"of {len(kept)} sessions")
    yield _none("no message is missing from the coverage", gaps, "gaps")
    yield _none("every memory is idle, without an error", len(busy), f"of {len(kept)} memories")


def work_law(due: int) -> Law:
    return _none("no work is due", due, "memories")


def answers_law(wrong: Sequence[str]) -> Law:
    return _none("no answer was wrong", len(wrong), "; ".join(wrong[:3]) or "answers")


def recovery_laws(recoveries: Sequence[Recovery]) -> Iterator[Law]:
    for one in recoveries:
        good = one.p50_ratio <= P50_RATIO_MAX and one.p99_ratio <= P99_RATIO_MAX
        seen = f"p50 {one.p50_ratio:.2f}, p99 {one.p99_ratio:.2f} of before, after {one.seconds} s"
        yield Law(name=f"{one.incident}: latency is as before", holds=good, seen=seen)


def growth_laws(growths: Sequence[Growth]) -> Iterator[Law]:
    for one in growths:
        most = one.first * GROWTH_MAX if one.name == RSS else COUNT_GROWTH_MAX
        seen = f"{one.first:,.1f} to {one.last:,.1f}"
        yield Law(name=f"{one.name} does not grow", holds=one.grown <= most, seen=seen)


RSS = "resident memory (MB)"
SEEN: Mapping[str, Callable[[Sample], float]] = {
    RSS: lambda sample: sample.rss_bytes / 2**20,
    "threads": lambda sample: sample.threads,
    "open files": lambda sample: sample.files,
    "connections": lambda sample: sample.connections,
}


def growths(samples: Sequence[Sample]) -> list[Growth]:
    """The growth in the samples of the quiet part. Raises ValueError if they are too few."""
    if len(samples) < SAMPLES_MIN:
        raise ValueError(f"{len(samples)} samples of what may grow: the run is too short, or the machine too busy")
    return [_growth(name, [(one.at, of(one)) for one in samples]) for name, of in SEEN.items()]


def _growth(name: str, points: Sequence[tuple[float, float]]) -> Growth:
    """The Theil-Sen line: the median of the slopes between any two points, which is robust against spikes."""
    points = points[:: max(1, len(points) // 100)]
    slope = median((later[1] - earlier[1]) / (later[0] - earlier[0]) for earlier, later in combinations(points, 2))
    middle, level = median(at for at, _ in points), median(value for _, value in points)
    first, last = points[0][0], points[-1][0]
    return Growth(name=name, first=level + slope * (first - middle), last=level + slope * (last - middle))


def recoveries(turns: Sequence[Turn], when: Schedule) -> list[Recovery]:
    """The recovery from each incident; times count from the begin of the steady load."""
    return [_recovery(turns, incident, at, when) for at, incident in when.incidents]


def _recovery(turns: Sequence[Turn], incident: Incident, at: float, when: Schedule) -> Recovery:
    before = latency(turns, at - when.window, at)
    after = latency(turns, at + when.recovery, at + when.recovery + when.window)
    seconds = _slow_seconds(turns, at, when, before.p50_ms)
    return Recovery(incident=incident, at=at, before=before, after=after, seconds=seconds)


def latency(turns: Sequence[Turn], first: float, end: float) -> Latency:
    """The latency of the turns due from ``first`` to ``end``. Raises ValueError if they are too few."""
    moments: dict[int, list[float]] = defaultdict(list)
    for turn in turns:
        if first <= turn.at < end:
            moments[int((turn.at - first) // MOMENT_SECONDS)].append(turn.milliseconds)
    found = [*chain.from_iterable(moments.values())]
    if len(found) < TURNS_MIN:
        raise ValueError(f"{len(found)} turns from {first:.0f} s to {end:.0f} s: the run is too short")
    parts = [moment for moment in moments.values() if len(moment) >= TURNS_MIN] or [found]
    return Latency(p50_ms=median(found), p99_ms=median(p99(part) for part in parts))


def p99(milliseconds: Sequence[float]) -> float:
    return quantiles(milliseconds, n=100)[98]


def _slow_seconds(turns: Sequence[Turn], at: float, when: Schedule, p50_before: float) -> int:
    """Seconds from the incident to the end of the last slow second, by its median, within the recovery time."""
    buckets: dict[int, list[float]] = defaultdict(list)
    for turn in turns:
        if at <= turn.at < at + when.recovery:
            buckets[int(turn.at - at)].append(turn.milliseconds)
    slow = (second for second, found in buckets.items() if median(found) > SLOW * p50_before)
    return max(slow, default=-1) + 1


def _none(name: str, number: int, of: str) -> Law:
    return Law(name=name, holds=number == 0, seen=f"{number:,} {of}")
