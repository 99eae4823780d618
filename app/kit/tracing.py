"""OpenTelemetry tracing, if the OTEL_* variables ask for it; otherwise no spans, and the SDK is not imported.

Code that makes spans is handed a tracer; ``UNTRACED`` is the API's no-op tracer. A span has the operation, its
duration, sizes and outcome, and no content: neither a path, which may have a query in it, nor the text of an error.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from threading import Thread
from typing import Any

from opentelemetry import context, propagate, trace
from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Link, NoOpTracer, Span, SpanKind, StatusCode, Tracer
from opentelemetry.util.types import AttributeValue
from structlog.typing import EventDict, WrappedLogger

from app.kit.errors import StartError

UNTRACED: Tracer = NoOpTracer()
NO_SPAN: AbstractContextManager[Span] = nullcontext(INVALID_SPAN)  # a new one for each request would cost more
SERVICE = "daybook"
ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
HTTP = "http/protobuf"
CLOSE_SECONDS = 3.0  # for unsent spans at the end; the SDK would wait up to 30 for a collector that is away
ERRORS_FROM = 500  # a caller's mistake (4xx) is no error of the service


@dataclass(frozen=True, slots=True)
class Tracing:
    """A tracer, and ``close``, which sends the unsent spans, within CLOSE_SECONDS, and ends it."""

    tracer: Tracer = UNTRACED
    close: Callable[[], None] = lambda: None


def build_tracing(environ: Mapping[str, str], *, version: str) -> Tracing:
    """Tracing as the OTEL_* variables say. Raises StartError, with what to do, if they ask for anything unsupported."""
    if environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return Tracing()
    exporter = environ.get("OTEL_TRACES_EXPORTER") or ("otlp" if any(map(environ.get, ENDPOINTS)) else "none")
    if exporter == "none":
        return Tracing()
    protocol = next(filter(None, map(environ.get, PROTOCOLS)), HTTP)
    if (exporter, protocol) != ("otlp", HTTP):
        raise StartError(f"OTEL_TRACES_EXPORTER is {exporter} over {protocol}; supported: otlp over {HTTP}, and none")
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
        ending = Thread(target=provider.shutdown, daemon=True)  # a daemon, so that it never delays the exit
        ending.start()
        ending.join(CLOSE_SECONDS)

    return Tracing(provider.get_tracer(SERVICE, version), close)


def traced(
    tracer: Tracer,
    name: str,
    *,
    kind: SpanKind = SpanKind.INTERNAL,
    attributes: Mapping[str, AttributeValue] | None = None,
) -> AbstractContextManager[Span]:
    """A span, child of the current one."""
    return NO_SPAN if tracer is UNTRACED else _span(tracer, name, kind=kind, attributes=attributes)


@contextmanager
def _span(tracer: Tracer, name: str, **options: Any) -> Iterator[Span]:
    with tracer.start_as_current_span(name, record_exception=False, set_status_on_exception=False, **options) as going:
        try:
            yield going
        except BaseException as error:
            going.set_attribute("error.type", getattr(error, "kind", type(error).__name__))
            going.set_status(StatusCode.ERROR)
            raise


def traced_request(tracer: Tracer, method: str, headers: Mapping[str, str]) -> AbstractContextManager[Span]:
    """The span of a request, child of the caller's if its headers name one, else of the current one."""
    if tracer is UNTRACED:
        return NO_SPAN
    return _span(tracer, method, kind=SpanKind.SERVER, context=propagate.extract(headers, context.get_current()))


def record_answer(going: Span, *, method: str, route: str, status: int) -> None:
    """Set the name, attributes and status of a request's span, by the semantic conventions for HTTP."""
    if going is INVALID_SPAN:
        return
    going.update_name(f"{method} {route}")
    going.set_attributes({"http.request.method": method, "http.route": route, "http.response.status_code": status})
    if status >= ERRORS_FROM:
        going.set_status(StatusCode.ERROR)


def traced_work(
    tracer: Tracer, name: str, *, start_time: int, attributes: Mapping[str, AttributeValue]
) -> AbstractContextManager[Span]:
    """The root span of a new trace, linked to the request that woke the work, if one did.

    ``start_time`` is in epoch nanoseconds.
    """
    if tracer is UNTRACED:
        return NO_SPAN
    waker = trace.get_current_span().get_span_context()
    links = [Link(waker)] if waker.is_valid else []
    return _span(tracer, name, context=Context(), links=links, start_time=start_time, attributes=attributes)


def add_trace(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """A structlog processor that adds the current trace and span to an event."""
    going = trace.get_current_span().get_span_context()
    if going.is_valid:
        event["trace_id"] = trace.format_trace_id(going.trace_id)
        event["span_id"] = trace.format_span_id(going.span_id)
    return event
