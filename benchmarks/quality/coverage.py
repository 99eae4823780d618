"""Measures how much of a question's evidence, and of its answer, a context holds."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from app.kit.days import MONTHS
from app.kit.words import terms
from benchmarks.cache.evidence import cited_words, is_noted
from benchmarks.quality.talks import Question, Talk

Words = frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A context: ``seqs`` of its verbatim messages, and the words of its log.

    ``cited`` has the words of each line that cites a message, by the seq of that message.
    """

    seqs: frozenset[int]
    cited: Mapping[int, Sequence[Words]] = field(default_factory=dict)
    log_words: Words = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Shares, 0 to 1: of the evidence messages, and of the content words of the answer."""

    evidence: float
    answer: float


def shown(seqs: frozenset[int], log: Sequence[str] = (), recalled: Mapping[int, str] | None = None) -> Shown:
    """``log``: the texts of the log's blocks; ``recalled``: the recalled text of messages, perhaps only a part."""
    cited: dict[int, list[Words]] = cited_words(log)
    parts = recalled or {}
    for seq, text in parts.items():
        cited.setdefault(seq, []).append(frozenset(terms(text)))
    return Shown(seqs=seqs, cited=cited, log_words=frozenset().union(*map(_words, [*log, *parts.values()])))


def told(sentences: Iterable[tuple[str, Sequence[int]]]) -> Shown:
    """A context of sentences, each with the seqs it cites; those that cite one message count together."""
    cited: dict[int, Words] = defaultdict(frozenset)
    read: Words = frozenset()
    for text, seqs in sentences:
        read |= _words(text)
        for seq in seqs:
            cited[seq] |= frozenset(terms(text))
    return Shown(seqs=frozenset(), cited={seq: [words] for seq, words in cited.items()}, log_words=read)


def held(talk: Talk, question: Question, context: Shown) -> Held:
    """A message is held if the context has it verbatim, or a line that cites it with at least half of its words."""
    contents = {seq: str(talk.messages[seq - 1]["content"]) for seq in question.evidence}
    told = {seq: is_noted(text, context.cited.get(seq, [])) for seq, text in contents.items()}
    answer = _words(question.answer)
    read = context.log_words.union(*(_words(line(talk.messages[seq - 1])) for seq in context.seqs))
    return Held(
        evidence=sum(seq in context.seqs or told[seq] for seq in question.evidence) / len(question.evidence),
        answer=len(answer & read) / len(answer) if answer else 1.0,
    )


def line(message: Mapping[str, Any]) -> str:
    """A message as a plain text context shows it: day, speaker and content."""
    return f"[{message['created_at'][:10]}] {message.get('name') or message['role']}: {message['content']}"


@lru_cache(maxsize=100_000)
def _words(text: str) -> Words:
    """The content words of a text; a month as its number, however it is written."""
    return frozenset(str(MONTHS.get(word, word)) for word in terms(text))
