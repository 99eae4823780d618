"""A limit is a setting, and the part that keeps to it has the same by itself."""

from inspect import signature
from typing import Any

import pytest

from app import configs
from app.artifacts.service import ArtifactConfig
from app.artifacts.sweeping import SweepConfig
from app.context.model import ContextLimits
from app.diagnostics.service import EventsConfig
from app.facts.model import FactConfig
from app.keys.auth import AuthConfig
from app.kit.connection import ConnectionConfig
from app.kit.http import HttpConfig
from app.kit.nonblocking import WAITING_BYTES_MAX
from app.kit.rates import RateConfig
from app.llm.embedding import EmbeddingConfig, EmbeddingProvider
from app.llm.guard import GuardConfig
from app.llm.port import LlmConfig, Provider
from app.memory.changing.branching import BranchConfig
from app.memory.changing.retaining import RetainingConfig
from app.memory.engine import EngineConfig
from app.memory.spending import Caps
from app.memory.store import MemoryStore
from app.recall.indexer import IndexConfig
from app.recall.service import RecallConfig
from app.recall.vectorizing import VectorConfig
from app.sessions.ending import EndingConfig
from app.sessions.service import SessionConfig
from app.settings import Settings, configured
from app.state.model import StateConfig
from app.transfer.exporting import ExportConfig

SETTINGS = Settings()
HASHED = EmbeddingProvider.SCRIPTED


@pytest.mark.parametrize(
    ("config", "group"),
    [
        (ArtifactConfig(), SETTINGS.artifacts),
        (EmbeddingConfig(provider=HASHED), SETTINGS.embeddings.model_copy(update={"provider": HASHED})),
        (ConnectionConfig(), SETTINGS.http),
        (EngineConfig(), SETTINGS.engine),
        (EventsConfig(), SETTINGS.events),
        (ExportConfig(), SETTINGS.export),
        (FactConfig(), SETTINGS.facts),
        (GuardConfig(), SETTINGS.llm),
        (HttpConfig(), SETTINGS.http),
        (LlmConfig(), SETTINGS.llm),
        (RateConfig(), SETTINGS.rates),
        (RetainingConfig(), SETTINGS.retention),
        (SessionConfig(), SETTINGS.sessions),
        (StateConfig(), SETTINGS.state),
        (SweepConfig(), SETTINGS.artifacts),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_a_part_keeps_to_by_itself_is_what_the_settings_say(config: Any, group: Any) -> None:
    assert configured(type(config), group) == config


def test_what_a_part_keeps_to_by_itself_is_a_setting_of_another_name_too() -> None:
    assert configs.auth_config(SETTINGS) == AuthConfig()
    assert configs.caps(SETTINGS.model_copy(update={"provider": Provider.OPENAI})) == Caps()
    assert configs.context_limits(SETTINGS) == ContextLimits()
    assert configs.ending_config(SETTINGS) == EndingConfig()
    assert configs.index_config(SETTINGS) == IndexConfig()
    assert configs.recall_config(SETTINGS) == RecallConfig()
    assert configs.vector_config(SETTINGS) == VectorConfig()


def test_what_has_no_config_of_its_own_keeps_to_the_settings_by_itself_too() -> None:
    assert BranchConfig().messages_max == SETTINGS.sessions.branch_messages_max
    by_itself = signature(MemoryStore).parameters["pending_messages_max"].default
    assert by_itself == SETTINGS.engine.pending_messages_max
    assert SETTINGS.log_waiting_bytes_max == WAITING_BYTES_MAX


def test_another_value_stands_in_the_place_of_a_setting() -> None:
    asked = SETTINGS.engine.model_copy(update={"concurrency": 9})
    assert configured(EngineConfig, asked, grace_seconds=0.0) == EngineConfig(concurrency=9, grace_seconds=0.0)
