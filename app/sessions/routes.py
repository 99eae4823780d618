"""HTTP of sessions and messages (api.md)."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from app.kit.auth import Guarded, Tenant, tenant_of
from app.kit.bodies import Sent
from app.kit.direct import JSON, body_of, usually
from app.kit.http import body_bytes
from app.kit.json import dumps
from app.kit.paging import PAGE_DEFAULT, Cursor, Limit, next_cursor, paged, read_cursor
from app.kit.problems import problem_responses
from app.sessions.append_store import AppendResult
from app.sessions.deleting import Deleting
from app.sessions.ending import Ending
from app.sessions.model import SEQ_MAX, Message, MessageFilter
from app.sessions.replacing import Replacing
from app.sessions.resources import Resources
from app.sessions.schemas import (
    SESSION_KEY,
    AppendIn,
    AppendOut,
    ConfigOut,
    ConfigPage,
    DeletedResourceOut,
    DeletedSessionOut,
    IdempotencyKey,
    Key,
    ListedMemory,
    ListedSessionOut,
    MessageId,
    MessageIn,
    MessageOut,
    MessagePage,
    MessageQuery,
    ResourceId,
    ResourceIn,
    ResourceOut,
    SessionIn,
    SessionOut,
    SessionPage,
    SessionQuery,
    WaitMs,
    message_out,
    session_out,
)
from app.sessions.service import SessionService
from app.sessions.store import ListedSession

router = APIRouter(route_class=Guarded, tags=["sessions"], responses=problem_responses(422, 503))

NOTHING_OF_SESSION, NOTHING_OF_RESOURCE = SessionIn(), ResourceIn()  # a request without a body


def _service(request: Request) -> SessionService:
    service: SessionService = request.app.state.sessions
    return service


def _deleting(request: Request) -> Deleting:
    deleting: Deleting = request.app.state.deleting
    return deleting


def _resources(request: Request) -> Resources:
    resources: Resources = request.app.state.resources
    return resources


async def _usual_append(request: Request) -> Response | None:
    """Append without FastAPI's parsing; None unless the request has only JSON, no parameter, no Idempotency-Key."""
    key = request.path_params["key"]
    if request.scope["query_string"] or "idempotency-key" in request.headers or not SESSION_KEY.fullmatch(key):
        return None
    tenant, body = tenant_of(request), await body_of(request, AppendIn)
    return None if body is None else await append_messages(key, body, tenant, request)


@router.post(
    "/sessions/{key}/messages",
    status_code=201,
    response_model=AppendOut,
    operation_id="appendMessages",
    responses=problem_responses(409, 410, 413)
    | {200: {"model": AppendOut, "description": "Every message was already stored"}},
)
@usually(_usual_append)
async def append_messages(
    key: Key,
    body: Sent[AppendIn],
    tenant: Tenant,
    request: Request,
    idempotency_key: IdempotencyKey = None,
    wait_ms: WaitMs = 0,
) -> Response:
    """Append 1-100 messages, all or none: each is stored once by its id and gets a gap-free `seq`."""
    result, summary = await _service(request).append(
        tenant=tenant,
        key=key,
        body=body,
        idempotency_key=idempotency_key,
        wait_ms=wait_ms,
        body_bytes=body_bytes(request.headers),
    )
    return _appended(key, result, summary)


@router.get(
    "/sessions/{key}/messages",
    response_model=MessagePage,
    operation_id="listMessages",
    responses=problem_responses(404),
)
async def list_messages(
    key: Key, tenant: Tenant, request: Request, query: Annotated[MessageQuery, Query()]
) -> Response:
    """Page through the messages of a session by `seq`.

    A page examines at most `DAYBOOK_SESSIONS__LOOKED_MAX` messages, so a filtered page may be empty and still have a
    `next_cursor`. A page ends with the message that brings it to `DAYBOOK_SESSIONS__PAGE_BYTES_MAX`.
    """
    # A cursor is only valid for the same order of the same session's messages.
    path = f"{request.url.path}?order={query.order}&conversation={query.conversation or key}"
    wanted = _message_filter(query, path)
    found, last = await _service(request).messages(
        tenant=tenant, key=key, conversation=query.conversation, wanted=wanted, limit=query.limit
    )
    cursor = None if last is None else next_cursor(last, path=path)
    return Response(await asyncio.to_thread(_page, found, cursor), media_type=JSON)


@router.get(
    "/sessions/{key}/messages/{message_id:path}", operation_id="getMessage", responses=problem_responses(404, 410)
)
async def get_message(key: Key, message_id: MessageId, tenant: Tenant, request: Request) -> MessageOut:
    """Get one message by its id."""
    return message_out(await _service(request).message(tenant, key, message_id))


@router.put(
    "/sessions/{key}/messages/{message_id:path}",
    operation_id="replaceMessage",
    responses=problem_responses(404, 409, 410, 413),
)
async def replace_message(
    key: Key, message_id: MessageId, body: Sent[MessageIn], tenant: Tenant, request: Request
) -> MessageOut:
    """Replace a message that no observation covers yet, such as a turn that is being streamed.

    It keeps its `seq`. Contexts show the new content, so a provider's prompt cache holds only up to this message.
    Repeating the same content returns the stored message, even after an observation covers it.
    """
    replacing: Replacing = request.app.state.replacing
    return message_out(
        await replacing.replace(
            tenant=tenant, key=key, message_id=message_id, body=body, body_bytes=body_bytes(request.headers)
        )
    )


@router.put(
    "/sessions/{key}",
    operation_id="putSession",
    responses=problem_responses(409, 413) | {201: {"model": SessionOut, "description": "Created"}},
)
async def put_session(
    key: Key, tenant: Tenant, request: Request, response: Response, body: Sent[SessionIn] = NOTHING_OF_SESSION
) -> SessionOut:
    """Create a session, or merge metadata and memory config into it. The body is optional."""
    session, created = await _service(request).put(
        tenant=tenant, key=key, resource_id=body.resource_id, config=body.config, metadata=body.metadata
    )
    response.status_code = 201 if created else 200
    return session_out(session)


@router.get("/sessions/{key}", operation_id="getSession", responses=problem_responses(404))
async def get_session(key: Key, tenant: Tenant, request: Request) -> SessionOut:
    """Get one session."""
    return session_out(await _service(request).get(tenant, key))


@router.post("/sessions/{key}/end", operation_id="endSession", responses=problem_responses(404))
async def end_session(key: Key, tenant: Tenant, request: Request) -> SessionOut:
    """Mark the session as ended. Idempotent; the next append continues the session."""
    ending: Ending = request.app.state.ending
    return session_out(await ending.end(tenant, key))


@router.get("/sessions/{key}/configs", operation_id="listConfigs", responses=problem_responses(404))
async def list_configs(
    key: Key, tenant: Tenant, request: Request, limit: Limit = PAGE_DEFAULT, cursor: Cursor = None
) -> ConfigPage:
    """Page through the changes of a session's config, oldest first, each with the `seq` it took effect at."""
    after = read_cursor(cursor, int, path=request.url.path) or 0
    found = await _service(request).configs(tenant=tenant, key=key, after=after, limit=limit + 1)
    page, cursor = paged(found, limit, lambda last: last.number, path=request.url.path)
    items = [ConfigOut.model_validate(change, from_attributes=True) for change in page]
    return ConfigPage(items=items, next_cursor=cursor)


@router.delete("/sessions/{key}", operation_id="deleteSession", responses=problem_responses(404))
async def delete_session(key: Key, tenant: Tenant, request: Request) -> DeletedSessionOut:
    """Delete a session with its messages, memory, artifacts and state. The key can be used again."""
    receipt = await _deleting(request).session(tenant, key)
    return DeletedSessionOut(session=key, rows=receipt.rows)


@router.put(
    "/resources/{resource_id}",
    operation_id="putResource",
    responses=problem_responses(413) | {201: {"model": ResourceOut, "description": "Created"}},
)
async def put_resource(
    resource_id: ResourceId,
    tenant: Tenant,
    request: Request,
    response: Response,
    body: Sent[ResourceIn] = NOTHING_OF_RESOURCE,
) -> ResourceOut:
    """Create a resource, or merge metadata and the config of its shared memory into it. The body is optional."""
    resource, created = await _resources(request).put(
        tenant=tenant, resource_id=resource_id, config=body.config, metadata=body.metadata
    )
    response.status_code = 201 if created else 200
    return ResourceOut.model_validate(resource, from_attributes=True)


@router.get("/resources/{resource_id}", operation_id="getResource", responses=problem_responses(404))
async def get_resource(resource_id: ResourceId, tenant: Tenant, request: Request) -> ResourceOut:
    """Get one resource; 404 unless it was put or has a session."""
    return ResourceOut.model_validate(await _resources(request).get(tenant, resource_id), from_attributes=True)


@router.delete("/resources/{resource_id}", operation_id="deleteResource")
async def delete_resource(resource_id: ResourceId, tenant: Tenant, request: Request) -> DeletedResourceOut:
    """Delete a resource with its sessions, facts and state. Succeeds if there is nothing to delete."""
    receipt = await _deleting(request).resource(tenant, resource_id)
    return DeletedResourceOut(resource_id=resource_id, sessions=receipt.sessions, rows=receipt.rows)


@router.get("/sessions", operation_id="listSessions")
async def list_sessions(tenant: Tenant, request: Request, query: Annotated[SessionQuery, Query()]) -> SessionPage:
    """Page through the sessions by key, each with the state of its memory."""
    found, last = await _service(request).page(
        tenant,
        resource_id=query.resource_id,
        search=query.search,
        status=query.status,
        after=read_cursor(query.cursor, str, path=request.url.path) or "",
        limit=query.limit,
    )
    cursor = None if last is None else next_cursor(last, path=request.url.path)
    return SessionPage(items=[_listed_out(listed, summary) for listed, summary in found], next_cursor=cursor)


def _page(found: Sequence[Message], cursor: str | None) -> bytes:
    """The body of a MessagePage, serialised message by message, between which other threads get a turn."""
    items = b",".join(message_out(message).model_dump_json().encode() for message in found)
    return b'{"items":[' + items + b'],"next_cursor":' + dumps(cursor) + b"}"


def _appended(key: str, result: AppendResult, summary: dict[str, Any]) -> Response:
    """The body of an AppendOut, serialised without the model."""
    stored = [{"id": m.id, "seq": m.seq, "kind": m.kind, "tokens": m.tokens} for m in result.messages]
    replayed = sum(message.replayed for message in result.messages)
    answer = {"session": key, "messages": stored, "replayed": replayed, "memory": summary}
    return Response(dumps(answer), 200 if replayed == len(stored) else 201, media_type=JSON)


def _message_filter(query: MessageQuery, path: str) -> MessageFilter:
    last = read_cursor(query.cursor, int, path=path)
    descending = query.order == "desc"
    after, before = max(query.after_seq, query.from_seq - 1), min(query.before_seq, query.to_seq + 1)
    return MessageFilter(
        after=after if descending else max(after, last or 0),
        before=min(before, last or SEQ_MAX) if descending else before,
        since=query.since,
        until=query.until,
        kind=query.kind,
        tool=query.tool,
        descending=descending,
    )


def _listed_out(listed: ListedSession, summary: dict[str, Any]) -> ListedSessionOut:
    lag = {"pending_seconds": int(listed.pending_seconds), "last_error": listed.last_error}
    return ListedSessionOut(
        **session_out(listed.session).model_dump(), memory=ListedMemory.model_validate(summary | lag)
    )
