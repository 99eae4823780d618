"""Draws figures with matplotlib, from the dependency group ``bench``."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def drawing(path: Path, *shape: int, size: tuple[float, float], **options: Any) -> Iterator[tuple[Any, Any]]:
    """A figure and its panels, in the rows and columns of ``shape``; written to ``path`` after the block."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "daybook"  # the same figures make the same file
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(*shape, figsize=size, layout="constrained", **options)
    yield figure, panels
    figure.savefig(path, format=path.suffix[1:], metadata={"Date": None})
    plt.close(figure)
