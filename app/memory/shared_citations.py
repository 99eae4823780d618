"""Citations of a memory that several conversations share: ``#<conversation>:12``, and plain numbers for a model. Pure.

The code that reads and judges a model's reply knows messages by a single number. So the conversations of a shared log
are laid end to end: message 12 of the second one comes after all of the first. A model is shown those numbers, and the
citations in its reply are translated back to names.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from operator import itemgetter
from typing import Final, Self

from app.kit.patterns import lazy_pattern
from app.kit.tokens import text_tokens
from app.memory.log import cite_text, render
from app.memory.model import Cite, Item

BEYOND: Final = 500_000_000  # above any number that somebody who edits a log writes by hand
_NUMBER: Final = lazy_pattern(r"#([0-9]{9})(?:-([0-9]{9}))?(?![0-9])")  # one beyond
_NAMED: Final = lazy_pattern(r"#([A-Za-z0-9._:@~=+-]{1,200}):([0-9]{1,9})(?:-([0-9]{1,9}))?(?![0-9])")


def named(items: Iterable[Item], conversation: str) -> tuple[Item, ...]:
    """Lines that cite messages of one conversation, with its name in each citation."""
    return _mapped(items, lambda cite: (Cite(cite.first, cite.last, conversation),))


@dataclass(frozen=True)  # no slots: ``_spans`` is cached
class Numbering:
    """Conversations end to end. ``before``: by name, the number before its first message; ``total``: the last one."""

    before: Mapping[str, int]
    total: int

    @classmethod
    def of(cls, items: Iterable[Item], *, after: int = 0, last_of: Callable[[str], int] = lambda _name: 0) -> Self:
        """The numbering of the conversations that these lines cite, by name; the numbers begin after ``after``.

        Each has its messages up to the last that is cited, or up to ``last_of`` its name.
        """
        last: dict[str, int] = {}
        for cite in (cite for item in items for cite in item.all_cites):
            if cite.conversation is not None:
                known = last.get(cite.conversation) or last_of(cite.conversation)
                last[cite.conversation] = max(cite.last, known)
        names = sorted(last)
        ends = list(accumulate((last[name] for name in names), initial=after))
        return cls(dict(zip(names, ends, strict=False)), ends[-1])

    def numbered(self, items: Iterable[Item]) -> tuple[Item, ...]:
        """The lines with plain numbers in the place of names."""
        return _mapped(items, lambda cite: (self._number(cite),))

    def named(self, items: Iterable[Item]) -> tuple[Item, ...]:
        """The lines with names again; a range over several conversations becomes one of each."""
        return _mapped(items, lambda cite: tuple(self._names(cite))) if self.before else tuple(items)

    def size(self, items: Sequence[Item]) -> int:
        """Tokens of the lines as the log has them, with names: these may be a third of it."""
        return text_tokens(render(self.named(items)))

    def named_words(self, items: Iterable[Item]) -> tuple[Item, ...]:
        """The lines with names again, also within sentences."""
        return tuple(
            item.revised(lambda text, cites: (_NUMBER.sub(self._named_match, text), cites))
            for item in self.named(items)
        )

    def numbered_text(self, text: str) -> str:
        """An edited text of the log with plain numbers in place of named citations."""
        return _NAMED.sub(self._numbered_match, text)

    def _number(self, cite: Cite) -> Cite:
        shift = self.before.get(cite.conversation or "", 0)
        return Cite(cite.first + shift, cite.last + shift)

    @cached_property
    def _spans(self) -> list[tuple[str, int, int]]:
        """Of each conversation: its name, the number before its first message, and its last number."""
        ends = [*list(self.before.values())[1:], self.total]
        return [(name, before, end) for (name, before), end in zip(self.before.items(), ends, strict=True)]

    def _names(self, cite: Cite) -> Iterable[Cite]:
        """The citation split by conversation, from the first that ends in or after it to the last that begins in it."""
        start = bisect_left(self._spans, cite.first, key=itemgetter(2))
        for at in range(start, bisect_left(self._spans, cite.last, key=itemgetter(1))):
            name, before, end = self._spans[at]
            first, last = max(cite.first, before + 1), min(cite.last, end)
            if first <= last:
                yield Cite(first - before, last - before, name)

    def _named_match(self, match: re.Match[str]) -> str:
        first = int(match[1])
        names = tuple(self._names(Cite(first, int(match[2] or first))))
        return " ".join(map(cite_text, names)) or match[0]

    def _numbered_match(self, match: re.Match[str]) -> str:
        shift = self.before.get(match[1])
        if shift is None:
            return match[0]
        first, last = int(match[2]) + shift, int(match[3] or match[2]) + shift
        at = bisect_right(self._spans, shift, key=itemgetter(1))  # the next one that begins behind it
        end = self._spans[at][1] if at < len(self._spans) else self.total
        if last > end:  # beyond this conversation
            return match[0]
        return f"#{first}" if first == last else f"#{first}-{last}"


NO_NAMES: Final = Numbering({}, 0)  # for a log of one conversation


def _mapped(items: Iterable[Item], names: Callable[[Cite], tuple[Cite, ...]]) -> tuple[Item, ...]:
    def revise(text: str, cites: tuple[Cite, ...]) -> tuple[str, tuple[Cite, ...]]:
        return text, tuple(dict.fromkeys(new for cite in cites for new in names(cite)))

    return tuple(item.revised(revise) for item in items)
