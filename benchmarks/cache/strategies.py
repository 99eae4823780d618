"""The strategies that are compared: agents with a history of their own, and Daybook by preset and by thresholds."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from benchmarks.cache.blocks import full_history, window
from benchmarks.cache.conversations import Conversation
from benchmarks.cache.pricing import Request

PLAIN, CACHED = "full history", "full history, cached"
BASELINES: Mapping[str, Callable[[Conversation], Iterator[Request]]] = {
    PLAIN: full_history,
    CACHED: full_history,
    "window 8k, cached": window,
    "window 8k + recall, cached": partial(window, recall=True),
}
# observe at / reflect at, on the preset default, whose own pair is 16k/20k (docs/decisions/0045).
THRESHOLDS = ((30_000, 40_000), (12_000, 16_000), (8_000, 8_000), (4_000, 6_000), (2_000, 4_000), (1_000, 2_000))
DAYBOOK: Mapping[str, dict[str, Any]] = {
    **{f"daybook {preset}": {"preset": preset} for preset in ("default", "compact", "classic")},
    **{
        f"daybook {observe // 1_000}k/{reflect // 1_000}k": {"message_tokens": observe, "observation_tokens": reflect}
        for observe, reflect in THRESHOLDS
    },
}
