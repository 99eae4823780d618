"""Renders for OpenAI's Chat Completions: results are messages of role tool right behind the assistant's calls.

Shapes are those of the installed SDK (``openai.types.chat.ChatCompletionMessageParam``, ``prompt_cache_breakpoint``
and ``prompt_cache_key`` of ``completion_create_params``). OpenAI itself returns no reasoning here; a compatible server
that does gets it back in the field it used, as some refuse calls without (``_thought``, ``CALL_FIELDS``).
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from hashlib import sha256
from itertools import groupby, islice
from typing import Any

from app.context.model import Block, Layout, Rendered, Turn
from app.context.rendering.openai_media import file_data, file_id, image_detail, image_url
from app.context.rendering.pairing import Pairing, Said
from app.context.rendering.parts import (
    arguments_text,
    function_arguments,
    identifier,
    media,
    output_parts,
    said_by_user,
    stand_in,
    with_speaker,
)
from app.context.rendering.shape import fields, fitting, flag, listed, mapping, text
from app.context.rendering.thread import Item, Thread
from app.context.wording import ERROR, NO_OUTPUT
from app.sessions.model import Part, PartType, Role, text_part
from app.sessions.wire.openai_chat import MISTRAL, PROVIDER, REASONED

EXPLICIT = {"mode": "explicit"}
BREAKPOINTS_MAX, ENDS_MAX = 4, 2  # in all: as many as OpenAI writes for a call; in the tail
CACHEABLE = frozenset({"text", "image_url", "input_audio", "file"})
JOINED = (Role.USER, Role.TOOL)  # whose message takes the volatile part
NAME_LENGTH, ID_LENGTH = 64, 40
CALL, CUSTOM_CALL = "function", "custom"
CALLS = frozenset({CALL, CUSTOM_CALL})
PDF = "application/pdf"  # the only type of file that Chat Completions takes
AUDIO_FORMATS = {"audio/wav": "wav", "audio/mp3": "mp3", "audio/mpeg": "mp3"}

# DeepSeek and Moonshot have reasoning_content; Groq, Cerebras and vLLM reasoning; OpenRouter reasoning_details too;
# LiteLLM thinking_blocks; Ollama thinking, Cohere tool_plan. Gemini's compatible API signs a call's thought in
# extra_content, LiteLLM in provider_specific_fields.
REASONED_DETAILS = ("reasoning_details", "thinking_blocks")
DETAILS = listed(mapping)
CALL_FIELDS = fields({}, {"extra_content": mapping, "provider_specific_fields": mapping})
THINKING_FIELDS = fields({}, {"signature": text, "closed": flag})


def render(layout: Layout, *, key: str) -> Rendered:
    """``key`` is the session's; see ``cache_key``."""
    messages = _Messages()
    for turn in layout.stable:
        messages.add(turn)
    units = messages.thread.units(layout.system)
    said = ((message["role"], message["content"]) for message in reversed(messages.thread.messages))
    ends = mark_ends(said, types=CACHEABLE) if layout.breakpoints else 0
    for turn in layout.incoming:
        messages.add(turn)
    if layout.volatile:
        messages.add_volatile(layout.volatile)
    messages.end()
    shown = [_message(message) for message in messages.thread.messages]
    if layout.system:
        shown.insert(0, {"role": "system", "content": system_parts(layout.system, ends=ends, part=text_part)})
    return Rendered(payload={"messages": shown, "prompt_cache_key": cache_key(key)}, units=units)


def cache_key(key: str) -> str:
    """A hash of the session's key: the same for every call of the session, it routes them to one cache."""
    return f"daybook-{sha256(key.encode()).hexdigest()[:32]}"


def mark_ends(said: Iterable[tuple[str, Sequence[Item]]], *, types: Collection[str]) -> int:
    """Mark the ends of the last two runs of messages that are not the assistant's; answers how many there are.

    ``said``: role and parts of each message, newest first. The call before this one ended with the earlier run. OpenAI
    reads a cache only at breakpoints of the call (docs/decisions/0078), and at none of the assistant's.
    """
    runs = (run for is_assistant, run in groupby(said, key=_is_assistant) if not is_assistant)
    lasts = (
        next((part for _, parts in run for part in reversed(parts) if part["type"] in types), None) for run in runs
    )
    ends = list(islice((part for part in lasts if part), ENDS_MAX))
    for part in ends:
        part["prompt_cache_breakpoint"] = EXPLICIT
    return len(ends)


def _is_assistant(said: tuple[str, Sequence[Item]]) -> bool:
    return said[0] == Role.ASSISTANT


def system_parts(blocks: Sequence[Block], *, ends: int, part: Callable[[str], Item]) -> list[Item]:
    """The system prompt's parts. Beside ``ends`` in the tail as many carry their breakpoints as there may be."""
    carry = {block.id for block in islice((block for block in blocks if block.breakpoint), BREAKPOINTS_MAX - ends)}
    mark = {"prompt_cache_breakpoint": EXPLICIT}
    return [{**part(block.text), **(mark if block.id in carry else {})} for block in blocks]


class _Messages:
    def __init__(self) -> None:
        self.thread = Thread()
        self._pairing = Pairing()

    def add(self, turn: Turn) -> None:
        name = turn.name and identifier(turn.name, length=NAME_LENGTH)
        for said in self._pairing.said(turn if name == turn.name else with_speaker(turn)):
            self._add(said, name)

    def add_volatile(self, block: Block) -> None:
        """Append to the last message if it is the user's, of any name, or a tool's, else add one (decisions/0077)."""
        for said in self._pairing.said(said_by_user(block)):
            if said.role is Role.USER and self.thread.last_role in JOINED:
                self.thread.go_on([text_part(block.text)])
            else:
                self._add(said, None)

    def end(self) -> None:
        for said in self._pairing.ending():
            self._add(said, None)

    def _add(self, said: Said, name: str | None) -> None:
        if said.role is Role.TOOL:
            for part in said.parts:
                call_id = identifier(part["tool_call_id"], length=ID_LENGTH)
                self.thread.add(Role.TOOL, _result(part), merge=False, tool_call_id=call_id)
            return
        content = [item for part in said.parts if (item := _item(part, said.role))]
        content.sort(key=lambda item: item["type"] in CALLS)
        named: dict[str, Any] = {"name": name} if name else {}
        if content and said.role is Role.ASSISTANT and self._calls():
            self.thread.go_on(content)
        elif content:
            self.thread.add(said.role, content, **named, **_thought(said))

    def _calls(self) -> bool:
        """Whether the last message makes calls. More calls then join it, as the results follow one message with all.

        Behind calls nothing but calls is added, so the last item tells.
        """
        return any(message["content"][-1]["type"] in CALLS for message in self.thread.messages[-1:])


def _message(message: Item) -> Item:
    """The message with the calls moved from its content to their own field."""
    calls = [item for item in message["content"] if item["type"] in CALLS]
    if not calls:
        return message
    content = [item for item in message["content"] if item["type"] not in CALLS]
    return {**message, "content": content or None, "tool_calls": calls}


def _item(part: Part, role: Role) -> Item | None:
    match part["type"]:
        case PartType.TEXT:
            return text_part(part["text"])
        case PartType.TOOL_CALL:
            return _call(part)
        case PartType.REASONING:
            return _mistral(part) if part.get("provider") == MISTRAL else None  # beside the content, see _thought
        case PartType.IMAGE if role is Role.USER:
            return _image(part)
        case PartType.FILE if role is Role.USER:
            return _file(part)
        case _:
            return text_part(stand_in(part))


def _mistral(part: Part) -> Item:
    """Mistral's thinking, which stands in the content."""
    return {"type": "thinking", "thinking": [text_part(part["text"])], **THINKING_FIELDS(part)}


def _thought(said: Said) -> Item:
    """The fields beside an assistant's content that hold its reasoning, as they came."""
    found: Item = {}
    for part in said.parts if said.role is Role.ASSISTANT else ():
        if part["type"] != PartType.REASONING or part.get("provider") != PROVIDER:
            continue
        native = part.get("native")
        if native in REASONED and "summary" not in part:  # no item of the Responses API
            found[native] = part["text"]
        elif native in REASONED_DETAILS and (details := fitting(DETAILS, part.get("details"))):
            found[native] = details
    return found


def _call(part: Part) -> Item:
    call_id, name = identifier(part["id"], length=ID_LENGTH), identifier(part["name"], length=NAME_LENGTH)
    if part.get("provider") == PROVIDER and part.get("native") == CUSTOM_CALL:
        return {"id": call_id, "type": CUSTOM_CALL, "custom": {"name": name, "input": arguments_text(part)}}
    function = {"name": name, "arguments": function_arguments(part)}
    return {"id": call_id, "type": CALL, "function": function, **CALL_FIELDS(part)}


def _result(part: Part) -> list[Item]:
    """The output as texts; an error is marked by a text, as there is no field for it."""
    shown = [text_part(stand_in(item)) for item in output_parts(part["output"])] or [text_part(NO_OUTPUT)]
    return [text_part(ERROR), *shown] if part.get("is_error") else shown


def _image(part: Part) -> Item:
    url, detail = image_url(part), image_detail(part)
    if url is None:
        return text_part(stand_in(part))
    return {"type": "image_url", "image_url": {"url": url, **({"detail": detail} if detail else {})}}


def _file(part: Part) -> Item:
    media_type, _, data = media(part)
    if data and media_type in AUDIO_FORMATS:
        return {"type": "input_audio", "input_audio": {"data": data, "format": AUDIO_FORMATS[media_type]}}
    if media_type == PDF and (shown := file_data(part)):
        return {"type": "file", "file": shown}
    if own_id := file_id(part):
        return {"type": "file", "file": {"file_id": own_id}}
    return text_part(stand_in(part))
