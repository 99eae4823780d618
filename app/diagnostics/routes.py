"""HTTP of diagnostics (api.md, Memory and Operation)."""

from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.responses import PlainTextResponse
from fastapi.sse import EventSourceResponse, ServerSentEvent
from prometheus_client import CONTENT_TYPE_LATEST

from app.diagnostics.events import read_place
from app.diagnostics.health import readiness
from app.diagnostics.metrics import Metrics
from app.diagnostics.operation_schemas import HealthOut, OverviewOut, ReadyOut
from app.diagnostics.overview import Overview
from app.diagnostics.schemas import (
    LogTextOut,
    MemoryOut,
    ObservationPage,
    ReflectionPage,
    Requested,
    RunOut,
    RunPage,
    StepAsked,
    VersionOut,
    VersionPage,
)
from app.diagnostics.service import DiagnosticsService, Stream
from app.kit.auth import Access, Caller, Guarded, Tenant, is_key_valid, needs, sharer_of
from app.kit.offload import offloaded
from app.kit.paging import PAGE_DEFAULT, Cursor, Limit, next_cursor, paged, read_cursor
from app.kit.problems import problem_responses
from app.memory.model import Status
from app.memory.schemas import observation_out, reflection_out
from app.memory.steps import Request as Asked
from app.sessions.model import SEQ_MAX
from app.sessions.schemas import Key, WaitMs

router = APIRouter(route_class=Guarded, tags=["memory"], responses=problem_responses(404, 422, 503))
metrics_router = APIRouter(route_class=Guarded, tags=["operation"])
health_router = APIRouter(tags=["operation"])  # open without a key

_EVENTS = (
    "appended, due, buffered, activated, reflected, consolidated, compacted, expired, edited, deleted, erased, rebuilt,"
    " fact_noted, failed: each event has `at`, its subject and the memory's token counts; send its `id` as"
    " `Last-Event-ID` to continue after it; the stream begins with an `id` without an event, for a client that is cut"
    " off before the first one"
)
LiveStatus = Annotated[Status | None, Query(description="Only notes with this status")]


def _service(request: Request) -> DiagnosticsService:
    service: DiagnosticsService = request.app.state.diagnostics
    return service


async def _heard(
    key: Key,
    tenant: Tenant,
    request: Request,
    last_event_id: Annotated[
        str | None, Header(max_length=100, description="`id` of the last event received; the stream continues after it")
    ] = None,
    last_heard: Annotated[str | None, Query(alias="lastEventId", max_length=100, include_in_schema=False)] = None,
) -> AsyncIterator[Stream]:
    # A dependency, so that errors are answered before the stream begins. The parameter is what event-source-polyfill,
    # with which a page that has a key can listen, sends instead of the header.
    last = last_event_id or last_heard
    place = None if last is None else read_place(last)
    heard = _service(request).events(
        tenant, key, place, is_key_valid=partial(is_key_valid, request), sharer=sharer_of(request)
    )
    async with heard as stream:
        yield stream


@router.get("/sessions/{key}/memory", operation_id="getMemory")
async def get_memory(key: Key, tenant: Tenant, request: Request) -> MemoryOut:
    """Get the state of the memory: status, lease, thresholds, coverage, errors, usage."""
    return await _service(request).memory(tenant, key)


@router.get("/sessions/{key}/memory/log", operation_id="getLog")
async def get_log(
    key: Key,
    tenant: Tenant,
    request: Request,
    version: Annotated[int | None, Query(ge=0, le=SEQ_MAX, description="Default: the newest version")] = None,
) -> LogTextOut:
    """Get the log as the model sees it, now or at a past version."""
    return await _service(request).log(tenant, key, version)


@router.get("/sessions/{key}/memory/versions", operation_id="listVersions")
async def list_versions(
    key: Key, tenant: Tenant, request: Request, limit: Limit = PAGE_DEFAULT, cursor: Cursor = None
) -> VersionPage:
    """Page through the versions of the log, newest first. A context can be compiled as of each."""
    found = await _service(request).versions(
        tenant, key, before=read_cursor(cursor, int, path=request.url.path) or SEQ_MAX, limit=limit + 1
    )
    page, cursor = paged(found, limit, lambda last: last["version"], path=request.url.path)
    return VersionPage(items=[VersionOut.model_validate(version) for version in page], next_cursor=cursor)


@router.get("/sessions/{key}/memory/observations", operation_id="listObservations")
async def list_observations(
    key: Key,
    tenant: Tenant,
    request: Request,
    status: LiveStatus = None,
    limit: Limit = PAGE_DEFAULT,
    cursor: Cursor = None,
) -> ObservationPage:
    """Page through the observations, including retired ones, oldest first. A page of long ones may hold fewer."""
    path = request.url.path
    found, more = await _service(request).observations(
        tenant, key, after=read_cursor(cursor, int, path=path) or 0, status=status, limit=limit
    )
    size = sum(len(note.text) for note in found)
    items = await offloaded(lambda: [observation_out(note, key) for note in found], size=size)
    return ObservationPage(items=items, next_cursor=next_cursor(found[-1].id, path=path) if more else None)


@router.get("/sessions/{key}/memory/reflections", operation_id="listReflections")
async def list_reflections(
    key: Key,
    tenant: Tenant,
    request: Request,
    status: LiveStatus = None,
    limit: Limit = PAGE_DEFAULT,
    cursor: Cursor = None,
) -> ReflectionPage:
    """Page through the reflections, including retired ones, oldest first. A page of long ones may hold fewer."""
    path = request.url.path
    found, more = await _service(request).reflections(
        tenant, key, after=read_cursor(cursor, int, path=path) or 0, status=status, limit=limit
    )
    size = sum(len(note.text) for note in found)
    items = await offloaded(lambda: [reflection_out(note, key) for note in found], size=size)
    return ReflectionPage(items=items, next_cursor=next_cursor(found[-1].id, path=path) if more else None)


@router.get("/sessions/{key}/memory/runs", operation_id="listRuns")
async def list_runs(
    key: Key,
    tenant: Tenant,
    request: Request,
    outcome: Annotated[
        Literal["recorded", "rejected", "failed"] | None, Query(description="Only calls with this outcome")
    ] = None,
    limit: Limit = PAGE_DEFAULT,
    cursor: Cursor = None,
) -> RunPage:
    """Page through the model calls of the observer and the reflector, newest first."""
    found = await _service(request).runs(
        tenant, key, before=read_cursor(cursor, int, path=request.url.path) or SEQ_MAX, outcome=outcome, limit=limit + 1
    )
    page, cursor = paged(found, limit, lambda last: last["id"], path=request.url.path)
    return RunPage(items=[RunOut.model_validate(run) for run in page], next_cursor=cursor)


@router.get(
    "/sessions/{key}/memory/events",
    operation_id="streamEvents",
    response_class=EventSourceResponse,
    responses={200: {"description": _EVENTS}},
)
async def memory_events(
    heard: Annotated[Stream, Depends(_heard)],
) -> AsyncIterator[ServerSentEvent]:
    """Stream the memory's events as server-sent events. The stream ends when the API key is no longer valid."""
    yield ServerSentEvent(id=str(heard.place))  # without data no event: where a client cut off before one goes on
    async for event in heard.events:
        yield ServerSentEvent(event=event.name, id=str(event.place), data={"at": event.at, **event.data})


_STEPS: Mapping[Requested, Asked] = {"observe": Asked.OBSERVE, "reflect": Asked.REFLECT, "redrive": Asked.LOOK}


async def _ask(
    request: Request, response: Response, tenant: str, key: str, requested: Requested, wait_ms: int
) -> StepAsked:
    memory = await _service(request).ask(tenant, key, _STEPS[requested], wait_ms)
    response.status_code = 202 if memory is None else 200
    return StepAsked(session=key, requested=requested, memory=memory)


_ASKED: dict[int | str, dict[str, Any]] = {200: {"model": StepAsked, "description": "With `wait_ms`: the step is done"}}


@router.post("/sessions/{key}/memory/observe", status_code=202, operation_id="observeNow", responses=_ASKED)
async def observe_now(key: Key, tenant: Tenant, request: Request, response: Response, wait_ms: WaitMs = 0) -> StepAsked:
    """Observe all pending messages now, regardless of thresholds."""
    return await _ask(request, response, tenant, key, "observe", wait_ms)


@router.post("/sessions/{key}/memory/reflect", status_code=202, operation_id="reflectNow", responses=_ASKED)
async def reflect_now(key: Key, tenant: Tenant, request: Request, response: Response, wait_ms: WaitMs = 0) -> StepAsked:
    """Condense all observations now, regardless of thresholds."""
    return await _ask(request, response, tenant, key, "reflect", wait_ms)


@router.post("/sessions/{key}/memory/redrive", status_code=202, operation_id="redriveMemory", responses=_ASKED)
async def redrive(key: Key, tenant: Tenant, request: Request, response: Response, wait_ms: WaitMs = 0) -> StepAsked:
    """Retry failed steps now that are backing off or stalled."""
    return await _ask(request, response, tenant, key, "redrive", wait_ms)


@health_router.get("/healthz", operation_id="getHealth")
async def healthz() -> HealthOut:
    """Check that the process is alive."""
    return HealthOut(status="ok")


@health_router.get("/readyz", operation_id="getReadiness", responses=problem_responses(503))
async def readyz(request: Request) -> ReadyOut:
    """Check that the database answers and has the schema that this version needs, or a newer one."""
    return await readiness(request.app.state.database, request.app.state.database_name)


@metrics_router.get("/overview", operation_id="getOverview")
async def overview(tenant: Tenant, request: Request) -> OverviewOut:
    """Count the tenant's memories that wait, work and fail; with an admin key also show the state of this process."""
    service: Overview = request.app.state.overview
    caller: Caller = request.scope["caller"]
    return await service.read(tenant, of_process=caller.access.covers(Access.ADMIN))


@metrics_router.get(
    "/metrics",
    operation_id="getMetrics",
    response_class=PlainTextResponse,
    responses={200: {"description": "Metrics in the Prometheus text format"}},
)
@needs(Access.ADMIN)
async def metrics(request: Request) -> Response:
    """Get the counters of this process and the backlog of all processes; docs/metrics.md explains each metric."""
    service: Metrics = request.app.state.metrics
    return Response(await service.text(), media_type=CONTENT_TYPE_LATEST)
