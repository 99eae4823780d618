"""The HTTP connection: uvicorn's protocol with limits on the size of a request's head and on slow clients.

Without them a client that sends a byte now and then holds a connection for ever (slowloris), headers grow without end,
because the parser buffers an incomplete one, and answers to a client that does not read stay in memory.
"""

import asyncio
import random
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any
from uuid import uuid4

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from app.kit.headers import secured
from app.kit.problems import problem_response

UPGRADE = b"upgrade"
UNREAD_BYTES = HIGH_WATER_LIMIT  # when so many are not read yet, writing pauses


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionConfig:
    """Limits of one connection, except for ``connections_max``, which limits those of the process.

    ``head_seconds`` are for the request line and the headers, ``body_seconds`` for the whole body,
    ``keep_alive_seconds`` between two requests, ``linger_seconds`` for a last request when the process shuts down.
    A connection is closed with the first answer after half to all of ``connection_seconds``.
    In ``unread_seconds`` a client has to read UNREAD_BYTES of its answer, or all that is left.
    """

    headers_max: int = 100
    head_bytes_max: int = 32 * 1024
    head_seconds: float = 10.0
    body_seconds: float = 60.0
    keep_alive_seconds: int = 75
    connection_seconds: float = 60.0
    linger_seconds: float = 0.25
    unread_seconds: float = 60.0
    connections_max: int = 2_000


class _TooMuchHead(Exception):
    pass


class BoundedProtocol(HttpToolsProtocol):
    """Refuses a request with too large a head (431) or that arrives too slowly (408), and closes its connection."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        limits: ConnectionConfig,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits = limits
        self._in_head = False
        self._head_bytes = 0
        self._has_too_much_head = False
        self._deadline: asyncio.TimerHandle | None = None
        self._awaited_seconds: float | None = None  # for what is not whole; a request in one piece needs no timer
        self._reading: asyncio.TimerHandle | None = None
        self._is_leaving = False
        self._is_wish = False  # the request that is parsed asks for another protocol
        age = limits.connection_seconds * random.uniform(0.5, 1)  # noqa: S311 - spreads connections that began at once
        self._last_from = self.loop.time() + age

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn does
        super().connection_made(transport)
        if len(self.connections) > self._limits.connections_max:
            transport.close()
        else:
            self._within(self._limits.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._in_time()
        self._is_read()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        began_in_head = self._in_head
        self._parse(data)
        if began_in_head and self._in_head:  # on_headers_complete measures a head that is whole
            self._head_bytes += len(data)
            if self._head_bytes > self._limits.head_bytes_max:
                self._refuse_head()
        if self._awaited_seconds is not None:
            self._within(self._awaited_seconds)

    def _parse(self, data: bytes) -> None:
        """As uvicorn does, except that a wish for another protocol is ignored (RFC 9110 section 7.8).

        The parser reads no body of such a request, and takes what follows for the other protocol: a POST that offers
        HTTP/2, as Java's client does by default, would arrive empty. So its head is parsed again without the wish.
        """
        self._unset_keepalive_if_required()
        try:
            while data:
                data = self._rest(data)
        except HttpParserError:
            self.send_400_response("Invalid HTTP request received.")

    def _rest(self, data: bytes) -> bytes:
        """Parse the data; answers what is to be parsed anew."""
        try:
            self.parser.feed_data(data)
        except HttpParserUpgrade as wished:
            if self._is_wish:
                head = self._head_without_wish()
                self.parser = HttpRequestParser(self)
                return head + data[wished.args[0] :]
        return b""

    def _head_without_wish(self) -> bytes:
        version = self.parser.get_http_version().encode()
        lines = [b"%s: %s\r\n" % header for header in self.headers if header[0] != UPGRADE]
        return b"".join([self.parser.get_method(), b" ", self.url, b" HTTP/", version, b"\r\n", *lines, b"\r\n"])

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._head_bytes = True, 0
        self._awaited_seconds = self._limits.head_seconds

    def on_headers_complete(self) -> None:
        self._in_head = False
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if len(self.headers) > self._limits.headers_max or size > self._limits.head_bytes_max:
            self._has_too_much_head = True
            raise _TooMuchHead
        self._is_wish = self.parser.should_upgrade() and UPGRADE in dict(self.headers)  # CONNECT is an upgrade too
        if self._is_wish:
            return
        self._awaited_seconds = self._limits.body_seconds
        super().on_headers_complete()
        if self._is_leaving or self.loop.time() >= self._last_from:
            self.cycle.keep_alive = False

    def on_message_complete(self) -> None:
        if self._is_wish:
            return
        self._in_time()
        super().on_message_complete()

    def pause_writing(self) -> None:
        """The client has too much unread: nothing more is sent until it reads."""
        super().pause_writing()
        self._expect_reading()

    def resume_writing(self) -> None:
        self._is_read()
        super().resume_writing()
        if self._is_idle():
            self._expect_reading()

    def on_response_complete(self) -> None:
        """The rest of the answer stays in memory until it is read, even if the connection is closing."""
        super().on_response_complete()
        self._expect_reading()

    def shutdown(self) -> None:
        """The process shuts down: the next answer is the connection's last, and says so.

        If an idle connection were closed at once, a client that is just sending would lose its request.
        """
        self._is_leaving = True
        if self._is_idle():
            self.loop.call_later(self._limits.linger_seconds, self._leave)
        else:
            super().shutdown()

    def _leave(self) -> None:
        if self._is_idle() and not self._in_head:
            self.transport.close()

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def send_400_response(self, msg: str) -> None:
        """The parser failed, or ``on_headers_complete`` ended it.

        If that came behind a request that is not answered yet, its answer is the connection's last: a client would take
        a refusal for it.
        """
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete and (cycle.response_started or not cycle.more_body):
            self._in_head = False
            self._in_time()
            cycle.keep_alive = False
        elif self.pipeline:  # it is in the body of one that waits for its turn
            self.transport.close()
        elif self._has_too_much_head:
            self._refuse_head()
        else:
            self._refuse(HTTPStatus.BAD_REQUEST, "invalid", "The request is not valid", msg)

    def _refuse_head(self) -> None:
        detail = (
            f"a request may have at most {self._limits.headers_max} headers and {self._limits.head_bytes_max} bytes"
            " before its body (DAYBOOK_HTTP__HEADERS_MAX, DAYBOOK_HTTP__HEAD_BYTES_MAX)"
        )
        status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        self._refuse(status, "too-many-headers", "The headers are too large", detail)

    def _within(self, seconds: float) -> None:
        self._in_time()
        self._deadline = self.loop.call_later(seconds, self._too_slow, seconds)

    def _in_time(self) -> None:
        self._awaited_seconds = None
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _expect_reading(self) -> None:
        self._is_read()
        if unread := self.transport.get_write_buffer_size():
            self._reading = self.loop.call_later(self._limits.unread_seconds, self._look_what_is_read, unread)

    def _is_read(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def _look_what_is_read(self, before: int) -> None:
        """Abort the connection if the client does not read: closing it would wait for the client for ever."""
        if self.transport.get_write_buffer_size() > max(0, before - UNREAD_BYTES):
            self._is_read()
            self.transport.abort()
        else:
            self._expect_reading()

    def _too_slow(self, seconds: float) -> None:
        if self.flow.read_paused:  # the service has stopped reading, not the client sending
            self._within(seconds)
            return
        if self._waits_for_an_answer():
            detail = f"the request was not complete after {seconds:g} s"
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, "too-slow", "The request took too long to arrive", detail)
        else:
            self.transport.close()

    def _waits_for_an_answer(self) -> bool:
        """Whether a refusal may be sent: the next that the client expects is the beginning of an answer."""
        if self._in_head:
            return self.cycle is None or self.cycle.response_complete
        return self.cycle is not None and not self.cycle.response_started

    def _refuse(self, status: HTTPStatus, slug: str, title: str, detail: str) -> None:
        self._in_time()
        if self.transport.is_closing():
            return
        answer = problem_response(slug=slug, title=title, status=status, detail=detail)
        own = [(b"x-request-id", uuid4().hex.encode()), (b"connection", b"close")]
        headers = [b"%s: %s\r\n" % pair for pair in secured([*answer.raw_headers, *own])]
        self.transport.write(b"".join([STATUS_LINE[status], *headers, b"\r\n", bytes(answer.body)]))
        self.transport.close()
        self._expect_reading()


def connection_options(limits: ConnectionConfig) -> dict[str, Any]:
    """Uvicorn's options for connections with these limits; they can be pickled for worker processes."""
    return {
        "http": partial(BoundedProtocol, limits=limits),
        "ws": "none",
        "timeout_keep_alive": limits.keep_alive_seconds,
    }
