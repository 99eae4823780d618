"""What takes long for a large request is done beside the event loop, which has all the others to answer."""

import sys
from collections.abc import Awaitable, Callable
from types import CodeType, FrameType
from typing import Any

import pytest
from fastapi.openapi.utils import get_openapi

from app.memory.spans import group_start
from app.recall.indexing import shown_text
from app.sessions.model import text_of
from app.sessions.schemas import message_out
from app.sessions.store import SessionStore
from app.sessions.wire import first_flaw
from tests.conftest import Service
from tests.sessions.test_routes import said

LARGE = ["x" * 1_000] * 100
PARTS = {"id": "m-1", "role": "user", "content": [{"type": "text", "text": part} for part in LARGE]}


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


@pytest.mark.parametrize(
    ("method", "path", "body", "work"),
    [
        ("POST", "/sessions/s1/messages", {"messages": [PARTS | {"id": "m-2"}]}, text_of),
        ("GET", "/sessions/s1/messages", None, message_out),
        ("POST", "/sessions/s1/context", {"state": {"temp:page": LARGE}}, first_flaw),
        ("PUT", "/sessions/s1/state/page", LARGE[:60], first_flaw),
        ("PATCH", "/sessions/s1/state", {"page": LARGE[:60]}, first_flaw),
        ("PUT", "/sessions/s1", {"metadata": {"page": LARGE[:10]}}, first_flaw),
        ("POST", "/sessions/s1/recall", {"query": "x" * 1_000}, shown_text),
        ("GET", "/openapi.json", None, get_openapi),
    ],
)
async def test_the_work_of_a_large_request_is_done_beside_the_event_loop(
    service: Service, method: str, path: str, body: Any, work: Callable[..., Any]
) -> None:
    await service.append("s1", PARTS)

    async def ask() -> None:
        (await service.client.request(method, path, json=body)).raise_for_status()

    assert work.__code__ not in await ran(ask)


async def test_a_large_body_is_parsed_beside_the_event_loop_also_where_it_is_refused(service: Service) -> None:
    parsed = []

    def note(_frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call" and called.__name__ in {"scan_once", "validate_json"}:
            parsed.append(called.__name__)

    sys.setprofile(note)
    try:
        answer = await service.client.post("/sessions/s1/messages", json={"messages": LARGE})
    finally:
        sys.setprofile(None)
    assert answer.status_code == 422
    assert parsed == []


async def test_where_the_tail_begins_is_told_beside_the_event_loop(service: Service) -> None:
    await service.configure("s1", keep_last=2, keep_last_tool_results=0)
    await service.append("s1", *(said(f"I paid {number}20 euros for the shop in Porto.") for number in range(1, 7)))

    async def observe() -> None:
        await service.observe("s1")

    assert group_start.__code__ not in await ran(observe)
    assert (await service.memory("s1"))["cursor"]["tail_from_seq"] == 5


async def test_metadata_too_large_whatever_it_is_merged_into_is_not_stored_to_be_measured(service: Service) -> None:
    answers = []

    async def put() -> None:
        answers.append(await service.client.put("/sessions/s1", json={"metadata": {"page": LARGE}}))

    assert SessionStore.put.__code__ not in await ran(put)
    assert answers[0].status_code == 413
