"""Converts settings to the configs of the parts, so that a part does not depend on the names of settings."""

from app.choosing import chosen_models
from app.context.model import ContextLimits
from app.keys.auth import AuthConfig
from app.kit.auth import LOOPBACK_HOSTS
from app.llm.port import Provider
from app.memory.spending import Cap, Caps
from app.recall.indexer import IndexConfig
from app.recall.service import RecallConfig
from app.recall.vectorizing import VectorConfig
from app.sessions.ending import EndingConfig
from app.settings import Settings, configured


def auth_config(settings: Settings) -> AuthConfig:
    bootstrap = settings.bootstrap_key
    return configured(
        AuthConfig,
        settings.keys,
        bootstrap_key=None if bootstrap is None else bootstrap.get_secret_value(),
        loopback=settings.host in LOOPBACK_HOSTS,
        origins=frozenset(settings.http.origin_list),
    )


def caps(settings: Settings) -> Caps:
    """The caps on cost, and the rungs before them; without a smaller model there is one rung less."""
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


def context_limits(settings: Settings) -> ContextLimits:
    return configured(
        ContextLimits,
        settings.context,
        template_characters_max=settings.state.template_characters_max,
        profile_tokens=settings.facts.profile_tokens,
        recall_tokens=settings.recall.tokens,
        part_bytes_inline_max=settings.artifacts.part_bytes_inline_max,
    )


def ending_config(settings: Settings) -> EndingConfig:
    sessions = settings.sessions
    looks = {"look_seconds": sessions.ended_look_seconds, "look_sessions": sessions.ended_look_sessions}
    return configured(EndingConfig, sessions, **looks)


def index_config(settings: Settings) -> IndexConfig:
    recall = settings.recall
    return IndexConfig(
        share=recall.index_share,
        idle_share=recall.index_idle_share,
        batch_messages=recall.index_batch,
        batch_tokens=recall.index_batch_tokens,
        waiting_messages=recall.index_waiting_max,
        quiet_seconds=recall.index_quiet_seconds,
        look_seconds=recall.index_look_seconds,
        sweep_sessions=recall.index_sweep,
    )


def recall_config(settings: Settings) -> RecallConfig:
    return configured(RecallConfig, settings.recall, timezone=settings.memory.timezone or "UTC")


def vector_config(settings: Settings) -> VectorConfig:
    chosen = settings.embeddings
    return configured(VectorConfig, chosen, batch_messages=chosen.batch, sweep_sessions=chosen.sweep)
