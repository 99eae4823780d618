"""Latencies, gathered by what was asked in which phase, and told as a table and as JSON."""

import json
import time
from collections import defaultdict
from collections.abc import Awaitable, Iterable
from pathlib import Path
from statistics import median, quantiles
from typing import Any, TypeVar

from rich.console import Console
from rich.table import Table

T = TypeVar("T")


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

    def summary(self, phase: str, operation: str) -> dict[str, float]:
        """Requests, and their p50 and p95 in ms."""
        found = self._measured[phase, operation]
        return {"requests": len(found), "p50_ms": median(found), "p95_ms": quantiles(found, n=20)[-1]}


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
