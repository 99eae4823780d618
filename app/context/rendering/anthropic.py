"""Renders for Anthropic's Messages API: user and assistant alternate, results come first in the user's message.

Shapes are those of the installed SDK (``anthropic.types.MessageParam``); roles, pairing, thinking blocks and
``cache_control`` are described in the provider's documents on messages, tool use, extended thinking and prompt caching.
"""

from typing import Any

from app.context.model import Block, Layout, Rendered, Turn
from app.context.rendering import own
from app.context.rendering.anthropic_media import UPLOAD, media_block
from app.context.rendering.anthropic_shapes import CALLER, WEB
from app.context.rendering.anthropic_tools import Running, used_and_found
from app.context.rendering.own import as_they_came
from app.context.rendering.pairing import Pairing, Said
from app.context.rendering.parts import (
    arguments_object,
    identifier,
    output_parts,
    said_by_user,
    stand_in,
    with_speaker,
)
from app.context.rendering.shape import fields, fitting, text
from app.context.rendering.thread import Item, Thread
from app.context.wording import ERROR, NO_OUTPUT, OPENING, SYSTEM_MESSAGE
from app.kit.patterns import lazy_pattern
from app.sessions.model import Part, PartType, Role, text_part
from app.sessions.wire.anthropic import PROVIDER

EPHEMERAL = {"type": "ephemeral"}
BREAKPOINTS_MAX, LOOKBACK_BLOCKS = 4, 20  # of a request; before each, among which a cached prefix is found
CACHEABLE = frozenset({"text", "tool_use", "tool_result", "image", "document", "search_result"})
THINKING = frozenset({"thinking", "redacted_thinking"})
WEB_CITATION = ("cited_text", "encrypted_index", "url")
NAME_LENGTH, ID_LENGTH = 128, 64
REFERENCE = "tool_reference"
CAME_WITH = fields({}, {"caller": CALLER, "toolset_name": text})  # what a call of the agent's tools came with
TOOL = lazy_pattern(r"[A-Za-z0-9_-]{1,256}")  # a tool's name; one that was shortened names no tool


def render(layout: Layout) -> Rendered:
    messages = _Messages()
    for turn in layout.stable:
        messages.add(turn)
    units = messages.thread.units(layout.system)
    if layout.breakpoints:
        messages.thread.mark("cache_control", EPHEMERAL, types=CACHEABLE)
        _mark_turn(messages.thread, free=BREAKPOINTS_MAX - 1 - sum(block.breakpoint for block in layout.system))
    for turn in layout.incoming:
        messages.add(turn)
    if layout.volatile:
        messages.add(said_by_user(layout.volatile))
    messages.end()
    payload: dict[str, Any] = {"messages": messages.thread.messages}
    if layout.system:
        payload = {"system": [_system(block) for block in layout.system], **payload}
    return Rendered(payload=payload, units=units)


def _mark_turn(thread: Thread, *, free: int) -> None:
    """Mark the user's words before the assistant's last, where the call before ended if the agent asks once a turn.

    Only where the breakpoint at the end does not look back so far, and one is left.
    """
    blocks, answered = 0, False
    for message in reversed(thread.messages) if free else ():
        said = message["content"]
        if answered and message["role"] == Role.USER and said[-1]["type"] != "tool_result":
            if blocks >= LOOKBACK_BLOCKS - 1 and said[-1]["type"] in CACHEABLE:
                said[-1]["cache_control"] = EPHEMERAL
            return
        answered |= message["role"] == Role.ASSISTANT
        blocks += len(said)


class _Messages:
    def __init__(self) -> None:
        self.thread = Thread()
        self._pairing = Pairing()
        self._running = Running()
        self._thinking: list[Item] = []  # held back until a block follows: no message may end with it

    def add(self, turn: Turn) -> None:
        came = as_they_came(with_speaker(turn), PROVIDER, self._own_tool)
        for said in self._pairing.said(self._running.told(came, self._pairing.takes)):
            self._add(said)

    def end(self) -> None:
        for said in self._pairing.ending():
            self._add(said)

    def _own_tool(self, call: Part, result: Part) -> list[Item]:
        blocks = used_and_found(call, result)
        return blocks if blocks and self._pairing.takes(call["id"]) else []

    def _add(self, said: Said) -> None:
        blocks = [block for part in said.parts if (block := _block(part, said.role))]
        if said.role is Role.ASSISTANT:
            self._add_of_assistant([*self._running.closing(said.role), *self._thinking, *blocks])
        elif blocks:
            if said.role is not Role.TOOL and (closing := self._running.closing(said.role)):
                self.thread.add(Role.ASSISTANT, closing)
            self._thinking = []
            self.thread.add(Role.USER, blocks)

    def _add_of_assistant(self, blocks: list[Item]) -> None:
        last = max((index for index, block in enumerate(blocks) if block["type"] not in THINKING), default=-1)
        shown, self._thinking = blocks[: last + 1], blocks[last + 1 :]
        if shown and not self.thread.messages:
            self.thread.add(Role.USER, [text_part(OPENING)])
        if shown:
            self.thread.add(Role.ASSISTANT, [*shown[:-1], _ended(shown[-1])])


def _system(block: Block) -> Item:
    mark = {"cache_control": EPHEMERAL} if block.breakpoint else {}
    return {**text_part(block.text), **mark}


def _block(part: Part, role: Role) -> Item | None:
    """The part as a block; None if it cannot be shown and tells the model nothing."""
    match part["type"]:
        case own.AS_IT_CAME:
            block: Item = part["item"]
            return block
        case PartType.TEXT:
            return _text(part, role)
        case PartType.TOOL_CALL:
            return _tool_use(part)
        case PartType.TOOL_RESULT:
            return _tool_result(part)
        case PartType.REASONING:
            return _thinking(part)
        case _:
            seen = media_block(part) if role is Role.USER else None  # refused in other roles' messages
            return seen or text_part(stand_in(part))


def _text(part: Part, role: Role) -> Item:
    if role is Role.SYSTEM:
        return text_part(SYSTEM_MESSAGE.format(part["text"]))
    citations = _citations(part) if role is Role.ASSISTANT else []
    return {**text_part(part["text"]), **({"citations": citations} if citations else {})}


def _ended(block: Item) -> Item:
    """The block without trailing white space, with which Anthropic refuses an assistant's last message."""
    return {**block, "text": block["text"].rstrip()} if block["type"] == "text" else block


def _citations(part: Part) -> list[Item]:
    """The web citations of a text: the next turns need their ``encrypted_index``.

    Citations of documents are left out: they name a document by its number in the request that they answered.
    """
    citations = part.get("citations")
    if not isinstance(citations, list):
        return []
    return [
        {key: citation.get(key) for key in ("type", *WEB_CITATION, "title")} for citation in filter(_of_web, citations)
    ]


def _of_web(citation: Any) -> bool:
    return (
        isinstance(citation, dict)
        and citation.get("type") == "web_search_result_location"
        and all(isinstance(citation.get(key), str) for key in WEB_CITATION)
        and fitting(WEB, citation["url"]) is not None
        and isinstance(citation.get("title"), (str, type(None)))
    )


def _tool_use(part: Part) -> Item:
    return {
        "type": "tool_use",
        "id": identifier(part["id"], length=ID_LENGTH),
        "name": identifier(part["name"], length=NAME_LENGTH),
        "input": arguments_object(part),
        **CAME_WITH(part),
    }


def _tool_result(part: Part) -> Item:
    block: Item = {"type": "tool_result", "tool_use_id": identifier(part["tool_call_id"], length=ID_LENGTH)}
    content = _references(part["output"]) or [_within_result(item) for item in output_parts(part["output"])]
    if not part.get("is_error"):
        return {**block, "content": content} if content else block
    if any(item["type"] != "text" for item in content):  # which Anthropic refuses in an error, as it does no content
        return {**block, "content": [text_part(ERROR), *content]}
    return {**block, "content": content or [text_part(NO_OUTPUT)], "is_error": True}


def _within_result(item: Part) -> Item:
    """A piece of a tool's output: a text, an image or a document. Only the user himself uploads to a container."""
    seen = media_block(item) if item["type"] != PartType.TEXT and item.get("native") != UPLOAD else None
    return seen or text_part(stand_in(item))


def _references(output: Any) -> list[Item]:
    """The tools that the agent's own search found: these blocks make Anthropic show them to the model."""
    listed = output if isinstance(output, list) else []
    names = [item.get("tool_name") for item in listed if isinstance(item, dict) and item.get("type") == REFERENCE]
    found = [{"type": REFERENCE, "tool_name": name} for name in names if isinstance(name, str) and TOOL.fullmatch(name)]
    return found if len(found) == len(listed) else []


def _thinking(part: Part) -> Item | None:
    """Thinking is only valid with the signature it came with; other providers' reasoning is not shown."""
    if part.get("provider", PROVIDER) != PROVIDER:
        return None
    if part.get("native") == "redacted_thinking":
        return {"type": "redacted_thinking", "data": data} if isinstance(data := part.get("data"), str) else None
    signature = part.get("signature")
    return {"type": "thinking", "thinking": part["text"], "signature": signature} if signature else None
