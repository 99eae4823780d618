"""The built-in observer: writes the sentences that say most as dated lines with tags and citations.

It keeps the words of the conversation. A line is one message: its speaker, then those of its sentences that assert
something new. How much is kept follows the size of the span, so that a log grows at a fixed share of its source.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

from app.kit.days import day_label
from app.kit.patterns import lazy_pattern
from app.kit.tokens import text_tokens
from app.memory.extractive import cues
from app.memory.extractive.dates import resolved
from app.memory.extractive.selection import LINE_TOKENS, Sentence, candidates, chosen, sentences_of
from app.memory.extractive.sentences import neutral, shortened
from app.memory.extractive.tools import Uses, tool_lines
from app.memory.log import render
from app.memory.model import Cite, Item, ObserverInput, Priority, Tag
from app.memory.parsing import CURRENT_TASK, OBSERVATIONS, block
from app.memory.rules import SHRINK_FROM_TOKENS
from app.sessions.model import Kind, Message, PartType, Role, Trust

# A log of a third of what was said keeps most of what was asserted; tool output is told in lines of fixed size.
KEPT_SHARE = 1 / 3
BUDGET_TOKENS_MIN = 120
TASK_CHARACTERS_MAX = 200
# A sentence that says less than one new word and a half is noted as minor.
WEAK_VALUE = 1.5
NAME_CHARACTERS_MAX = 60
# A clock time is shown again once this many seconds have passed: within a talk the order says enough.
TIME_EVERY_SECONDS = 600
_ENDED = lazy_pattern(r"[.!?…:;,؟۔।॥،。！？；，：、][\"'”’」』)）\]]*$")
# Brackets, colons and arrows could make a name read as the head of a line.
_NOT_IN_NAMES = lazy_pattern(r"[^\w .@'’-]")


def observations(source: ObserverInput) -> str:
    """The reply in the format of memory-rules.md section 4, shorter than the span whenever the span can be."""
    found = candidates(source)
    span_tokens = sum(message.tokens for message in source.messages)
    text = ""
    for share in (KEPT_SHARE, KEPT_SHARE / 2, KEPT_SHARE / 4):
        lines = _lines(source, found, budget=max(BUDGET_TOKENS_MIN, round(share * span_tokens)))
        text = block(OBSERVATIONS, render(lines))
        if span_tokens <= SHRINK_FROM_TOKENS or text_tokens(text) < span_tokens:
            break
    task = current_task(source) or (source.current_task and "(none)")
    return f"{text}\n{block(CURRENT_TASK, task)}" if task else text


def _lines(source: ObserverInput, found: Sequence[Sentence], *, budget: int) -> list[Item]:
    spoken = [message.seq for message in source.messages if message.kind is Kind.USER]
    uses = Uses()
    for message in source.messages:
        uses.add(message)
    told = _tools_within(list(tool_lines(uses.made, breaks=spoken)), budget=budget // 2)
    left = budget - sum(text_tokens(item.text) + LINE_TOKENS for _, item in told)
    numbered = told + [(group[0].message.seq, line(group, source.timezone)) for group in chosen(found, budget=left)]
    if not numbered and source.messages:
        numbered = [_fallback(source, found)]
    return _dated(sorted(numbered, key=lambda pair: pair[0]), source)


def _tools_within(lines: list[tuple[int, Item]], *, budget: int) -> list[tuple[int, Item]]:
    """As many tool lines as the budget holds: what went wrong before what went well, the newest before the older."""
    kept: list[tuple[int, Item]] = []
    for seq, item in sorted(lines, key=lambda pair: (pair[1].tag is not Tag.ISSUE, -pair[0])):
        budget -= text_tokens(item.text) + LINE_TOKENS
        if not kept or (budget >= 0 and item.text not in {told.text for _, told in kept}):
            kept.append((seq, item))
    return kept


def line(group: Sequence[Sentence], timezone: ZoneInfo) -> Item:
    """Sentences of one message as a line without its day."""
    message = group[0].message
    # The tag of the best sentence that does more than state facts, if there is one.
    tag = max(group, key=lambda it: (it.said.tag is not Tag.FACT, it.value)).said.tag
    said_on = _local(message, timezone).date()
    words = _in_one_line([resolved(it.said.text, said_on) for it in group])
    return Item(
        text=f"{speaker(message)}: {words}",
        priority=_priority(message, group, tag),
        tag=tag,
        cites=(Cite(message.seq, message.seq),),
    )


def _in_one_line(texts: Sequence[str]) -> str:
    """The sentences in a row; one without an end of its own, such as an entry of a list, gets a semicolon."""
    ended = [text if _ENDED.search(text) else f"{text};" for text in texts[:-1]]
    return " ".join([*ended, *texts[-1:]])


def _priority(message: Message, group: Sequence[Sentence], tag: Tag) -> Priority:
    """memory-rules.md section 4. What a tool or a stranger wrote never speaks with the user's voice."""
    if message.is_foreign:
        return Priority.MEDIUM
    if message.role is Role.USER:
        asked = all(cues.is_question(it.said.text) and not cues.is_request(it.said.text) for it in group)
        weak = all(
            not cues.is_request(it.said.text) and (cues.is_reaction(it.said.text) or it.value < WEAK_VALUE)
            for it in group
        )
        return Priority.LOW if weak else Priority.MEDIUM if asked else Priority.HIGH
    if tag is Tag.OUTCOME:
        return Priority.DONE
    return Priority.HIGH if tag is Tag.DECISION else Priority.MEDIUM


def speaker(message: Message) -> str:
    """The name of who speaks; the role where there is none, and where the name is a role's, as which it would pose."""
    name = shortened(_NOT_IN_NAMES.sub("", neutral(message.name or "")).strip(), NAME_CHARACTERS_MAX)
    if not message.is_foreign:
        return name if name and not Role.is_name_of_one(name) else message.role.value.capitalize()
    origin = "Tool" if message.role is Role.TOOL or message.trust is Trust.TOOL else "External source"
    return f"{origin} {name}".strip()


def _dated(numbered: Sequence[tuple[int, Item]], source: ObserverInput) -> list[Item]:
    """The lines under their days, with a clock time once TIME_EVERY_SECONDS have passed."""
    moments = {message.seq: _local(message, source.timezone) for message in source.messages}
    shown: datetime | None = None
    dated: list[Item] = []
    for seq, item in numbered:
        at = moments[seq]
        is_new = shown is None or shown.date() != at.date() or (at - shown).total_seconds() >= TIME_EVERY_SECONDS
        dated.append(replace(item, day=day_label(at.date()), time=f"{at:%H:%M}" if is_new else None))
        shown = at if is_new else shown
    return dated


def _local(message: Message, timezone: ZoneInfo) -> datetime:
    return message.created_at.astimezone(timezone)


def _fallback(source: ObserverInput, found: Sequence[Sentence]) -> tuple[int, Item]:
    """One line for a span that asserts little or fits no budget, so that its messages are covered by something true."""
    best = max(found, key=lambda it: it.value, default=None)
    if best and best.value >= WEAK_VALUE:
        return best.message.seq, line([best], source.timezone)
    spoken = ((message, text) for message in source.messages for text in sentences_of(message))
    message, text = (best.message, best.said.text) if best else next(spoken, (source.messages[0], "no text"))
    return message.seq, Item(
        text=f"{speaker(message)}: {shortened(text, TASK_CHARACTERS_MAX)}",
        priority=Priority.LOW,
        tag=Tag.FACT,
        cites=(Cite(message.seq, message.seq),),
    )


def current_task(source: ObserverInput) -> str | None:
    """What the user last asked for, unless it was answered; the known task while the user says nothing."""
    last = next((it for it in reversed(source.messages) if it.kind is Kind.USER and not it.is_foreign), None)
    if last is None:
        return source.current_task
    texts = list(sentences_of(last))
    asked = [*filter(cues.is_request, texts), *filter(cues.is_question, texts)]
    if not asked or _is_answer(source.messages[-1]):
        return None
    return shortened(asked[0], TASK_CHARACTERS_MAX)


def _is_answer(message: Message) -> bool:
    """Whether the assistant ended its turn: it calls no tool and does not ask back."""
    if message.role is not Role.ASSISTANT or any(it.get("type") == PartType.TOOL_CALL for it in message.parts):
        return False
    texts = list(sentences_of(message))
    return not (texts and cues.is_question(texts[-1]))
