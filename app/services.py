"""Builds the services that the routes use, each by its constructor."""

from starlette.datastructures import State

from app.artifacts import store as artifact_store
from app.artifacts.branching import ArtifactBranching
from app.artifacts.service import ArtifactConfig, ArtifactService
from app.artifacts.store import ArtifactStore
from app.configs import context_limits, ending_config
from app.context.answers import Answers
from app.context.diff_store import DiffStore
from app.context.previous import PreviousCalls
from app.context.reading import SnapshotReader
from app.context.service import ContextService
from app.context.stages.profile import facts_max
from app.context.store import ContextStore
from app.diagnostics.backlog_store import BacklogStore
from app.diagnostics.metrics import Metrics
from app.diagnostics.overview import Overview
from app.diagnostics.service import DiagnosticsService, EventsConfig
from app.diagnostics.store import DiagnosticsStore
from app.facts import forgetting_store
from app.facts.model import FactConfig
from app.facts.service import FactService
from app.facts.store import FactStore
from app.kit.clock import SystemClock
from app.memory.changing import erasing_store
from app.memory.changing.branching import BranchConfig, Branching
from app.memory.changing.compacting import Compacting
from app.memory.changing.controls import Controls
from app.memory.changing.erasing import Erasing
from app.memory.changing.parting import Parting
from app.parts import Base, MemoryParts, RecallParts
from app.recall import index_store
from app.sessions import resource_store
from app.sessions.append_store import AppendStore
from app.sessions.deleting import Deleting
from app.sessions.ending import Ending
from app.sessions.message_store import MessageStore
from app.sessions.replacing import Replacing
from app.sessions.resources import Resources
from app.sessions.service import SessionConfig, SessionService
from app.sessions.store import SessionStore
from app.settings import configured
from app.state import store as state_store
from app.state.model import StateConfig
from app.state.service import StateService
from app.state.store import StateStore
from app.transfer.exporting import ExportConfig, Exporting


def provide_services(state: State, base: Base, memory: MemoryParts, recall: RecallParts) -> None:
    """Put the services that the routes use into ``state``, by their names there."""
    state.recall = recall.service
    _provide_kept(state, base)
    _provide_sessions(state, base, memory, recall)
    _provide_ends(state, base, memory)
    _provide_memory(state, base, memory)
    _provide_context(state, base, memory, recall)
    _provide_diagnostics(state, base, memory, recall)


def _provide_kept(state: State, base: Base) -> None:
    """Artifacts, state and facts, and the export."""
    settings, database = base.settings, base.database
    state.artifacts = ArtifactService(
        ArtifactStore(database), configured(ArtifactConfig, settings.artifacts), base.objects, base.redaction
    )
    state.values = StateService(
        database=database,
        store=StateStore(database),
        config=configured(StateConfig, settings.state),
        artifact_refusals=state.artifacts.refusals,
        redaction=base.redaction,
    )
    state.facts = FactService(
        database=database,
        store=FactStore(database),
        clock=SystemClock(),
        config=configured(FactConfig, settings.facts),
        redaction=base.redaction,
    )
    state.exporting = Exporting(
        database=database, objects=base.objects, config=configured(ExportConfig, settings.export)
    )


def _provide_sessions(state: State, base: Base, memory: MemoryParts, recall: RecallParts) -> None:
    database, redaction, limits = base.database, base.redaction, configured(SessionConfig, base.settings.sessions)
    state.sessions = SessionService(
        store=SessionStore(database),
        messages=MessageStore(database),
        appends=AppendStore(database),
        memory=memory.service,
        config=limits,
        metrics=base.session_metrics,
        on_append=recall.indexer.appended,
        redaction=redaction,
        tracer=base.tracer,
    )
    state.replacing = Replacing(
        database=database,
        memory=memory.service,
        derived=(index_store, forgetting_store, erasing_store),
        bytes_max=limits.message_bytes_max,
        redaction=redaction,
    )


def _provide_ends(state: State, base: Base, memory: MemoryParts) -> None:
    """The end of sessions, resources, and deletion."""
    database, limits = base.database, base.settings.sessions
    state.ending = Ending(database=database, memory=memory.service, config=ending_config(base.settings))
    state.resources = Resources(
        database=database,
        memory=memory.service,
        metadata_bytes_max=limits.metadata_bytes_max,
        redaction=base.redaction,
    )
    state.deleting = Deleting(
        database=database,
        keepers=(
            Parting(memory.store),
            artifact_store,
            state_store,
            forgetting_store,
            index_store,
            resource_store,
        ),
        memory=memory.service,
        outside=state.artifacts,
        metrics=base.session_metrics,
    )


def _provide_memory(state: State, base: Base, memory: MemoryParts) -> None:
    """The services that change a memory."""
    database, limits = base.database, base.settings.sessions
    state.controls = Controls(database=database, store=memory.store, memory=memory.service, redaction=base.redaction)
    state.compacting = Compacting(
        database=database, store=memory.store, memory=memory.service, redaction=base.redaction
    )
    state.erasing = Erasing(
        database=database,
        store=memory.store,
        index=index_store,
        memory=memory.service,
        metrics=base.session_metrics,
    )
    state.branching = Branching(
        database=database,
        memory=memory.store,
        artifacts=ArtifactBranching(database, base.objects, bytes_max=limits.branch_artifact_bytes_max),
        config=BranchConfig(messages_max=limits.branch_messages_max, timezone=memory.service.defaults.timezone),
    )


def _provide_context(state: State, base: Base, memory: MemoryParts, recall: RecallParts) -> None:
    settings = base.settings
    store = ContextStore(base.database, facts_max=facts_max(settings.facts.profile_tokens))
    state.context = ContextService(
        reader=SnapshotReader(
            store=store,
            memory=memory.service,
            state=StateStore(base.database),
            artifacts=state.artifacts,
            clock=SystemClock(),
            elsewhere_tokens=settings.context.elsewhere_tokens,
        ),
        store=store,
        diffs=DiffStore(base.database),
        memory=memory.service,
        clock=SystemClock(),
        answers=Answers(
            PreviousCalls(pieces_max=settings.context.previous_pieces_max),
            bytes_max=settings.context.answers_bytes_max,
        ),
        recall=recall.service,
        limits=context_limits(settings),
        tracer=base.tracer,
    )


def _provide_diagnostics(state: State, base: Base, memory: MemoryParts, recall: RecallParts) -> None:
    database, roles = base.database, base.roles
    backlog = BacklogStore(database, attempts_max=memory.service.attempts_max)
    state.metrics = Metrics(base.registry, database=database, store=backlog, guards=roles.guards)
    state.diagnostics = DiagnosticsService(
        store=DiagnosticsStore(database),
        memory=memory.service,
        charging=base.charging,
        observer=roles.observer.name,
        reflector=roles.reflector.name,
        events=configured(EventsConfig, base.settings.events),
    )
    state.overview = Overview(
        database=database,
        store=backlog,
        charging=base.charging,
        roles=roles.named,
        indexer=recall.indexer,
        vectorizing=recall.vectorizing,
        name=base.name,
        clock=SystemClock(),
    )
