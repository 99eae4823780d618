"""What takes long for a large request is done beside the event loop, which has all the others to answer."""

import sys
from collections.abc import Awaitable, Callable
from types import CodeType, FrameType
from typing import Any

from app.memory.spans import group_start
from tests.conftest import Service
from tests.sessions.test_routes import said


async def ran(work: Callable[[], Awaitable[Any]]) -> set[CodeType]:
    """What Python ran meanwhile in this thread, which has the event loop."""
    codes = set()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            codes.add(frame.f_code)

    sys.setprofile(note)
    try:
        await work()
    finally:
        sys.setprofile(None)
    return codes


async def test_where_the_tail_begins_is_told_beside_the_event_loop(service: Service) -> None:
    await service.configure("s1", keep_last=2, keep_last_tool_results=0)
    await service.append("s1", *(said(f"I paid {number}20 euros for the shop in Porto.") for number in range(1, 7)))

    async def observe() -> None:
        (await service.client.post("/sessions/s1/memory/observe?wait_ms=50000")).raise_for_status()

    assert group_start.__code__ not in await ran(observe)
    assert (await service.memory("s1"))["cursor"]["tail_from_seq"] == 5
