"""Renders the neutral shape: the system blocks as they are, and one message per stored message with its own parts."""

from app.context.model import Layout, Rendered, Turn
from app.context.rendering.thread import Thread
from app.sessions.model import Role, text_part


def render(layout: Layout) -> Rendered:
    thread = Thread()
    for turn in layout.stable:
        _add(thread, turn)
    units = thread.units(layout.system)
    for turn in layout.incoming:
        _add(thread, turn)
    if layout.volatile:
        part = text_part(layout.volatile.text)
        if thread.last_role in {Role.USER, Role.TOOL}:
            thread.go_on([part])
        else:
            thread.add(Role.USER, [part])
    system = [text_part(block.text) for block in layout.system]
    return Rendered(payload={"system": system, "messages": thread.messages}, units=units)


def _add(thread: Thread, turn: Turn) -> None:
    if not turn.parts:  # a boundary or an empty message: no provider takes one
        return
    name = {"name": turn.name} if turn.name else {}
    thread.add(turn.role, turn.parts, merge=False, **name)
