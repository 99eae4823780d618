"""Finds lines with words that an edit took out of a reflection, which must not come back with its sources. Pure.

Recall (docs/decisions/0009) and erasure (0028) leave such lines out.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from app.memory.model import Item


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)  # hashed by identity: hashing all lines is slow
class Edit:
    """An edit of the reflection with this id: its lines before and after."""

    reflection: int
    old: tuple[Item, ...]
    new: tuple[Item, ...]


class TakenOut:
    """Finds lines with words that edits took out. The words of an edit are computed once, for however many notes.

    ``words``: the caller's tokenizer. ``frame``: words that do not count, such as "user".
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
