"""The schedule of the run, as shares of its length, so that three minutes are a small copy of twenty."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Incident(StrEnum):
    WORKER_KILLED = "a worker is killed"
    ROLLING_RESTART = "the workers are replaced"
    DATABASE_RESTARTED = "the database restarts"
    DATABASE_CRASHED = "the database crashes"
    SERVICE_KILLED = "the whole service is killed"


CAPACITY = 0.1  # share of the run at full speed
# Shares of the steady load; its last part is quiet, so that growth is visible.
BEGIN = {
    Incident.WORKER_KILLED: 0.10,
    Incident.ROLLING_RESTART: 0.20,
    Incident.DATABASE_RESTARTED: 0.30,
    Incident.DATABASE_CRASHED: 0.40,
    Incident.SERVICE_KILLED: 0.50,
}
SETTLED = 0.75  # growth is measured after it: by then new processes have filled their caches
WINDOW = 0.04  # whose latencies are compared, before an incident and after it
RECOVERY = 0.06  # from an incident to the window after it


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Times in seconds. ``incidents`` and ``settled`` count from the begin of the steady load."""

    capacity: float
    steady: float
    incidents: Sequence[tuple[float, Incident]]
    settled: float
    window: float
    recovery: float


def schedule(minutes: float) -> Schedule:
    whole = minutes * 60
    steady = whole * (1 - CAPACITY)
    return Schedule(
        capacity=whole * CAPACITY,
        steady=steady,
        incidents=[(steady * share, incident) for incident, share in BEGIN.items()],
        settled=steady * SETTLED,
        window=steady * WINDOW,
        recovery=steady * RECOVERY,
    )
