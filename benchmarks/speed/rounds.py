"""Interleaved rounds, A B A B, so that other load on the machine affects both targets; each round gives one ratio."""

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from statistics import median

from benchmarks.speed.cases import Case
from benchmarks.speed.load import OPEN_CONNECTIONS, Plan
from benchmarks.speed.measuring import Measured, measured, medians
from benchmarks.speed.targets import Target

CLOSED = (1, 8, 32)  # connections
OPEN_SHARE = 0.6  # of the capacity: the throughput of a closed loop with OPEN_AFTER connections
OPEN_AFTER = 8
OPEN = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    rounds: int
    seconds: float
    warm_up_seconds: float
    connections: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One case at one load: each target's medians, and the median of each round's throughput against the floor's."""

    case: str
    load: str
    targets: dict[str, Measured]
    ratios: dict[str, float]
    rounds: int


class Rounds:
    """``targets``: the floor first. ``on_load`` is called after each load."""

    def __init__(
        self,
        *,
        sender: ProcessPoolExecutor,
        targets: Sequence[Target],
        postgres: int,
        how: How,
        on_load: Callable[[], None],
    ) -> None:
        self._sender = sender
        self._targets = targets
        self._postgres = postgres
        self._how = how
        self._on_load = on_load

    def loads(self) -> int:
        """The number of loads per case, including the warm-up and the open loop."""
        return len(self._targets) * (1 + (len(self._how.connections) + 1) * self._how.rounds)

    async def case(self, case: Case) -> list[Cell]:
        requests = {target.name: case.requests(target) for target in self._targets}
        for target in self._targets:
            await self._load(target, requests[target.name], OPEN_AFTER, seconds=self._how.warm_up_seconds)
        cells = [
            await self._cell(case, requests, f"{connections}", connections=connections)
            for connections in self._how.connections
        ]
        capacity = next((cell for cell in cells if cell.load == f"{OPEN_AFTER}"), cells[-1])
        rates = {name: OPEN_SHARE * found.per_second for name, found in capacity.targets.items()}
        return [*cells, await self._cell(case, requests, OPEN, connections=OPEN_CONNECTIONS, rates=rates)]

    async def _cell(
        self,
        case: Case,
        requests: dict[str, list[bytes]],
        load: str,
        *,
        connections: int,
        rates: dict[str, float] | None = None,
    ) -> Cell:
        found: dict[str, list[Measured]] = {target.name: [] for target in self._targets}
        for _ in range(self._how.rounds):
            for target in self._targets:
                rate = rates[target.name] if rates else None
                found[target.name].append(
                    await self._load(target, requests[target.name], connections, seconds=self._how.seconds, rate=rate)
                )
        floor, *others = (target.name for target in self._targets)
        return Cell(
            case=case.name,
            load=load,
            targets={name: medians(rounds) for name, rounds in found.items()},
            ratios={name: _ratio(found[name], found[floor]) for name in others},
            rounds=self._how.rounds,
        )

    async def _load(
        self,
        target: Target,
        requests: list[bytes],
        connections: int,
        *,
        seconds: float,
        rate: float | None = None,
    ) -> Measured:
        plan = Plan(port=target.port, requests=requests, connections=connections, seconds=seconds, rate=rate)
        found = await measured(self._sender, target, self._postgres, plan)
        self._on_load()
        return found


def _ratio(ours: Sequence[Measured], floors: Sequence[Measured]) -> float:
    return median(own.per_second / floor.per_second for own, floor in zip(ours, floors, strict=True))
