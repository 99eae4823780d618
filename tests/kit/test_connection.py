"""What a client sends too much of, or too slowly, over a raw socket; each bound is met and passed by one."""

import asyncio
import json
import re
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import Any

import pytest

from tests.conftest import Service, StartService
from tests.journeys.looks import until

PATIENCE_SECONDS = 20.0  # of the tests, on a busy machine
POST = b"POST /sessions/s/messages HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


@asynccontextmanager
async def connected(service: Service) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(service.url.rpartition(":")[2]))
    try:
        yield reader, writer
    finally:
        writer.close()


async def said(service: Service, *pieces: bytes) -> bytes:
    """All that the service answers to these bytes until it closes the connection."""
    async with connected(service) as (reader, writer):
        for piece in pieces:
            writer.write(piece)
        return await asyncio.wait_for(reader.read(), PATIENCE_SECONDS)


def problem_of(answer: bytes) -> tuple[int, dict[str, Any]]:
    """The status of an answer, and its problem, which has the headers of every answer."""
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *headers = head.decode().lower().split("\r\n")
    assert {"content-type: application/problem+json", "connection: close", "x-content-type-options: nosniff"} <= {
        *headers
    }
    assert any(header.startswith("x-request-id: ") for header in headers)
    problem: dict[str, Any] = json.loads(body)
    return int(first.split()[1]), problem


async def test_headers_are_bounded_in_number_and_size(start_service: StartService) -> None:
    async with start_service(http={"headers_max": 10, "head_bytes_max": 1_024}) as service:
        for headers, status in (
            (b"a: b\r\n" * 9, b"200"),
            (b"a: b\r\n" * 10, b"431"),
            (b"a: " + b"b" * 900 + b"\r\n", b"200"),
            (b"a: " + b"b" * 1_024 + b"\r\n", b"431"),
        ):
            request = b"GET /healthz HTTP/1.1\r\nConnection: close\r\n" + headers + b"\r\n"
            answer = await said(service, request)
            assert answer.split()[1] == status, headers[:20]
            if status == b"431":
                assert problem_of(answer)[1]["type"] == "/problems/too-many-headers"


async def test_a_header_without_end_is_not_kept(start_service: StartService) -> None:
    async with start_service(http={"head_bytes_max": 4_096}) as service:
        answer, sent = await trickled(service, b"GET /healthz HTTP/1.1\r\na: b", b"b" * 512)
    assert problem_of(answer)[0] == 431
    assert sent > 4_096


async def trickled(service: Service, first: bytes, then: bytes) -> tuple[bytes, int]:
    """What it answers to a client that never ends, and how many bytes it had sent by then."""
    async with connected(service) as (reader, writer):
        writer.write(first)
        answering, began, sent = asyncio.create_task(answered(reader)), time.monotonic(), len(first)
        while not answering.done() and time.monotonic() - began < PATIENCE_SECONDS:
            await asyncio.wait({answering}, timeout=0.02)
            writer.write(then)
            sent += len(then)
        return answering.result(), sent


async def answered(reader: asyncio.StreamReader) -> bytes:
    """All that comes; who still sends to a connection that was closed is told so by a reset, behind the answer."""
    answer = b""
    with suppress(ConnectionResetError):
        while piece := await reader.read(65_536):
            answer += piece
    return answer


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(b"", None, id="nothing"),
        pytest.param(b"GET /heal", 408, id="half a line"),
        pytest.param(b"GET /healthz HTTP/1.1\r\na: b\r\n", 408, id="half a head"),
        pytest.param(POST + b"Content-Length: 100\r\n\r\n{", 408, id="half a body"),
        pytest.param(POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{", 408, id="half a chunk"),
    ],
)
async def test_a_request_that_does_not_arrive_is_not_waited_for(
    start_service: StartService, sent: bytes, status: int | None
) -> None:
    async with start_service(http={"head_seconds": 0.2, "body_seconds": 0.2}) as service:
        answer = await said(service, sent)
        if status is None:
            assert answer == b""
        else:
            assert problem_of(answer)[0] == status
            assert problem_of(answer)[1]["type"] == "/problems/too-slow"
        assert (await service.client.get("/healthz")).status_code == 200


async def test_a_body_that_trickles_does_not_move_its_deadline(start_service: StartService) -> None:
    async with start_service(http={"body_seconds": 0.3}) as service:
        answer, _ = await trickled(service, POST + b"Content-Length: 100000\r\n\r\n", b" ")
    assert problem_of(answer)[0] == 408


async def test_an_answer_is_given_before_the_body_is_there_and_is_the_only_one(start_service: StartService) -> None:
    async with start_service(bootstrap_key="a-key-of-sixteen-or-more", http={"body_seconds": 0.2}) as service:
        answer = await said(service, POST + b"Content-Length: 100\r\n\r\n{")
        assert answer.startswith(b"HTTP/1.1 401 ")
        assert answer.count(b"HTTP/1.1") == 1


async def test_an_idle_connection_is_closed_after_its_time(start_service: StartService) -> None:
    async with start_service(http={"keep_alive_seconds": 1, "head_seconds": 0.5}) as service:
        began = time.monotonic()
        answer = await said(service, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert answer.count(b"HTTP/1.1") == 1
        assert time.monotonic() - began >= 1  # and not after the time of a head, of which there is none


async def test_a_connection_that_never_rests_is_closed_with_an_answer(start_service: StartService) -> None:
    seconds = 0.4
    async with start_service(http={"connection_seconds": seconds}) as service, connected(service) as (reader, writer):
        began, closes = time.monotonic(), False
        while not closes and time.monotonic() - began < PATIENCE_SECONDS:
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE_SECONDS)
            assert head.startswith(b"HTTP/1.1 200 OK\r\n")
            closes = b"connection: close\r\n" in head
            if not closes:
                await asyncio.wait_for(reader.readuntil(b"}"), PATIENCE_SECONDS)
        rest = await asyncio.wait_for(reader.read(), PATIENCE_SECONDS)
        assert (closes, json.loads(rest)["status"]) == (True, "ok")
        assert time.monotonic() - began >= seconds / 2


async def test_what_is_no_http_is_told_as_a_problem(service: Service) -> None:
    status, problem = problem_of(await said(service, b"\x16\x03\x01 hello\r\n\r\n"))
    assert (status, problem["type"]) == (400, "/problems/invalid")


@pytest.mark.parametrize("coding", [b"gzip, chunked", b"gzip\r\nTransfer-Encoding: chunked"])
async def test_a_body_that_is_compressed_for_its_way_is_not_kept_so(service: Service, coding: bytes) -> None:
    await service.append("s", {"role": "user", "content": "Hello"})
    put = b"PUT /sessions/s/artifacts/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    answer = await said(service, put + b"Transfer-Encoding: " + coding + b"\r\n\r\n3\r\n\x1f\x8b\x08\r\n0\r\n\r\n")
    assert problem_of(answer)[1]["type"] == "/problems/unsupported-encoding"
    assert (await service.client.get("/sessions/s/artifacts/a")).status_code == 404


H2C = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"


@pytest.mark.parametrize(
    "rest",
    [
        pytest.param(b"Content-Length: 52\r\n\r\n%s", id="whole"),
        pytest.param(b"Transfer-Encoding: chunked\r\n\r\n34\r\n%s\r\n0\r\n\r\n", id="in chunks"),
    ],
)
async def test_a_request_that_offers_another_protocol_is_answered_in_this_one(service: Service, rest: bytes) -> None:
    """As Java's client sends the first request of a connection (java.net.http.HttpClient, by default)."""
    request = POST + H2C + rest % b'{"messages": [{"role": "user", "content": "Hello"}]}'
    for pieces in ((request * 2,), (request[:200], request[200:-20], request[-20:] + request)):
        async with connected(service) as (reader, writer):
            for piece in (*pieces, b"GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n"):
                writer.write(piece)
                await writer.drain()
            answers = await asyncio.wait_for(reader.read(), PATIENCE_SECONDS)
        assert re.findall(rb"HTTP/1.1 (\d+)", answers) == [b"201", b"201", b"200"]
    listed = await service.client.get("/sessions/s/messages")
    assert [item["seq"] for item in listed.json()["items"]] == [1, 2, 3, 4]


async def test_very_many_offers_of_another_protocol_at_once_are_answered(service: Service) -> None:
    asked = b"GET /healthz HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n" * 2_000
    answers = await said(service, asked + b"GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n")
    assert answers.count(b"HTTP/1.1 200 OK") == 2_001


@pytest.mark.parametrize(
    "behind",
    [
        pytest.param(b"no request at all\r\n\r\n", id="what is no http"),
        pytest.param(b"\x00\x01\r\n\r\n", id="what is no text"),
        pytest.param(b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n", id="too many headers"),
        pytest.param(b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", id="a wrong length"),
    ],
)
async def test_what_is_wrong_behind_a_request_is_not_taken_for_its_answer(service: Service, behind: bytes) -> None:
    body = b'{"messages": [{"role": "user", "content": "Hello"}]}'
    answers = await said(service, POST + b"Content-Length: 52\r\n\r\n" + body + behind)
    assert re.findall(rb"HTTP/1.1 (\d+)", answers) == [b"201"]


async def test_what_is_wrong_in_a_body_that_waits_for_its_turn_is_not_taken_for_an_answer(service: Service) -> None:
    first = POST + b'Content-Length: 52\r\n\r\n{"messages": [{"role": "user", "content": "Hello"}]}'
    assert b" 400 " not in await said(service, first + POST + b"Transfer-Encoding: chunked\r\n\r\nno length\r\n")


async def test_one_connection_too_many_is_closed(start_service: StartService) -> None:
    async with start_service(http={"connections_max": 1}) as service, connected(service) as (reader, writer):
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert await asyncio.wait_for(reader.readline(), PATIENCE_SECONDS) == b"HTTP/1.1 200 OK\r\n"
        assert await said(service) == b""


@pytest.mark.parametrize("asks", [True, False])
async def test_a_connection_has_one_more_request_when_the_service_is_told_to_end(
    start_service: StartService, *, asks: bool
) -> None:
    linger_seconds = PATIENCE_SECONDS if asks else 0.1
    async with AsyncExitStack() as stack:
        service = await stack.enter_async_context(start_service(http={"linger_seconds": linger_seconds}))
        async with connected(service) as (reader, writer):
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b"connection: close" not in await reader.readuntil(b"\r\n\r\n")
            ending = asyncio.create_task(stack.aclose())
            await until(partial(refused, service), bool)
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" if asks else b"")
            last = await asyncio.wait_for(reader.read(), linger_seconds / 2 if asks else PATIENCE_SECONDS)
            await ending
    assert (b"HTTP/1.1 200 OK\r\n" in last, b"connection: close" in last) == (asks, asks)


async def refused(service: Service) -> bool:
    """Whether it takes no new connection any more."""
    try:
        async with connected(service):
            return False
    except ConnectionError:
        return True


async def test_a_length_of_many_noughts_is_a_length(service: Service) -> None:
    body = b'{"messages": [{"role": "user", "content": "Hello"}]}'
    length = f"Content-Length: {len(body):05000}\r\nConnection: close\r\n\r\n".encode()
    assert (await said(service, POST + length + body)).split()[1] == b"201"


@pytest.mark.parametrize("connection", [b"keep-alive", b"close"])
async def test_an_answer_that_is_not_read_holds_no_connection(start_service: StartService, connection: bytes) -> None:
    limits = {"unread_seconds": 0.2, "connections_max": 2}  # the other one is that of the service's own client
    async with start_service(http=limits) as service:
        request = await large(service, connection)
        with unread(service, request) as deaf:
            await until(partial(answers, service), bool)
            assert len(await rest(deaf)) < LARGE


async def test_an_answer_that_is_read_late_is_whole(start_service: StartService) -> None:
    async with start_service(http={"unread_seconds": PATIENCE_SECONDS, "connections_max": 2}) as service:
        request = await large(service, b"close")
        with unread(service, request) as slow:
            assert not await answers(service)
            assert len(await rest(slow)) > LARGE


LARGE = 7 * 1024 * 1024  # bytes, more than the kernel keeps for a client that reads nothing


async def large(service: Service, connection: bytes) -> bytes:
    """A request that is answered with so many bytes."""
    await service.append("s", {"role": "user", "content": "Hello"})
    await service.client.put("/sessions/s/artifacts/a", content=b"a" * LARGE)
    return b"GET /sessions/s/artifacts/a HTTP/1.1\r\nHost: x\r\nConnection: " + connection + b"\r\n\r\n"


@contextmanager
def unread(service: Service, request: bytes) -> Iterator[socket.socket]:
    """A client that asks, and does not read yet."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client.connect(("127.0.0.1", int(service.url.rpartition(":")[2])))
        client.sendall(request)
        yield client


async def rest(client: socket.socket) -> bytes:
    """All that it is sent until the connection ends."""
    client.setblocking(False)
    reader, writer = await asyncio.open_connection(sock=client)
    try:
        return await asyncio.wait_for(answered(reader), PATIENCE_SECONDS)
    finally:
        writer.close()


async def answers(service: Service) -> bool:
    """Whether there is a place for one more connection."""
    try:
        return (await said(service, b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")) != b""
    except ConnectionError:
        return False
