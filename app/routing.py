"""Installs the routes of every domain, the OpenAPI document, the error handlers and the middleware."""

from fastapi import FastAPI
from opentelemetry.trace import Tracer
from prometheus_client import CollectorRegistry

from app.artifacts import routes as artifacts_routes
from app.artifacts.examples import EXAMPLES as ARTIFACTS_EXAMPLES
from app.console.routes import install as install_console
from app.context import routes as context_routes
from app.context.examples import EXAMPLES as CONTEXT_EXAMPLES
from app.diagnostics import routes as diagnostics_routes
from app.diagnostics.examples import EXAMPLES as DIAGNOSTICS_EXAMPLES
from app.facts import routes as facts_routes
from app.facts.examples import EXAMPLES as FACTS_EXAMPLES
from app.kit.direct import is_frequent
from app.kit.http import Gate, HttpConfig, allow_cross_origin
from app.kit.metrics import HttpMetrics
from app.kit.openapi import documented
from app.kit.problems import install as install_problems
from app.mcp.routes import install as install_mcp
from app.memory import routes as memory_routes
from app.memory.examples import EXAMPLES as MEMORY_EXAMPLES
from app.memory.rules import MemoryConfig
from app.recall import routes as recall_routes
from app.recall.examples import EXAMPLES as RECALL_EXAMPLES
from app.sessions import routes as sessions_routes
from app.sessions.examples import EXAMPLES as SESSIONS_EXAMPLES
from app.settings import Settings, configured
from app.state import routes as state_routes
from app.state.examples import EXAMPLES as STATE_EXAMPLES
from app.transfer import routes as transfer_routes
from app.transfer.examples import EXAMPLES as TRANSFER_EXAMPLES

ROUTERS = (
    sessions_routes.router,
    artifacts_routes.router,
    recall_routes.router,
    context_routes.router,
    state_routes.router,
    facts_routes.router,
    memory_routes.router,
    memory_routes.session_router,
    diagnostics_routes.router,
    transfer_routes.router,
    diagnostics_routes.metrics_router,
    diagnostics_routes.health_router,
)
EXAMPLES = (
    SESSIONS_EXAMPLES
    | ARTIFACTS_EXAMPLES
    | STATE_EXAMPLES
    | FACTS_EXAMPLES
    | RECALL_EXAMPLES
    | CONTEXT_EXAMPLES
    | MEMORY_EXAMPLES
    | DIAGNOSTICS_EXAMPLES
    | TRANSFER_EXAMPLES
)
CONFIGS = dict.fromkeys(("SessionIn", "ResourceIn"), MemoryConfig)


def route(app: FastAPI, settings: Settings, registry: CollectorRegistry, tracer: Tracer) -> None:
    """Install all routes and the middleware in ``app``."""
    for router in ROUTERS:
        app.router.routes.extend(router.routes)  # FastAPI matches the routes of an included router twice
    app.router.routes.sort(key=is_frequent, reverse=True)  # routes are tried one after the other
    documented(app, EXAMPLES, CONFIGS)
    install_console(app)
    install_mcp(app, request_bytes_max=settings.http.request_bytes_max, messages_max=settings.sessions.messages_max)
    install_problems(app)
    origins = settings.http.origin_list
    if origins:
        allow_cross_origin(app, origins)
    app.add_middleware(
        Gate,
        config=configured(HttpConfig, settings.http),
        metrics=HttpMetrics(registry),
        tracer=tracer,
        origins=origins,
    )
