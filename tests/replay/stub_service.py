"""A real HTTP server with the few routes that a replay uses (api.md); it records its requests."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Thread
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


@dataclass(slots=True)
class StubService:
    """``refusals``: answers, by message id, instead of storing it; ``busy``: answers to the next appends."""

    url: str = ""
    asked: list[str] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)
    stored: dict[str, dict[str, Any]] = field(default_factory=dict)
    refusals: dict[str, Response] = field(default_factory=dict)
    gaps: list[dict[str, int]] = field(default_factory=list)
    busy: list[Response] = field(default_factory=list)

    async def configure(self, request: Request) -> Response:
        self._note(request)
        self.config = (await request.json())["config"]
        return JSONResponse({"session": request.path_params["key"]}, status_code=201)

    async def append(self, request: Request) -> Response:
        self._note(request)
        if self.busy:
            return self.busy.pop(0)
        [message] = (await request.json())["messages"]
        if refusal := self.refusals.get(message["id"]):
            return refusal
        replayed = int(message["id"] in self.stored)
        self.stored.setdefault(message["id"], message)
        seq = 1 + list(self.stored).index(message["id"])
        stored = {"id": message["id"], "seq": seq, "kind": "user_message", "tokens": 9}
        return JSONResponse({"messages": [stored], "replayed": replayed})

    async def context(self, request: Request) -> Response:
        self._note(request)
        return JSONResponse({"tokens": {"total": 10 * len(self.stored)}, "payload": {"text": "the context"}})

    async def memory(self, request: Request) -> Response:
        self._note(request)
        return JSONResponse(
            {
                "session": request.path_params["key"],
                "log": {"tokens": 120, "observations": 3, "reflections": 1},
                "compression": {"source_tokens": 1_320, "log_tokens": 120, "ratio": 11.0},
                "coverage": {"gaps": self.gaps},
            }
        )

    async def ready(self, request: Request) -> Response:
        self._note(request)
        return JSONResponse({"status": "ready"})

    def _note(self, request: Request) -> None:
        query = f"?{request.url.query}" if request.url.query else ""
        self.asked.append(f"{request.method} {request.url.path}{query}")
        self.keys.append(request.headers.get("authorization"))


@contextmanager
def running_stub() -> Iterator[StubService]:
    stub = StubService()
    routes = [
        Route("/readyz", stub.ready),
        Route("/sessions/{key}", stub.configure, methods=["PUT"]),
        Route("/sessions/{key}/messages", stub.append, methods=["POST"]),
        Route("/sessions/{key}/context", stub.context),
        Route("/sessions/{key}/memory", stub.memory),
    ]
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_config=None, lifespan="off"))
    # Listening before the thread starts, so that a first request waits for the server instead of failing.
    with socket.create_server(("127.0.0.1", 0)) as listener:
        stub.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield stub
        finally:
            server.should_exit = True
            thread.join()
