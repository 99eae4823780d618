"""Measures how much of a conversation's evidence its context holds, and so what a threshold forgets."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from app.kit.words import terms
from app.memory.model import Item
from app.memory.parsing import parse
from benchmarks.cache.conversations import Conversation
from benchmarks.cache.pricing import Block

SYSTEM = "system: "
SPEAKER = re.compile(r"^(?:user|assistant): ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The share of a question's evidence that a context holds; ``noted``: by a line of the log alone."""

    covered: float
    noted: float


def held(conversation: Conversation, blocks: Sequence[Block]) -> Iterator[Held]:
    """The share for each question.

    An evidence turn is noted if a line of the log that cites it has at least half of its content words, and covered if
    it is noted or in the context itself.
    """
    shown = {SPEAKER.sub("", block.text) for block in blocks if not block.text.startswith(SYSTEM)}
    lines = cited_words([block.text.removeprefix(SYSTEM) for block in blocks if block.text.startswith(SYSTEM)])
    for seqs in conversation.evidence:
        turns = [(str(conversation.messages[seq - 1]["content"]), lines.get(seq, [])) for seq in seqs]
        noted = [is_noted(text, cited) for text, cited in turns]
        covered = [there or text in shown for there, (text, _) in zip(noted, turns, strict=True)]
        yield Held(covered=sum(covered) / len(seqs), noted=sum(noted) / len(seqs))


def is_noted(text: str, lines: Sequence[frozenset[str]]) -> bool:
    words = frozenset(terms(text))
    return any(2 * len(words & line) >= len(words) for line in lines)


def items_of(log: str) -> tuple[Item, ...]:
    """The lines of a log, parsed as the service parses a model's."""
    return parse(f"<observations>\n{log}\n</observations>").items


def cited_words(system: Sequence[str]) -> dict[int, list[frozenset[str]]]:
    """The words of the lines that cite a message, by its seq."""
    found = defaultdict(list)
    for item in chain.from_iterable(map(items_of, system)):
        words = frozenset(terms(item.whole_text))
        for seq in {seq for cite in item.all_cites for seq in range(cite.first, cite.last + 1)}:
            found[seq].append(words)
    return found
