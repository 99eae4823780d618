"""Writes the figures of benchmarks into documents."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

REGION = re.compile(r"(?<=<!-- figures -->\n).*?(?=<!-- end of figures -->)", re.DOTALL)


def write_figures(document: Path, text: str, figures: Any) -> None:
    """Write ``text`` into the document's region for figures, and ``figures`` as JSON beside the document."""
    document.with_suffix(".json").write_bytes(orjson.dumps(figures, option=orjson.OPT_INDENT_2) + b"\n")
    document.write_text(with_figures(document.read_text(encoding="utf-8"), text), encoding="utf-8")


def with_figures(document: str, text: str) -> str:
    """The document with the region between its two marks replaced. Raises ValueError if it has no such region."""
    replaced, count = REGION.subn(lambda _: text, document)
    if count != 1:
        raise ValueError("the document has no region for the figures")
    return replaced


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a table; the first column left-aligned, the others right-aligned."""
    yield _line(headings)
    yield _line(["---"] + ["---:"] * (len(headings) - 1))
    yield from map(_line, rows)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
