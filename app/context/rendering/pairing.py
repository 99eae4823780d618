"""Pairs calls with their results in the one shape every provider takes (memory-rules.md section 6, last rule).

A result stands right behind the assistant's calls, every closed call has one, and no id is used twice. How a turn is
shown depends only on the turns before it, never on later ones: so a longer log is rendered as an extension of a
shorter one. The price: a result that comes after its call was closed is shown as text.
"""

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import NamedTuple

from app.context.model import Turn
from app.context.rendering.own import OF_CALLS
from app.context.rendering.parts import late_result, visible
from app.context.wording import NO_RESULT
from app.sessions.model import Part, PartType, Role
from app.sessions.open_calls import OpenCalls


class Said(NamedTuple):
    """Consecutive parts of one speaker; role tool has results and nothing else."""

    role: Role
    parts: list[Part]


class Pairing:
    def __init__(self, *, visible: Callable[[Part], bool] = visible) -> None:
        self._visible = visible
        self._calls: OpenCalls[str] = OpenCalls()  # the id under which each is shown
        self._open: dict[str, None] = {}  # ids shown of all calls without a result, in order
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
            if shown := self._calls.answered(part):
                del self._open[shown]
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

    def _closes(self, role: Role, parts: list[Part]) -> bool:
        """Whether these parts end the open calls: they are more than further calls of the same assistant message."""
        more_calls = all(part["type"] in OF_CALLS for part in parts)
        return role is not Role.ASSISTANT or self._answered or not more_calls

    def _closing(self) -> list[Part]:
        closed, self._open = self._open, {}
        self._calls.clear()
        return [{"type": PartType.TOOL_RESULT, "tool_call_id": shown, "output": NO_RESULT} for shown in closed]

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
        self._calls.called(part, shown, message=self._turn)
        self._open[shown] = None
        self._answered = False
        return part if shown == part["id"] else {**part, "id": shown}


def _is_result(part: Part) -> bool:
    return bool(part["type"] == PartType.TOOL_RESULT)
