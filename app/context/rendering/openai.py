"""OpenAI's Chat Completions: results are messages of role tool right behind the assistant's calls.

Shapes are those of the installed SDK (``openai.types.chat.ChatCompletionMessageParam``, ``prompt_cache_breakpoint``
and ``prompt_cache_key`` of ``completion_create_params``).
"""

from hashlib import sha256
from typing import Any

from app.context.model import Block, Layout, Rendered, Turn
from app.context.rendering.pairing import Pairing
from app.context.rendering.parts import (
    arguments_text,
    identifier,
    media,
    output_parts,
    said_by_user,
    stand_in,
    text_part,
)
from app.context.rendering.thread import Item, Thread
from app.context.wording import NO_OUTPUT
from app.sessions.model import Part, PartType, Role

EXPLICIT = {"mode": "explicit"}
CACHEABLE = frozenset({"text", "image_url", "file"})
NAME_LENGTH, ID_LENGTH = 64, 40
CALL = "function"


def render(layout: Layout, *, key: str) -> Rendered:
    """``key`` is the session's; see ``cache_key``."""
    pairing, thread = Pairing(), Thread()
    for turn in layout.stable:
        _add(thread, pairing, turn)
    units = thread.units([text_part(block.text) for block in layout.system])
    thread.mark("prompt_cache_breakpoint", EXPLICIT, types=CACHEABLE)
    for turn in layout.incoming:
        _add(thread, pairing, turn)
    if layout.volatile:
        _add_volatile(thread, pairing, layout.volatile)
    messages = [_message(message) for message in thread.messages]
    if layout.system:
        messages.insert(0, {"role": "system", "content": [_system(block) for block in layout.system]})
    return Rendered(payload={"messages": messages, "prompt_cache_key": cache_key(key)}, units=units)


def cache_key(key: str) -> str:
    """A hash of the session's key: the same for every call of the session, it routes them to one cache."""
    return f"daybook-{sha256(key.encode()).hexdigest()[:32]}"


def _system(block: Block) -> Item:
    mark = {"prompt_cache_breakpoint": EXPLICIT} if block.breakpoint else {}
    return {**text_part(block.text), **mark}


def _add_volatile(thread: Thread, pairing: Pairing, block: Block) -> None:
    """To the user's last message whatever its name, else as a message of its own: a tool's takes no more text."""
    if thread.last_role == Role.USER:
        thread.messages[-1]["content"].append(text_part(block.text))
    else:
        _add(thread, pairing, said_by_user(block))


def _add(thread: Thread, pairing: Pairing, turn: Turn) -> None:
    for said in pairing.said(turn):
        if said.role is Role.TOOL:
            for part in said.parts:
                call_id = identifier(part["tool_call_id"], length=ID_LENGTH)
                thread.add(Role.TOOL, _result(part), merge=False, tool_call_id=call_id)
            continue
        content = [item for part in said.parts if (item := _item(part, said.role))]
        content.sort(key=lambda item: item["type"] == CALL)
        name: dict[str, Any] = {"name": identifier(turn.name, length=NAME_LENGTH)} if turn.name else {}
        if not content:
            continue
        if said.role is Role.ASSISTANT and _calls(thread):
            thread.go_on(content)
        else:
            thread.add(said.role, content, **name)


def _calls(thread: Thread) -> bool:
    """Whether calls wait for results, which follow the one message that made all of them: whoever calls more joins."""
    return any(item["type"] == CALL for message in thread.messages[-1:] for item in message["content"])


def _message(message: Item) -> Item:
    """Calls leave the content for their own field."""
    calls = [item for item in message["content"] if item["type"] == CALL]
    if not calls:
        return message
    content = [item for item in message["content"] if item["type"] != CALL]
    return {**message, "content": content or None, "tool_calls": calls}


def _item(part: Part, role: Role) -> Item | None:
    match part["type"]:
        case PartType.TEXT:
            return text_part(part["text"])
        case PartType.TOOL_CALL:
            return _call(part)
        case PartType.REASONING:
            return None  # Chat Completions takes none back
        case PartType.IMAGE if role is Role.USER:
            return _image(part)
        case PartType.FILE if role is Role.USER:
            return _file(part)
        case _:
            return text_part(stand_in(part))


def _call(part: Part) -> Item:
    function = {"name": identifier(part["name"], length=NAME_LENGTH), "arguments": arguments_text(part)}
    return {"id": identifier(part["id"], length=ID_LENGTH), "type": CALL, "function": function}


def _result(part: Part) -> list[Item]:
    """Text only; an error says so, for there is no field for it."""
    shown = [text_part(stand_in(item)) for item in output_parts(part["output"])] or [text_part(NO_OUTPUT)]
    return [text_part("[error]"), *shown] if part.get("is_error") else shown


def _image(part: Part) -> Item:
    media_type, url, data = media(part)
    shown = f"data:{media_type};base64,{data}" if data and media_type else url
    if not shown:
        return text_part(stand_in(part))
    detail: dict[str, Any] = {"detail": part["detail"]} if "detail" in part else {}
    return {"type": "image_url", "image_url": {"url": shown, **detail}}


def _file(part: Part) -> Item:
    media_type, _, data = media(part)
    if not (data and media_type):
        return text_part(stand_in(part))
    name = part.get("name") or "file"
    return {"type": "file", "file": {"filename": name, "file_data": f"data:{media_type};base64,{data}"}}
