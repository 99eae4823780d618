"""The baselines: other ways of filling a budget, with verbatim messages chosen without a memory."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from math import log
from typing import TypeAlias

from app.kit.tokens import text_tokens
from app.kit.words import terms
from benchmarks.cache.blocks import MESSAGE_TOKENS
from benchmarks.quality.coverage import Words, line
from benchmarks.quality.talks import Talk

K1, B = 1.2, 0.75  # Robertson and Zaragoza 2009, the usual values

Order: TypeAlias = Callable[[str], Sequence[int]]  # seqs of a talk for a question, best first


def within(talk: Talk, order: Sequence[int], budget: int) -> frozenset[int]:
    """The first of ``order`` that fit into ``budget`` tokens together; a message that does not fit is skipped."""
    kept = set()
    for seq in order:
        cost = message_tokens(talk, seq)
        if cost <= budget:
            budget -= cost
            kept.add(seq)
    return frozenset(kept)


def written(talk: Talk, seqs: Iterable[int]) -> str:
    """The messages as one text, oldest first."""
    return "\n".join(line(talk.messages[seq - 1]) for seq in sorted(seqs))


def message_tokens(talk: Talk, seq: int) -> int:
    return _tokens(line(talk.messages[seq - 1]))


@lru_cache(maxsize=100_000)
def _tokens(text: str) -> int:
    return text_tokens(text) + MESSAGE_TOKENS


def newest(talk: Talk) -> Order:
    return lambda _query: range(len(talk.messages), 0, -1)


def uniform(talk: Talk) -> Order:
    """All messages in van der Corput order, so that the first n are spread about evenly over the talk, for any n."""
    count = len(talk.messages)
    bits = count.bit_length()
    reversed_bits = (int(f"{number:0{bits}b}"[::-1], 2) for number in range(2**bits))
    seqs = [place + 1 for place in reversed_bits if place < count]
    return lambda _query: seqs


def bm25(talk: Talk) -> Order:
    """The messages that share words with the question, best first (Okapi BM25 over stems, without stop words)."""
    texts = {seq: Counter(terms(line(message))) for seq, message in enumerate(talk.messages, start=1)}
    mean = sum(text.total() for text in texts.values()) / len(texts)
    having = Counter(word for text in texts.values() for word in text)
    rarity = {word: log(1 + (len(texts) - count + 0.5) / (count + 0.5)) for word, count in having.items()}

    def score(text: Counter[str], asked: Words) -> float:
        length = K1 * (1 - B + B * text.total() / mean)
        return sum(rarity[word] * text[word] * (K1 + 1) / (text[word] + length) for word in asked & text.keys())

    def order(query: str) -> Sequence[int]:
        asked = frozenset(terms(query))
        scores = {seq: score(text, asked) for seq, text in texts.items()}
        return sorted((seq for seq in scores if scores[seq] > 0), key=lambda seq: -scores[seq])

    return order


NEWEST, UNIFORM, BM25 = "last messages", "uniform sample", "BM25 alone"
BASELINES: Mapping[str, Callable[[Talk], Order]] = {NEWEST: newest, UNIFORM: uniform, BM25: bm25}
