"""``make bench``: measures the service beside the floor in one run, and writes docs/benchmarks/speed.*."""

import asyncio
import importlib
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from app.kit.migrate import upgrade
from benchmarks.speed.cases import CASES, COMPARISONS, LENGTH_MAX_QUICK, Case, Comparison
from benchmarks.speed.report import Report, machine, tables, write
from benchmarks.speed.rounds import CLOSED, Cell, How, Rounds
from benchmarks.speed.surroundings import Postgres, Server, daybook, floor, postgres
from benchmarks.speed.targets import Daybook, Floor, Target
from benchmarks.terminal import progress_bar, show

DOCUMENT = Path(__file__).parents[2] / "docs" / "benchmarks" / "speed.md"
STARTS = 5
QUICK_SECONDS = 0.5


def main(
    case: Annotated[list[str] | None, typer.Option(help="only cases whose name holds this; again for more")] = None,
    rounds: Annotated[int, typer.Option(help="of each target, in turn")] = 15,
    seconds: Annotated[float, typer.Option(help="of one load")] = 0.3,
    connections: Annotated[list[int] | None, typer.Option(help="of the closed loops; again for more")] = None,
    peer: Annotated[str | None, typer.Option(help="module:Class of another service that runs already")] = None,
    figures: Annotated[bool, typer.Option("--write/--no-write", help="docs/benchmarks/speed.*")] = True,  # noqa: FBT002 - typer's
    quick: Annotated[bool, typer.Option("--quick", help="one short round, nothing written")] = False,  # noqa: FBT002 - typer's
) -> None:
    """How fast the service is, beside a floor that does the least such a service could do."""
    chosen = [one for one in CASES if not case or any(part in one.name for part in case)]
    if not chosen:
        raise typer.BadParameter(f"no case is of that name; there are: {'; '.join(one.name for one in CASES)}")
    how = How(rounds=rounds, seconds=seconds, warm_up_seconds=seconds, connections=connections or CLOSED)
    if quick:
        chosen = [one for one in chosen if one.messages <= LENGTH_MAX_QUICK]
        how = How(rounds=1, seconds=QUICK_SECONDS, warm_up_seconds=QUICK_SECONDS, connections=connections or (8,))
    report = asyncio.run(measure(chosen, how, peer))
    show(tables(report), file_width=150)
    if figures and not quick:
        write(report, DOCUMENT)


async def measure(cases: list[Case], how: How, peer: str | None) -> Report:
    with progress_bar() as progress, ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as sender:
        async with postgres() as database:
            starts = await _starts(database)
            cells: list[Cell] = []
            for down in sorted({case.down for case in cases}):
                chosen = [case for case in cases if case.down is down]
                cells += await _measure(chosen, how, database, sender, progress, down=down, peer=peer)
            compared = {}
            for one in COMPARISONS:
                shared = [case for case in cases if case.name in one.cases]
                compared[one.title] = await _compared(one, shared, how, database, sender, progress)
            return Report(machine=machine(database.version), how=how, starts=starts, cells=cells, compared=compared)


async def _starts(database: Postgres) -> list[Server]:
    """Start the service against a warm database, STARTS times."""
    dsn = await database.database("starts")
    await upgrade(dsn)
    found = []
    for _ in range(STARTS):
        with daybook(dsn) as server:
            found.append(server)
    return found


async def _compared(
    compared: Comparison,
    cases: list[Case],
    how: How,
    database: Postgres,
    sender: ProcessPoolExecutor,
    progress: Progress,
) -> list[Cell]:
    with ExitStack() as servers:
        targets: list[Target] = []
        for number, way in enumerate(compared.ways if cases else ()):
            dsn = await database.database(f"{compared.name}_{number}")
            await upgrade(dsn)
            ours = Daybook(name=way.name, port=0, pids=[], dsn=dsn)
            await _fill([ours], cases, progress)
            served = servers.enter_context(daybook(dsn, workers=way.workers, settings=way.settings))
            targets.append(replace(ours, port=served.port, pids=[served.pid]))
        more = replace(how, connections=(compared.connections,), rounds=how.rounds * compared.times)
        return await _rounds(cases, more, targets, database, sender, progress)


async def _measure(
    cases: list[Case],
    how: How,
    database: Postgres,
    sender: ProcessPoolExecutor,
    progress: Progress,
    *,
    down: bool,
    peer: str | None,
) -> list[Cell]:
    name = "down" if down else "up"
    dsn, floor_dsn = await database.database(f"daybook_{name}"), await database.database(f"floor_{name}")
    await upgrade(dsn)
    with ExitStack() as servers:
        lowest = servers.enter_context(floor(floor_dsn))
        targets: list[Target] = [Floor(port=lowest.port, pids=[lowest.pid], dsn=floor_dsn)]
        targets += [_peer(peer)] if peer else []
        ours = Daybook(port=0, pids=[], dsn=dsn, down=down)
        await _fill([*targets, ours], cases, progress)
        served = servers.enter_context(daybook(dsn, down=down))
        targets.append(replace(ours, port=served.port, pids=[served.pid]))
        return await _rounds(cases, how, targets, database, sender, progress)


async def _rounds(
    cases: list[Case],
    how: How,
    targets: list[Target],
    database: Postgres,
    sender: ProcessPoolExecutor,
    progress: Progress,
) -> list[Cell]:
    task = progress.add_task("measuring")
    measuring = Rounds(
        sender=sender, targets=targets, postgres=database.pid, how=how, on_load=lambda: progress.advance(task)
    )
    progress.update(task, total=measuring.loads() * len(cases))
    cells = []
    for case in cases:
        progress.update(task, description=case.name)
        cells += await measuring.case(case)
    return cells


async def _fill(targets: list[Target], cases: list[Case], progress: Progress) -> None:
    """Fill the sessions of all cases; cases that share sessions share the filling."""
    wanted = {tuple(case.keys): case.messages for case in cases}
    task = progress.add_task("filling", total=len(wanted) * len(targets))
    for keys, messages in wanted.items():
        for target in targets:
            await target.fill(list(keys), messages)
            progress.advance(task)


def _peer(name: str) -> Target:
    module, _, kind = name.partition(":")
    made: Target = getattr(importlib.import_module(module), kind)()
    return made


if __name__ == "__main__":
    typer.run(main)
