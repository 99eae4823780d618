"""The numbers of the memory: presets, a session's config, and the rules resolved from them.

Source: memory-rules.md section 2 (settings and presets), 3 (when), 4 and 5 (observer, reflector), 6 (budgets). Those by
which a reply is parsed (section 4) are in ``lines.py`` and ``repetition.py``; the tries of a failing step (3.8) are a
setting, ``EngineConfig.attempts_max``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, Self
from zoneinfo import ZoneInfo, available_timezones

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError

PresetName = Literal["default", "compact", "classic"]
Kept = Literal["memory", "nothing"]
Scope = Literal["session", "resource"]

# memory-rules.md section 2, the table; the three numbers of ``default`` that depart from it are docs/decisions/0045's.
# 0 is no limit.
PRESETS: Mapping[str, dict[str, Any]] = {
    "default": {
        "message_tokens": 16_000,
        "observation_tokens": 20_000,
        "message_budget": 45_000,
        "memory_budget": 60_000,
        "max_reflections": 0,
        "max_observations": 0,
        "keep_last": 12,
        "buffer_every": 0.2,
        "previous_observation_tokens": 2_000,
        "strategy": "leveled",
        "min_interval": 0.0,
        "consolidate_at": 5,
        "reflect_keep": 0.5,
    },
    "compact": {
        "message_tokens": 1_000,
        "observation_tokens": 2_000,
        "message_budget": 8_000,
        "memory_budget": 4_000,
        "max_reflections": 5,
        "max_observations": 20,
        "keep_last": 0,
        "buffer_every": None,
        "previous_observation_tokens": 1_000,
        "strategy": "leveled",
        "min_interval": 0.0,
        "consolidate_at": 5,
        "reflect_keep": 0.0,
    },
    "classic": {
        "message_tokens": 30_000,
        "observation_tokens": 40_000,
        "message_budget": 45_000,
        "memory_budget": 60_000,
        "max_reflections": 0,
        "max_observations": 0,
        "keep_last": 12,
        "buffer_every": None,
        "previous_observation_tokens": 8_000,
        "strategy": "rewrite",
        "min_interval": 3_600.0,
        "consolidate_at": 5,
        "reflect_keep": 0.0,
    },
}

OBSERVER_INPUT_TOKENS, OBSERVER_OUTPUT_TOKENS = 24_000, 4_000
# Section 4: what the observer is shown of one call's arguments, and of one result.
OBSERVER_ARGUMENTS_TOKENS, OBSERVER_RESULT_TOKENS = 2_000, 5_000
# Rules outside the presets, with the value they have when nobody set them. A fraction is of message_tokens
# (retain_tokens, block_after) or of observation_tokens (reflect_keep).
COMMON: dict[str, Any] = {
    "enabled": True,
    "scope": "session",
    "keep_last_tool_results": 6,
    "retain_tokens": 0.2,
    "block_after": 1.2,
    "cache_ttl": 300.0,
    "reflect_to": 0.5,
    "observer_input_tokens": OBSERVER_INPUT_TOKENS,
    "observer_output_tokens": OBSERVER_OUTPUT_TOKENS,
    "observer_arguments_tokens": OBSERVER_ARGUMENTS_TOKENS,
    "observer_result_tokens": OBSERVER_RESULT_TOKENS,
    "compact_on_observe": False,
    "retention": None,
    "instruction": None,
    "timezone": "UTC",
}

UNLIMITED_AT_0 = (
    "message_budget",
    "memory_budget",
    "max_reflections",
    "max_observations",
    "observer_input_tokens",
    "previous_observation_tokens",
)

# Section 3.1, 3.2: buffering begins to hurry this many steps before the threshold; how far over its target an
# activation may reach, as a share of retain_tokens, and what it leaves at least.
NEAR_STEPS, OVERSHOOT_SHARE, LEFT_TOKENS_MIN = 1.1, 0.95, 1_000
# Section 3.5: from half a step on, a boundary is looked for each time another one of so many parts of a step has come.
BOUNDARY_LOOKS = 4
# Section 3.4: an early activation covers at least so many message tokens.
EARLY_TOKENS_MIN = 1_000

# A compaction condenses at most so many unobserved tokens, at some 10 ms per 1,000 tokens, while its caller waits.
EXTRACT_TOKENS_MAX = 50_000
# Section 4, gates: a span smaller than this need not shrink; its log may be as long as the output limit.
SHRINK_FROM_TOKENS = 500
# Section 3.6: reflections must fit beside observation_tokens, so these take at most this share of a memory_budget; the
# presets keep to it, and a session that lowers its budget alone is condensed sooner.
LOG_SHARE = 2 / 3
# A context shows notes under titles, and each day with how long ago it was: long logs then have 1.03 of their tokens,
# short ones up to 1.12. So the log has to leave that much of memory_budget (docs/decisions/0067).
SHOWN_SHARE = 1.1
TITLE_TOKENS = 12  # of each observation: many small ones, as in a shared memory, take more than that share
# Section 5: share of the detail asked for at compression 1-4, and the coverage protected lines must keep.
COMPRESSION_SHARES = (0.8, 0.6, 0.4, 0.2)
PROTECTED_COVERAGE = 0.8
# Of sources over SHRINK_FROM_TOKENS a reflection has at most this share, restored lines included: else a log of
# protected lines alone would be condensed again and again.
RESTORED_SHARE = 0.9
# Section 3.8: back-off of a failing step, seconds.
BACKOFF_FIRST, BACKOFF_MAX, STALLED_EVERY = 1.0, 120.0, 600.0

FRACTION_BELOW = 10.0  # a share such as 0.2 or 1.2 of a threshold; from here on a number of tokens
MESSAGE_TOKENS_MAX = 10_000_000
INSTRUCTION_CHARACTERS_MOST = 100_000  # the most that the setting can allow a session
MACHINE_ZONE = "localtime"  # some systems list it beside IANA's; Postgres, which dates by the zone too, does not


class Retention(BaseModel):
    """How long messages are kept (docs/decisions/0031). A session's value replaces the service's as a whole."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    days: float = Field(0, ge=0, le=36_500, description="age in days at which messages are removed; 0: never")
    keep: Kept = Field(
        "memory",
        description="memory: notes outlive their messages; nothing: the same, and a session without a message"
        " for so many days is deleted whole",
    )


class MemoryConfig(BaseModel):
    """What can be set per session (``config``), or for the service by ``DAYBOOK_MEMORY__<KEY>``. Unset keys are None.

    Only keys that were set count (``model_fields_set``): ``buffer_every: null`` is a value, it switches buffering off.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    preset: PresetName | None = Field(None, description="base values of all rules: default, compact or classic")
    enabled: bool | None = Field(None, description="false: store messages, but observe nothing")
    scope: Scope | None = Field(
        None, description="session: each session has its own memory; resource: all sessions of a resource share one"
    )
    message_tokens: int | None = Field(
        None, ge=1, le=MESSAGE_TOKENS_MAX, description="tokens of unobserved messages at which the observer runs"
    )
    observation_tokens: int | None = Field(
        None, ge=1, le=MESSAGE_TOKENS_MAX, description="tokens of observations at which the reflector runs"
    )
    message_budget: int | None = Field(
        None, ge=0, le=MESSAGE_TOKENS_MAX, description="maximum tokens of messages in a context; 0: no limit"
    )
    memory_budget: int | None = Field(
        None, ge=0, le=MESSAGE_TOKENS_MAX, description="maximum tokens of the observation log in a context; 0: no limit"
    )
    max_reflections: int | None = Field(
        None, ge=0, le=10_000, description="maximum number of reflections in a context; 0: no limit"
    )
    max_observations: int | None = Field(
        None, ge=0, le=10_000, description="maximum number of observations in a context; 0: no limit"
    )
    keep_last: int | None = Field(
        None, ge=0, le=10_000, description="newest messages shown even when they are observed"
    )
    keep_last_tool_results: int | None = Field(
        None, ge=0, le=10_000, description="newest tool results shown whole; older ones are shown as previews"
    )
    strategy: Literal["leveled", "rewrite"] | None = Field(
        None, description="leveled: condense level by level; rewrite: rewrite the whole log at once"
    )
    min_interval: float | None = Field(None, ge=0, le=31_536_000, description="minimum seconds between two reflections")
    consolidate_at: int | None = Field(
        None, ge=2, le=1_000, description="number of reflections of one level that are condensed into one of the next"
    )
    buffer_every: float | None = Field(
        None,
        ge=0,
        le=MESSAGE_TOKENS_MAX,
        description="observe ahead every so many tokens, or this share of message_tokens; 0 or null: off",
    )
    retain_tokens: float | None = Field(
        None, ge=0, le=MESSAGE_TOKENS_MAX, description="newest tokens, or share of message_tokens, left unobserved"
    )
    block_after: float | None = Field(
        None,
        ge=1,
        le=MESSAGE_TOKENS_MAX,
        description="tokens, or share of message_tokens, from which observing no longer waits for open tool calls",
    )
    cache_ttl: float | None = Field(
        None,
        ge=0,
        le=31_536_000,
        description="seconds without a message after which the provider's prompt cache counts as cold",
    )
    reflect_keep: float | None = Field(
        None,
        ge=0,
        le=MESSAGE_TOKENS_MAX,
        description="newest tokens, or share of observation_tokens, of observations that a reflection leaves as"
        " they are",
    )
    reflect_to: float | None = Field(
        None, gt=0, lt=1, description="target size of a reflection as a share of its sources"
    )
    observer_input_tokens: int | None = Field(
        None, ge=0, le=MESSAGE_TOKENS_MAX, description="maximum tokens of messages in one observer call; 0: no limit"
    )
    observer_output_tokens: int | None = Field(
        None,
        ge=SHRINK_FROM_TOKENS,
        le=100_000,
        description="maximum tokens that one observer call may write; raise it along with observer_input_tokens,"
        " within the model's limit",
    )
    observer_arguments_tokens: int | None = Field(
        None,
        ge=50,
        le=MESSAGE_TOKENS_MAX,
        description="maximum tokens of a tool call's arguments shown to the observer; longer ones keep their"
        " beginning and end",
    )
    observer_result_tokens: int | None = Field(
        None,
        ge=50,
        le=MESSAGE_TOKENS_MAX,
        description="maximum tokens of a tool result, or of what a file says, shown to the observer; a longer one keeps"
        " its beginning and end",
    )
    previous_observation_tokens: int | None = Field(
        None,
        ge=0,
        le=MESSAGE_TOKENS_MAX,
        description="maximum tokens of the observation log shown to the observer; 0: no limit",
    )
    compact_on_observe: bool | None = Field(
        None, description="true: contexts show no observed messages, whatever keep_last says"
    )
    retention: Retention | None = Field(
        None,
        description='days and what to keep, such as {"days": 30, "keep": "memory"}; unset: messages are kept forever',
    )
    instruction: str | None = Field(
        None, max_length=INSTRUCTION_CHARACTERS_MOST, description="extra instruction for the observer and the reflector"
    )
    timezone: str | None = Field(None, description="IANA time zone of the dates shown")

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, name: str | None) -> str | None:
        if name is not None and (name == MACHINE_ZONE or name not in available_timezones()):
            raise PydanticCustomError("timezone", "'{name}' is not an IANA time zone", {"name": name})
        return name

    def values(self) -> dict[str, Any]:
        """The keys that were set, as JSON."""
        return set_keys(self.model_dump(include=self.model_fields_set))


def set_keys(config: dict[str, Any]) -> dict[str, Any]:
    """Without the keys that are None, which unsets them, but for ``buffer_every``, where it means off."""
    return {key: value for key, value in config.items() if value is not None or key == "buffer_every"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTokens:
    """How many tokens are shown of one call's arguments, and of one result or file."""

    arguments: int = OBSERVER_ARGUMENTS_TOKENS
    result: int = OBSERVER_RESULT_TOKENS


TOOLS = ToolTokens()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules in force for one memory. Tokens are absolute; None is no limit (``buffer_tokens``: off)."""

    enabled: bool
    scope: str
    message_tokens: int
    observation_tokens: int
    message_budget: int | None
    memory_budget: int | None
    max_reflections: int | None
    max_observations: int | None
    keep_last: int
    keep_last_tool_results: int
    strategy: str
    min_interval: float
    consolidate_at: int
    buffer_tokens: int | None
    retain_tokens: int
    block_tokens: int
    cache_ttl: float
    reflect_keep: int
    reflect_to: float
    observer_input_tokens: int | None
    observer_output_tokens: int
    observer_arguments_tokens: int
    observer_result_tokens: int
    previous_observation_tokens: int | None
    compact_on_observe: bool
    retention: Retention | None
    instruction: str | None
    timezone: str

    @classmethod
    def resolve(cls, service: dict[str, Any], session: dict[str, Any]) -> Self:
        """Session value > session preset > environment value > environment preset (section 2).

        ``service`` and ``session`` are ``MemoryConfig.values()``.
        """
        base = COMMON | PRESETS[service.get("preset", "default")] | service
        if "preset" in session:
            base = base | PRESETS[session["preset"]]
        v = base | session
        messages = v["message_tokens"]
        observations = v["observation_tokens"]
        if v["memory_budget"]:
            observations = min(observations, max(1, int(v["memory_budget"] * LOG_SHARE)))
        resolved = {name: v[name] or None for name in UNLIMITED_AT_0} | {
            "observation_tokens": observations,
            "buffer_tokens": _share(v["buffer_every"], messages) if v["buffer_every"] else None,
            "retain_tokens": min(_share(v["retain_tokens"], messages), messages),
            "block_tokens": max(_share(v["block_after"], messages), messages),
            "reflect_keep": _share(v["reflect_keep"], observations),
            "retention": _retention(v["retention"]),
        }
        return cls(**{one.name: v[one.name] for one in fields(cls) if one.name in v} | resolved)

    @property
    def tools(self) -> ToolTokens:
        return ToolTokens(arguments=self.observer_arguments_tokens, result=self.observer_result_tokens)

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)


def _retention(value: dict[str, Any] | None) -> Retention | None:
    retention = None if value is None else Retention.model_validate(value)
    return None if retention is None or not retention.days else retention


def _share(value: float, whole: int) -> int:
    return round(value * whole) if value < FRACTION_BELOW else round(value)
