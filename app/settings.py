"""The settings: the one module that reads the environment (style.md 14).

Each domain defines its own small config; the settings are read from ``DAYBOOK_<NAME>``, nested with ``__``. A misspelt
or wrong setting stops the start with one clear line (api.md, Settings).
"""

import difflib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, Field, SecretStr, ValidationError, field_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict

from app.kit.errors import StartError
from app.kit.patterns import lazy_pattern
from app.llm.port import Provider
from app.memory.rules import MemoryConfig
from app.setting_groups import (
    ArtifactSettings,
    CapsSettings,
    ContextSettings,
    EmbeddingSettings,
    EngineSettings,
    EventSettings,
    ExportSettings,
    FactSettings,
    HttpSettings,
    KeySettings,
    LlmSettings,
    ModelSettings,
    PoolSettings,
    RateSettings,
    RecallSettings,
    RedactionSettings,
    RetentionSettings,
    SessionSettings,
    StateSettings,
)

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Config = TypeVar("Config", bound="DataclassInstance")

PREFIX = "DAYBOOK_"


class SettingsError(StartError):
    """A setting is misspelt or wrong; the message names it."""


class Settings(BaseSettings):
    """Everything that can be set. Defaults are for a developer's machine: embedded Postgres, loopback, no model."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        env_ignore_empty=True,  # an empty folder would be the current one
        env_parse_none_str="null",  # turns a rule off that can be off (memory-rules.md, buffer_every)
        extra="forbid",
        frozen=True,
        env_file=None,
    )

    env: Literal["development", "production"] = Field("development", description="development or production")
    host: str = Field("127.0.0.1", description="address to bind; without a key only a loopback address")
    port: int = Field(8000, ge=0, le=65_535, description="port to bind; 0: a free port, which the log names")
    workers: int = Field(
        1, ge=1, le=256, description="worker processes that share one socket; each has its own connection pool"
    )
    database_url: str | None = Field(
        None, description="postgresql://... URL of the database; unset: embedded Postgres under DATA_DIR"
    )
    data_dir: Path | None = Field(None, description="data directory of embedded Postgres; default: ./.daybook")
    postgres_binaries: Path | None = Field(
        None, description="directory with the initdb and postgres that embedded Postgres runs"
    )
    allow_embedded: bool = Field(False, description="allow embedded Postgres although ENV is production")
    row_level_security: bool = Field(
        False, description="set the tenant of each transaction for row-level security in Postgres (docs/security.md)"
    )
    migrate: Literal["auto", "never"] = Field("auto", description="auto: migrate the database at start; never: do not")
    bootstrap_key: SecretStr | None = Field(
        None,
        min_length=16,
        description="admin key of the tenant 'default'; if there is no key at all, local mode needs none",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="lowest level that is logged: debug, info, warning or error"
    )
    log_json: bool | None = Field(None, description="log as JSON; default: true unless stderr is a terminal")
    log_waiting_bytes_max: int = Field(
        1024 * 1024,
        ge=64 * 1024,
        le=1024**3,
        description="bytes of log lines buffered while nobody reads stderr; further lines are dropped and counted",
    )
    provider: Provider | None = Field(
        None,
        description="anthropic, openai, extractive or scripted; default: the provider whose API key is set, else"
        " extractive",
    )
    model: str | None = Field(
        None, description="model name; default: the provider's; for scripted, the path of the replies"
    )
    observer: ModelSettings = Field(ModelSettings(), description="Model that turns messages into observations.")
    reflector: ModelSettings = Field(ModelSettings(), description="Model that condenses observations into reflections.")
    memory: MemoryConfig = Field(
        MemoryConfig(), description="Rules of the memory; a session's own config overrides them."
    )
    sessions: SessionSettings = Field(
        SessionSettings(), description="Limits of messages, lists and branches, and when a session ends."
    )
    artifacts: ArtifactSettings = Field(ArtifactSettings(), description="Named payloads: limits, storage and search.")
    state: StateSettings = Field(StateSettings(), description="Limits of state values and templates.")
    facts: FactSettings = Field(FactSettings(), description="Limits of the facts known about a resource.")
    recall: RecallSettings = Field(RecallSettings(), description="Search and its inverted index.")
    embeddings: EmbeddingSettings = Field(
        EmbeddingSettings(), description="Dense vectors that recall uses in addition to words (docs/recall.md)."
    )
    context: ContextSettings = Field(ContextSettings(), description="Limits of a compiled context, and its cache.")
    engine: EngineSettings = Field(EngineSettings(), description="Background work on the memories.")
    retention: RetentionSettings = Field(
        RetentionSettings(), description="The sweep that removes messages past their retention."
    )
    llm: LlmSettings = Field(LlmSettings(), description="Calls to the models.")
    caps: CapsSettings = Field(
        CapsSettings(),
        description="Spending caps of model calls per UTC day; at a cap the memory pauses until the next day.",
    )
    http: HttpSettings = Field(HttpSettings(), description="Limits of HTTP requests and connections.")
    keys: KeySettings = Field(KeySettings(), description="Caching of the keys made by `daybook keys create`.")
    rates: RateSettings = Field(RateSettings(), description="Rate limit of each key.")
    redaction: RedactionSettings = Field(
        RedactionSettings(), description="Removal of secrets from texts (docs/security.md)."
    )
    events: EventSettings = Field(EventSettings(), description="Server-sent event streams.")
    export: ExportSettings = Field(ExportSettings(), description="Exports over HTTP.")
    pool: PoolSettings = Field(PoolSettings(), description="Connection pool of the database.")

    @field_validator("bootstrap_key")
    @classmethod
    def _lets_someone_in(cls, key: SecretStr | None) -> SecretStr | None:
        if key is None or is_sendable(key.get_secret_value()):
            return key
        raise PydanticCustomError("unsendable", "ASCII characters only, and no space at its ends")


def is_sendable(key: str) -> bool:
    """Whether an HTTP header can carry the key."""
    return re.fullmatch(r"[!-~]([ -~]*[!-~])?", key) is not None


def load_settings(**overrides: Any) -> Settings:
    """Read the environment; ``overrides``, from command line options, win over it unless None.

    Raises SettingsError: one clear line that names the option or the variable.
    """
    refuse_unknown(os.environ)
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings(**given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = "__".join(str(step) for step in first["loc"])
        name = f"--{name.replace('_', '-')}" if name in given else f"{PREFIX}{name}".upper()
        # Pydantic measures a SecretStr as it measures a list, in items.
        told = first["msg"].replace(" items", " characters")
        raise SettingsError(f"{name}: {told}") from None


def refuse_unknown(environ: Mapping[str, str]) -> None:
    """Raise SettingsError for a ``DAYBOOK_`` variable that no setting reads: a misspelt one would be ignored."""
    known = setting_names()
    for name in environ:
        if name.upper().startswith(PREFIX) and name.upper() not in known:
            likely = difflib.get_close_matches(name.upper(), sorted(known), n=1)
            hint = f"; did you mean {likely[0]}?" if likely else ""
            raise SettingsError(f"{name} is not a setting of Daybook{hint}")


def setting_names() -> set[str]:
    """The names of all settings as environment variables."""
    return {name for _, settings in settings_by_group() for name, _ in settings}


def settings_by_group() -> Iterator[tuple[str, list[tuple[str, FieldInfo]]]]:
    """The settings as variables, by the description of their group: first those without a group, with ""."""
    fields = Settings.model_fields
    groups = {name: field for name, field in fields.items() if _members(field)}
    yield "", [(f"{PREFIX}{name}".upper(), field) for name, field in fields.items() if name not in groups]
    for name, field in groups.items():
        of_group = (_variables(f"{PREFIX}{name}__{key}".upper(), own) for key, own in _members(field).items())
        yield field.description or "", [variable for variables in of_group for variable in variables]


def _variables(name: str, field: FieldInfo) -> Iterator[tuple[str, FieldInfo]]:
    """The variables of a setting; one that is an object can be given as JSON, or key by key."""
    yield name, field
    for key, own in _members(field).items():
        yield f"{name}__{key}".upper(), own


def _members(field: FieldInfo) -> Mapping[str, FieldInfo]:
    """The settings of a group, or the keys of an object; empty for a plain setting."""
    for kind in (field.annotation, *get_args(field.annotation)):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind.model_fields
    return {}


_PASSWORDS = lazy_pattern(r"(?<=://)([^:/?#]*):[^/?#]*@|([?&](?:ssl)?password=)[^&]*", re.IGNORECASE)


def without_password(url: str) -> str:
    """A DSN that can be shown: without the user's password, or one among its parameters."""
    return _PASSWORDS.sub(lambda found: f"{found[2]}***" if found[2] else f"{found[1]}:***@", url)


def configured(kind: type[Config], group: BaseModel, **others: Any) -> Config:
    """A part's config: each field is the setting of this name in the group, except for the ``others``."""
    taken = {field.name: getattr(group, field.name) for field in fields(kind) if field.name not in others}
    return kind(**taken, **others)
