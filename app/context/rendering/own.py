"""Restores calls of tools that the provider runs: call and result are in one message, and go back as they came.

For any other provider, and if one of the two is missing, they are shown like the agent's own tools; but Anthropic
may send the result later (``anthropic_tools.py``).
"""

from collections import Counter
from collections.abc import Callable

from app.context.model import Turn
from app.context.rendering.thread import Item
from app.sessions.model import Part, PartType, Role

AS_IT_CAME = "as_it_came"  # the type of a part that holds, as ``item``, what the provider sent
OF_CALLS = frozenset({PartType.TOOL_CALL, PartType.REASONING, AS_IT_CAME})  # without words: these may stand among calls
PAIR = 2
OURS = frozenset({"type", "provider", "native", "item_id", "tokens"})


def as_they_came(turn: Turn, provider: str, restored: Callable[[Part, Part], list[Item]]) -> Turn:
    """The turn with its provider's own calls and results restored: both items stand in the place of the call.

    ``restored`` gives no items if the provider cannot have sent them: a caller may write any field on a part.
    """
    came = {id_: items for id_, call, result in _own(turn, provider) if (items := restored(call, result))}
    if not came:
        return turn
    parts: list[Part] = []
    for part in turn.parts:
        if part["type"] == PartType.TOOL_CALL and part["id"] in came:
            parts.extend({"type": AS_IT_CAME, "item": item} for item in came[part["id"]])
        elif part["type"] != PartType.TOOL_RESULT or part["tool_call_id"] not in came:
            parts.append(part)
    return turn._replace(parts=tuple(parts))


def rest(part: Part, *used: str) -> Item:
    """The fields that the provider sent, without those ``used``, those of Daybook, and nulls."""
    return {key: value for key, value in part.items() if key not in {*OURS, *used} and value is not None}


def _own(turn: Turn, provider: str) -> list[tuple[str, Part, Part]]:
    """The provider's own calls by their ids, each with its result."""
    if turn.role is not Role.ASSISTANT:
        return []
    native = [part for part in turn.parts if isinstance(part.get("native"), str) and part.get("provider") == provider]
    if not native:
        return []
    calls = {part["id"]: part for part in native if part["type"] == PartType.TOOL_CALL}
    results = {part["tool_call_id"]: part for part in native if part["type"] == PartType.TOOL_RESULT}
    told = (part.get("id", part.get("tool_call_id")) for part in turn.parts)
    ids = Counter(id_ for id_ in told if isinstance(id_, str))  # the id of a text is the caller's, and may be any JSON
    return [(id_, call, results[id_]) for id_, call in calls.items() if id_ in results and ids[id_] == PAIR]
