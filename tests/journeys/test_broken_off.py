"""Clients that break off in the midst of something: that is no error of the service's, and leaves nothing open."""

import asyncio
import logging
import re
import socket
import struct
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import httpx2 as httpx
import pytest

from tests.conftest import Service, StartService
from tests.journeys.looks import until

LONG = [{"role": "user", "content": "x" * 20_000}] * 50
SENT_BYTES, DECLARED_BYTES = 1_000_000, 5_000_000
UPLOAD = f"PUT /sessions/s/artifacts/a.bin HTTP/1.1\r\nhost: x\r\ncontent-length: {DECLARED_BYTES}\r\n\r\n"
EXPORT = "GET /resources/r/export HTTP/1.1\r\nhost: x\r\n\r\n"
EXPORTING = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '/* export_%'"
THERE = "SELECT count(*) FROM pg_stat_activity WHERE pid = $1"
EVENTS = "GET /sessions/s/memory/events HTTP/1.1\r\nhost: x\r\n\r\n"
MCP = "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"
APPEND = 'POST /sessions/s/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n{"messages": [{"role": "us'


async def broken_off(service: Service, asked: bytes, *, answered: bool, reset: bool) -> None:
    """A connection that ends where this was sent, or the answer has begun."""
    host, port = service.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(asked)
    await writer.drain()
    if answered:
        assert b" 200 " in await reader.readline()
    if reset:
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()
    else:
        writer.close()
        await writer.wait_closed()


async def told(service: Service, route: str) -> list[str]:
    """The statuses by which requests to this route are counted."""
    text = (await service.client.get("/metrics")).text
    counted = re.findall(r"^daybook_http_requests_total\{(.+)\} ", text, re.MULTILINE)
    return [
        found[1] for labels in counted if f'"{route}"' in labels and (found := re.search(r'status="(\d+)"', labels))
    ]


async def in_use(service: Service) -> int:
    """Connections to the database that somebody holds."""
    held: int = service.app.state.database.pool_state()["in_use"]
    return held


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
@pytest.mark.parametrize(
    ("asked", "route", "status"),
    [
        pytest.param(UPLOAD.encode() + b"x" * SENT_BYTES, "/sessions/{key}/artifacts/{name}", "499", id="upload"),
        pytest.param(EXPORT.encode(), "/resources/{resource_id}/export", "200", id="export"),
        pytest.param(MCP.encode(), "/mcp", "499", id="mcp"),
        pytest.param(EVENTS.encode(), "/sessions/{key}/memory/events", "200", id="events"),
    ],
)
async def test_who_breaks_off_leaves_nothing_open_and_no_error_in_the_log(
    start_service: StartService, caplog: pytest.LogCaptureFixture, asked: bytes, route: str, status: str, *, reset: bool
) -> None:
    caplog.set_level(logging.WARNING)
    async with start_service(provider="extractive", memory={"enabled": False}) as service:
        await service.client.put("/sessions/s", json={"resource_id": "r"})
        for _ in range(4):
            await service.append("s", *LONG)
        await broken_off(service, asked, answered=status == "200", reset=reset)
        assert status in await until(partial(told, service, route), bool)
        await until(partial(in_use, service), (0).__eq__)
        assert (await service.client.get("/sessions/s/artifacts/a.bin")).status_code == 404
    assert [(record.name, record.getMessage()) for record in caplog.records] == []


async def test_half_a_message_is_none(start_service: StartService, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    async with start_service(provider="extractive") as service:
        await service.append("s", *LONG[:1])
        before = await told(service, "/sessions/{key}/messages")
        await broken_off(service, APPEND.encode(), answered=False, reset=True)
        await until(partial(told, service, "/sessions/{key}/messages"), lambda now: now != before)
        assert len((await service.get("/sessions/s/messages"))["items"]) == 1
    assert [(record.name, record.getMessage()) for record in caplog.records] == []


async def test_an_export_that_nobody_reads_ends_without_its_end_and_with_a_line_in_the_log(
    start_service: StartService,
    database_url: str,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.WARNING)
    watching = await asyncpg.connect(database_url)
    settings: dict[str, Any] = {"memory": {"enabled": False}, "export": {"stall_seconds": 3}}
    async with start_service(provider="extractive", **settings) as service:
        await service.client.put("/sessions/s", json={"resource_id": "r"})
        for _ in range(12):  # more than all buffers between hold
            await service.append("s", *LONG)
        host, port = service.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(EXPORT.encode())
        assert b" 200 " in await reader.readline()
        exporting = await until(lambda: watching.fetchval(EXPORTING), bool)
        await until(lambda: watching.fetchval(THERE, exporting), (0).__eq__)
        read = await reader.read()
        writer.close()
        await until(partial(in_use, service), (0).__eq__)
        assert (await service.client.get("/healthz")).status_code == 200
    await watching.close()
    assert not read.endswith(b"0\r\n\r\n"), "it is told from a whole one"
    assert not [record.getMessage() for record in caplog.records if record.exc_info]
    assert "its reader took nothing for 3 s (DAYBOOK_EXPORT__STALL_SECONDS)" in capsys.readouterr().out


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_an_export_whose_caller_has_gone_reads_no_further(
    start_service: StartService, tmp_path: Path, capsys: pytest.CaptureFixture[str], method: str
) -> None:
    """Of a large resource it held a connection and a place to its end: five HEADs in a row were answered 503."""
    store = tmp_path / "objects"
    settings: dict[str, Any] = {"memory": {"enabled": False}, "artifacts": {"url": f"file://{store}"}}
    async with start_service(provider="extractive", **settings) as service:
        await service.client.put("/sessions/s", json={"resource_id": "r"})
        for _ in range(12):  # more than all buffers between hold
            await service.append("s", *LONG)
        await service.client.put("/sessions/s/artifacts/a.bin", content=b"abc")
        store.rename(tmp_path / "away")  # who reads up to the artifact tells that it is not there
        await broken_off(service, EXPORT.replace("GET", method).encode(), answered=True, reset=False)
        await until(partial(told, service, "/resources/{resource_id}/export"), bool)
        await until(partial(in_use, service), (0).__eq__)
    assert "export_broken" not in capsys.readouterr().out


async def test_an_export_that_is_read_slowly_comes_to_its_end(start_service: StartService) -> None:
    settings: dict[str, Any] = {"memory": {"enabled": False}, "export": {"stall_seconds": 5}}
    async with start_service(provider="extractive", **settings) as service:
        await service.client.put("/sessions/s", json={"resource_id": "r"})
        for name in ("a.bin", "b.bin"):  # each a line that is read for longer than one waits for who does not read
            await service.client.put(f"/sessions/s/artifacts/{name}", content=bytes(6_000_000))
        host, port = service.url.removeprefix("http://").split(":")
        narrow = socket.socket()
        narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
        narrow.setblocking(False)
        await asyncio.get_running_loop().sock_connect(narrow, (host, int(port)))
        reader, writer = await asyncio.open_connection(sock=narrow, limit=64 * 1024)
        writer.write(EXPORT.encode())
        read, last = 0, b""
        while not last.endswith(b"\r\n0\r\n\r\n") and (piece := await reader.read(64 * 1024)):
            read, last = read + len(piece), (last + piece)[-1_000:]
            await asyncio.sleep(len(piece) / 1_300_000)
        writer.close()
    assert read > 16_000_000
    assert b'"type":"end"' in last


async def test_an_export_whose_object_store_goes_away_ends_without_its_end_and_with_a_line_in_the_log(
    start_service: StartService, tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.WARNING)
    store = tmp_path / "objects"
    async with start_service(provider="extractive", artifacts={"url": f"file://{store}"}) as service:
        await service.client.put("/sessions/s", json={"resource_id": "r"})
        await service.client.put("/sessions/s/artifacts/a.bin", content=b"abc")
        store.rename(tmp_path / "away")
        with pytest.raises(httpx.RemoteProtocolError):
            await service.client.get("/resources/r/export")
        await until(partial(in_use, service), (0).__eq__)
    assert not [record.getMessage() for record in caplog.records if record.exc_info]
    assert "version 1 of the artifact 'a.bin' of session 's': " in capsys.readouterr().out
