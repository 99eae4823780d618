"""An in-process cache of the prefixes of the last calls, to tell how much of it a session's next call shares.

It is only a hint, so nothing is stored: after a restart, in another replica, and once newer calls have evicted it, a
session's last call is not known, and the answer says null.
"""

from contextlib import suppress
from uuid import UUID

from cachetools import LRUCache

from app.context.model import Format, Prefix


class PreviousCalls:
    """An LRU cache by session and format, of prefixes with at most ``pieces_max`` pieces together."""

    def __init__(self, *, pieces_max: int) -> None:
        self._prefixes = LRUCache[tuple[UUID, Format], Prefix](pieces_max, getsizeof=_weight)

    def swap(self, session: UUID, shape: Format, prefix: Prefix) -> Prefix | None:
        """Keep the prefix of this call; answers that of the one before, None if it is not known."""
        before = self._prefixes.pop((session, shape), None)
        with suppress(ValueError):  # it alone has more pieces than are kept
            self._prefixes[session, shape] = prefix
        return before


def _weight(prefix: Prefix) -> int:
    """An entry takes room even when it has no pieces."""
    return len(prefix) + 1
