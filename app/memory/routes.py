"""HTTP of the operator's controls on the log, and of branches (api.md, Memory and Sessions)."""

from fastapi import APIRouter, Request, Response

from app.kit.auth import Guarded, Tenant
from app.kit.bodies import Sent
from app.kit.errors import Invalid
from app.kit.problems import problem_responses
from app.memory.changing.branching import Branching
from app.memory.changing.compacting import Compacting
from app.memory.changing.controls import Controls, Deleted
from app.memory.changing.erasing import Erasing
from app.memory.note_store import OBSERVATIONS, REFLECTIONS
from app.memory.schemas import (
    CompactIn,
    CompactOut,
    DeletedOut,
    EditIn,
    ErasedOut,
    NoteId,
    ObservationOut,
    ReflectionOut,
    observation_out,
    reflection_out,
)
from app.sessions.schemas import BranchIn, Key, MessageId, SessionOut, message_out, session_out
from app.sessions.wire import first_flaw

router = APIRouter(route_class=Guarded, tags=["memory"], responses=problem_responses(404, 422, 503))
session_router = APIRouter(route_class=Guarded, tags=["sessions"], responses=problem_responses(404, 422, 503))

OBSERVATIONS_PATH = "/sessions/{key}/memory/observations"
REFLECTIONS_PATH = "/sessions/{key}/memory/reflections"


def _controls(request: Request) -> Controls:
    controls: Controls = request.app.state.controls
    return controls


@router.patch(OBSERVATIONS_PATH + "/{note_id}", operation_id="editObservation", responses=problem_responses(409, 413))
async def edit_observation(
    key: Key, note_id: NoteId, body: Sent[EditIn], tenant: Tenant, request: Request
) -> ObservationOut:
    """Edit an observation. Returns its replacement, which has a new id and enters the log in the next version."""
    return observation_out(await _controls(request).edit(tenant, key, OBSERVATIONS, note_id, body.text), key)


@router.delete(OBSERVATIONS_PATH + "/{note_id}", operation_id="deleteObservation", responses=problem_responses(409))
async def delete_observation(key: Key, note_id: NoteId, tenant: Tenant, request: Request) -> DeletedOut:
    """Delete an observation from the log. Past versions keep it; its messages are not observed again."""
    return _deleted_out(await _controls(request).delete(tenant, key, OBSERVATIONS, note_id), key)


@router.delete(OBSERVATIONS_PATH, operation_id="deleteObservations")
async def delete_observations(key: Key, tenant: Tenant, request: Request) -> DeletedOut:
    """Delete all live observations from the log, in one version."""
    return _deleted_out(await _controls(request).delete(tenant, key, OBSERVATIONS), key)


@router.patch(REFLECTIONS_PATH + "/{note_id}", operation_id="editReflection", responses=problem_responses(409, 413))
async def edit_reflection(
    key: Key, note_id: NoteId, body: Sent[EditIn], tenant: Tenant, request: Request
) -> ReflectionOut:
    """Edit a reflection. Returns its replacement, which has a new id and enters the log in the next version."""
    return reflection_out(await _controls(request).edit(tenant, key, REFLECTIONS, note_id, body.text), key)


@router.delete(REFLECTIONS_PATH + "/{note_id}", operation_id="deleteReflection", responses=problem_responses(409))
async def delete_reflection(key: Key, note_id: NoteId, tenant: Tenant, request: Request) -> DeletedOut:
    """Delete a reflection from the log. The notes that it condensed do not come back."""
    return _deleted_out(await _controls(request).delete(tenant, key, REFLECTIONS, note_id), key)


@router.delete(REFLECTIONS_PATH, operation_id="deleteReflections")
async def delete_reflections(key: Key, tenant: Tenant, request: Request) -> DeletedOut:
    """Delete all live reflections from the log, in one version."""
    return _deleted_out(await _controls(request).delete(tenant, key, REFLECTIONS), key)


@session_router.delete("/sessions/{key}/messages/{message_id:path}", operation_id="deleteMessage")
async def erase_message(key: Key, message_id: MessageId, tenant: Tenant, request: Request) -> ErasedOut:
    """Erase a message and everything derived from it, in this session and its branches. Its `seq` stays.

    Every note that covers the message, or was written by a model that saw such a note, is emptied at once, in past
    versions too. The other messages of those notes are observed again. Idempotent: a repetition reports no rows.
    """
    erasing: Erasing = request.app.state.erasing
    erased = await erasing.erase(tenant, key, message_id)
    return ErasedOut(
        session=key,
        id=message_id,
        seq=erased.seq,
        sessions=list(erased.sessions),
        rows=erased.rows,
        rebuilding=erased.rebuilding,
    )


@router.post("/sessions/{key}/compact", operation_id="compactSession", responses=problem_responses(409, 413))
async def compact_session(key: Key, body: Sent[CompactIn], tenant: Tenant, request: Request) -> CompactOut:
    """Replace the messages up to `up_to_seq` in contexts by a summary, shown first. They stay readable by the API.

    Messages that no note covers yet are not observed any more: only the summary tells of them.
    """
    flaw = first_flaw(body.summary)
    if flaw or (body.summary is not None and not body.summary.strip()):
        raise Invalid.at("/summary", flaw.detail if flaw else "the summary is empty")
    compacting: Compacting = request.app.state.compacting
    done = await compacting.compact(tenant, key, up_to_seq=body.up_to_seq, text=body.summary)
    return CompactOut(
        session=key,
        version=done.version,
        up_to_seq=done.summary.up_to_seq or 0,
        summary=message_out(done.summary),
    )


@session_router.post(
    "/sessions/{key}/branch", status_code=201, operation_id="branchSession", responses=problem_responses(409, 413)
)
async def branch_session(
    key: Key, body: Sent[BranchIn], tenant: Tenant, request: Request, response: Response
) -> SessionOut:
    """Create a session from this one as it was at a message: its messages, config, memory and artifacts.

    Calls no model. State is copied as it is now, because it has no history.
    """
    branching: Branching = request.app.state.branching
    session = await branching.branch(tenant=tenant, key=key, into=body.key, at_seq=body.at_seq)
    response.headers["Location"] = f"/sessions/{session.key}"
    return session_out(session)


def _deleted_out(deleted: Deleted, key: str) -> DeletedOut:
    return DeletedOut(session=key, version=deleted.version, retired=deleted.retired)
