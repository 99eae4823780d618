"""Calls that wait for their results, and which call a result belongs to. Pure.

They are matched by id. If an id is used again, the calls of the newest message count, in their order; those of an
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
    """``T`` is what is held of a call until its result comes."""

    def __init__(self) -> None:
        self._numbers = count()
        self._calls: dict[int, tuple[int, str, str, T]] = {}  # message, id, name, what is held
        # A plain dict looks for its first past all that were taken from it.
        self._by_id: defaultdict[str, OrderedDict[int, None]] = defaultdict(OrderedDict)
        self._by_name: defaultdict[str, OrderedDict[int, None]] = defaultdict(OrderedDict)

    def called(self, call: Part, held: T, *, message: int) -> None:
        """``message`` tells the messages apart."""
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
        """What is held of its call, which waits no longer; None where none waits for it."""
        result_id = str(result.get("tool_call_id") or "")
        tool = tool_of(result_id)
        found = self._by_id.get(result_id) or (None if tool is None else self._by_name.get(tool))
        return self._taken(next(iter(found))) if found else None

    def clear(self) -> None:
        for number in list(self._calls):
            self._taken(number)

    def held(self) -> Iterable[T]:
        """Of all that wait, oldest first."""
        return [held for *_, held in self._calls.values()]

    def _taken(self, number: int) -> T:
        _, call_id, name, held = self._calls.pop(number)
        for index, key in ((self._by_id, call_id), (self._by_name, name)):
            del index[key][number]
            if not index[key]:
                del index[key]
        return held
