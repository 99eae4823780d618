"""Formats the figures as tables for the terminal, as Markdown for the document and as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from rich.table import Table

from benchmarks.cache.strategies import CACHED, PLAIN
from benchmarks.cache.summary import SCHEMES, Figures, Replayed, figures
from benchmarks.document import markdown_table
from benchmarks.terminal import table

HEADINGS = (
    "strategy",
    "USD",
    "of it memory",
    "against full",
    "against full, cached",
    "context, mean",
    "largest",
    "read from cache",
    "prefix read while warm",
    "evidence covered",
    "of it by a note",
)
Row = tuple[str, ...]


def by_kind(replays: Sequence[Replayed]) -> Mapping[str, Mapping[str, list[Replayed]]]:
    """The replays by kind of conversation, then strategy, both in the order in which they were chosen."""
    kinds = dict.fromkeys(replayed.conversation.kind for replayed in replays)
    return {
        kind: {
            strategy: [it for it in replays if it.conversation.kind == kind and it.strategy == strategy]
            for strategy in dict.fromkeys(replayed.strategy for replayed in replays)
        }
        for kind in kinds
    }


def rows(strategies: Mapping[str, Sequence[Replayed]], scheme: str) -> Iterator[Row]:
    """One row per strategy, as HEADINGS name it."""
    found = {name: figures(replays, SCHEMES[scheme]) for name, replays in strategies.items()}
    for name, one in found.items():
        yield (
            name,
            f"{one.usd:.3f}",
            f"{one.memory_usd:.3f}",
            _change(one, found[PLAIN]),
            _change(one, found[CACHED]),
            f"{one.context_tokens:,.0f}",
            f"{one.context_tokens_max:,}",
            _share(one.read_share),
            _share(one.prefix_read),
            _share(one.covered),
            _share(one.noted),
        )


def tables(replays: Sequence[Replayed]) -> Iterator[Table]:
    for title, found in _titled(replays):
        yield table(title, HEADINGS, found)


def markdown(replays: Sequence[Replayed]) -> str:
    """All tables, each with its title."""
    lines: list[str] = []
    for title, found in _titled(replays):
        lines += ["", f"### {title}", "", *markdown_table(HEADINGS, found)]
    return "\n".join(lines) + "\n\n"


def as_json(replays: Sequence[Replayed]) -> list[dict[str, Any]]:
    """One object per conversation, strategy and scheme."""
    in_order = sorted(replays, key=lambda it: (it.conversation.kind, it.conversation.name))
    return [
        {"conversation": name, "kind": kind, "strategy": replayed.strategy, "scheme": scheme}
        | asdict(figures([replayed], SCHEMES[scheme]))
        for (kind, name), same in groupby(in_order, key=lambda it: (it.conversation.kind, it.conversation.name))
        for replayed in same
        for scheme in SCHEMES
    ]


def _titled(replays: Sequence[Replayed]) -> Iterator[tuple[str, list[Row]]]:
    for kind, strategies in by_kind(replays).items():
        some = next(iter(strategies.values()))
        calls = sum(len(replayed.turns) for replayed in some)
        for scheme in SCHEMES:
            models = SCHEMES[scheme].models
            title = f"{kind}: {len(some)} conversations, {calls:,} calls of {models.actor}; {scheme}"
            yield title, list(rows(strategies, scheme))


def _change(one: Figures, other: Figures) -> str:
    return f"{one.usd / other.usd - 1:+.1%}"


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"
