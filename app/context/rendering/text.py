"""Renders the context as one text, for a model or a reader that takes nothing else."""

import re

from app.context.model import Layout, Rendered, Turn
from app.context.rendering.parts import arguments_text, output_text, stand_in
from app.context.wording import speaker
from app.kit.patterns import lazy_pattern
from app.sessions.model import Part, PartType, Role

BETWEEN = "\n\n"
# A line within a message that begins as a turn does: it is indented, or a tool's output could say what the user never
# said.
_AS_A_TURN = lazy_pattern(rf"([\n\r\v\f\x85\u2028\u2029])(?=(?:{'|'.join(Role)})(?: \(|:))", re.IGNORECASE)


def render(layout: Layout) -> Rendered:
    stable = [block.text for block in layout.system] + _turns(layout.stable)
    pieces = stable + _turns(layout.incoming)
    if layout.volatile:
        pieces.append(layout.volatile.text)
    units = tuple(piece.encode() for piece in stable)
    return Rendered(payload={"text": BETWEEN.join(pieces)}, units=units)


def _turns(turns: tuple[Turn, ...]) -> list[str]:
    """The turns that have a text: a boundary, for one, has none."""
    return [
        _turn(turn, lines) for turn in turns if (lines := [line for part in turn.parts if (line := part_line(part))])
    ]


def _turn(turn: Turn, lines: list[str]) -> str:
    return f"{speaker(turn.role, turn.name)}: " + _AS_A_TURN.sub(r"\1  ", "\n".join(lines))


def part_line(part: Part) -> str:
    """The part as text; "" for reasoning."""
    match part["type"]:
        case PartType.REASONING:
            return ""
        case PartType.TOOL_CALL:
            return f"[call {part['id']}: {part['name']}({arguments_text(part)})]"
        case PartType.TOOL_RESULT:
            word = "error" if part.get("is_error") else "result"
            return f"[{word} of call {part['tool_call_id']}]\n{output_text(part['output'])}"
        case _:
            return stand_in(part)
