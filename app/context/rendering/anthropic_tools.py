"""Restores uses and results of the tools that Anthropic runs itself, as it sent them.

A use may come without its result: in a turn that Anthropic paused (``pause_turn``), or beside calls of the agent's own
tools, for whose results Anthropic waits. One of its next messages then begins with the result; the request between the
two is refused unless it shows the use as it came.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from app.context.model import Turn
from app.context.rendering.anthropic_shapes import CALLER, RESULTS, USES
from app.context.rendering.own import AS_IT_CAME, OF_CALLS, rest
from app.context.rendering.parts import is_shown, visible
from app.context.rendering.shape import Shape, fitting
from app.context.rendering.thread import Item
from app.context.wording import NO_RESULT
from app.sessions.model import Part, PartType, Role
from app.sessions.wire.anthropic import PROVIDER

MCP, MCP_RESULT, SEARCH = "mcp_tool_use", "mcp_tool_result", "tool_search"


def used_and_found(call: Part, result: Part) -> list[Item]:
    """A use and its result (``server_tool_use``, ``web_search_tool_result`` ...); none if they cannot go back."""
    asked, answered = _use(call), _result(result)
    return [asked, answered] if asked and answered else []


class Running:
    """The uses that wait for their results, in order."""

    def __init__(self) -> None:
        self._uses: dict[str, Item] = {}
        self._shown: set[str] = set()  # the ids of all uses shown, also with a result
        self._passed: set[str] = set()  # the ids of uses after which the assistant went on without a result

    def told(self, turn: Turn, takes: Callable[[str], bool]) -> Turn:
        """The turn with its waiting uses, and the results of former ones, as they came.

        ``takes`` claims an id, and answers whether it was free.
        """
        if turn.role is not Role.ASSISTANT or not (self._uses or any(map(_is_call, turn.parts))):
            return turn
        former = set(self._uses)
        turn = turn._replace(parts=tuple(self._told(turn.parts, takes)))
        if any(part["type"] not in OF_CALLS for part in turn.parts):
            self._passed |= former
        return turn

    def closing(self, role: Role) -> list[Item]:
        """Error results for the uses that will get none, to stand before words of this role."""
        passed = self._passed if role is Role.ASSISTANT else set(self._uses)
        return [_closed(self._uses.pop(id_)) for id_ in list(self._uses) if id_ in passed]

    def _told(self, parts: tuple[Part, ...], takes: Callable[[str], bool]) -> Iterator[Part]:
        answered = {part["tool_call_id"] for part in parts if part["type"] == PartType.TOOL_RESULT}
        for part in parts:
            if part["type"] == PartType.TOOL_CALL and part["id"] not in answered:
                yield self._used(part, takes)
            elif part["type"] == PartType.TOOL_RESULT and part["tool_call_id"] in self._uses:
                yield self._found(part)
            else:
                yield part

    def _used(self, part: Part, takes: Callable[[str], bool]) -> Part:
        if (use := _use(part)) and takes(part["id"]):
            self._uses[part["id"]] = use
            self._shown.add(part["id"])
            return {"type": AS_IT_CAME, "item": use}
        return part if self._knows(part.get("caller")) else {key: part[key] for key in part if key != "caller"}

    def _knows(self, caller: Any) -> bool:
        """Whether the use that called one of the agent's tools is shown: Anthropic refuses the name of another."""
        fitted = fitting(CALLER, caller)
        return caller is None or (fitted is not None and fitted.get("tool_id") in {None, *self._shown})

    def _found(self, part: Part) -> Part:
        result = _result(part)
        if result is None or result["type"] != _closed(self._uses[part["tool_call_id"]])["type"]:
            return part
        del self._uses[part["tool_call_id"]]
        return {"type": AS_IT_CAME, "item": result}


def _is_call(part: Part) -> bool:
    return bool(part["type"] == PartType.TOOL_CALL)


def _shape(shapes: Mapping[str, Shape], part: Part) -> Shape | None:
    native = part.get("native")
    return shapes.get(native) if isinstance(native, str) and part.get("provider") == PROVIDER else None


def _use(call: Part) -> Item | None:
    shape = _shape(USES, call)
    if shape is None:
        return None
    used = {"type": call["native"], "id": call["id"], "name": call["name"], "input": call["arguments"]}
    return fitting(shape, {**used, **rest(call, *used)})


def _result(result: Part) -> Item | None:
    """The result as a block. A cut or previewed output is a text, which only an MCP result may be: else None."""
    shape = _shape(RESULTS, result)
    if shape is None:
        return None
    found = {"type": result["native"], "tool_use_id": result["tool_call_id"], "content": _worded(result["output"])}
    return fitting(shape, {**found, **rest(result, *found)})


def _worded(output: Any) -> Any:
    """A server tool's output without blank texts, which Anthropic refuses anywhere."""
    return [item for item in output if not is_shown(item) or visible(item)] if isinstance(output, list) else output


def _closed(use: Item) -> Item:
    """An error result for a use that has none."""
    if use["type"] == MCP:
        return {"type": MCP_RESULT, "tool_use_id": use["id"], "content": NO_RESULT, "is_error": True}
    kind = f"{SEARCH if use['name'].startswith(SEARCH) else use['name']}_tool_result"
    return {
        "type": kind,
        "tool_use_id": use["id"],
        "content": {"type": f"{kind}_error", "error_code": "unavailable"},
    }
