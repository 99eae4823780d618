"""Counts the work of a piece of Python, independent of how busy the machine is."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def steps(work: Callable[[], object]) -> int:
    """The number of lines that ``work`` executes, counting repetitions. A call into C counts as one line."""
    count = 0

    def trace(_frame: FrameType, event: str, _arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def calls(work: Callable[[], object], of: Callable[..., object]) -> list[dict[str, Any]]:
    """The arguments of each call of the function ``of`` while ``work`` runs."""
    found: list[dict[str, Any]] = []

    def profile(frame: FrameType, event: str, _arg: Any) -> None:
        if event == "call" and frame.f_code is of.__code__:
            found.append(dict(frame.f_locals))

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(before)
    return found
