"""The prefixes of the last calls, kept in the process, to tell a session how much of its next one is shared.

They are only a hint, so nothing is stored for them: after a restart, in another replica, and once newer calls have
displaced it, a session's last call is not known, and the answer says null.
"""

from collections import OrderedDict
from dataclasses import dataclass
from uuid import UUID

from app.context.model import Format, Prefix


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousConfig:
    pieces_max: int = 1_000_000


class PreviousCalls:
    """By session and format, those called last; so many that their pieces are at most ``pieces_max`` together."""

    def __init__(self, config: PreviousConfig) -> None:
        self._config = config
        self._prefixes: OrderedDict[tuple[UUID, Format], Prefix] = OrderedDict()
        self._pieces = 0

    def swap(self, session: UUID, shape: Format, prefix: Prefix) -> Prefix | None:
        """Keep the prefix of this call and give that of the one before, None where it is not known."""
        before = self._prefixes.pop((session, shape), None)
        self._prefixes[session, shape] = prefix
        self._pieces += _weight(prefix) - (_weight(before) if before else 0)
        while self._pieces > self._config.pieces_max:
            _, oldest = self._prefixes.popitem(last=False)
            self._pieces -= _weight(oldest)
        return before


def _weight(prefix: Prefix) -> int:
    """An entry takes room even when it has no pieces."""
    return len(prefix) + 1
