"""What the service logs: one line per request and per step, whose they are, and nothing of what was said."""

import json
from functools import partial

import pytest
import structlog

from tests.conftest import StartService
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
        await service.context(KEY, wait_ms=WAIT_MS)
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
