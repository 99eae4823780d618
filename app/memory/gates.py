"""What an observer or reflector wrote, judged before anything is recorded (memory-rules.md sections 4 and 5)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import dropwhile
from math import inf
from typing import Final

from app.kit.patterns import lazy_pattern
from app.kit.tokens import text_tokens
from app.kit.words import terms
from app.memory.grounding.checking import stands_on
from app.memory.grounding.sources import Grounds, Source, item_source, message_source
from app.memory.log import render
from app.memory.model import Cite, ExtractorInput, Item, ObserverInput, Parsed, Priority, Ranges
from app.memory.prompts import examples
from app.memory.protected import irreplaceable, lost, with_lines
from app.memory.rules import SHRINK_FROM_TOKENS
from app.memory.spans import groups, merged

EXAMPLE_SHARE: Final = 0.5  # of an example's words: where so many were said, it may have been observed
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
        """One clause."""
        return REASONS[self.value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A judged output: ``items`` with citations clipped and ungrounded lines marked, and their ``text`` as a log.

    ``current_task`` and ``suggested_response`` are as in ``Parsed``.

    ``grounded_share`` is the share of lines whose claims occur in their source, 1.0 where there is no line; None where
    none was looked at, because the output is rejected whatever they say.
    """

    items: tuple[Item, ...]
    text: str
    rejected: Rejection | None
    grounded_share: float | None
    tokens: int
    current_task: str | None = None
    suggested_response: str | None = None

    @property
    def reason(self) -> str:
        """One clause for the model that tries again; of what is too long, with its size: models do not count tokens."""
        if self.rejected in {None, Rejection.NOT_SMALLER}:
            return f"it had about {self.tokens:,} tokens; write less"
        return self.rejected.reason


def tokens_of(items: Sequence[Item]) -> int:
    """What these lines take in the log."""
    return text_tokens(render(items))


def judge_observation(parsed: Parsed, source: ObserverInput, *, tokens: int, cut_off: bool) -> Verdict:
    """An observer's lines against the messages of their span; names may also stand in the earlier lines.

    The lines of a span of over SHRINK_FROM_TOKENS ``tokens`` have to be smaller than it, those of another to keep to
    the output that was asked for. A line without a word of the span is rejected where it would stand for much: for
    more than one group, of more than so many tokens.
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
    """A reflector's lines against the lines it condensed: always smaller than they, and at most ``limit_tokens``.

    ``size`` is what lines take in the log, where they may be written at more length than here.
    """
    sources = [item_source(item) for item in items]
    within = tuple(span for source in sources for span in source.seqs)
    most = source_tokens - 1 if limit_tokens is None else min(source_tokens - 1, limit_tokens)
    return _judge(parsed, sources, within=within, tokens_max=most, cut_off=cut_off, size=size, replaces=True)


def judge_facts(parsed: Parsed, source: ExtractorInput, *, cut_off: bool) -> Verdict:
    """An extractor's lines against the lines or messages they were taken from; there may be none worth taking."""
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
    limit_tokens: int | None,
    size: Callable[[Sequence[Item]], int] = tokens_of,
) -> Verdict:
    """The verdict with the protected lines it lost put back verbatim: all, or as many as fit the limit.

    First those that hold most of what is protected by the token, then the newest: the newest first of all would let go
    of what is old at each reflection, however much it says. What fits is estimated from above, and again with the room
    that this has left. ``size``: see ``judge_reflection``.
    """
    gone = lost(guarded, verdict.items)
    costs = [size([replace(item, day="")]) + 1 for item in gone]
    left = sorted(range(len(gone)), key=lambda at: (-irreplaceable(gone[at]) / costs[at], -at))
    limit = inf if limit_tokens is None else limit_tokens
    restored, back = verdict, set[int]()
    while taken := _fitting(left, gone, costs, room=limit - restored.tokens, days={one.day for one in restored.items}):
        back |= taken
        items = with_lines(verdict.items, [gone[at] for at in sorted(back)])
        fuller = replace(verdict, items=items, text=render(items), tokens=size(items))
        if fuller.tokens > limit:
            break
        restored, left = fuller, [at for at in left if at not in back]
    return restored


def _fitting(
    left: Sequence[int], gone: Sequence[Item], costs: Sequence[int], *, room: float, days: set[str]
) -> set[int]:
    """Those of ``left``, in their order, for which there is room; the first of a day brings its header."""
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
    """``replaces``: the lines take the place of the sources, so one that has no word of these is none."""
    said = "\n".join(source.text for source in sources)
    told = dropwhile(_is_preface, parsed.items)
    items = tuple(item for item in told if not _is_of_prompt(item, said))
    if replaces and _is_of_nothing(items, said):
        items = ()
    parsed, share = replace(parsed, items=items), None if items else 1.0
    least = tokens_of([_barest(item) for item in items])
    rejected = _rejection(parsed, tokens=least, tokens_max=tokens_max, cut_off=cut_off)
    if rejected is None:  # to ground thousands of lines takes minutes
        items, share = _grounded(clip_citations(items, within=within, said=said), Grounds(sources, known=known))
    tokens = size(items)
    return Verdict(
        items=items,
        text=render(items),
        rejected=rejected or _rejection(parsed, tokens=tokens, tokens_max=tokens_max, cut_off=cut_off),
        grounded_share=share,
        tokens=tokens,
        current_task=parsed.current_task,
        suggested_response=parsed.suggested_response,
    )


def _grounded(items: Sequence[Item], grounds: Grounds) -> tuple[tuple[Item, ...], float]:
    """The lines, at least one, those marked that rest on nothing or on doubt, and the share that rests on something."""
    grounded = [_is_grounded(item, grounds) for item in items]
    marked = (
        item if true and not _rests_on_doubt(item, grounds) else _doubted(item)
        for item, true in zip(items, grounded, strict=True)
    )
    return tuple(marked), sum(grounded) / len(grounded)


def _is_preface(item: Item) -> bool:
    """Whether it only leads to what follows: "Here are the observations:"."""
    return item.text.endswith((":", "：")) and item == Item(text=item.text, day=item.day)


def _is_of_nothing(items: Sequence[Item], said: str) -> bool:
    """Whether it is one line, without mark, time, tag or citation, that has no word of what was ``said``: "None"."""
    if len(items) != 1 or items[0] != Item(text=items[0].text, day=items[0].day):
        return False
    return set(terms(items[0].text)).isdisjoint(terms(said))


def _is_of_prompt(item: Item, said: str) -> bool:
    """Whether it repeats an example of the prompt, as small models do, where most of its words were never ``said``."""
    if item.text not in examples():
        return False
    words = set(terms(item.text))
    return len(words.intersection(terms(said))) < EXAMPLE_SHARE * len(words)


def _barest(item: Item) -> Item:
    """The line without what judging may take from it: it becomes no smaller."""
    return replace(item, cites=(), details=tuple(replace(detail, cites=()) for detail in item.details))


def _rejection(parsed: Parsed, *, tokens: int, tokens_max: int | None, cut_off: bool) -> Rejection | None:
    """The first gate that fails. A loop and a cut are told before the emptiness they cause."""
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
    """The items with citations outside the seqs ``within`` dropped, and those that reach beyond cut to them.

    A dropped ``#4211`` that the source itself says was no citation but a name, of an issue for instance: it goes back
    into the text. ``said`` is the source's text.
    """
    names = frozenset(_NAME.findall(said))

    def clip(text: str, cites: tuple[Cite, ...]) -> tuple[str, tuple[Cite, ...]]:
        clipped = [(cite, _clipped(cite, within)) for cite in cites]
        meant = [name for cite, kept in clipped if not kept and (name := _name(cite)) in names]
        return " ".join([text, *meant]), tuple(dict.fromkeys(kept for _, kept in clipped if kept))

    return tuple(_with_cites(item, clip) for item in items)


def _with_cites(item: Item, clip: Callable[[str, tuple[Cite, ...]], tuple[str, tuple[Cite, ...]]]) -> Item:
    text, cites = clip(item.text, item.cites)
    clipped = (clip(detail.text, detail.cites) for detail in item.details)
    details = (replace(detail, text=t, cites=c) for detail, (t, c) in zip(item.details, clipped, strict=True))
    return replace(item, text=text, cites=cites, details=tuple(details))


def _clipped(cite: Cite, within: Ranges) -> Cite | None:
    touched = [(first, last) for first, last in within if first <= cite.last and cite.first <= last]
    if not touched:
        return None
    return Cite(max(cite.first, min(f for f, _ in touched)), min(cite.last, max(t for _, t in touched)))


def _name(cite: Cite) -> str:
    return f"#{cite.first}" if cite.first == cite.last else ""


def _is_grounded(item: Item, grounds: Grounds) -> bool:
    """Whether the line and each of its details are; a detail rests on what its line cites too."""
    if grounds.misattributed(item.text, item.cites):
        return False
    told = ((item.text, item.cites), *((detail.text, (*detail.cites, *item.cites)) for detail in item.details))
    return all(stands_on(text, grounds.of(cites), anywhere=grounds.anywhere) for text, cites in told)


def _rests_on_doubt(item: Item, grounds: Grounds) -> bool:
    """Whether every line that this one condenses was uncertain: condensing makes nothing true."""
    return bool(item.cites) and all(ground.uncertain for ground in grounds.of(item.cites))


def _doubted(item: Item) -> Item:
    return replace(item, priority=Priority.LOW, uncertain=True)
