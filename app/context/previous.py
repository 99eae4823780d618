"""The prefixes of the last calls, kept in the process, to tell a session how much of its next one is shared.

They are only a hint, so nothing is stored for them: after a restart, in another replica, and once newer calls have
displaced it, a session's last call is not known, and the answer says null.
"""

from contextlib import suppress
from uuid import UUID

from cachetools import LRUCache

from app.context.model import Format, Prefix


class PreviousCalls:
    """By session and format, those called last; so many that their pieces are at most ``pieces_max`` together."""

    def __init__(self, *, pieces_max: int) -> None:
        self._prefixes = LRUCache[tuple[UUID, Format], Prefix](pieces_max, getsizeof=_weight)

    def swap(self, session: UUID, shape: Format, prefix: Prefix) -> Prefix | None:
        """Keep the prefix of this call and give that of the one before, None where it is not known."""
        before = self._prefixes.pop((session, shape), None)
        with suppress(ValueError):  # it alone has more pieces than are kept
            self._prefixes[session, shape] = prefix
        return before


def _weight(prefix: Prefix) -> int:
    """An entry takes room even when it has no pieces."""
    return len(prefix) + 1
