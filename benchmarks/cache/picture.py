"""Draws cost and size of the context by turn."""

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

from benchmarks.cache.summary import Replayed, Scheme, prices
from benchmarks.picture import drawing

DRAWN = (
    "full history",
    "full history, cached",
    "window 8k, cached",
    "daybook default",
    "daybook compact",
    "daybook 8k/8k",
    "daybook 4k/6k",
)


def draw(replays: Sequence[Replayed], scheme: Scheme, *, title: str, path: Path) -> None:
    """Draw the replays of one conversation, one line for each strategy in DRAWN."""
    with drawing(path, 1, 2, size=(13, 5)) as (figure, (cost, size)):
        for replayed in replays:
            if replayed.strategy in DRAWN:
                paid = list(prices(replayed, scheme))
                cost.plot(
                    list(accumulate(price.actor_usd + price.memory_usd for price in paid)), label=replayed.strategy
                )
                size.plot([price.tokens for price in paid], label=replayed.strategy)
        cost.set(title="US dollars so far, the memory's own calls included", xlabel="call", yscale="log")
        size.set(title="tokens of the context", xlabel="call", yscale="log")
        size.legend(fontsize="small")
        figure.suptitle(title)
