"""Draws the share of evidence by budget."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.picture import drawing
from benchmarks.quality.measuring import BUDGETS, METHODS
from benchmarks.quality.report import Figures
from benchmarks.quality.talks import Split


def draw(found: Sequence[Figures], path: Path) -> None:
    """Draw the test split, with one panel for each source and one line for each method."""
    tested = [one for one in found if one.split is Split.TEST]
    sources = list(dict.fromkeys(one.source for one in tested))
    with drawing(path, 1, len(sources), size=(6.5 * len(sources), 5), squeeze=False) as (_, panels):
        for panel, source in zip(panels[0], sources, strict=True):
            for method in METHODS:
                points = [(one.budget, one.evidence) for one in tested if (one.source, one.method) == (source, method)]
                panel.plot(*zip(*points, strict=True), marker="o", label=method)
            panel.set(
                title=f"{source}: share of evidence turns", xlabel="tokens of the context", xscale="log", ylim=(0, 1)
            )
            panel.set_xticks(BUDGETS, [f"{budget:,}" for budget in BUDGETS], minor=False)
            panel.legend(fontsize="small")
