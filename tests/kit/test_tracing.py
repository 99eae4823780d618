"""Traces, as they come to a collector over OTLP/HTTP; nothing of them where no variable asks for any."""

import socket
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from app.kit.errors import StartError
from app.kit.tracing import CLOSE_SECONDS, UNTRACED, add_trace, build_tracing, traced
from tests.conftest import StartService
from tests.journeys.looks import WAIT_MS, until
from tests.model_server import Fault, ModelServer

SECRET = "xyzzy-plugh"
CALLER = "4bf92f3577b34da6a3ce929d0e0e4736"
MEMORY = {"message_tokens": 400, "buffer_every": None, "keep_last": 0}


class Collector:
    """What an OpenTelemetry collector would get, on loopback."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        bodies = self.bodies

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None: ...

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    def spans(self) -> list[Span]:
        read = [ExportTraceServiceRequest.FromString(body) for body in self.bodies]
        return [
            span
            for request in read
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    found = Collector()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", found.url)
    yield found
    found.close()


def attributes(span: Span) -> dict[str, object]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value") or "") for one in span.attributes}


def only(spans: list[Span], name: str) -> Span:
    (found,) = [span for span in spans if span.name == name]
    return found


def children(spans: list[Span], of: Span) -> list[str]:
    return sorted(span.name for span in spans if span.parent_span_id == of.span_id)


@pytest.mark.usefixtures("models")
async def test_a_trace_tells_a_request_and_another_the_work_it_woke(
    start_service: StartService, collector: Collector
) -> None:
    said = [{"role": "user", "content": f"The word is {SECRET}. " * 100}]
    async with start_service(provider="openai", memory=MEMORY) as service:
        await service.client.post(
            "/sessions/s/messages",
            json={"messages": said},
            headers={"traceparent": f"00-{CALLER}-00f067aa0ba902b7-01"},
        )
        await service.context("s", wait_ms=WAIT_MS, query=SECRET)
    spans = collector.spans()

    request, work = only(spans, "POST /sessions/{key}/messages"), only(spans, "memory")
    assert request.trace_id.hex() == CALLER
    assert request.kind == Span.SPAN_KIND_SERVER
    assert attributes(request) == {
        "http.request.method": "POST",
        "http.route": "/sessions/{key}/messages",
        "http.response.status_code": 201,
    }
    assert children(spans, request) == ["append"]
    assert attributes(only(spans, "append")) == {"daybook.session": "s", "daybook.messages": 1}
    assert children(spans, only(spans, "GET /sessions/{key}/context")) == ["context"]
    assert (work.trace_id != request.trace_id, not work.parent_span_id) == (True, True)
    assert [link.span_id for link in work.links] == [request.span_id]
    assert set(children(spans, work)) == {"claim", "look", "step observe"}
    step, think = only(spans, "step observe"), only(spans, "think")
    assert (attributes(step)["daybook.session"], attributes(step)["daybook.outcome"]) == ("s", "recorded")
    assert children(spans, step) == ["load", "record", "think"]
    (call,) = [span for span in spans if span.parent_span_id == think.span_id]
    told = attributes(call)
    assert (call.name, call.kind) == (f"chat {told['gen_ai.request.model']}", Span.SPAN_KIND_CLIENT)
    assert (told["gen_ai.operation.name"], told["gen_ai.provider.name"]) == ("chat", "openai")
    assert min(int(str(told[f"gen_ai.usage.{way}_tokens"])) for way in ("input", "output")) > 0
    assert not [body for body in collector.bodies if SECRET.encode() in body]


async def test_a_failed_call_is_an_error_without_its_words(
    start_service: StartService, models: ModelServer, collector: Collector
) -> None:
    models.fail_next(Fault.BAD_REQUEST)
    async with start_service(provider="openai", memory=MEMORY, engine={"sweep_seconds": 600}) as service:
        await service.append("s", {"role": "user", "content": f"{SECRET} " * 900})
        await until(partial(service.memory, "s"), lambda memory: memory["attempts"] == 1)
    (call,) = [span for span in collector.spans() if span.name.startswith("chat ")]

    assert call.status.code == call.status.STATUS_CODE_ERROR
    assert attributes(call)["error.type"] == "bad_request"
    assert (call.status.message, list(call.events)) == ("", [])
    assert not [body for body in collector.bodies if SECRET.encode() in body]


async def test_what_nobody_woke_is_linked_to_nothing(start_service: StartService, collector: Collector) -> None:
    async with start_service(memory=MEMORY, engine={"concurrency": 1, "sweep_seconds": 0.05}) as service:
        async with service.app.state.database.connection() as connection:
            await service.append("s", {"role": "user", "content": "Hello"})
            await connection.execute("UPDATE memories SET due_at = now()")
        await service.context("s", wait_ms=WAIT_MS)
    assert [list(span.links) for span in collector.spans() if span.name == "memory"] == [[]]


def test_a_line_of_the_log_tells_its_trace(collector: Collector) -> None:
    tracing = build_tracing({"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}, version="1")
    with traced(tracing.tracer, "outer"):
        line = add_trace(None, "info", {"event": "step"})
    tracing.close()
    (span,) = collector.spans()
    assert line == {"event": "step", "trace_id": span.trace_id.hex(), "span_id": span.span_id.hex()}
    assert add_trace(None, "info", {"event": "step"}) == {"event": "step"}


def test_a_collector_that_does_not_answer_holds_up_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {*threading.enumerate()}
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        tracing = build_tracing({"OTEL_EXPORTER_OTLP_ENDPOINT": url}, version="1")
        with traced(tracing.tracer, "request"):
            pass
        began = time.monotonic()
        tracing.close()
        took = time.monotonic() - began
    for sending in {*threading.enumerate()} - before:
        sending.join()  # else it logs and asks that port in the midst of the next tests

    assert took < 3 * CLOSE_SECONDS  # an export that is waited for takes 10 s


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": ""},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost", "OTEL_SDK_DISABLED": "true"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost", "OTEL_TRACES_EXPORTER": "none"},
    ],
)
def test_nothing_is_traced_unless_it_is_asked_for(environ: dict[str, str]) -> None:
    assert build_tracing(environ, version="1").tracer is UNTRACED


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, "zipkin over http/protobuf"),
        ({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "otlp over grpc"),
    ],
)
def test_what_there_is_not_stops_the_start(environ: dict[str, str], told: str) -> None:
    with pytest.raises(StartError, match=told):
        build_tracing(environ, version="1")
