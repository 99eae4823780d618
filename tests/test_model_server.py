"""The scripted provider itself: what other tests rely on beyond what the adapters' tests show."""

import asyncio
import gc
import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from app.memory.parsing import parse
from tests.model_replies import PromptKind
from tests.model_server import Fault, ModelServer

OBSERVE = "<messages>\nDate: Aug 1, 2026\n#1 user (10:00)\n| I like tea.\n</messages>"
NOTES = "<notes>\nDate: Aug 1, 2026\n* 🟡 User likes tea. #1\n</notes>"
REFLECT = "<log>\nDate: Aug 1, 2026\n* 🟡 User likes tea. #1\n</log>"


def body(prompt: str) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": prompt}]}


async def post(server: ModelServer, prompt: str) -> httpx.Response:
    async with httpx.AsyncClient(base_url=server.url) as client:
        return await client.post("/v1/chat/completions", json=body(prompt))


def said(response: httpx.Response) -> str:
    return str(response.json()["choices"][0]["message"]["content"])


async def test_a_fault_may_be_meant_for_one_kind_of_prompt() -> None:
    with ModelServer() as server:
        server.fail_next(Fault.SERVER_ERROR, kind=PromptKind.REFLECTOR)

        statuses = [(await post(server, prompt)).status_code for prompt in (OBSERVE, REFLECT, REFLECT)]

    assert statuses == [200, 500, 200]
    assert [one.fault for one in server.requests] == [None, Fault.SERVER_ERROR, None]


async def test_faults_come_in_the_order_they_were_planned() -> None:
    with ModelServer() as server:
        server.fail_next(Fault.OVERLOADED, times=2)
        server.fail_next(Fault.RATE_LIMITED, retry_after="9")

        responses = [await post(server, OBSERVE) for _ in range(4)]

    assert [one.status_code for one in responses] == [529, 529, 429, 200]
    assert responses[2].headers["retry-after"] == "9"


async def test_the_server_counts_how_many_requests_were_there_at_once() -> None:
    with ModelServer() as server:
        server.fail_next(Fault.HANG, times=3)
        calls = asyncio.gather(*(post(server, OBSERVE) for _ in range(3)))
        assert await asyncio.to_thread(server.wait_for_requests, 3)

        server.release()
        await calls
        await post(server, OBSERVE)

    assert (server.most_at_once, server.in_flight, len(server.requests)) == (3, 0, 4)


async def test_a_request_that_does_not_come_is_not_waited_for_for_ever() -> None:
    with ModelServer() as server:
        assert not server.wait_for_requests(1, seconds=0.01)


async def test_the_servers_repetitive_reply_is_one_that_the_parser_recognises() -> None:
    with ModelServer() as server:
        server.fail_next(Fault.REPETITIVE)

        reply = said(await post(server, OBSERVE))

    assert parse(reply).repetitive


async def test_a_test_may_compute_its_own_replies() -> None:
    with ModelServer(observer=lambda asked: f"{len(asked.prompt)}") as server:
        assert said(await post(server, OBSERVE)) == str(len(OBSERVE))


@pytest.mark.parametrize("path", ["/v1/models", "/v1/completions"])
async def test_any_other_path_is_not_found(path: str) -> None:
    with ModelServer() as server:
        async with httpx.AsyncClient(base_url=server.url) as client:
            response = await client.post(path, json=body(OBSERVE))

    assert response.status_code == 404


def test_the_server_runs_alone() -> None:
    command = [sys.executable, "-m", "tests.model_server"]
    root = Path(__file__).parents[1]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        lines = [server.stdout.readline().strip() for _ in range(4)]
        variables = dict(line.removeprefix("export ").split("=", 1) for line in lines)
        response = httpx.post(f"{variables['OPENAI_BASE_URL']}/chat/completions", content=json.dumps(body(OBSERVE)))
        server.terminate()

    assert "I like tea" in said(response)


async def test_facts_are_taken_of_notes_that_come_without_messages() -> None:
    with ModelServer() as server:
        answer = await post(server, NOTES)

    assert [item.text for item in parse(said(answer)).items] == ["User likes tea."]


async def test_a_connection_that_is_open_when_the_server_ends_is_ended_with_it() -> None:
    """Else whichever test collects it as garbage fails: one that was just accepted had no task yet to close it."""
    for accepted in range(100):
        with ModelServer() as server:
            address = ("127.0.0.1", int(server.url.rpartition(":")[2]))
            clients = [socket.create_connection(address) for _ in range(accepted % 5)]
        for client in clients:
            client.close()
        del server
        gc.collect()
