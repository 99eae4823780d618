"""``make soak``: runs the soak test and writes its figures into docs/benchmarks/soak.*."""

import asyncio
import multiprocessing
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from app.kit.migrate import upgrade
from benchmarks.soak.ground import ground
from benchmarks.soak.report import Report, reported, tables, write
from benchmarks.soak.running import soaked
from benchmarks.soak.schedule import Schedule, schedule
from benchmarks.speed.report import machine
from benchmarks.speed.surroundings import postgres
from benchmarks.terminal import show
from tests.model_server import ModelServer

DOCUMENT = Path(__file__).parents[2] / "docs" / "benchmarks" / "soak.md"
SETTINGS = {
    "DAYBOOK_PROVIDER": "anthropic",
    "DAYBOOK_MEMORY__MESSAGE_TOKENS": "4000",
    "DAYBOOK_MEMORY__OBSERVATION_TOKENS": "2000",
    "DAYBOOK_MEMORY__MESSAGE_BUDGET": "8000",
    "DAYBOOK_MEMORY__MEMORY_BUDGET": "4000",
    "DAYBOOK_LLM__TIMEOUT_SECONDS": "5",
    # Caches so small that a process soon fills them, and then evicts as much as it adds.
    "DAYBOOK_CONTEXT__ANSWERS_BYTES_MAX": str(2 * 1024 * 1024),
    "DAYBOOK_CONTEXT__PREVIOUS_PIECES_MAX": "20000",
}
TICK_SECONDS = 1.0


def main(
    minutes: Annotated[float, typer.Option(help="of load")] = 20.0,
    figures: Annotated[bool, typer.Option("--write/--no-write", help="docs/benchmarks/soak.*")] = True,  # noqa: FBT002 - typer's
) -> None:
    """Whether the service keeps all, leaks nothing and recovers. Exit code 1 if a law is broken."""
    report = asyncio.run(soak(schedule(minutes)))
    show(tables(report), file_width=150)
    if figures:
        write(report, DOCUMENT)
    raise typer.Exit(not all(law.holds for law in report.laws))


async def soak(when: Schedule) -> Report:
    with ModelServer() as models, ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as sender:
        async with postgres() as database, _progress(when) as on_progress:
            dsn = await database.database("soak")
            await upgrade(dsn)
            async with ground(database, {**models.environment(), **SETTINGS, "DAYBOOK_DATABASE_URL": dsn}) as standing:
                found = await soaked(standing, dsn, models, sender, when, on_progress)
        return reported(machine(database.version), when, found)


@asynccontextmanager
async def _progress(when: Schedule) -> AsyncIterator[Callable[[str], None]]:
    """A bar that advances with the clock; yields a function that sets its description."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as shown:
        task = shown.add_task("start", total=when.capacity + when.steady)

        async def tick() -> None:
            while True:
                await asyncio.sleep(TICK_SECONDS)
                shown.advance(task, TICK_SECONDS)

        ticking = asyncio.create_task(tick())
        try:
            yield partial(_tell, shown, task)
        finally:
            ticking.cancel()


def _tell(shown: Progress, task: TaskID, doing: str) -> None:
    shown.update(task, description=doing)
    if not shown.console.is_terminal:
        shown.console.print(f"{datetime.now(UTC):%H:%M:%S} {doing}")


if __name__ == "__main__":
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(main)
    app()
