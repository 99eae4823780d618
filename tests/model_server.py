"""A scripted model provider over real HTTP on loopback: /v1/messages, /v1/chat/completions, /v1/embeddings.

    with ModelServer() as server:
        server.fail_next(Fault.RATE_LIMITED, times=2, retry_after="1")
        ...  # ANTHROPIC_BASE_URL=server.url, OPENAI_BASE_URL=f"{server.url}/v1"
        assert len(server.requests) == 3

The reply is computed from the request by one callable per kind of prompt (tests/model_replies.py has the defaults).
It runs in a thread of its own, so a test may block; ``python -m tests.model_server --port 9000`` runs it alone.
"""

import argparse
import asyncio
import gzip
import json
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import Any, Self

from tests import model_http as http
from tests import model_wire as wire
from tests.connections import listening
from tests.model_replies import Answer, Asked, PromptKind, ToolCall, embed, extract, observe, reflect
from tests.model_wire import Ending


class Fault(StrEnum):
    RATE_LIMITED = "rate_limited"  # 429 with Retry-After
    SERVER_ERROR = "server_error"  # 500
    OVERLOADED = "overloaded"  # 529
    BAD_REQUEST = "bad_request"  # 400
    UNAUTHORIZED = "unauthorized"  # 401
    FORBIDDEN = "forbidden"  # 403
    NOT_FOUND = "not_found"  # 404
    REQUEST_TIMEOUT = "request_timeout"  # 408
    CONFLICT = "conflict"  # 409
    CUT_OFF = "cut_off"  # half the reply, stopped by the token limit
    EMPTY = "empty"  # no text at all
    REPETITIVE = "repetitive"  # one line over and over
    REFUSAL = "refusal"
    GARBAGE = "garbage"  # 200 and a body that is no JSON
    HTML = "html"  # 200 and a proxy's page
    WRONG_SHAPE = "wrong_shape"  # 200 and JSON of another kind
    DEEP = "deep"  # 200 and JSON nested deeper than can be read
    NO_ANSWER = "no_answer"  # 200 and usage, but null instead of an answer
    NO_CHARSET = "no_charset"  # 200 and a charset that decodes to no text
    LARGE_ERROR = "large_error"  # 400 and five million letters of why
    ENDLESS = "endless"  # 200 and a body that never ends
    PACKED = "packed"  # 200 and eight million blanks, packed into few bytes
    REDIRECT = "redirect"  # 307 to itself
    ENDLESS_REDIRECT = "endless_redirect"  # 307 to itself and a body that never ends
    FAR_REDIRECT = "far_redirect"  # 307 to an impossible port
    NO_REDIRECT = "no_redirect"  # 307 to an invalid address
    HANG = "hang"  # no byte, until release() or the client gives up
    DRIP = "drip"  # headers, then a blank now and then, for ever
    RESET = "reset"  # the connection is torn down
    BROKEN_OFF = "broken_off"  # the connection ends in the middle of the answer
    BROKEN_PACKING = "broken_packing"  # 200 and bytes that cannot be decompressed


STATUSES = {
    Fault.RATE_LIMITED: 429,
    Fault.SERVER_ERROR: 500,
    Fault.OVERLOADED: 529,
    Fault.BAD_REQUEST: 400,
    Fault.UNAUTHORIZED: 401,
    Fault.FORBIDDEN: 403,
    Fault.NOT_FOUND: 404,
    Fault.REQUEST_TIMEOUT: 408,
    Fault.CONFLICT: 409,
}
JSON, HTML = "application/json", "text/html"
BODIES: dict[Fault, tuple[int, str, bytes, dict[str, str]]] = {
    Fault.GARBAGE: (200, JSON, b'{"content": [{"ty', {}),
    Fault.HTML: (200, HTML, b"<html>Bad gateway</html>", {}),
    Fault.WRONG_SHAPE: (200, JSON, b'{"answer": 42}', {}),
    Fault.DEEP: (200, JSON, b"[" * 100_000 + b"]" * 100_000, {}),
    Fault.NO_CHARSET: (200, f"{HTML}; charset=rot13", b"<html>", {}),
    Fault.LARGE_ERROR: (400, JSON, json.dumps({"error": {"message": "no " * 1_700_000}}).encode(), {}),
    Fault.PACKED: (200, JSON, gzip.compress(b" " * 2**23), {"content-encoding": "gzip"}),
    Fault.BROKEN_PACKING: (200, JSON, b"{}", {"content-encoding": "gzip"}),
    Fault.REDIRECT: (307, HTML, b"", {"location": "?again"}),
    Fault.FAR_REDIRECT: (307, HTML, b"", {"location": "http://127.0.0.1:99999/v1"}),
    Fault.NO_REDIRECT: (307, HTML, b"", {"location": "http://[/v1"}),
}
# Three lines in turn: a run of one and the same line would count once (memory-rules.md section 4).
REPETITIVE = "".join(f"* 🟡 User said the same thing again, in the words of {who}.\n" for who in ("A", "B", "C")) * 40
WAITS = frozenset({Fault.HANG, Fault.DRIP, Fault.ENDLESS, Fault.ENDLESS_REDIRECT, Fault.RESET, Fault.BROKEN_OFF})


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A literal answer, as some provider or gateway gives it; ``held``: sent only after release()."""

    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    held: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    fault: Fault | Said
    kind: PromptKind | None  # None: any
    retry_after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One request as it came. ``headers`` have lower-case names."""

    api: str
    asked: Asked
    body: dict[str, Any]
    headers: dict[str, str]
    fault: Fault | None


class ModelServer:
    """``observer`` and ``reflector`` compute the replies to their prompts, ``other`` to unknown prompts.

    ``embedder`` makes the vector of a text.
    """

    def __init__(
        self,
        *,
        observer: Answer = observe,
        reflector: Answer = reflect,
        other: Answer = lambda _asked: "ok",
        embedder: Callable[[str], list[float]] = embed,
        port: int = 0,
    ) -> None:
        self.answers = {
            PromptKind.OBSERVER: observer,
            PromptKind.REFLECTOR: reflector,
            PromptKind.EXTRACTOR: extract,
            PromptKind.OTHER: other,
        }
        self.embedder = embedder
        self.refused = ""  # requests for embeddings with this in a text are refused
        self.said_to: Callable[[Asked], Said | Fault | None] = lambda _asked: None  # wins over planned faults
        self.always: Fault | Said | None = None  # the answer or fault of requests for which nothing is planned
        self.requests: list[Recorded] = []
        self.in_flight = 0
        self.most_at_once = 0
        self._planned: deque[Planned] = deque()
        self._changed = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._released = asyncio.Event()
        self._stopping = asyncio.Event()
        self._listener = socket.create_server(("127.0.0.1", port))
        self._thread = threading.Thread(target=self._run, name="model-server")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def environment(self) -> dict[str, str]:
        """The variables that point both SDKs to this server."""
        return {
            "ANTHROPIC_API_KEY": "test-key",
            "ANTHROPIC_BASE_URL": self.url,
            "OPENAI_API_KEY": "test-key",
            "OPENAI_BASE_URL": f"{self.url}/v1",
        }

    def fail_next(
        self, fault: Fault | Said, *, times: int = 1, kind: PromptKind | None = None, retry_after: str | None = "1"
    ) -> None:
        """The next ``times`` requests (of ``kind``) get the fault; faults come in the order in which they were planned.

        A ``Said`` has headers of its own, so ``retry_after`` does not apply to it.
        """
        with self._changed:
            self._planned.extend([Planned(fault=fault, kind=kind, retry_after=retry_after)] * times)

    def release(self) -> None:
        """Answer all hanging requests, with the replies they would have had; later ones hang again."""
        self._loop.call_soon_threadsafe(self._let_go)

    def wait_for_requests(self, count: int, *, seconds: float = 60.0) -> bool:
        """Block the calling thread until ``count`` requests have come in total; False if they do not come."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self.requests) >= count, timeout=seconds)

    def asked(self, kind: PromptKind) -> list[Asked]:
        return [one.asked for one in self.requests if one.asked.kind is kind]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    def _let_go(self) -> None:
        self._released.set()
        self._released = asyncio.Event()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        async with listening(self._connection, self._listener, limit=2**24):
            await self._stopping.wait()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Requests of one connection, one after another, until the client closes it."""
        while (request := await http.read(reader)) is not None:
            await self._counted(*request, reader, writer)

    async def _counted(
        self, head: http.Head, body: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.in_flight += 1
        self.most_at_once = max(self.most_at_once, self.in_flight)
        try:
            await self._answer(head, body, reader, writer)
        finally:
            self.in_flight -= 1

    async def _answer(
        self, head: http.Head, body: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        api = wire.PATHS.get(head.path)
        if head.method != "POST" or api is None:
            return await http.send_json(writer, 404, wire.error("openai", 404))
        asked = wire.asked(api, json.loads(body))
        plan = self._next_plan(asked.kind)
        if self.refused and any(self.refused in text for text in asked.texts):
            plan = Planned(fault=Fault.BAD_REQUEST, kind=None, retry_after=None)
        planned = plan.fault if plan else None
        said = self.said_to(asked) or planned
        fault = None if isinstance(said, Said) else said
        self._record(Recorded(api=api, asked=asked, body=json.loads(body), headers=head.headers, fault=fault))
        if plan is not None and fault in STATUSES:
            wish = {"retry-after": plan.retry_after} if plan.retry_after else {}
            said = Said(status=STATUSES[fault], body=wire.error(api, STATUSES[fault]), headers=wish)
        if isinstance(said, Said):
            if said.held:
                await self._wait(Fault.HANG, reader, writer)
            return await http.send_json(writer, said.status, said.body, said.headers)
        if await self._misbehaved(fault, reader, writer):
            return None
        if asked.texts:
            made = [] if fault is Fault.EMPTY else [self.embedder(text) for text in asked.texts]
            return await http.send_json(writer, 200, wire.vectors(asked, made))
        return await http.send_json(writer, 200, _told(api, asked, self.answers[asked.kind](asked), fault))

    def _record(self, request: Recorded) -> None:
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()

    def _next_plan(self, kind: PromptKind) -> Planned | None:
        with self._changed:
            plan = next((one for one in self._planned if one.kind in {None, kind}), None)
            if plan is not None:
                self._planned.remove(plan)
                return plan
            return None if self.always is None else Planned(fault=self.always, kind=None, retry_after=None)

    async def _misbehaved(
        self, fault: Fault | None, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Whether the fault was the whole answer. Returns from a wait only if it was released."""
        if fault in BODIES:
            await http.send(writer, *BODIES[fault])
            return True
        if fault in WAITS:
            await self._wait(fault, reader, writer)
        return False

    async def _wait(self, fault: Fault, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Returns only from a hang that was released; otherwise the connection ends here."""
        if fault is Fault.BROKEN_OFF:
            await http.begin(writer)
            raise ConnectionResetError
        if fault is Fault.RESET:
            http.reset(writer)
            raise ConnectionResetError
        if fault is Fault.DRIP:
            await http.drip(writer)
        if fault is Fault.ENDLESS:
            await http.flood(writer)
        if fault is Fault.ENDLESS_REDIRECT:
            await http.flood(writer, "307 Elsewhere", "location: ?again\r\n")
        await http.first_of(self._released.wait(), http.client_gone(reader))


def _told(api: str, asked: Asked, answer: str | ToolCall, fault: Fault | None) -> dict[str, Any]:
    if isinstance(answer, ToolCall):
        return wire.call(api, asked, answer)
    text, ending = _reply_text(answer, fault)
    told = wire.reply(api, asked, text, ending)
    if fault is Fault.NO_ANSWER:
        told["content" if api == "anthropic" else "choices"] = None
    return told


def _reply_text(text: str, fault: Fault | None) -> tuple[str, Ending]:
    match fault:
        case Fault.CUT_OFF:
            return text[: len(text) // 2], Ending.LENGTH
        case Fault.EMPTY:
            return "", Ending.END
        case Fault.REPETITIVE:
            return REPETITIVE, Ending.END
        case Fault.REFUSAL:
            return "I cannot help with that.", Ending.REFUSAL
        case _:
            return text, Ending.END


def main() -> None:
    parser = argparse.ArgumentParser(description="A scripted model provider on loopback.")
    parser.add_argument("--port", type=int, default=0)
    with ModelServer(port=parser.parse_args().port) as server, suppress(KeyboardInterrupt):
        sys.stdout.write("\n".join(f"export {name}={value}" for name, value in server.environment().items()) + "\n")
        sys.stdout.flush()
        threading.Event().wait()


if __name__ == "__main__":
    main()
