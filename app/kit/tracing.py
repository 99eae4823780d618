"""Spans by OpenTelemetry where its own variables ask for them; else none, and its SDK is not imported.

Whoever makes spans is handed a tracer; ``UNTRACED`` is the API's that takes what it is told for nobody. A span tells
what was done, how long it took, how large it was and how it ended, and nothing of what was said: neither a path, which
may have a query in it, nor the text of an error.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from threading import Thread

from opentelemetry import context, propagate, trace
from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Link, NoOpTracer, Span, SpanKind, StatusCode, Tracer
from opentelemetry.util.types import AttributeValue
from structlog.typing import EventDict, WrappedLogger

from app.kit.errors import StartError

UNTRACED: Tracer = NoOpTracer()
SERVICE = "daybook"
ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
HTTP = "http/protobuf"
CLOSE_SECONDS = 3.0  # for what is unsent at the end; the SDK would wait up to 30 for a collector that is away
ERRORS_FROM = 500  # a request that the caller got wrong is no error of the service's


@dataclass(frozen=True, slots=True)
class Tracing:
    """A tracer, and ``close``, which sends what is still unsent, if that is soon done, and ends it."""

    tracer: Tracer = UNTRACED
    close: Callable[[], None] = lambda: None


def build_tracing(environ: Mapping[str, str], *, version: str) -> Tracing:
    """As the OTEL_* variables say. Raises StartError, with what to do, if they ask for what is not there."""
    if environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return Tracing()
    exporter = environ.get("OTEL_TRACES_EXPORTER") or ("otlp" if any(map(environ.get, ENDPOINTS)) else "none")
    if exporter == "none":
        return Tracing()
    protocol = next(filter(None, map(environ.get, PROTOCOLS)), HTTP)
    if (exporter, protocol) != ("otlp", HTTP):
        raise StartError(f"OTEL_TRACES_EXPORTER asks for {exporter} by {protocol}: there is otlp by {HTTP}, and none")
    if not find_spec("opentelemetry.sdk"):
        raise StartError(f"OTEL_* variables ask for traces ({exporter}): install daybook[otel], or unset them")
    return _exporting(version)


def _exporting(version: str) -> Tracing:
    """The SDK reads endpoint, headers, sampler, resource and the limits of its batches from its variables."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    own = Resource({SERVICE_NAME: SERVICE, SERVICE_VERSION: version})
    provider = TracerProvider(resource=own.merge(OTELResourceDetector().detect()), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))

    def close() -> None:
        ending = Thread(target=provider.shutdown, daemon=True)  # who is given up holds up no exit
        ending.start()
        ending.join(CLOSE_SECONDS)

    return Tracing(provider.get_tracer(SERVICE, version), close)


@contextmanager
def traced(
    tracer: Tracer,
    name: str,
    *,
    kind: SpanKind = SpanKind.INTERNAL,
    parent: Context | None = None,
    links: Sequence[Link] = (),
    start_time: int | None = None,
    attributes: Mapping[str, AttributeValue] | None = None,
) -> Iterator[Span]:
    """A span, below ``parent`` or else the one that is going on; ``start_time`` in nanoseconds of the epoch."""
    if tracer is UNTRACED:
        yield INVALID_SPAN
        return
    with tracer.start_as_current_span(
        name,
        context=parent,
        kind=kind,
        attributes=attributes,
        links=links,
        start_time=start_time,
        record_exception=False,
        set_status_on_exception=False,
    ) as going:
        try:
            yield going
        except BaseException as error:
            going.set_attribute("error.type", getattr(error, "kind", type(error).__name__))
            going.set_status(StatusCode.ERROR)
            raise


@contextmanager
def traced_request(tracer: Tracer, method: str, headers: Mapping[str, str]) -> Iterator[Span]:
    """The span of a request, below the caller's where its headers tell one, else below what is going on."""
    if tracer is UNTRACED:
        yield INVALID_SPAN
        return
    parent = propagate.extract(headers, context.get_current())
    with traced(tracer, method, kind=SpanKind.SERVER, parent=parent) as going:
        yield going


def tell_answer(going: Span, *, method: str, route: str, status: int) -> None:
    """By the names of the conventions for HTTP."""
    going.update_name(f"{method} {route}")
    going.set_attributes({"http.request.method": method, "http.route": route, "http.response.status_code": status})
    if status >= ERRORS_FROM:
        going.set_status(StatusCode.ERROR)


@contextmanager
def traced_work(
    tracer: Tracer, name: str, *, start_time: int, attributes: Mapping[str, AttributeValue]
) -> Iterator[Span]:
    """The first span of a trace of its own, linked to the request that woke the work, if one did."""
    waker = trace.get_current_span().get_span_context()
    links = [Link(waker)] if waker.is_valid else []
    with traced(tracer, name, parent=Context(), links=links, start_time=start_time, attributes=attributes) as going:
        yield going


def add_trace(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Tell a line of the log which trace and span it belongs to."""
    going = trace.get_current_span().get_span_context()
    if going.is_valid:
        event["trace_id"] = trace.format_trace_id(going.trace_id)
        event["span_id"] = trace.format_span_id(going.span_id)
    return event
