"""What the service logs: one line per request and per step, whose they are, and nothing of what was said."""

import json
import logging
from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import Any

import pytest
import structlog

from app.kit.logging import configure
from tests.conftest import Service, StartService
from tests.journeys.looks import WAIT_MS, Json, until
from tests.model_server import Fault, ModelServer

KEY = "the-session"
SECRET = "xyzzy-plugh"
MEMORY = {"message_tokens": 400, "buffer_every": None, "keep_last": 0}


def test_lines_are_kept_with_what_is_bound(lines: list[Json]) -> None:
    with structlog.contextvars.bound_contextvars(request_id="r"):
        structlog.get_logger().info("event", field=1)
    assert [(line["event"], line["field"], line["request_id"]) for line in lines] == [("event", 1, "r")]


@pytest.mark.parametrize("fault", [None, Fault.EMPTY, Fault.SERVER_ERROR, Fault.REFUSAL, Fault.BAD_REQUEST])
async def test_a_step_tells_its_session_and_the_request_that_woke_it(
    start_service: StartService, models: ModelServer, lines: list[Json], fault: Fault | None
) -> None:
    if fault is not None:
        models.fail_next(fault, times=2)
    said = [{"role": "user", "content": f"The word is {SECRET}. " * 60} for _ in range(4)]
    async with start_service(provider="openai", memory=MEMORY, http={"access_log": True}) as service:
        answer = await service.client.post(
            f"/sessions/{KEY}/messages", json={"messages": said}, headers={"X-Request-Id": "request-7"}
        )
        assert answer.status_code == 201
        await service.client.post(f"/sessions/{KEY}/messages", json={"messages": [{"role": SECRET}]})
        await until(partial(service.memory, KEY), lambda memory: memory["status"] in {"idle", "backing_off", "stalled"})

    steps = [line for line in lines if line["event"] in {"step", "step_failed"}]
    first = {name: steps[0][name] for name in ("session", "step", "request_id")}
    assert first == {"session": KEY, "step": "observe", "request_id": "request-7"}
    assert steps[0]["event"] == ("step" if fault is None else "step_failed")
    requests = [line for line in lines if line["event"] == "request"]
    assert "request-7" in {line["request_id"] for line in requests}
    assert all(line["request_id"] for line in requests)
    assert SECRET not in json.dumps(lines, default=str)


LIBRARIES = ("openai", "uvicorn.error", "asyncio")


@pytest.fixture
def loud(capfd: pytest.CaptureFixture[str]) -> Iterator[pytest.CaptureFixture[str]]:
    """What is written to stderr, at the lowest level there is, of libraries too."""
    handlers, level = logging.root.handlers[:], logging.root.level
    before = structlog.get_config()
    configure(json=True, level="debug")
    structlog.configure(cache_logger_on_first_use=False)  # a logger first used here would write to stderr for ever
    for name in LIBRARIES:
        logging.getLogger(name).setLevel(logging.DEBUG)
    yield capfd
    for name in LIBRARIES:
        logging.getLogger(name).setLevel(logging.NOTSET)
    structlog.configure(**before)
    logging.root.handlers[:], logging.root.level = handlers, level


class Caller:
    """Says a word of its own in each place there is for one."""

    def __init__(self, service: Service) -> None:
        self._client = service.client
        self._numbers = count(1)
        self.statuses: set[int] = set()

    def word(self) -> str:
        return f"{SECRET}-{next(self._numbers)}"

    async def ask(self, method: str, path: str, body: object = None, **options: Any) -> None:
        answer = await self._client.request(method, path, json=body, **options)
        self.statuses.add(answer.status_code)

    def turn(self) -> list[Json]:
        """A user's message over the threshold, a call and its result."""
        word = self.word
        call = {"type": "tool_call", "id": "c-1", "name": "search", "arguments": {"q": word()}}
        result = {"type": "tool_result", "tool_call_id": "c-1", "output": word(), "is_error": True}
        return [
            {"id": "m-1", "role": "user", "name": word(), "content": f"{word()} " * 200, "metadata": {"m": word()}},
            {"role": "assistant", "content": [{"type": "text", "text": word()}, call]},
            {"role": "tool", "content": [result]},
        ]

    async def converse(self, key: str) -> None:
        word, messages = self.word, f"/sessions/{key}/messages"
        await self.ask("PUT", f"/sessions/{key}", {"metadata": {"m": word()}, "config": {"instruction": word()}})
        await self.ask("POST", messages, {"messages": self.turn(), "resource_id": "ana"})
        for wrong in (
            {"id": "m-1", "role": "user", "content": word()},
            {"role": word(), "content": word()},
            {"role": "user", "content": f"codename {word()}"},
            {"role": "user", "content": f"\0 {word()}"},
        ):
            await self.ask("POST", messages, {"messages": [wrong]})
        await self.ask("POST", messages, content=f'{{"messages": "{word()}'.encode())

    async def use_it(self) -> None:
        word, session = self.word, f"/sessions/{KEY}"
        await self.ask("PATCH", f"{session}/state", {"page": word()})
        await self.ask("PUT", f"{session}/artifacts/plan", content=word().encode())
        await self.ask("POST", f"{session}/artifacts/plan/grep", {"pattern": f"({word()}"})
        await self.ask("POST", f"{session}/context", {"system": word(), "knowledge": [{"title": "k", "text": word()}]})
        await self.ask("POST", f"{session}/context", {"system": f"{{user:missing}} {word()}", "state": {"x": word()}})
        await self.ask("GET", f"{session}/context", params={"query": word()})
        await self.ask("GET", f"{session}/context", params={"format": word()})
        await self.ask("POST", f"{session}/recall", {"query": word()})
        await self.ask("POST", "/resources/ana/facts", {"text": word()})
        await self.ask("POST", f"{session}/memory/reflect", params={"wait_ms": WAIT_MS})
        notes = (await self._client.get(f"{session}/memory/observations")).json()["items"]
        live = [note["id"] for note in notes if note["status"] == "active"]
        await self.ask("PATCH", f"{session}/memory/observations/{live[-1] if live else 1}", {"text": f"* {word()}"})
        await self.ask("POST", f"{session}/compact", {"up_to_seq": 3, "summary": word()})
        await self.ask("POST", "/templates/lint", {"template": f"{{{word()} }}"})
        await self.ask("DELETE", f"{session}/messages/m-1")
        await self.ask("GET", f"{session}/messages/m-1")
        await self.ask("DELETE", session)


FAULTS = (Fault.EMPTY, Fault.REPETITIVE, Fault.CUT_OFF, Fault.REFUSAL, Fault.BAD_REQUEST, Fault.GARBAGE)


async def test_nothing_that_was_said_is_logged_at_any_level_whatever_fails(
    start_service: StartService, models: ModelServer, loud: pytest.CaptureFixture[str]
) -> None:
    redaction = {"tenants": "*", "hook": "tests.redaction.hooks:failing_later"}
    async with start_service(
        provider="openai", memory=MEMORY, http={"access_log": True}, redaction=redaction
    ) as service:
        caller = Caller(service)
        await caller.converse(KEY)
        await service.context(KEY, wait_ms=WAIT_MS)
        await caller.use_it()
        for fault in FAULTS:
            models.always = fault  # a number of them could go to the next try of the session before
            await caller.converse(fault)
            await until(partial(service.memory, fault), lambda memory: memory["attempts"] > 0)
        told = loud.readouterr().err

    lines = [json.loads(line) for line in told.splitlines()]
    assert {200, 201, 409, 410, 422, 503} <= caller.statuses
    assert {"request", "step", "step_failed"} <= {line["event"] for line in lines}
    assert len({line["kind"] for line in lines if line["event"] == "step_failed"}) >= 4
    assert [line for line in lines if SECRET in json.dumps(line)] == []
