"""Prometheus metrics of requests. Each process counts its own; labels never hold a key, a tenant or a text.

A registry belongs to one service and not to the interpreter, so that two services in one process do not mix theirs.
"""

from functools import cache

from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.types import Scope

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
UNMATCHED = "unmatched"  # the path has no route, or the method is unknown
REQUEST_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


def route_of(scope: Scope) -> str:
    """The template of the route, because a path may hold a session's key."""
    path: str = getattr(scope.get("route"), "path", UNMATCHED)
    return path


def method_of(scope: Scope) -> str:
    method: str = scope["method"]
    return method if method in METHODS else UNMATCHED


class HttpMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "daybook_http_requests", "Requests, by route", ["route", "method", "status"], registry=registry
        )
        self._seconds = Histogram(
            "daybook_http_request_seconds",
            "Seconds until the answer begins, waiting for the memory by wait_ms included",
            ["route", "method"],
            buckets=REQUEST_SECONDS,
            registry=registry,
        )
        self._counter, self._timer = cache(self._requests.labels), cache(self._seconds.labels)

    def answered(self, scope: Scope, *, status: int, seconds: float) -> None:
        route, method = route_of(scope), method_of(scope)
        self._counter(route, method, status).inc()
        self._timer(route, method).observe(seconds)
