"""What somebody took out of a reflection by an edit does not come back with what that condensed. Pure.

A line with a word that was taken out is left out: by recall (docs/decisions/0009) and by an erasure (0028).
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from app.memory.model import Item


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)  # found by itself: to compare all of its lines takes long
class Edit:
    """What somebody made of a reflection, by its id: its lines before and after."""

    reflection: int
    old: tuple[Item, ...]
    new: tuple[Item, ...]


class TakenOut:
    """The words that edits took out, looked for once, however many notes an edit is of.

    ``words``: those of a text, as whoever asks tells words. ``frame``: those that nobody takes out, such as "user".
    """

    def __init__(self, words: Callable[[str], Iterable[str]], *, frame: Collection[str]) -> None:
        self._frame = frame
        self._words = cache(lambda text: frozenset(words(text)))
        self._changed = cache(lambda edit: (self._said(edit.old), self._said(edit.new)))
        self._gone = cache(self._gone_by)

    def is_of(self, item: Item, edits: tuple[Edit, ...]) -> bool:
        """Whether the line has a word that the edits, in their order, took out."""
        return bool(edits) and not self._gone(edits).isdisjoint(self._words(item.whole_text))

    def _gone_by(self, edits: tuple[Edit, ...]) -> set[str]:
        gone: set[str] = set()
        for old, new in map(self._changed, edits):
            gone = (gone | old) - new
        return gone.difference(self._frame)

    def _said(self, items: Sequence[Item]) -> frozenset[str]:
        return frozenset[str]().union(*(self._words(item.whole_text) for item in items))
