"""The HTTP/1.1 that the scripted server needs, and ways in which a connection can fail."""

import asyncio
import json
import socket
import struct
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, NoReturn

DRIP_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    method: str
    path: str
    headers: dict[str, str]


async def read(reader: asyncio.StreamReader) -> tuple[Head, bytes] | None:
    """One HTTP/1.1 request with a Content-Length, or None at the end of the connection."""
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *rest = raw.decode("latin-1").strip().split("\r\n")
    method, path, _version = first.split(" ")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Head(method=method, path=path.partition("?")[0], headers=headers), body


async def send_json(
    writer: asyncio.StreamWriter, status: int, body: Any, headers: dict[str, str] | None = None
) -> None:
    await send(writer, status, "application/json", json.dumps(body).encode(), headers or {})


async def send(
    writer: asyncio.StreamWriter, status: int, media_type: str, body: bytes, headers: dict[str, str] | None = None
) -> None:
    fields = {"content-type": media_type, "content-length": str(len(body))} | (headers or {})
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    writer.write(f"HTTP/1.1 {status} Scripted\r\n{head}\r\n".encode() + body)
    await writer.drain()


async def begin(writer: asyncio.StreamWriter) -> None:
    """The head of an answer and the first byte of its body."""
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n{")
    await writer.drain()


async def drip(writer: asyncio.StreamWriter) -> NoReturn:
    """Send a byte now and then, so that each read of the client is short, and the whole call endless."""
    await begin(writer)
    while True:
        await asyncio.sleep(DRIP_SECONDS)
        writer.write(b" ")
        await writer.drain()


async def flood(writer: asyncio.StreamWriter, status: str = "200 OK", fields: str = "") -> NoReturn:
    """Send an endless body as fast as the client reads. ``fields``: additional header lines."""
    head = f"HTTP/1.1 {status}\r\n{fields}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    writer.write(head.encode())
    while True:
        writer.write(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
        await writer.drain()


def reset(writer: asyncio.StreamWriter) -> None:
    """RST instead of FIN: the socket is closed with a linger of zero."""
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def client_gone(reader: asyncio.StreamReader) -> None:
    if await reader.read(1) == b"":
        raise ConnectionResetError


async def first_of(*waits: Coroutine[Any, Any, Any]) -> None:
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)  # or a cancelled read would still hold the reader
