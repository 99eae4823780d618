"""The gates judge a reply of observer, reflector or extractor before it is recorded (memory-rules.md sections 4, 5)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import dropwhile
from typing import Final

from app.kit.patterns import lazy_pattern
from app.kit.tokens import text_tokens
from app.kit.words import terms
from app.memory.grounding.checking import stands_on
from app.memory.grounding.sources import Grounds, Source, item_source, message_source
from app.memory.log import render
from app.memory.model import Cite, ExtractorInput, Item, ObserverInput, Parsed, Priority
from app.memory.prompts import examples
from app.memory.protected import irreplaceable, lost, with_lines
from app.memory.ranges import Ranges, merged
from app.memory.rules import SHRINK_FROM_TOKENS
from app.memory.spans import groups

EXAMPLE_SHARE: Final = 0.5  # of an example's words: with so many in the source, it may be an observation
_NAME: Final = lazy_pattern("#[0-9]+")
REASONS: Final = {
    "repetitive": "the reply repeated itself over and over",
    "cut_off": "the reply was cut off at the output limit; write less",
    "empty": "the reply held no log lines; each begins with `*`, between <observations> and </observations>",
    "not_smaller": "the log was too long",
}


class Rejection(StrEnum):
    """Why an output is not recorded."""

    REPETITIVE = "repetitive"
    CUT_OFF = "cut_off"
    EMPTY = "empty"
    NOT_SMALLER = "not_smaller"

    @property
    def reason(self) -> str:
        """The reason as one clause."""
        return REASONS[self.value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A judged output: ``items`` with citations clipped and ungrounded lines marked; ``tokens``: their size in the log.

    ``current_task`` and ``suggested_response`` are as in ``Parsed``.

    ``grounded_share`` is the share of lines whose claims occur in their source, 1.0 if there is no line; None if none
    was checked, because the output is rejected anyway.
    """

    items: tuple[Item, ...]
    rejected: Rejection | None
    grounded_share: float | None
    tokens: int
    current_task: str | None = None
    suggested_response: str | None = None

    @property
    def reason(self) -> str:
        """One clause for the next attempt. If the output is too long it gives the size: models do not count tokens."""
        if self.rejected in {None, Rejection.NOT_SMALLER}:
            return f"it had about {self.tokens:,} tokens; write less"
        return self.rejected.reason


def tokens_of(items: Sequence[Item]) -> int:
    """The size of these lines in the log, in tokens."""
    return text_tokens(render(items))


def judge_observation(parsed: Parsed, source: ObserverInput, *, tokens: int, cut_off: bool) -> Verdict:
    """Judge an observer's lines against the messages of their span; names may also occur in the earlier lines.

    If the span has over SHRINK_FROM_TOKENS ``tokens``, the lines must be smaller than it, else within the output limit.
    A single bare line without a word of the span is rejected if the span is that large and has more than one group.
    """
    messages, large = source.messages, tokens > SHRINK_FROM_TOKENS
    sources = [message_source(message, source.timezone) for message in messages]
    within: Ranges = ((messages[0].seq, messages[-1].seq),)
    most = tokens - 1 if large else source.output_tokens
    known = [item_source(item) for item in source.earlier]
    much = large and len(groups(messages)) > 1
    return _judge(parsed, sources, known=known, within=within, tokens_max=most, cut_off=cut_off, replaces=much)


def judge_reflection(
    parsed: Parsed,
    *,
    items: Sequence[Item],
    source_tokens: int,
    limit_tokens: int | None,
    cut_off: bool,
    size: Callable[[Sequence[Item]], int] = tokens_of,
) -> Verdict:
    """Judge a reflector's lines against those it condensed: smaller than these, and at most ``limit_tokens``.

    ``size``: the tokens of lines in the log, where citations may be longer than here.
    """
    sources = [item_source(item) for item in items]
    within = tuple(span for source in sources for span in source.seqs)
    most = source_tokens - 1 if limit_tokens is None else min(source_tokens - 1, limit_tokens)
    return _judge(parsed, sources, within=within, tokens_max=most, cut_off=cut_off, size=size, replaces=True)


def judge_facts(parsed: Parsed, source: ExtractorInput, *, cut_off: bool) -> Verdict:
    """Judge an extractor's lines against the lines or messages they were taken from. There may be none."""
    messages = (message_source(message, source.timezone) for message in source.messages)
    sources = [*map(item_source, source.items), *messages]
    within = merged(span for source in sources for span in source.seqs)
    verdict = _judge(parsed, sources, within=within, tokens_max=None, cut_off=cut_off)
    nothing = verdict.rejected is Rejection.EMPTY and parsed.complete
    return replace(verdict, rejected=None) if nothing else verdict


def restore(
    verdict: Verdict,
    guarded: Iterable[Item],
    *,
    limit_tokens: int,
    size: Callable[[Sequence[Item]], int] = tokens_of,
) -> Verdict:
    """The verdict with the protected lines it lost put back verbatim: all, or as many as fit the limit.

    Lines with the most protected content per token come first, then the newest: the newest alone would drop old lines
    at each reflection, however much they say. Costs are upper estimates, so the room that they leave is filled in
    further rounds. ``size``: see ``judge_reflection``.
    """
    gone = lost(guarded, verdict.items)
    costs = [size([replace(item, day="")]) + 1 for item in gone]
    left = sorted(range(len(gone)), key=lambda at: (-irreplaceable(gone[at]) / costs[at], -at))
    restored, back = verdict, set[int]()
    while taken := _fitting(left, gone, costs, beside=restored, limit_tokens=limit_tokens):
        back |= taken
        items = with_lines(verdict.items, [gone[at] for at in sorted(back)])
        fuller = replace(verdict, items=items, tokens=size(items))
        if fuller.tokens > limit_tokens:
            break
        restored, left = fuller, [at for at in left if at not in back]
    return restored


def _fitting(
    left: Sequence[int], gone: Sequence[Item], costs: Sequence[int], *, beside: Verdict, limit_tokens: int
) -> set[int]:
    """Those of ``left``, in order, that fit ``beside`` it; the first line of a day also pays for its header."""
    room, days = limit_tokens - beside.tokens, {item.day for item in beside.items}
    taken: set[int] = set()
    for at in left:
        day = gone[at].day
        cost = costs[at] + (0 if day in days else text_tokens(f"Date: {day}\n") + 1)
        if cost <= room:
            taken.add(at)
            days = days | {day}
            room -= cost
    return taken


def _judge(
    parsed: Parsed,
    sources: Sequence[Source],
    *,
    known: Sequence[Source] = (),
    within: Ranges,
    tokens_max: int | None,
    cut_off: bool,
    size: Callable[[Sequence[Item]], int] = tokens_of,
    replaces: bool = False,
) -> Verdict:
    """``replaces``: the lines take the place of the sources, so a single bare line without a word of these is none."""
    said = "\n".join(source.text for source in sources)
    told = dropwhile(_is_preface, parsed.items)
    items = tuple(item for item in told if not _is_of_prompt(item, said))
    if replaces and _is_of_nothing(items, said):
        items = ()
    parsed, share = replace(parsed, items=items), None if items else 1.0
    least = tokens_of([_barest(item) for item in items])
    rejected = _rejection(parsed, tokens=least, tokens_max=tokens_max, cut_off=cut_off)
    if rejected is None:  # grounding thousands of lines takes minutes
        items, share = _grounded(clip_citations(items, within=within, said=said), Grounds(sources, known=known))
    tokens = size(items)
    return Verdict(
        items=items,
        rejected=rejected or _rejection(parsed, tokens=tokens, tokens_max=tokens_max, cut_off=cut_off),
        grounded_share=share,
        tokens=tokens,
        current_task=parsed.current_task,
        suggested_response=parsed.suggested_response,
    )


def _grounded(items: Sequence[Item], grounds: Grounds) -> tuple[tuple[Item, ...], float]:
    """The lines (at least one), ungrounded and doubtful ones marked, and the share that is grounded."""
    grounded = [_is_grounded(item, grounds) for item in items]
    marked = (
        item if true and not _rests_on_doubt(item, grounds) else _doubted(item)
        for item, true in zip(items, grounded, strict=True)
    )
    return tuple(marked), sum(grounded) / len(grounded)


def _is_preface(item: Item) -> bool:
    """Whether the line only introduces the others: "Here are the observations:"."""
    return item.text.endswith((":", "：")) and item == Item(text=item.text, day=item.day)


def _is_of_nothing(items: Sequence[Item], said: str) -> bool:
    """Whether this is one line, without mark, time, tag or citation, that has no word of what was ``said``: "None"."""
    if len(items) != 1 or items[0] != Item(text=items[0].text, day=items[0].day):
        return False
    return set(terms(items[0].text)).isdisjoint(terms(said))


def _is_of_prompt(item: Item, said: str) -> bool:
    """Whether the line copies an example of the prompt, as small models do: most of its words were never ``said``."""
    if item.text not in examples():
        return False
    words = set(terms(item.text))
    return len(words.intersection(terms(said))) < EXAMPLE_SHARE * len(words)


def _barest(item: Item) -> Item:
    """The line without citations, which judging may drop: a lower bound of its size."""
    return item.revised(lambda text, _cites: (text, ()))


def _rejection(parsed: Parsed, *, tokens: int, tokens_max: int | None, cut_off: bool) -> Rejection | None:
    """The first gate that fails. Repetition and truncation are reported before the emptiness they cause."""
    if parsed.repetitive:
        return Rejection.REPETITIVE
    if cut_off:
        return Rejection.CUT_OFF
    if not parsed.items:
        return Rejection.EMPTY
    if tokens_max is not None and tokens > tokens_max:
        return Rejection.NOT_SMALLER
    return None


def clip_citations(items: Iterable[Item], *, within: Ranges, said: str = "") -> tuple[Item, ...]:
    """The items with citations clipped to the seqs ``within``; those outside are dropped.

    A dropped ``#4211`` that occurs in the source's text ``said`` is a name, for instance of an issue, and goes back
    into the text.
    """
    names = frozenset(_NAME.findall(said))

    def clip(text: str, cites: tuple[Cite, ...]) -> tuple[str, tuple[Cite, ...]]:
        clipped = [(cite, _clipped(cite, within)) for cite in cites]
        meant = [name for cite, kept in clipped if not kept and (name := _name(cite)) in names]
        return " ".join([text, *meant]), tuple(dict.fromkeys(kept for _, kept in clipped if kept))

    return tuple(item.revised(clip) for item in items)


def _clipped(cite: Cite, within: Ranges) -> Cite | None:
    touched = [(first, last) for first, last in within if first <= cite.last and cite.first <= last]
    if not touched:
        return None
    return Cite(max(cite.first, min(f for f, _ in touched)), min(cite.last, max(t for _, t in touched)))


def _name(cite: Cite) -> str:
    return f"#{cite.first}" if cite.first == cite.last else ""


def _is_grounded(item: Item, grounds: Grounds) -> bool:
    """Whether the line and each of its details are grounded; a detail may also rest on what its line cites."""
    if grounds.misattributed(item.text, item.cites):
        return False
    told = ((item.text, item.cites), *((detail.text, (*detail.cites, *item.cites)) for detail in item.details))
    return all(stands_on(text, grounds.of(cites), anywhere=grounds.anywhere) for text, cites in told)


def _rests_on_doubt(item: Item, grounds: Grounds) -> bool:
    """Whether every line that this one condenses was uncertain: condensing makes nothing certain."""
    return bool(item.cites) and all(ground.uncertain for ground in grounds.of(item.cites))


def _doubted(item: Item) -> Item:
    return replace(item, priority=Priority.LOW, uncertain=True)
