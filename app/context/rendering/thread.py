"""Builds messages: neighbours of one role become one message, and what was added never moves."""

from collections.abc import Sequence
from typing import Any

from app.context.model import Block
from app.kit.json import canonical_each
from app.sessions.model import text_part

Item = dict[str, Any]


class Thread:
    """``messages`` are ``{role, content: [part], ...}``; a message with other fields beside content is not merged."""

    def __init__(self) -> None:
        self.messages: list[Item] = []
        self._heads: list[Item] = []  # each message without its content

    @property
    def last_role(self) -> str | None:
        return self.messages[-1]["role"] if self.messages else None

    def add(self, role: str, content: Sequence[Item], *, merge: bool = True, **fields: Any) -> None:
        """Append a message, or its parts to the last one if that has the same role and fields."""
        head = {"role": role, **fields}
        if merge and self._heads and self._heads[-1] == head:
            self.messages[-1]["content"].extend(content)
        else:
            self._heads.append(head)
            self.messages.append({**head, "content": list(content)})

    def go_on(self, content: list[Item]) -> None:
        """Append parts to the last message, whatever fields it has."""
        self.messages[-1]["content"].extend(content)

    def units(self, system: Sequence[Block]) -> tuple[bytes, ...]:
        """The system blocks and the messages so far as units (see ``Rendered``)."""
        found: list[tuple[Any, Item]] = [("system", text_part(block.text)) for block in system]
        for index, (head, message) in enumerate(zip(self._heads, self.messages, strict=True)):
            found.append((index, head))
            found.extend((index, part) for part in message["content"])
        return canonical_each(found)

    def mark(self, key: str, value: Item, *, types: frozenset[str]) -> None:
        """Set a breakpoint on the last part that can carry one."""
        for message in reversed(self.messages):
            for part in reversed(message["content"]):
                if part["type"] in types:
                    part[key] = value
                    return
