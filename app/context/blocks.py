"""Makes blocks of the system prompt from texts, with their token counts."""

from collections.abc import Hashable, Iterable
from datetime import date

from app.context.model import Block, Section, Stability
from app.context.wording import condensed_title, observed_title
from app.kit.tokens import text_tokens
from app.kit.weighted_cache import weighted_cache
from app.memory.log import render
from app.memory.model import Observation, Reflection

# The block of a note changes only with the anchor date, but dating and counting it takes milliseconds: so the blocks
# last shown are cached, enough for some dozen logs of common size.
CHARACTERS_KEPT = 2_097_152  # half a million tokens; the emoji of a line makes each take four bytes, here and as a key


def text_block(id_: str, section: Section, stability: Stability, text: str) -> Block:
    return Block(id=id_, section=section, stability=stability, text=text, tokens=text_tokens(text))


def reflection_blocks(reflections: Iterable[Reflection], *, anchor: date) -> tuple[Block, ...]:
    """Highest level first, within a level oldest first (memory-rules.md section 6, part 3)."""
    ordered = sorted(reflections, key=lambda entry: (-entry.level, age(entry)))
    return tuple(reflection_block(entry, anchor=anchor) for entry in ordered)


def observation_blocks(observations: Iterable[Observation], *, anchor: date) -> tuple[Block, ...]:
    """Oldest first (part 4)."""
    return tuple(observation_block(entry, anchor=anchor) for entry in sorted(observations, key=age))


def reflection_block(reflection: Reflection, *, anchor: date) -> Block:
    title = condensed_title(reflection.conversations, reflection.from_seq, reflection.to_seq, shared=reflection.shared)
    return _note_block(reflection, title, anchor)


def observation_block(observation: Observation, *, anchor: date) -> Block:
    title = observed_title(observation.conversation, observation.from_seq, observation.to_seq)
    return _note_block(observation, title, anchor)


def reflection_id(reflection: Reflection) -> str:
    return f"reflection:{reflection.id}"


def observation_id(observation: Observation) -> str:
    return f"observation:{observation.id}"


def message_id(seq: int, *, last_seq: int) -> str:
    """The id of a stored message, or, after ``last_seq``, of an incoming one: those are numbered from 0."""
    return f"message:{seq}" if seq <= last_seq else f"incoming:{seq - last_seq - 1}"


def age(entry: Reflection | Observation) -> tuple[int, int, int]:
    """The sort key of the log: oldest first."""
    first, last = entry.place
    return last, first, entry.id


def _as_shown(note: Reflection | Observation, title: str, anchor: date) -> Hashable:
    """The cache key. It leaves out the items, which are parsed from the text."""
    return type(note), note.id, note.text, title, anchor


def _characters(block: Block) -> int:
    return len(block.text)


@weighted_cache(CHARACTERS_KEPT, weight=_characters, key=_as_shown)
def _note_block(note: Reflection | Observation, title: str, anchor: date) -> Block:
    text = f"{title}\n{render(note.items, anchor=anchor) or note.text}"
    if isinstance(note, Reflection):
        return text_block(reflection_id(note), Section.REFLECTIONS, Stability.EPOCH, text)
    return text_block(observation_id(note), Section.OBSERVATIONS, Stability.APPEND, text)
