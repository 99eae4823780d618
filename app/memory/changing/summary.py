"""The text of a summary, which replaces messages that left the tail (docs/decisions/0020). Pure.

It points to the notes for what they tell, and itself tells only the rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.memory.ranges import Ranges, merged
from app.sessions.counting import message_tokens
from app.sessions.model import Message, Part, text_part

IN_NOTES = "What is noted of them so far is in the notes above."  # some of it may be observed again after an erasure
NOTHING_SAID = "They say nothing that needs to be kept."
NO_NOTES = "There is no note of them."
# The second is what older versions stored.
POINTERS = frozenset({IN_NOTES, "What was noted of them is in the notes above."})
OF_OUR_OWN = POINTERS | {NOTHING_SAID}


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A summary to store. ``covers``: messages that no note tells. ``tells``: it says more than where the notes are."""

    parts: tuple[Part, ...]
    tokens: int
    up_to_seq: int
    covers: Ranges
    tells: bool


def new_summary(
    text: str | None, *, up_to_seq: int, untold: Sequence[tuple[int, int]], former: Sequence[Part], lines: str = ""
) -> Summary:
    """The caller's ``text``, or else where the notes are, what the former summary told, and the ``lines``.

    ``untold``: what of the messages is in no note.
    """
    covers = merged(untold)
    if text is not None:
        parts: tuple[Part, ...] = (text_part(text),)
    else:
        noted = [text_part(IN_NOTES)] if covers != ((1, up_to_seq),) else []
        told = [*own_parts(former), *([text_part(lines)] if lines else [])]
        parts = (*noted, *told) or (text_part(NOTHING_SAID),)
    tokens = message_tokens((_heading(up_to_seq), *parts))
    return Summary(parts=parts, tokens=tokens, up_to_seq=up_to_seq, covers=covers, tells=bool(own_parts(parts)))


def own_parts(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The parts of a summary that are not fixed phrases of ours."""
    return tuple(part for part in parts if part["text"] not in OF_OUR_OWN)


def with_heading(summary: Message) -> Message:
    """A stored summary as it is shown; its tokens were counted with the heading."""
    return replace(summary, parts=(_heading(summary.up_to_seq or 0), *summary.parts))


def without_pointer(shown: Message) -> Message:
    """A summary as it is shown in a context without notes: without the phrase that points to them."""
    heading, *parts = shown.parts
    told = [part for part in parts if part.get("text") not in POINTERS]
    if len(told) == len(parts):
        return shown
    kept = (heading, *(told or [text_part(NO_NOTES)]))
    return replace(shown, parts=kept, tokens=message_tokens(kept))


def _heading(up_to_seq: int) -> Part:
    which = "Message #1 is" if up_to_seq == 1 else f"Messages #1-#{up_to_seq} are"
    return text_part(f"({which} no longer shown. In short:)")
