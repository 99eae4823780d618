"""Replays a conversation turn by turn, with a progress bar, and a table at the end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from app.replay.client import Service
from app.replay.conversation import Turn, read_conversation
from app.replay.errors import ReplayError


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """``context`` and ``memory`` are the service's answers after the last turn (api.md)."""

    turns: int
    replayed: int  # turns that were stored before
    context: dict[str, Any]
    memory: dict[str, Any]


def replay_file(service: Service, path: Path, *, session: str, config: dict[str, Any] | None, wait_ms: int) -> None:
    """Post a file to a session, configured first if ``config`` is given, and show it. Raises ReplayError."""
    turns = read_conversation(path)
    if config is not None:
        service.configure(session, config)
    with _progress() as progress:
        task = progress.add_task(path.name, total=len(turns), context=0)

        def show(context: dict[str, Any]) -> None:
            progress.update(task, advance=1, context=context["tokens"]["total"])

        try:
            outcome = replay(service, turns, session=session, wait_ms=wait_ms, on_context=show)
        except ReplayError as error:
            raise ReplayError(f"{path}:{error}") from error
    Console().print(table(outcome))


def replay(
    service: Service,
    turns: Sequence[Turn],
    *,
    session: str,
    wait_ms: int,
    on_context: Callable[[dict[str, Any]], None],
) -> Outcome:
    """Append each turn, and ask for the context after it as the agent's next call would.

    ``wait_ms`` lets the memory keep up with a conversation that took days and is posted in seconds.
    """
    replayed, last_seq = 0, 0
    for turn in turns:
        try:
            stored = service.append(session, turn.message, wait_ms=wait_ms)
            on_context(service.context(session))
        except ReplayError as error:
            raise ReplayError(f"{turn.line}: {error}") from error
        replayed += stored["replayed"]
        last_seq = stored["seq"]
    context = service.context(session, min_seq=last_seq, wait_ms=wait_ms)
    return Outcome(turns=len(turns), replayed=replayed, context=context, memory=service.memory(session))


def figures(outcome: Outcome) -> list[tuple[str, str]]:
    """The rows of the table: names and values."""
    log, compression = outcome.memory["log"], outcome.memory["compression"]
    gaps = [f"{gap['from']}-{gap['to']}" for gap in outcome.memory["coverage"]["gaps"]]
    ratio = compression["ratio"]
    return [
        ("turns", f"{outcome.turns:,}" + (f" ({outcome.replayed:,} stored before)" if outcome.replayed else "")),
        ("source tokens", f"{compression['source_tokens']:,}"),
        ("context tokens now", f"{outcome.context['tokens']['total']:,}"),
        ("log tokens", f"{log['tokens']:,}"),
        ("compression", "-" if ratio is None else f"{ratio:.1f}x"),
        ("observations", f"{log['observations']:,}"),
        ("reflections", f"{log['reflections']:,}"),
        ("gaps", ", ".join(gaps) or "none"),
    ]


def table(outcome: Outcome) -> Table:
    shown = Table(title=f"session {outcome.memory['session']}", show_header=False, title_justify="left")
    shown.add_column()
    shown.add_column(justify="right")
    for name, value in figures(outcome):
        shown.add_row(name, value)
    return shown


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("context {task.fields[context]:,} tokens"),
        TimeRemainingColumn(),
        console=Console(stderr=True),  # so that the table can be piped
    )
