"""Selects sentences of a span: the messages that say most by the token, each by enough of its own words."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from app.kit.patterns import lazy_pattern
from app.kit.tokens import text_tokens
from app.kit.words import terms
from app.memory.extractive import cues
from app.memory.extractive.lasting import binds, tells_of_self
from app.memory.extractive.scoring import FIRST_PERSON_FACTOR, Assertion, assertion
from app.memory.extractive.sentences import neutral, sentences
from app.memory.extractive.wording import trimmed
from app.memory.model import WISHES, ObserverInput, Tag
from app.sessions.model import Message, PartType, Role

# A line has to hold more than half of what its message says, or it would mislead by omission.
GIST_SHARE = 0.6
# Tokens of a line beside its words: mark, tag, speaker and citation.
LINE_TOKENS = 10
_MACHINE = lazy_pattern(
    r"(?:^|[\W_])(?i:ai|assistant|agent|(?:chat)?bot|copilot|gpt|llm|model|system)(?:$|[\W_\d])"
    r"|(?:AI|Agent|Assistant|Bot)$|助手|助理|アシスタント|어시스턴트|도우미"
)
WEIGHTY = frozenset({Tag.DECISION, Tag.PREFERENCE})
BRIEF_TOKENS = 8  # of a sentence that is kept because it tells who somebody is: a longer one is judged by its words
LINE_CHARACTERS_MAX = 600
# Each further sentence of one message counts less than the one before it: a long answer is not a long fact.
FURTHER_SENTENCE_FACTOR = 0.85
# The share of the budget that corrections may take.
CORRECTIONS_SHARE = 0.5
PUZZLING_TOKENS = 12  # "no, I meant Thursday": a longer sentence names what it corrects
# A line that adds less than two words to the log is left out.
LINE_VALUE_MIN = 2.0
TEXT_CHARACTERS_READ = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence of a message as a candidate for its line.

    ``cost`` is in tokens; ``value`` as in ``Assertion``, given what was said before it.
    """

    message: Message
    index: int
    said: Assertion
    value: float
    cost: int


def candidates(source: ObserverInput) -> list[Sentence]:
    """Every sentence of the span that says something, judged in the order in which it was said."""
    noted = Counter(term for item in source.earlier for term in terms(item.text))
    heard: set[str] = set()
    found: list[Sentence] = []
    for message in source.messages:
        for index, text in enumerate(sentences_of(message)):
            if text in heard:
                continue
            heard.add(text)
            said = _in_voice(assertion(text), message)
            value = said.value(noted) * FURTHER_SENTENCE_FACTOR**index
            noted.update(said.terms)
            if value > 0:
                found.append(Sentence(message=message, index=index, said=said, value=value, cost=text_tokens(text)))
    return found


def _in_voice(said: Assertion, message: Message) -> Assertion:
    """The assertion in its speaker's voice: only people wish, decide and take back.

    An assistant does if it speaks of itself, or admits a mistake. What it announces beside a call is no next step: the
    tool's line tells what became of it. What it explains of how things are done is no outcome.
    """
    if message.is_foreign:
        return replace(said, corrects=False)
    if not is_ours(message):
        return replace(said, factor=said.factor * FIRST_PERSON_FACTOR) if _is_own_rule(said) else said
    calls = any(part.get("type") == PartType.TOOL_CALL for part in message.parts)
    its_own = {Tag.DECISION} if calls else {Tag.DECISION, Tag.NEXT_STEP}
    wishes = said.tag in its_own and cues.is_first_person(said.text)
    is_told = wishes or (said.tag not in WISHES if said.tag is not Tag.OUTCOME else cues.is_own_deed(said.text))
    tag = said.tag if is_told else Tag.FACT
    return replace(said, tag=tag, corrects=said.corrects and cues.is_admission(said.text))


def _is_own_rule(said: Assertion) -> bool:
    """Whether it is a wish of its speaker without "I": "From now on keep 7 days of logs"."""
    return said.tag is Tag.PREFERENCE and binds(said.text) and not cues.is_first_person(said.text)


def is_ours(message: Message) -> bool:
    """Whether the assistant speaks. One with a name may be another person, but for "AI" or "TravelBot"."""
    return message.role is not Role.USER and (not message.name or is_machine(message.name))


def is_machine(name: str) -> bool:
    return _MACHINE.search(name) is not None


def sentences_of(message: Message) -> Iterator[str]:
    """The sentences of a message; the name of an image or a file counts as one."""
    for part in message.parts:
        match part.get("type"):
            case PartType.TEXT:
                yield from map(trimmed, sentences(str(part.get("text") or "")[:TEXT_CHARACTERS_READ]))
            case PartType.IMAGE | PartType.FILE as kind:
                if label := part.get("name") or part.get("caption") or part.get("alt"):
                    yield f"[shared {kind}: {neutral(str(label))}]"


def chosen(found: Sequence[Sentence], *, budget: int) -> Iterator[list[Sentence]]:
    """The messages worth most by the token, as many as the budget holds, each by enough of its sentences.

    Corrections come first, or the log would hold what is no longer true.
    """
    groups: dict[int, list[Sentence]] = {}
    for sentence in found:
        groups.setdefault(sentence.message.seq, []).append(sentence)
    lines = {seq: _gist(group) for seq, group in groups.items()}
    first = _corrections(list(lines.values()), budget=round(CORRECTIONS_SHARE * budget))
    for line in [*first, *sorted(lines.values(), key=lambda it: (-_worth(it), it[0].message.seq))]:
        seq, cost = line[0].message.seq, _cost(line)
        if seq in lines and cost <= budget and sum(sentence.value for sentence in line) >= LINE_VALUE_MIN:
            budget -= cost
            yield lines.pop(seq)


def _corrections(lines: Sequence[list[Sentence]], *, budget: int) -> Iterator[list[Sentence]]:
    """The corrections, newest first, each with the message before it if it is too short to be understood without."""
    for at in reversed(range(len(lines))):
        begins = lines[at][0].said.corrects and lines[at][0].cost <= PUZZLING_TOKENS
        together = lines[max(0, at - 1) : at + 1] if begins else lines[at : at + 1]
        if any(it.said.corrects for it in lines[at]) and sum(map(_cost, together)) <= budget:
            budget -= sum(map(_cost, together))
            yield from together


def _cost(line: Sequence[Sentence]) -> int:
    return LINE_TOKENS + sum(it.cost for it in line)


def _worth(line: Sequence[Sentence]) -> float:
    return sum(it.value for it in line) / _cost(line)


def _gist(group: Sequence[Sentence]) -> list[Sentence]:
    """The best sentences of a message, in their order, until they hold GIST_SHARE of its terms or fill a line.

    Decisions, wishes, corrections and who somebody is are said in few words, and are kept beyond that share.
    """
    wanted = GIST_SHARE * len({term for it in group for term in it.said.terms})
    taken: list[Sentence] = []
    held: set[str] = set()
    for sentence in sorted(group, key=lambda it: (-it.value / it.cost, it.index)):
        if len(held) >= wanted and not _is_weighty(sentence):
            continue
        if not taken or sum(len(it.said.text) for it in (*taken, sentence)) <= LINE_CHARACTERS_MAX:
            taken.append(sentence)
            held.update(sentence.said.terms)
    return _with_what_follows(sorted(taken, key=lambda it: it.index))


def _with_what_follows(taken: list[Sentence]) -> list[Sentence]:
    """The sentences without those that introduce one that was not taken: "Some of them are:"."""
    indexes = {it.index for it in taken}
    kept = [it for it in taken if not it.said.text.endswith((":", "：")) or it.index + 1 in indexes]
    return kept or taken


def _is_weighty(sentence: Sentence) -> bool:
    if sentence.said.tag in WEIGHTY or sentence.said.corrects:
        return True
    return sentence.cost <= BRIEF_TOKENS and tells_of_self(sentence.said.text)
