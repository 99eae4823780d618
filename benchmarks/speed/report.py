"""Formats the figures as tables for the terminal, as Markdown for the document, as JSON and as a picture."""

import os
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

import psutil
from rich.table import Table

from benchmarks.document import markdown_table, write_figures
from benchmarks.speed.measuring import Measured
from benchmarks.speed.picture import draw
from benchmarks.speed.rounds import Cell, How
from benchmarks.speed.surroundings import Server
from benchmarks.terminal import table

LIBRARIES = ("fastapi", "starlette", "uvicorn", "uvloop", "httptools", "pydantic", "asyncpg", "orjson")
HEADINGS = ("connections", "target", "requests/s", "of the first", "p50 ms", "p95 ms", "p99 ms", "CPU ms: service")
CPU_HEADINGS = ("database", "sender", "RSS MB", "failed")
MB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    machine: Mapping[str, str]
    how: How
    starts: Sequence[Server]
    cells: Sequence[Cell]
    compared: Mapping[str, Sequence[Cell]]


def machine(postgres: str) -> dict[str, str]:
    """What the figures depend on, without anything that identifies the machine."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cores": f"{os.cpu_count()} ({_processor()})",
        "memory": f"{psutil.virtual_memory().total / 1024**3:.0f} GB",
        "load before": f"{os.getloadavg()[1]:.1f} (5 minutes)",
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "Python": platform.python_version(),
        "PostgreSQL": f"{postgres}, embedded, fsync on",
        **{name: version(name) for name in LIBRARIES},
    }


def _processor() -> str:
    found = re.search(r"model name\s*:\s*(.+)", _read("/proc/cpuinfo"))
    return found.group(1).strip() if found else platform.machine()


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""


def rows(cells: Sequence[Cell]) -> Iterator[list[str]]:
    for cell in cells:
        for name, found in cell.targets.items():
            yield [cell.load, name, *_cells(found, cell.ratios.get(name))]


def _cells(found: Measured, ratio: float | None) -> list[str]:
    return [
        f"{found.per_second:,.0f}",
        "" if ratio is None else f"{ratio:.2f}",
        *(f"{value:.2f}" for value in (found.p50_ms, found.p95_ms, found.p99_ms)),
        *(f"{value:.3f}" for value in (found.service_cpu_ms, found.database_cpu_ms, found.sender_cpu_ms)),
        f"{found.rss_bytes / MB:.0f}",
        f"{found.failed}",
    ]


def by_case(report: Report) -> Iterator[tuple[str, list[Cell]]]:
    for case, cells in groupby(report.cells, key=lambda cell: cell.case):
        yield case, list(cells)
    for title, compared in report.compared.items():
        for case, cells in groupby(compared, key=lambda cell: cell.case):
            yield f"{case}: {title}", list(cells)


def tables(report: Report) -> Iterator[Table]:
    for case, cells in by_case(report):
        yield table(case, (*HEADINGS, *CPU_HEADINGS), rows(cells))
    yield table("Start against a warm database", ("", ""), _starts(report))


def _starts(report: Report) -> list[tuple[str, str]]:
    return [
        ("from the command to the first answer, median", f"{median(s.start_seconds for s in report.starts):.2f} s"),
        ("the fastest of them", f"{min(s.start_seconds for s in report.starts):.2f} s"),
        ("resident memory then", f"{median(s.idle_rss for s in report.starts) / MB:.0f} MB"),
    ]


def markdown(report: Report) -> str:
    how = report.how
    lines = [
        "",
        f"{how.rounds} rounds of {how.seconds:g} s of each target at each load, in turn; medians over the rounds.",
        "",
        *markdown_table(("machine", ""), list(report.machine.items())),
    ]
    for case, cells in by_case(report):
        lines += ["", f"### {case}", "", *markdown_table((*HEADINGS, *CPU_HEADINGS), list(rows(cells)))]
    lines += ["", "### Start against a warm database", "", *markdown_table(("", ""), _starts(report))]
    return "\n".join(lines) + "\n\n"


def as_json(report: Report) -> dict[str, Any]:
    starts = [{"start_seconds": one.start_seconds, "idle_rss": one.idle_rss} for one in report.starts]
    cells = [asdict(cell) for cell in report.cells]
    compared = {title: [asdict(cell) for cell in found] for title, found in report.compared.items()}
    return {
        "machine": report.machine,
        "how": asdict(report.how),
        "starts": starts,
        "cells": cells,
        "compared": compared,
    }


def write(report: Report, document: Path) -> None:
    """Write the figures into the document and as JSON, and a picture of them."""
    draw(report.cells, document.with_suffix(".svg"))
    write_figures(document, markdown(report), as_json(report))
