"""Pairs calls with their results in the one shape every provider takes (memory-rules.md section 6, last rule).

A result stands right behind the assistant's calls, every closed call has one, and no id is used twice. How a turn is
shown depends only on the turns before it, never on later ones: so a longer log is rendered as an extension of a
shorter one. The price: a result that comes after its call was closed is shown as text.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import NamedTuple

from app.context.model import Turn
from app.context.rendering.own import OF_CALLS
from app.context.rendering.parts import late_result, visible
from app.context.wording import NO_RESULT
from app.sessions.model import Part, PartType, Role
from app.sessions.wire.gemini import tool_of


class Said(NamedTuple):
    """Consecutive parts of one speaker; role tool has results and nothing else."""

    role: Role
    parts: list[Part]


class _Call(NamedTuple):
    """An open call: its id as stored and as shown, its tool, and the number of its turn."""

    stored: str
    shown: str
    name: str
    turn: int


class _Open:
    """The calls without a result, in order, indexed by id and by tool.

    If an id is used again, the calls of the newest turn count, as in ``app/sessions/open_calls.py``.
    """

    def __init__(self) -> None:
        self._calls: dict[int, _Call] = {}
        self._by_id: dict[str, deque[int]] = defaultdict(deque)  # closed calls included
        self._by_name: dict[str, deque[int]] = defaultdict(deque)
        self._number = 0

    def __bool__(self) -> bool:
        return bool(self._calls)

    def add(self, call: _Call) -> None:
        self._number += 1
        former = self._by_id[call.stored]
        last = self._calls.get(former[-1]) if former and tool_of(call.stored) is None else None
        if last and last.turn != call.turn:
            former.clear()
        self._calls[self._number] = call
        self._by_id[call.stored].append(self._number)
        self._by_name[call.name].append(self._number)

    def take(self, call_id: str, *, name: str | None) -> _Call | None:
        """Remove and answer the first with the id, or else of the tool."""
        return self._first(self._by_id.get(call_id)) or (name and self._first(self._by_name.get(name))) or None

    def take_all(self) -> list[_Call]:
        calls = list(self._calls.values())
        self._calls.clear()
        return calls

    def _first(self, numbers: deque[int] | None) -> _Call | None:
        while numbers:
            if found := self._calls.pop(numbers.popleft(), None):
                return found
        return None


class Pairing:
    def __init__(self, *, visible: Callable[[Part], bool] = visible) -> None:
        self._visible = visible
        self._open = _Open()
        self._answered = False  # results of the open calls came: the assistant's message is over
        self._turn = 0
        self._erased = False  # some of these results were erased, with their calls' ids
        self._blank = False  # the newest turn is a blank of the user's or the system's
        self._used: set[str] = set()
        self._counts: dict[str, int] = {}  # of a used id, the last number put behind it

    def said(self, turn: Turn) -> Iterator[Said]:
        """The words of the turn and its results, apart; nothing for a blank turn."""
        self._turn += 1
        if turn.role is Role.TOOL and not turn.parts:
            self._erased = self._answered = True
        parts = [part for part in turn.parts if self._visible(part)]
        self._blank = not parts and (self._blank or turn.role in {Role.USER, Role.SYSTEM})
        if not any(map(_is_result, parts)):  # as in nearly every turn
            if parts:
                yield from self._words(turn.role, parts)
            return
        if turn.role is not Role.ASSISTANT:  # whose results are of a provider's own tool, and stay in place
            parts.sort(key=lambda part: not _is_result(part))
        for is_result, run in groupby(parts, key=_is_result):
            shown = self._results if is_result else self._words
            yield from shown(turn.role, list(run))

    def ending(self) -> Iterator[Said]:
        """Stand-ins for results that were erased, or that a blank message came before: behind the last turn.

        Providers refuse a call without a result. All other open calls are left to wait for theirs. The stand-ins are no
        part of the prefix: behind a blank a result may still come.
        """
        if self._open and (self._erased or self._blank):
            yield Said(Role.TOOL, self._closing())

    def takes(self, call_id: str) -> bool:
        """Claim the id of a call that is shown as it came. Answers whether it was free."""
        if call_id in self._used:
            return False
        self._used.add(call_id)
        return True

    def _results(self, role: Role, parts: list[Part]) -> Iterator[Said]:
        matched: list[Part] = []
        late: list[Part] = []
        for part in parts:
            if shown := self._taken(part["tool_call_id"]):
                matched.append({**part, "tool_call_id": shown})
            else:
                late.append(late_result(part))
        if matched:
            self._answered = True
            yield Said(Role.TOOL, matched)
        if late:
            yield from self._words(role, late)

    def _words(self, role: Role, parts: list[Part]) -> Iterator[Said]:
        if self._open and self._closes(role, parts):
            yield Said(Role.TOOL, self._closing())
        yield Said(Role.USER if role is Role.TOOL else role, [self._numbered(part) for part in parts])

    def _taken(self, call_id: str) -> str | None:
        """The id under which this result's call is shown; None if no such call waits."""
        tool = tool_of(call_id)  # of a result without an id, which Gemini allows
        found = self._open.take(call_id, name=tool)
        return found and found.shown

    def _closes(self, role: Role, parts: list[Part]) -> bool:
        """Whether these parts end the open calls: they are more than further calls of the same assistant message."""
        more_calls = all(part["type"] in OF_CALLS for part in parts)
        return role is not Role.ASSISTANT or self._answered or not more_calls

    def _closing(self) -> list[Part]:
        return [
            {"type": PartType.TOOL_RESULT, "tool_call_id": call.shown, "output": NO_RESULT}
            for call in self._open.take_all()
        ]

    def _numbered(self, part: Part) -> Part:
        """The part, a call with a unique id: some agents use the same id in every turn, which providers refuse."""
        if part["type"] != PartType.TOOL_CALL:
            return part
        shown, count = part["id"], self._counts.get(part["id"], 1)
        while shown in self._used:
            count += 1
            shown = f"{part['id']}_{count}"
        self._used.add(shown)
        self._counts[part["id"]] = count
        self._erased = self._erased and bool(self._open)
        self._open.add(_Call(part["id"], shown, tool_of(part["id"]) or part["name"], self._turn))
        self._answered = False
        return part if shown == part["id"] else {**part, "id": shown}


def _is_result(part: Part) -> bool:
    return bool(part["type"] == PartType.TOOL_RESULT)
