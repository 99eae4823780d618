"""The built-in reflector: merges duplicates, shortens old lines, and drops those that say least.

It drops whole lines rather than rewriting them, so whatever is left stays true and keeps its citations.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from app.kit.lazy_greedy import lowest_first
from app.kit.tokens import text_tokens
from app.kit.words import overlap, specifics, terms
from app.memory.cited import joined
from app.memory.extractive.scoring import Assertion, assertion
from app.memory.extractive.selection import LINE_TOKENS
from app.memory.extractive.wording import telegraphic
from app.memory.log import render
from app.memory.model import Item, Priority, ReflectorInput
from app.memory.parsing import OBSERVATIONS, block
from app.memory.rules import COMPRESSION_SHARES

PRIORITY_FACTOR = {Priority.HIGH: 1.3, Priority.DONE: 1.2, Priority.MEDIUM: 1.0, Priority.LOW: 0.5}
UNCERTAIN_FACTOR = 0.5
# The weight of the oldest line, relative to the newest.
OLDEST_FACTOR = 0.85
# From this share of common words on, two lines say the same; the newer one is kept.
SAME_OVERLAP = 0.7
SAME_TERMS_MIN = 3
HEADER_TOKENS = 8


@dataclass(frozen=True, slots=True)
class _Weighed:
    """A line with its ``cost``, what it asserts, and the ``factor`` by which that counts per token: computed once."""

    item: Item
    cost: int
    said: Assertion
    factor: float


def reflections(source: ReflectorInput) -> str:
    """The reply in the format of memory-rules.md section 4, below the target whenever one line fits it."""
    most = round(COMPRESSION_SHARES[source.compression - 1] * source.source_tokens)
    target = min(source.target_tokens, most)
    items = condensed(merged(source.items), share=target / max(1, source.source_tokens))
    weighed, budget = _weighed(items), target
    while True:
        lines = kept(weighed, budget=budget)
        text = block(OBSERVATIONS, render(lines))
        over = text_tokens(text) - target + 1
        if over <= 0 or budget <= 0 or len(lines) <= 1:
            return text
        budget -= max(over, budget // 20, 1)


def merged(items: Sequence[Item]) -> list[Item]:
    """Each line once: of two that say the same, the newer one with the citations of both."""
    newest_first: list[tuple[Item, frozenset[str]]] = []
    having: defaultdict[str, set[int]] = defaultdict(set)
    for item in reversed(items):
        words = frozenset(terms(item.text))
        near = sorted((having[term] for term in words), key=len)  # rarest first: a twin has all of them
        alike = sorted(set.intersection(*near)) if near else []
        twin = next((at for at in alike if _same(newest_first[at], (item, words))), None)
        if twin is None:
            for term in words:
                having[term].add(len(newest_first))
            newest_first.append((item, words))
        else:
            newer, its_words = newest_first[twin]
            newest_first[twin] = replace(newer, cites=joined(newer.cites + item.cites)), its_words
    return [item for item, _ in reversed(newest_first)]


def _same(newer: tuple[Item, frozenset[str]], older: tuple[Item, frozenset[str]]) -> bool:
    """Whether they have much the same words, and the newer one every word, number and name of the older.

    Another pet is another fact.
    """
    if newer[0].text == older[0].text:
        return True
    if len(older[1]) < SAME_TERMS_MIN or not older[1] <= newer[1] or overlap(newer[1], older[1]) < SAME_OVERLAP:
        return False
    return all(specific in newer[0].text for specific in specifics(older[0].text))


def condensed(items: Sequence[Item], *, share: float) -> list[Item]:
    """All lines without their clock time, and the oldest in fewer words: more of them, the smaller the share kept."""
    old = round((1 - share) * len(items))
    return [
        replace(item, time=None, text=telegraphic(item.text) if at < old else item.text)
        for at, item in enumerate(items)
    ]


def _weighed(items: Sequence[Item]) -> list[_Weighed]:
    texts = ((item.text, *(detail.text for detail in item.details)) for item in items)
    costs = [sum(map(text_tokens, told)) + LINE_TOKENS for told in texts]
    said = [assertion(item.whole_text.replace("\n", " ")) for item in items]
    factors = (factor / cost for factor, cost in zip(_factors(items), costs, strict=True))
    return list(map(_Weighed, items, costs, said, factors))


def kept(lines: Sequence[_Weighed], *, budget: int) -> list[Item]:
    """The lines worth most by the token within the budget, in their order; the best one whatever it costs.

    A line's words count less if lines that were already taken say them; of equals the newest is taken.
    """
    noted: Counter[str] = Counter()
    chosen: set[int] = set()
    days: set[str] = set()
    for at in lowest_first(len(lines), lambda at: (-lines[at].said.value(noted) * lines[at].factor, -at)):
        line = lines[at]
        cost = line.cost + (HEADER_TOKENS if line.item.day not in days else 0)
        if cost <= budget or not chosen:
            budget -= cost
            chosen.add(at)
            days.add(line.item.day)
            noted.update(line.said.terms)
    return [lines[at].item for at in sorted(chosen)]


def _factors(items: Sequence[Item]) -> Iterator[float]:
    """The weight of each line by its mark and its age."""
    for at, item in enumerate(items):
        mark = PRIORITY_FACTOR[item.priority or Priority.MEDIUM] * (UNCERTAIN_FACTOR if item.uncertain else 1.0)
        yield mark * (OLDEST_FACTOR + (1 - OLDEST_FACTOR) * at / max(1, len(items) - 1))
