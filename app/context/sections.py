"""The texts of a context, section by section (memory-rules.md section 6, the table), before any budget."""

from dataclasses import dataclass, field
from datetime import date
from functools import cache, lru_cache

from app.context.model import Ask, Block, Section, Snapshot, Stability, Turn
from app.context.wording import CONTINUATION, GUIDE, left_out
from app.kit.json import dumps
from app.kit.tokens import text_tokens
from app.memory.log import render
from app.memory.model import Item, Observation, Reflection
from app.sessions.model import Role

# An entry never changes, and neither does its text before the anchor date moves, but dating and counting it takes
# milliseconds: so the blocks last shown, of some dozen logs of common size, are kept.
NOTES_KEPT = 2_048


def system_blocks(ask: Ask) -> list[Block]:
    """The caller's own prompt, then the knowledge that stands before the conversation."""
    own = [(f"system:{index}", Section.SYSTEM, text) for index, text in enumerate(ask.system)]
    known = [
        (f"knowledge:{index}", Section.KNOWLEDGE, _knowledge(item.title, item.text))
        for index, item in enumerate(ask.knowledge)
        if item.placement == "prefix"
    ]
    return [_block(id_, section, Stability.STATIC, text) for id_, section, text in own + known if text.strip()]


@cache
def guide_block() -> Block:
    return _block("guide", Section.GUIDE, Stability.STATIC, GUIDE)


@cache
def continuation() -> Turn:
    return Turn(
        id="continuation",
        role=Role.USER,
        parts=({"type": "text", "text": CONTINUATION},),
        tokens=text_tokens(CONTINUATION),
        section=Section.GUIDE,
        stability=Stability.STATIC,
    )


def reflection_block(reflection: Reflection, *, anchor: date) -> Block:
    title = f"### Condensed, messages {reflection.from_seq}-{reflection.to_seq}"
    return _notes_block(
        _Notes(f"reflection:{reflection.id}", title, anchor, reflection.text, reflection.items),
        Section.REFLECTIONS,
        Stability.EPOCH,
    )


def observation_block(observation: Observation, *, anchor: date) -> Block:
    title = f"### Messages {observation.from_seq}-{observation.to_seq}"
    return _notes_block(
        _Notes(f"observation:{observation.id}", title, anchor, observation.text, observation.items),
        Section.OBSERVATIONS,
        Stability.APPEND,
    )


def volatile_block(snapshot: Snapshot, ask: Ask, *, has_memory: bool, unobserved_omitted: int) -> Block | None:
    """What changes by the turn, with today's date; None where there is nothing of it and no memory.

    Without a memory the context is what it would be without one, so the date alone is not said.
    """
    lines = _volatile_lines(snapshot, ask)
    if unobserved_omitted:
        lines.append(left_out(unobserved_omitted))
    if not lines and not has_memory:
        return None
    today = ask.now.astimezone(snapshot.rules.zone).date()
    inner = "\n".join([f"Today is {today:%A, %B} {today.day}, {today.year}.", *lines])
    return _block("volatile", Section.VOLATILE, Stability.VOLATILE, f"<context>\n{inner}\n</context>")


def _volatile_lines(snapshot: Snapshot, ask: Ask) -> list[str]:
    lines: list[str] = []
    if snapshot.rules.enabled and snapshot.current_task:
        lines.append(f"Current task: {snapshot.current_task}")
    if snapshot.rules.enabled and snapshot.suggested_response:
        lines.append(f"Suggested next response: {snapshot.suggested_response}")
    lines.extend(f"State {name} = {dumps(value).decode()}" for name, value in ask.state.items())
    lines.extend(_knowledge(item.title, item.text) for item in ask.knowledge if item.placement == "tail")
    if ask.channel:
        lines.append(f"Channel: {ask.channel}")
    return lines


def _knowledge(title: str, text: str) -> str:
    return f"## {title}\n\n{text}"


@dataclass(frozen=True, slots=True)
class _Notes:
    """One entry of the log. Its items are its text, read: they need not be compared."""

    id: str
    title: str
    anchor: date
    text: str
    items: tuple[Item, ...] = field(compare=False)


@lru_cache(maxsize=NOTES_KEPT)
def _notes_block(notes: _Notes, section: Section, stability: Stability) -> Block:
    text = f"{notes.title}\n{render(notes.items, anchor=notes.anchor) or notes.text}"
    return _block(notes.id, section, stability, text)


def _block(id_: str, section: Section, stability: Stability, text: str) -> Block:
    return Block(id=id_, section=section, stability=stability, text=text, tokens=text_tokens(text))
