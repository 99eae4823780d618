"""Draws the run."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.picture import drawing
from benchmarks.soak.callers import Turn
from benchmarks.soak.laws import MOMENT_SECONDS, Recovery, p99
from benchmarks.soak.watching import Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """MOMENT_SECONDS of the run; None if there was no turn or sample in them."""

    at: int
    turns_per_second: float
    p50_ms: float | None
    p99_ms: float | None
    rss_mb: float | None
    due: int | None


def moments(turns: Sequence[Turn], samples: Sequence[Sample]) -> list[Moment]:
    """The moments of the run; turns count when they were due."""
    by_moment: dict[int, list[float]] = defaultdict(list)
    for turn in turns:
        by_moment[int(turn.at // MOMENT_SECONDS)].append(turn.milliseconds)
    seen = {int(sample.at // MOMENT_SECONDS): sample for sample in samples}
    return [_moment(number, by_moment[number], seen.get(number)) for number in range(max(by_moment) + 1)]


def _moment(number: int, found: Sequence[float], sample: Sample | None) -> Moment:
    return Moment(
        at=number * MOMENT_SECONDS,
        turns_per_second=len(found) / MOMENT_SECONDS,
        p50_ms=median(found) if found else None,
        p99_ms=p99(found) if len(found) > 1 else None,
        rss_mb=sample.rss_bytes / 2**20 if sample else None,
        due=sample.due if sample else None,
    )


def draw(moments: Sequence[Moment], recoveries: Sequence[Recovery], path: Path) -> None:
    """Latency, memory and due work over time, with a line at each incident."""
    with drawing(path, 3, 1, size=(11, 9), sharex=True) as (_, (latency, memory, due)):
        times = [moment.at for moment in moments]
        latency.plot(times, [moment.p50_ms for moment in moments], label="p50")
        latency.plot(times, [moment.p99_ms for moment in moments], label="p99")
        latency.set(title="a turn, from when it was due until its context was there, ms", yscale="log")
        latency.legend(fontsize="small")
        memory.plot(times, [moment.rss_mb for moment in moments])
        memory.set(title="resident memory of all workers, MB", ylim=(0, None))
        due.plot(times, [moment.due for moment in moments])
        due.set(title="memories with work to do", xlabel="seconds of steady load", ylim=(0, None))
        for one in recoveries:
            for axes in (latency, memory, due):
                axes.axvline(one.at, color="grey", linestyle=":")
            latency.annotate(
                one.incident, (one.at, 1), xycoords=("data", "axes fraction"), rotation=90, va="top", size=7
            )
