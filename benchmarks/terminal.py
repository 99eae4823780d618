"""Progress bars and tables on the terminal."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table


def table(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    shown = Table(*headings, title=title, title_justify="left")
    for row in rows:
        shown.add_row(*row)
    return shown


def show(tables: Iterable[Table], *, file_width: int) -> None:
    """Print tables as wide as the terminal, or ``file_width`` characters wide if the output goes into a file."""
    console = Console(width=None if Console().is_terminal else file_width)
    for shown in tables:
        console.print(shown)


def progress_bar() -> Progress:
    """A bar with a count, on stderr."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True))
