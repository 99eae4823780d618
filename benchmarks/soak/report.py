"""Formats the figures as tables for the terminal, as Markdown for the document, as JSON and as a picture."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.table import Table

from benchmarks.document import markdown_table, write_figures
from benchmarks.soak import laws
from benchmarks.soak.callers import MESSAGES, message_ids
from benchmarks.soak.ground import WORKERS
from benchmarks.soak.laws import Growth, Law, Recovery
from benchmarks.soak.picture import Moment, draw, moments
from benchmarks.soak.running import Soaked
from benchmarks.soak.schedule import Schedule
from benchmarks.terminal import table

LAW_HEADINGS = ("law", "seen", "holds")
RECOVERY_HEADINGS = ("incident", "at", "p50 ms before", "after", "p99 ms before", "after", "slow for")
GROWTH_HEADINGS = ("all workers", "at the begin", "at the end")


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    machine: Mapping[str, str]
    run: Mapping[str, str]
    faults: Mapping[str, int]
    laws: Sequence[Law]
    recoveries: Sequence[Recovery]
    growths: Sequence[Growth]
    moments: Sequence[Moment]


def reported(machine: Mapping[str, str], when: Schedule, found: Soaked) -> Report:
    recovered = laws.recoveries(found.turns, when)
    grown = laws.growths([sample for sample in found.samples if sample.at >= when.settled])
    return Report(
        machine=machine,
        run=_run(when, found),
        faults=found.faults,
        laws=[
            *laws.kept_laws(found.told, found.kept, message_ids),
            laws.answers_law(found.wrong),
            laws.work_law(found.due),
            *laws.growth_laws(grown),
            *laws.recovery_laws(recovered),
        ],
        recoveries=recovered,
        growths=grown,
        moments=moments(found.turns, found.samples),
    )


def _run(when: Schedule, found: Soaked) -> dict[str, str]:
    messages = sum(found.told.values())
    return {
        "steady load": f"{when.steady / 60:.1f} minutes",
        "processes of the service": str(WORKERS),
        "capacity": f"{found.capacity:.0f} turns a second",
        "rate": f"{found.rate:.0f} turns a second",
        "turns": f"{messages // MESSAGES:,} ({messages:,} messages, as many contexts as turns)",
        "sessions": f"{len(found.told):,}",
        "requests sent again": f"{found.retries:,}",
        "calls of the model": f"{found.calls:,}, of which {sum(found.faults.values()):,} met a fault",
        "all work done after": f"{found.drained_seconds:.0f} s",
    }


def law_rows(report: Report) -> Iterator[list[str]]:
    for law in report.laws:
        yield [law.name, law.seen, "yes" if law.holds else "NO"]


def recovery_rows(report: Report) -> Iterator[list[str]]:
    for one in report.recoveries:
        figures = (one.before.p50_ms, one.after.p50_ms, one.before.p99_ms, one.after.p99_ms)
        yield [one.incident, f"{one.at:.0f} s", *(f"{value:.1f}" for value in figures), f"{one.seconds} s"]


def growth_rows(report: Report) -> Iterator[list[str]]:
    for one in report.growths:
        yield [one.name, f"{one.first:,.1f}", f"{one.last:,.1f}"]


def tables(report: Report) -> Iterator[Table]:
    yield table("Run", ("", ""), report.run.items())
    yield table("Incidents", RECOVERY_HEADINGS, recovery_rows(report))
    yield table("Growth", GROWTH_HEADINGS, growth_rows(report))
    yield table("Laws", LAW_HEADINGS, law_rows(report))


def markdown(report: Report) -> str:
    lines = ["", *markdown_table(("run", ""), [*report.run.items(), *report.machine.items()])]
    lines += ["", *markdown_table(LAW_HEADINGS, law_rows(report))]
    lines += ["", *markdown_table(RECOVERY_HEADINGS, recovery_rows(report))]
    lines += ["", *markdown_table(GROWTH_HEADINGS, growth_rows(report))]
    faults = [(name, f"{number:,}") for name, number in sorted(report.faults.items())]
    return "\n".join([*lines, "", *markdown_table(("faults of the model", "calls"), faults)]) + "\n\n"


def write(report: Report, document: Path) -> None:
    """Write the figures into the document and as JSON, and a picture of them."""
    draw(report.moments, report.recoveries, document.with_suffix(".svg"))
    write_figures(document, markdown(report), asdict(report))
