"""Collects latencies by phase and operation, and shows them as a table and as JSON."""

import json
import time
from collections import defaultdict
from collections.abc import Awaitable, Iterable, Mapping
from pathlib import Path
from statistics import median, quantiles
from typing import Any, TypeVar

from rich.console import Console
from rich.table import Table

T = TypeVar("T")
PERCENTILES = ("p50_ms", "p95_ms")


class Timings:
    """Milliseconds of each request, by phase and operation."""

    def __init__(self) -> None:
        self._measured: dict[tuple[str, str], list[float]] = defaultdict(list)

    async def timed(self, phase: str, operation: str, request: Awaitable[T]) -> T:
        started = time.perf_counter()
        answer = await request
        self._measured[phase, operation].append((time.perf_counter() - started) * 1000)
        return answer

    def operations(self) -> list[str]:
        return list(dict.fromkeys(operation for _, operation in self._measured))

    def compared(self, operation: str, before: str, after: str) -> dict[str, dict[str, float]]:
        """The figures of two phases, by their names, and the ``ratio`` of the second to the first."""
        one, other = self._summary(before, operation), self._summary(after, operation)
        return {before: one, after: other, "ratio": {name: other[name] / one[name] for name in PERCENTILES}}

    def _summary(self, phase: str, operation: str) -> dict[str, float]:
        """The number of requests, and their p50 and p95 in ms."""
        found = self._measured[phase, operation]
        return {"requests": len(found), "p50_ms": median(found), "p95_ms": quantiles(found, n=20)[-1]}


def show_compared(title: str, found: Mapping[str, Mapping[str, Any]], before: str, after: str) -> None:
    """Print a table. ``found``: by operation, as ``Timings.compared`` returns it."""
    rows = [
        [operation, name, values[before][name], values[after][name], values["ratio"][name], values[after]["requests"]]
        for operation, values in found.items()
        for name in PERCENTILES
    ]
    show(title, ["operation", "", before, after, "ratio", f"requests ({after})"], rows)


def show(title: str, columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    table = Table(title=title)
    for column in columns:
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(*(f"{value:,.2f}" if isinstance(value, float) else str(value) for value in row))
    Console(width=110).print(table)


def save(path: Path | None, figures: Any) -> None:
    if path is not None:
        path.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
