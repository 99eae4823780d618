"""A provider on loopback that captures the SDKs' requests and gives minimal answers."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from tests.context.rendering import streams

STREAMS: dict[str, list[dict[str, Any]]] = {
    "messages": streams.MESSAGES,
    "completions": streams.CHUNKS,
    "responses": streams.EVENTS,
    "models": streams.CONTENTS,
}
ANSWERS: dict[str, dict[str, Any]] = {
    "messages": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
    "completions": {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": []},
    "responses": {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "output": []},
    "models": {"candidates": []},
}


class Capture:
    """``with Capture() as provider``: ``provider.url``, and in ``provider.bodies`` the JSON of every request."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        bodies = self.bodies

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                bodies.append(body)
                name = next(name for name in ANSWERS if name in self.path.split("/"))
                streamed = body.get("stream") or "streamGenerateContent" in self.path
                answer = _events(STREAMS[name]) if streamed else json.dumps(ANSWERS[name]).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream" if streamed else "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the base class's name)
                """Say nothing."""

        return Handler


def _events(events: list[dict[str, Any]]) -> bytes:
    """Server-sent events, named by their type if they have one."""
    named = (f"event: {event['type']}\n" if "type" in event else "" for event in events)
    return "".join(f"{name}data: {json.dumps(event)}\n\n" for name, event in zip(named, events, strict=True)).encode()
