"""What of a conversation's evidence can be read in its context: the measure of what a threshold forgets."""

import re
from collections import defaultdict
from collections.abc import Collection, Sequence

from app.kit.words import terms
from app.memory.parsing import parse
from benchmarks.cache.conversations import Conversation
from benchmarks.cache.pricing import Block

SYSTEM = "system: "
SPEAKER = re.compile(r"^(?:user|assistant): ")


def covered(conversation: Conversation, blocks: Sequence[Block]) -> list[float]:
    """Per question the share of its evidence that the context holds.

    An evidence turn is held if it stands there itself, or if a line of the log that cites it holds at least half of
    its content words.
    """
    shown = {SPEAKER.sub("", block.text) for block in blocks if not block.text.startswith(SYSTEM)}
    lines = cited_words([block.text.removeprefix(SYSTEM) for block in blocks if block.text.startswith(SYSTEM)])
    return [
        sum(is_held(str(conversation.messages[seq - 1]["content"]), shown, lines.get(seq, [])) for seq in seqs)
        / len(seqs)
        for seqs in conversation.evidence
    ]


def is_held(text: str, shown: Collection[str], lines: Sequence[frozenset[str]]) -> bool:
    words = frozenset(terms(text))
    return text in shown or any(2 * len(words & line) >= len(words) for line in lines)


def cited_words(system: Sequence[str]) -> dict[int, list[frozenset[str]]]:
    """The words of the lines that cite a message, by its seq."""
    found = defaultdict(list)
    for text in system:
        for item in parse(f"<observations>\n{text}\n</observations>").items:
            words = frozenset(terms(" ".join([item.text, *(detail.text for detail in item.details)])))
            for cite in [*item.cites, *(cite for detail in item.details for cite in detail.cites)]:
                for seq in range(cite.first, cite.last + 1):
                    found[seq].append(words)
    return found
