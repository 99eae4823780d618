"""The settings as the configs of the parts: a part knows its own limits, and none of the names they are set by."""

from app.artifacts.service import ArtifactConfig
from app.choosing import chosen_models
from app.facts.model import FactConfig
from app.keys.auth import AuthConfig
from app.kit.auth import LOOPBACK_HOSTS
from app.kit.connection import ConnectionConfig
from app.kit.db import DatabaseConfig
from app.kit.http import HttpConfig
from app.llm.build import LlmConfig
from app.llm.embedding import EmbeddingConfig
from app.llm.guard import GuardConfig
from app.llm.port import Provider
from app.memory.engine import EngineConfig
from app.memory.retaining import RetainingConfig
from app.memory.spending import Cap, Caps
from app.recall.indexer import IndexConfig
from app.recall.service import RecallConfig
from app.recall.vectorizing import VectorConfig
from app.sessions.ending import EndingConfig
from app.sessions.service import SessionConfig
from app.settings import Settings
from app.state.model import StateConfig


def database_config(settings: Settings, url: str) -> DatabaseConfig:
    pool = settings.pool
    return DatabaseConfig(
        url=url,
        pool_min=min(pool.min, pool.max),
        pool_max=pool.max,
        connect_seconds=pool.connect_seconds,
        statement_seconds=pool.statement_seconds,
        prepared_statements=pool.prepared_statements,
        row_level_security=settings.row_level_security,
    )


def connection_config(settings: Settings) -> ConnectionConfig:
    http = settings.http
    return ConnectionConfig(
        headers_max=http.headers_max,
        head_bytes_max=http.head_bytes_max,
        head_seconds=http.head_seconds,
        body_seconds=http.body_seconds,
        keep_alive_seconds=http.keep_alive_seconds,
        linger_seconds=http.linger_seconds,
        connections_max=http.connections_max,
    )


def auth_config(settings: Settings) -> AuthConfig:
    bootstrap, keys = settings.bootstrap_key, settings.keys
    return AuthConfig(
        bootstrap_key=None if bootstrap is None else bootstrap.get_secret_value(),
        loopback=settings.host in LOOPBACK_HOSTS,
        origins=frozenset(settings.http.origins.split(",")),
        cache_seconds=keys.cache_seconds,
        cached_max=keys.cached_max,
        used_seconds=keys.used_seconds,
    )


def http_config(settings: Settings) -> HttpConfig:
    http = settings.http
    return HttpConfig(
        request_bytes_max=http.request_bytes_max, requests_max=http.requests_max, access_log=http.access_log
    )


def llm_config(settings: Settings) -> LlmConfig:
    llm = settings.llm
    return LlmConfig(
        timeout_seconds=llm.timeout_seconds,
        reasoning_tokens=llm.reasoning_tokens,
        reply_bytes_max=llm.reply_bytes_max,
    )


def guard_config(settings: Settings) -> GuardConfig:
    llm = settings.llm
    return GuardConfig(concurrency=llm.concurrency, failures_max=llm.failures_max, open_seconds=llm.open_seconds)


def caps(settings: Settings) -> Caps:
    """The caps on cost, with the rungs that there are: no smaller model is one less."""
    caps, chosen = settings.caps, chosen_models(settings)
    roles = (chosen.observer, chosen.reflector)
    return Caps(
        session=Cap(tokens=caps.session_tokens_per_day or None, cost_usd=caps.session_usd_per_day or None),
        tenant=Cap(tokens=caps.tenant_tokens_per_day or None, cost_usd=caps.tenant_usd_per_day or None),
        small_model_at=caps.small_model_at if any(role.small_model for role in roles) else None,
        larger_batches_at=caps.larger_batches_at,
        observing=chosen.observer.provider is not Provider.EXTRACTIVE,
        reflecting=chosen.reflector.provider is not Provider.EXTRACTIVE,
    )


def artifact_config(settings: Settings) -> ArtifactConfig:
    artifacts = settings.artifacts
    return ArtifactConfig(
        bytes_max=artifacts.bytes_max,
        versions_max=artifacts.versions_max,
        session_max=artifacts.session_max,
        part_bytes_inline_max=artifacts.part_bytes_inline_max,
    )


def state_config(settings: Settings) -> StateConfig:
    state = settings.state
    return StateConfig(
        value_bytes_max=state.value_bytes_max,
        entries_max=state.entries_max,
        scope_bytes_max=state.scope_bytes_max,
        lint_findings_max=state.lint_findings_max,
    )


def fact_config(settings: Settings) -> FactConfig:
    facts = settings.facts
    return FactConfig(
        facts_max=facts.facts_max,
        noted_max=facts.noted_max,
        text_characters_max=facts.text_characters_max,
    )


def ending_config(settings: Settings) -> EndingConfig:
    sessions = settings.sessions
    return EndingConfig(
        ended_after=sessions.ended_after,
        look_seconds=sessions.ended_look_seconds,
        look_sessions=sessions.ended_look_sessions,
    )


def index_config(settings: Settings) -> IndexConfig:
    recall = settings.recall
    return IndexConfig(
        share=recall.index_share,
        batch_messages=recall.index_batch,
        batch_tokens=recall.index_batch_tokens,
        waiting_messages=recall.index_waiting_max,
        quiet_seconds=recall.index_quiet_seconds,
        look_seconds=recall.index_look_seconds,
        sweep_sessions=recall.index_sweep,
    )


def session_config(settings: Settings) -> SessionConfig:
    sessions = settings.sessions
    return SessionConfig(
        messages_max=sessions.messages_max,
        message_bytes_max=sessions.message_bytes_max,
        metadata_bytes_max=sessions.metadata_bytes_max,
        looked_max=sessions.looked_max,
        page_bytes_max=sessions.page_bytes_max,
    )


def engine_config(settings: Settings) -> EngineConfig:
    engine = settings.engine
    return EngineConfig(
        lease_seconds=engine.lease_seconds,
        sweep_seconds=engine.sweep_seconds,
        concurrency=engine.concurrency,
        grace_seconds=engine.grace_seconds,
    )


def retaining_config(settings: Settings) -> RetainingConfig:
    retention = settings.retention
    return RetainingConfig(
        sweep_seconds=retention.sweep_seconds,
        sweep_sessions=retention.sweep_sessions,
        batch_messages=retention.batch_messages,
    )


def recall_config(settings: Settings) -> RecallConfig:
    recall = settings.recall
    return RecallConfig(
        query_words_max=recall.query_words_max,
        timezone=settings.memory.timezone or "UTC",
        candidates_max=recall.candidates_max,
        tail_max=recall.tail_max,
        tail_tokens=recall.tail_tokens,
        sessions_max=recall.sessions_max,
        notes_max=recall.notes_max,
        hit_characters_max=recall.hit_characters_max,
    )


def embedding_config(settings: Settings) -> EmbeddingConfig | None:
    """None where no embeddings are switched on."""
    chosen = settings.embeddings
    if chosen.provider is None:
        return None
    return EmbeddingConfig(
        provider=chosen.provider,
        model=chosen.model,
        dimensions=chosen.dimensions,
        timeout_seconds=chosen.timeout_seconds,
        reply_bytes_max=chosen.reply_bytes_max,
        query_seconds=chosen.query_seconds,
        query_prefix=chosen.query_prefix,
        passage_prefix=chosen.passage_prefix,
    )


def embedding_guard_config(settings: Settings) -> GuardConfig:
    chosen = settings.embeddings
    return GuardConfig(
        concurrency=chosen.concurrency, failures_max=chosen.failures_max, open_seconds=chosen.open_seconds
    )


def vector_config(settings: Settings) -> VectorConfig:
    chosen = settings.embeddings
    return VectorConfig(
        batch_messages=chosen.batch,
        characters_max=chosen.characters_max,
        share=chosen.share,
        look_seconds=chosen.look_seconds,
        sweep_sessions=chosen.sweep,
        searched_max=chosen.searched_max,
    )
