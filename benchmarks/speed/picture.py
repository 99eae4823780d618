"""Draws throughput and latency beside the floor's."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.picture import drawing
from benchmarks.speed.rounds import Cell


def draw(cells: Sequence[Cell], path: Path) -> None:
    """Draw a group of bars for each case: throughput relative to the floor's, and median latency."""
    cases = list(dict.fromkeys(cell.case for cell in cells))
    loads = list(dict.fromkeys(cell.load for cell in cells))
    height = 0.8 / len(loads)
    with drawing(path, 1, 2, size=(13, 0.45 * len(cases) + 2)) as (_, (ratios, latencies)):
        for number, load in enumerate(loads):
            of_load = {cell.case: cell for cell in cells if cell.load == load}
            places = [place + number * height for place, case in enumerate(cases) if case in of_load]
            ours = [of_load[case] for case in cases if case in of_load]
            label = "open loop at 60%" if load == "open" else f"{load} connections"
            if load != "open":  # its rate is given
                ratios.barh(places, [cell.ratios["daybook"] for cell in ours], height, label=label)
            latencies.barh(places, [cell.targets["daybook"].p50_ms for cell in ours], height, label=label)
        ratios.set(title="requests per second, as a share of the floor's", yticks=range(len(cases)), yticklabels=cases)
        latencies.set(title="p50 of the latency, ms", yticks=range(len(cases)), yticklabels=[], xscale="log")
        for axes in (ratios, latencies):
            axes.invert_yaxis()
            axes.legend(fontsize="small")
