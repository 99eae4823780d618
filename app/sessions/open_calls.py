"""Matches tool results with the open calls that they answer. Pure.

Calls are matched by id. If an id is used again, the calls of the newest message count, in their order; those of an
earlier message stay without a result. Gemini may leave out the id of the call, of the result or of both. Such a result
belongs to the call of its tool with the same number if there is one, else to the oldest one.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from itertools import count
from typing import Generic, TypeVar

from app.sessions.model import Part
from app.sessions.wire.gemini import tool_of

T = TypeVar("T")


class OpenCalls(Generic[T]):
    """The calls without a result. ``T``: the value that is kept with a call until its result comes."""

    def __init__(self) -> None:
        self._numbers = count()
        self._calls: dict[int, tuple[int, str, str, T]] = {}  # message, id, name, kept value
        # Not a plain dict: finding its first key scans past all the deleted ones.
        self._by_id: defaultdict[str, OrderedDict[int, None]] = defaultdict(OrderedDict)
        self._by_name: defaultdict[str, OrderedDict[int, None]] = defaultdict(OrderedDict)

    def called(self, call: Part, held: T, *, message: int) -> None:
        """Open a call. ``message``: the number of its message."""
        call_id = str(call.get("id") or "")
        tool = tool_of(call_id)
        name = str(call.get("name") or "") if tool is None else tool
        if tool is None:
            former = self._by_id.get(call_id)
            while former and self._calls[oldest := next(iter(former))][0] != message:
                self._taken(oldest)
        number = next(self._numbers)
        self._calls[number] = (message, call_id, name, held)
        self._by_id[call_id][number] = self._by_name[name][number] = None

    def answered(self, result: Part) -> T | None:
        """Close the call that this result answers. Answers the value kept with it; None if no open call matches."""
        result_id = str(result.get("tool_call_id") or "")
        tool = tool_of(result_id)
        found = self._by_id.get(result_id) or (None if tool is None else self._by_name.get(tool))
        return self._taken(next(iter(found))) if found else None

    def clear(self) -> None:
        for number in list(self._calls):
            self._taken(number)

    def held(self) -> Iterable[T]:
        """The values of all open calls, oldest first."""
        return [held for *_, held in self._calls.values()]

    def _taken(self, number: int) -> T:
        _, call_id, name, held = self._calls.pop(number)
        for index, key in ((self._by_id, call_id), (self._by_name, name)):
            del index[key][number]
            if not index[key]:
                del index[key]
        return held
