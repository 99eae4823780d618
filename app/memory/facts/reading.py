"""Selects what one call reads of an ended session, and makes facts of the lines it gives (docs/facts.md). Pure.

A session is read in the order of its messages: first the chunks of its log that are not read yet, as many as one call
takes, then the messages behind them that are not observed. Messages between chunks that left for a summary before they
were observed are read in their place.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import MINYEAR, datetime, time
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo

from app.facts.model import FOREIGN, OWN_WORD, Author, Category, NewFact, Source
from app.kit.days import parse_day
from app.kit.words import terms
from app.memory.model import Cite, Item, Observation, Reflection, Tag
from app.memory.narrowing import Narrowing
from app.memory.records import Loaded
from app.memory.rules import Rules
from app.memory.spans import Span, safe_span
from app.memory.texts import all_text
from app.memory.trust import WITHHELD
from app.sessions.model import Message

Chunk: TypeAlias = Observation | Reflection
CITED_SHARE: Final = 0.5  # of a line's words: a source with so many of them may be the line's
_SPEAKERS: Final = frozenset(terms("user assistant"))

_CATEGORIES: Final = {
    Tag.DECISION: Category.DECISION,
    Tag.PREFERENCE: Category.PREFERENCE,
    Tag.NEXT_STEP: Category.COMMITMENT,
    Tag.FACT: Category.PROFILE,
    Tag.OUTCOME: Category.INSIGHT,
    Tag.ISSUE: Category.INSIGHT,
    None: Category.INSIGHT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The messages ``from_seq``..``to_seq``, as ``chunks`` of the log or as a ``span``; neither: nothing to read."""

    from_seq: int
    to_seq: int
    chunks: tuple[Chunk, ...] = ()
    span: Span | None = None

    @property
    def items(self) -> tuple[Item, ...]:
        """The lines of the chunks, but for those that only cite messages that were read before."""
        return tuple(item for chunk in self.chunks for item in chunk.items if self._is_new(item))

    @property
    def messages(self) -> tuple[Message, ...]:
        return () if self.span is None else self.span.messages

    def _is_new(self, item: Item) -> bool:
        return not item.cites or any(cite.last >= self.from_seq for cite in item.cites)


def first_unread(loaded: Loaded, ranges: Iterable[tuple[int, int]]) -> tuple[int, int] | None:
    """The unread part of the first of these ranges that has one, in their order."""
    unread = ((max(first, loaded.facts_seq + 1), last) for first, last in ranges)
    return next(((first, last) for first, last in unread if first <= last), None)


def unread_chunks(
    loaded: Loaded, rules: Rules, narrowing: Narrowing, *, before: tuple[int, int] | None = None
) -> Reading | None:
    """The oldest unread chunks, live and buffered, at least one; None if there are none.

    Only those that begin ``before`` a range of messages that is not read yet either.
    """
    taken: list[Chunk] = []
    tokens = 0
    for chunk in (*loaded.chunks, *loaded.buffered):
        if chunk.to_seq <= loaded.facts_seq:
            continue
        if before is not None and chunk.from_seq > before[0]:
            break
        tokens += chunk.tokens
        if taken and rules.observer_input_tokens is not None and tokens > rules.observer_input_tokens:
            break
        taken.append(chunk)
    if not taken:
        return None
    shown = narrowing.oldest(taken)
    return Reading(from_seq=loaded.facts_seq + 1, to_seq=shown[-1].to_seq, chunks=tuple(shown))


def unread_messages(
    loaded: Loaded, rules: Rules, narrowing: Narrowing, messages: Sequence[Message], *, more: bool
) -> Reading:
    """The oldest of ``messages``, which are not observed. ``more``: others come after them.

    They were loaded after the memory was, so some may have come since.
    """
    first = loaded.facts_seq + 1
    limit = rules.observer_input_tokens
    want = narrowing.want_tokens(messages)
    span = safe_span(messages, want_tokens=want, limit_tokens=limit, force_closed=True)
    if span is None:
        return Reading(from_seq=first, to_seq=messages[-1].seq if more else loaded.last_seq)
    left = more or any(message.observe and message.seq > span.to_seq for message in messages)
    return Reading(from_seq=first, to_seq=span.to_seq if left else max(span.to_seq, loaded.last_seq), span=span)


def new_facts(
    items: Iterable[Item], reading: Reading, loaded: Loaded, *, timezone: ZoneInfo, facts_max: int
) -> list[NewFact]:
    """The first ``facts_max`` lines as facts, uncertain ones left out."""
    said = {message.seq: message for message in reading.messages}
    sure = [item for item in items if not item.uncertain and item.text != WITHHELD][:facts_max]
    return [_fact(item, reading, loaded, said, timezone) for item in _cited(sure, reading)]


def _cited(items: Sequence[Item], reading: Reading) -> Sequence[Item]:
    """The lines; one without a citation gets that of the last source that has most of its words.

    A model may leave it out. A fact that no message tells could not be taken back: the next reading would note it.
    """
    if all(item.cited for item in items):
        return items
    sources = [(item.cites, _words(item)) for item in reading.items if item.cites]
    sources += [
        ((Cite(message.seq, message.seq),), frozenset(terms(all_text(message.parts)))) for message in reading.messages
    ]
    return [item if item.cited else replace(item, cites=_source_of(_words(item), sources)) for item in items]


def _words(item: Item) -> frozenset[str]:
    return frozenset(terms(item.whole_text)) - _SPEAKERS


def _source_of(words: frozenset[str], sources: Iterable[tuple[tuple[Cite, ...], frozenset[str]]]) -> tuple[Cite, ...]:
    found: tuple[Cite, ...] = ()
    most = max(1, CITED_SHARE * len(words))
    for cites, said in sources:
        if len(words & said) >= most:
            found, most = cites, len(words & said)
    return found


def _fact(item: Item, reading: Reading, loaded: Loaded, said: dict[int, Message], timezone: ZoneInfo) -> NewFact:
    cites = item.cited
    *firsts, last = [item.text, *(detail.text for detail in item.details)]
    text = "; ".join([*(one.rstrip(".;") for one in firsts), last])
    told = _CATEGORIES[item.tag]
    category = Category.INSIGHT if item.trust in FOREIGN and told in OWN_WORD else told
    item = item if item.time else replace(item, time=_time_before(item, cites, reading))
    valid_from = min(_true_from(item, cites, said, timezone) or loaded.now, loaded.now)
    source = Source(
        session_id=loaded.session_id,
        session=loaded.session_key,
        from_seq=reading.from_seq,
        to_seq=reading.to_seq,
        cites=cites,
        observations=tuple(_observations(reading.chunks, cites)),
        text=text,
        category=category,
        valid_from=valid_from,
    )
    return NewFact(
        text=text,
        category=category,
        trust=item.trust,
        author=Author.EXTRACTOR,
        sources=(source,),
        valid_from=valid_from,
    )


def _time_before(item: Item, cites: Sequence[int], reading: Reading) -> str | None:
    """The time for a line without one: the last that the log shows on its day, up to its messages.

    The log shows a time only after minutes have passed; without it the line would seem older than the line before it.
    """
    first = min(cites, default=0)
    of_day = (line for line in reading.items if line.time and line.day == item.day)
    return next((line.time for line in reversed([*of_day]) if min(line.cited, default=0) <= first), None)


def _observations(chunks: Iterable[Chunk], cites: Iterable[int]) -> Iterator[int]:
    """The ids of the observations that cover the messages."""
    for chunk in chunks:
        if isinstance(chunk, Observation) and any(chunk.from_seq <= seq <= chunk.to_seq for seq in cites):
            yield chunk.id


def _true_from(item: Item, cites: Sequence[int], said: dict[int, Message], timezone: ZoneInfo) -> datetime | None:
    """The line's day and time; without a time, when it was said, if that was on the day. None: it is not known."""
    day = parse_day(item.day)
    if day is not None and day.year == MINYEAR:  # "0001-01-01" stands for none, and in the east is before all time
        day = None
    told = next((said[seq].created_at for seq in cites if seq in said), None)
    if day is None or (told and not item.time and told.astimezone(timezone).date() == day):
        return told
    return datetime.combine(day, time.fromisoformat(item.time) if item.time else time(), tzinfo=timezone)
