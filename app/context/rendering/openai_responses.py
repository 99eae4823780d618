"""Renders for OpenAI's Responses API: a list of items, of which the assistant's own go back as they came.

Shapes are those of the installed SDK (``openai.types.responses.ResponseInputParam``, ``prompt_cache_breakpoint`` of the
input parts, ``prompt_cache_key`` of ``response_create_params``). A reasoning item is only taken with its encrypted
content and with the item it led to, and an item is only taken under its own id behind the reasoning that led to it.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from app.context.model import Block, Layout, Rendered, Stability, Turn
from app.context.rendering import own
from app.context.rendering.openai import cache_key, mark_ends, system_parts
from app.context.rendering.openai_hosted import hosted
from app.context.rendering.openai_media import file_data, file_id, file_url, image_detail, image_url
from app.context.rendering.openai_shapes import ANNOTATION, CALL, CALLED, REASONED, SUMMARY
from app.context.rendering.openai_tools import ASKED, answered_leave, asked_leave, own_call, own_output
from app.context.rendering.own import as_they_came
from app.context.rendering.pairing import Pairing, Said
from app.context.rendering.parts import (
    arguments_text,
    function_arguments,
    identifier,
    output_parts,
    said_by_user,
    stand_in,
    with_speaker,
)
from app.context.rendering.shape import Shape, fitting
from app.context.rendering.thread import Item
from app.context.wording import ERROR, NO_OUTPUT
from app.kit.json import canonical_each
from app.sessions.model import Part, PartType, Role, text_part
from app.sessions.wire.openai_responses import APPROVAL, MESSAGE_ID, PROVIDER

CACHEABLE = frozenset({"input_text", "input_image", "input_file"})
NAME_LENGTH, ID_LENGTH = 64, 64
MESSAGE, CUSTOM_CALL, COMPACTION = "message", "custom_tool_call", "compaction"
OUTPUTS = ("function_call_output", f"{CUSTOM_CALL}_output")  # that take more text
CALL_ID, CUSTOM_CALL_ID = "fc", "ctc"  # the prefixes of the ids
PHASES = ("commentary", "final_answer")
OF_THE_TALK = (Stability.TAIL, Stability.VOLATILE)  # behind the continuation note or a summary a run may have been cut


def render(layout: Layout, *, key: str) -> Rendered:
    """``key`` is the session's; see ``openai.cache_key``."""
    thread = _Items(lists=layout.breakpoints)
    for turn in layout.stable:
        thread.add(turn)
    units = canonical_each([*(("system", text_part(block.text)) for block in layout.system), *enumerate(thread.items)])
    ends = mark_ends(thread.said(), types=CACHEABLE) if layout.breakpoints else 0
    for turn in layout.incoming:
        thread.add(turn)
    if layout.volatile:
        thread.add_volatile(layout.volatile)
    thread.end()
    prompt = system_parts(layout.system, ends=ends, part=_text)
    system = [_message(Role.SYSTEM, prompt)] if prompt else []
    return Rendered(payload={"input": [*system, *thread.items], "prompt_cache_key": cache_key(key)}, units=units)


class _Items:
    """Builds the items. ``_whole``: the run of the assistant's items is there from its beginning.

    ``lists``: each output is a list of parts, as only a part carries a breakpoint; else one text is a string.
    """

    def __init__(self, *, lists: bool) -> None:
        self.items: list[Item] = []
        self._lists = lists
        self._pairing = Pairing()
        self._reasoning: list[Item] = []  # held back for the item it led to
        self._kinds: dict[str, str] = {}  # by call id, of calls whose results are of a kind of their own
        self._whole = False
        self._ids: set[str] = set()  # of the items: OpenAI takes none twice

    def add(self, turn: Turn) -> None:
        if turn.role is Role.ASSISTANT and not turn.parts:
            self._miss()
        for said in self._pairing.said(as_they_came(with_speaker(turn), PROVIDER, self._hosted)):
            if said.role is Role.ASSISTANT:
                self._add_of_assistant(said)
                continue
            if turn.role is not Role.ASSISTANT:  # whose turn may close its open calls while its reasoning is held back
                self._reasoning.clear()
                self._whole = turn.stability in OF_THE_TALK
            self._add_of_others(said)

    def _miss(self) -> None:
        """Note an erased item: reasoning that led to it, and items that it led to, are refused as they came."""
        self._reasoning.clear()
        self._whole = False

    def _hosted(self, call: Part, result: Part) -> list[Item]:
        items = hosted(call, result)
        return items if items and self._is_taken(call["id"]) else []

    def end(self) -> None:
        for said in self._pairing.ending():
            self._add_of_others(said)

    def _add_of_others(self, said: Said) -> None:
        if said.role is Role.TOOL:
            self.items.extend(self._result(part) for part in said.parts)
        elif content := [_input(part, said.role) for part in said.parts]:
            self.items.append(_message(said.role, content))

    def add_volatile(self, block: Block) -> None:
        """Append to the last item if it is the user's message or a function's output, else add one (decisions/0077)."""
        for said in self._pairing.said(said_by_user(block)):
            if said.role is not Role.USER or not self._joined(block.text):
                self._add_of_others(said)

    def _joined(self, text: str) -> bool:
        """Whether the last item took the text. An output that is a string stays one, which begins as it did."""
        last = self.items[-1] if self.items else {}
        field = "content" if last.get("role") == Role.USER else "output" if last.get("type") in OUTPUTS else None
        if field is None:
            return False
        said = last[field]
        last[field] = f"{said}\n\n{text}" if isinstance(said, str) else [*said, _text(text)]
        return True

    def said(self) -> Iterator[tuple[str, list[Item]]]:
        """Role and parts of each item, newest first; none of the assistant's, which carry no breakpoint."""
        for item in reversed(self.items):
            if item["type"] == MESSAGE and item["role"] != Role.ASSISTANT:
                yield item["role"], item["content"]
            elif item["type"] in OUTPUTS:
                yield Role.TOOL, item["output"]
            else:
                yield Role.ASSISTANT, []

    def _add_of_assistant(self, said: Said) -> None:
        for message_id, run in groupby(_in_order(said.parts), key=_message_id):
            parts = list(run)
            if message_id and self._is_taken(message_id):
                self._append(_own_message(message_id, parts))
                continue
            for part in parts:
                if part["type"] == PartType.REASONING:
                    self._reason(part)
                else:
                    self._append(self._item(part))

    def _item(self, part: Part) -> Item:
        match part["type"]:
            case own.AS_IT_CAME:
                item: Item = part["item"]
                return item
            case PartType.TOOL_CALL:
                return self._call(part)
            case _:
                return _said_by_assistant(part)

    def _append(self, item: Item) -> None:
        self.items.extend([*self._reasoning, item])
        self._reasoning.clear()

    def _reason(self, part: Part) -> None:
        """Hold back OpenAI's reasoning for the item it led to, which loses its id if the reasoning cannot be shown."""
        if part.get("provider") != PROVIDER:
            return
        if compacted := _compacted(part):
            self.items.append(compacted)  # now, as only the item it led to may follow reasoning
        elif (item := _reasoning(part)) and self._is_taken(item["id"]):
            self._reasoning.append(item)
        else:
            self._whole = False

    def _is_taken(self, item_id: str) -> bool:
        """Whether OpenAI takes an item under this id; if so the id is used up."""
        if not self._whole or item_id in self._ids:
            return False
        self._ids.add(item_id)
        return True

    def _call(self, part: Part) -> Item:
        call_id, name = identifier(part["id"], length=ID_LENGTH), identifier(part["name"], length=NAME_LENGTH)
        if (asked := asked_leave(part)) and self._is_taken(part["id"]):
            self._kinds[call_id] = APPROVAL
            return asked
        if called := own_call(part):
            self._kinds[call_id] = called["type"]
            return {**called, "call_id": call_id, **self._item_id(part, "")}
        if part.get("provider") == PROVIDER and part.get("native") == CUSTOM_CALL:
            self._kinds[call_id] = CUSTOM_CALL
            called = {"call_id": call_id, "name": name, "input": arguments_text(part)}
            return {"type": CUSTOM_CALL, **called, **self._item_id(part, CUSTOM_CALL_ID), **_came(CALLED, part)}
        came = _came(CALL, part)
        called = {"call_id": call_id, "name": name, "arguments": function_arguments(part)}
        return {"type": "function_call", **called, **self._item_id(part, CALL_ID), **came}

    def _item_id(self, part: Part, prefix: str) -> Item:
        """The id the item came with; that of another kind of item, such as a computer_call, is refused."""
        item_id = part.get("item_id")
        if not isinstance(item_id, str) or not item_id.startswith(prefix):
            return {}
        return {"id": item_id} if self._is_taken(item_id) else {}

    def _result(self, part: Part) -> Item:
        call_id = identifier(part["tool_call_id"], length=ID_LENGTH)
        kind = self._kinds.get(call_id, "function_call")
        if kind == APPROVAL:
            return answered_leave(part)
        if kind in ASKED:
            return {**own_output(kind, part), "call_id": call_id}
        return {"type": f"{kind}_output", "call_id": call_id, "output": self._output(part)}

    def _output(self, part: Part) -> str | list[Item]:
        """The output's parts; an error is marked by a text, as there is no field for it."""
        shown = [_input(item, Role.USER) for item in output_parts(part["output"])] or [_text(NO_OUTPUT)]
        if part.get("is_error"):
            return [_text(ERROR), *shown]
        is_text = len(shown) == 1 and shown[0]["type"] == "input_text"
        return shown[0]["text"] if is_text and not self._lists else shown


def _in_order(parts: list[Part]) -> list[Part]:
    """OpenAI's items as they came, each behind its reasoning; else the calls last, right before their results."""
    if any("item_id" in part for part in parts):
        return parts
    return sorted(parts, key=lambda part: part["type"] == PartType.TOOL_CALL)


def _came(shape: Shape, part: Part) -> Item:
    """The fields that OpenAI sent with a call; without ``item_id`` the part is of another shape that may have them."""
    return fitting(shape, part) or {} if "item_id" in part else {}


def _message(role: Role, content: list[Item]) -> Item:
    return {"type": MESSAGE, "role": role, "content": content}


def _text(text: str) -> Item:
    return {"type": "input_text", "text": text}


def _message_id(part: Part) -> str | None:
    """The id of the assistant's message a text came with, if OpenAI gave it."""
    item_id = part.get("item_id") if part["type"] == PartType.TEXT else None
    return item_id if isinstance(item_id, str) and item_id.startswith(MESSAGE_ID) else None


def _own_message(message_id: str, parts: list[Part]) -> Item:
    said = {"type": MESSAGE, "id": message_id, "role": Role.ASSISTANT, "status": "completed"}
    return {**said, "content": [_own_text(part) for part in parts], **_phase(parts[0])}


def _own_text(part: Part) -> Item:
    if part.get("native") == "refusal":
        return {"type": "refusal", "refusal": part["text"]}
    return {"type": "output_text", "text": part["text"], "annotations": _annotations(part)}


def _annotations(part: Part) -> list[Item]:
    found = (fitting(ANNOTATION, one) for one in _listed(part, "annotations"))
    return [one for one in found if one]


def _said_by_assistant(part: Part) -> Item:
    return {"type": MESSAGE, "role": Role.ASSISTANT, "content": stand_in(part), **_phase(part)}


def _phase(part: Part) -> Item:
    return {"phase": part["phase"]} if part.get("phase") in PHASES else {}


def _reasoning(part: Part) -> Item | None:
    """The reasoning item as it came, without unset fields; None if it lacks its id or its encrypted content."""
    item_id, encrypted = part.get("item_id"), part.get("encrypted_content")
    if part.get("native") != "reasoning" or not (isinstance(item_id, str) and isinstance(encrypted, str)):
        return None
    summary, content = fitting(SUMMARY, _listed(part, "summary")), fitting(REASONED, _listed(part, "content"))
    if summary is None or content is None:
        return None
    held = {"summary": summary, **({"content": content} if content else {}), "encrypted_content": encrypted}
    return {"type": "reasoning", "id": item_id, **held}


def _compacted(part: Part) -> Item | None:
    """The item with the encrypted form of all that OpenAI compacted before it; None for any other part."""
    encrypted = part.get("encrypted_content")
    if part.get("native") != COMPACTION or not isinstance(encrypted, str):
        return None
    return {"type": COMPACTION, "encrypted_content": encrypted}


def _listed(part: Part, key: str) -> list[Any]:
    """A field that OpenAI sends as a list; empty if a caller wrote anything else there."""
    value = part.get(key)
    return value if isinstance(value, list) else []


def _input(part: Part, role: Role) -> Item:
    shown: Item | None = None
    if role is Role.USER and part["type"] == PartType.IMAGE:
        shown = _image(part)
    elif role is Role.USER and part["type"] == PartType.FILE:
        shown = _file(part)
    return shown or _text(stand_in(part))


def _image(part: Part) -> Item | None:
    given = _given(image_url=image_url(part), file_id=file_id(part))
    return {"type": "input_image", "detail": image_detail(part) or "auto", **given} if given else None


def _file(part: Part) -> Item | None:
    given = file_data(part) or _given(file_url=file_url(part), file_id=file_id(part))
    return {"type": "input_file", **given} if given else None


def _given(**fields: str | None) -> Item:
    return {key: value for key, value in fields.items() if value}
