"""``make eval-context``: tell real conversations to a service, ask what is asked of them, write docs/eval-context.*."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from app.llm.port import Provider
from benchmarks.cache.conversations import DATA
from benchmarks.cache.service import running_service
from benchmarks.document import markdown_table, with_figures
from benchmarks.quality.measuring import BUDGETS, LOG_SHARE, Measured, baselines, remembered
from benchmarks.quality.picture import draw
from benchmarks.quality.report import HEADINGS, as_json, figures, rows
from benchmarks.quality.talks import Source, Talk, asking, talks

DOCUMENT = Path(__file__).parents[2] / "docs" / "eval-context.md"
LANES = 2


def main(
    locomo: Annotated[int | None, typer.Option(help="conversations of LoCoMo; default: all")] = None,
    longmemeval: Annotated[int, typer.Option(help="haystacks of LongMemEval, of 56; each takes a minute")] = 5,
    questions: Annotated[int, typer.Option(help="of each conversation, spread evenly over all that are asked")] = 40,
    lanes: Annotated[int, typer.Option(help="conversations at once")] = LANES,
    write: Annotated[bool, typer.Option(help="write docs/eval-context.*")] = True,  # noqa: FBT002 - typer's
) -> None:
    """How much of what is asked later a compiled context holds, beside other ways to fill it."""
    if not DATA.is_dir():
        raise typer.BadParameter(f"the conversations are not here: {DATA.parent.name}/{DATA.name}")
    found = [*talks(Source.LOCOMO, limit=locomo), *talks(Source.LONGMEMEVAL, limit=longmemeval)]
    chosen = [asking(talk, questions) for talk in found if talk.questions]
    measured = measure(chosen, lanes=lanes)
    _show(measured)
    if write:
        _write(measured)


def measure(chosen: Sequence[Talk], *, lanes: int) -> list[Measured]:
    """Every talk by every method."""
    with (
        running_service({"DAYBOOK_PROVIDER": Provider.EXTRACTIVE.value}) as http,
        _progress() as progress,
        ThreadPoolExecutor(lanes) as pool,
    ):
        plain = [pool.submit(baselines, talk) for talk in chosen]
        each = product(chosen, LOG_SHARE, BUDGETS)
        told = [pool.submit(remembered, http, talk, method, budget) for talk, method, budget in each]
        measured = [one for done in progress.track(plain, description="baselines") for one in done.result()]
        return measured + [done.result() for done in progress.track(told, description="memories")]


def _show(measured: Sequence[Measured]) -> None:
    shown = Table(*HEADINGS)
    for row in rows(figures(measured)):
        shown.add_row(*row)
    Console(width=None if Console().is_terminal else 140).print(shown)


def _write(measured: Sequence[Measured]) -> None:
    found = figures(measured)
    draw(found, DOCUMENT.with_suffix(".svg"))
    DOCUMENT.with_suffix(".json").write_bytes(orjson.dumps(as_json(measured), option=orjson.OPT_INDENT_2) + b"\n")
    table = "\n".join(
        ["", f"Run of {datetime.now(UTC):%-d %B %Y}.", "", *markdown_table(HEADINGS, rows(found)), "", ""]
    )
    DOCUMENT.write_text(with_figures(DOCUMENT.read_text(encoding="utf-8"), table), encoding="utf-8")


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True))


if __name__ == "__main__":
    typer.run(main)
