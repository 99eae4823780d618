"""Settings of the memory: the presets of memory-rules.md section 2, and which value stands above which."""

from dataclasses import asdict
from typing import Any

import pytest
from pydantic import ValidationError

from app.kit.errors import FieldError, Invalid
from app.memory.rules import MemoryConfig, Rules
from app.memory.service import read_config

# The table of section 2, and of docs/decisions/0045; None is no limit, or off.
TABLE: dict[str, dict[str, Any]] = {
    "default": {
        "message_tokens": 16_000,
        "observation_tokens": 20_000,
        "message_budget": 45_000,
        "memory_budget": 60_000,
        "max_reflections": None,
        "max_observations": None,
        "keep_last": 12,
        "buffer_tokens": 3_200,
        "previous_observation_tokens": 2_000,
        "strategy": "leveled",
        "min_interval": 0,
        "consolidate_at": 5,
        "retain_tokens": 3_200,
        "block_tokens": 19_200,
        "reflect_keep": 10_000,
    },
    "compact": {
        "message_tokens": 1_000,
        "observation_tokens": 2_000,
        "message_budget": 8_000,
        "memory_budget": 4_000,
        "max_reflections": 5,
        "max_observations": 20,
        "keep_last": 0,
        "buffer_tokens": None,
        "previous_observation_tokens": 1_000,
        "strategy": "leveled",
        "min_interval": 0,
        "consolidate_at": 5,
        "retain_tokens": 200,
        "block_tokens": 1_200,
        "reflect_keep": 0,
    },
    "classic": {
        "message_tokens": 30_000,
        "observation_tokens": 40_000,
        "message_budget": 45_000,
        "memory_budget": 60_000,
        "max_reflections": None,
        "max_observations": None,
        "keep_last": 12,
        "buffer_tokens": None,
        "previous_observation_tokens": 8_000,
        "strategy": "rewrite",
        "min_interval": 3_600,
        "retain_tokens": 6_000,
        "block_tokens": 36_000,
        "reflect_keep": 0,
    },
}
COMMON = {
    "enabled": True,
    "scope": "session",
    "keep_last_tool_results": 6,
    "cache_ttl": 300,
    "reflect_to": 0.5,
    "observer_input_tokens": 24_000,
    "observer_output_tokens": 4_000,
    "observer_arguments_tokens": 2_000,
    "observer_result_tokens": 5_000,
    "instruction": None,
    "timezone": "UTC",
}


def resolved(service: dict[str, Any] | None = None, session: dict[str, Any] | None = None) -> Rules:
    """As the service resolves them: both read by MemoryConfig first."""
    values = [MemoryConfig.model_validate(config or {}).values() for config in (service, session)]
    return Rules.resolve(*values)


@pytest.mark.parametrize("preset", TABLE)
@pytest.mark.parametrize("level", ["service", "session"])
def test_a_preset_is_what_the_table_says(preset: str, level: str) -> None:
    rules = asdict(resolved(**{level: {"preset": preset}}))
    expected = TABLE[preset] | COMMON
    assert {name: rules[name] for name in expected} == expected


def test_nothing_set_is_the_default_preset() -> None:
    assert resolved() == resolved(session={"preset": "default"})


@pytest.mark.parametrize(
    ("service", "session", "message_tokens"),
    [
        ({"preset": "compact"}, {}, 1_000),
        ({"preset": "compact", "message_tokens": 7}, {}, 7),
        ({"message_tokens": 7}, {}, 7),
        ({"message_tokens": 7}, {"preset": "compact"}, 1_000),
        ({"preset": "default"}, {"preset": "compact"}, 1_000),
        ({"preset": "compact", "message_tokens": 7}, {"preset": "default"}, 16_000),
        ({"preset": "compact", "message_tokens": 7}, {"message_tokens": 9}, 9),
        ({"message_tokens": 7}, {"preset": "compact", "message_tokens": 9}, 9),
    ],
)
def test_a_session_stands_above_the_service_and_a_value_above_a_preset(
    service: dict[str, Any], session: dict[str, Any], message_tokens: int
) -> None:
    assert resolved(service, session).message_tokens == message_tokens


def test_a_session_s_preset_leaves_what_no_preset_sets_as_the_service_has_it() -> None:
    rules = resolved({"timezone": "Asia/Seoul", "cache_ttl": 60}, {"preset": "compact"})
    assert (rules.message_tokens, rules.timezone, rules.cache_ttl) == (1_000, "Asia/Seoul", 60)


@pytest.mark.parametrize(
    ("key", "value", "rule", "expected"),
    [
        ("retain_tokens", 0, "retain_tokens", 0),
        ("retain_tokens", 0.25, "retain_tokens", 250),
        ("retain_tokens", 0.0026, "retain_tokens", 3),
        ("retain_tokens", 9.5, "retain_tokens", 1_000),
        ("retain_tokens", 10, "retain_tokens", 10),
        ("retain_tokens", 2_000, "retain_tokens", 1_000),
        ("block_after", 1, "block_tokens", 1_000),
        ("block_after", 1.5, "block_tokens", 1_500),
        ("block_after", 1_700, "block_tokens", 1_700),
        ("block_after", 700, "block_tokens", 1_000),  # nothing waits too long before it is due
        ("buffer_every", 0.5, "buffer_tokens", 500),
        ("buffer_every", 300, "buffer_tokens", 300),
        ("buffer_every", 300.6, "buffer_tokens", 301),
        ("reflect_keep", 0.25, "reflect_keep", 1_000),
        ("reflect_keep", 300, "reflect_keep", 300),
    ],
)
def test_a_small_number_is_a_share_of_its_threshold_and_a_large_one_tokens(
    key: str, value: float, rule: str, expected: int
) -> None:
    rules = resolved(session={"message_tokens": 1_000, "observation_tokens": 4_000, key: value})
    assert getattr(rules, rule) == expected


@pytest.mark.parametrize(
    "key",
    [
        "message_budget",
        "memory_budget",
        "max_reflections",
        "max_observations",
        "observer_input_tokens",
        "previous_observation_tokens",
    ],
)
def test_an_explicit_zero_is_no_limit_and_unset_is_the_default(key: str) -> None:
    assert getattr(resolved({"preset": "compact"}), key) is not None
    assert getattr(resolved({"preset": "compact"}, {key: 0}), key) is None


@pytest.mark.parametrize("level", ["service", "session"])
@pytest.mark.parametrize("off", [None, 0])
def test_buffering_is_switched_off_by_null_or_zero(level: str, off: float | None) -> None:
    assert resolved(**{level: {"buffer_every": off}}).buffer_tokens is None


def test_a_null_leaves_any_other_key_unset() -> None:
    assert MemoryConfig.model_validate({"message_tokens": None, "preset": None}).values() == {}


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"mesage_tokens": 1_000}, "mesage_tokens"),
        ({"preset": "huge"}, "preset"),
        ({"enabled": "perhaps"}, "enabled"),
        ({"scope": "tenant"}, "scope"),
        ({"strategy": "random"}, "strategy"),
        ({"message_tokens": 0}, "message_tokens"),
        ({"message_tokens": -1}, "message_tokens"),
        ({"message_tokens": 10_000_001}, "message_tokens"),
        ({"message_tokens": 1.5}, "message_tokens"),
        ({"message_tokens": "many"}, "message_tokens"),
        ({"observation_tokens": 0}, "observation_tokens"),
        ({"memory_budget": -1}, "memory_budget"),
        ({"consolidate_at": 1}, "consolidate_at"),
        ({"reflect_to": 0}, "reflect_to"),
        ({"reflect_to": 1}, "reflect_to"),
        ({"block_after": 0.99}, "block_after"),
        ({"min_interval": -1}, "min_interval"),
        ({"min_interval": "NaN"}, "min_interval"),
        ({"cache_ttl": "Infinity"}, "cache_ttl"),
        ({"compact_on_observe": "now"}, "compact_on_observe"),
        ({"retention": "30d"}, "retention"),
        ({"timezone": "Mars/Olympus"}, "timezone"),
        ({"timezone": "localtime"}, "timezone"),
        ({"timezone": "../etc/passwd"}, "timezone"),
        ({"timezone": ""}, "timezone"),
    ],
)
def test_a_wrong_key_or_value_is_refused_by_its_name(config: dict[str, Any], key: str) -> None:
    with pytest.raises(ValidationError) as refused:
        MemoryConfig.model_validate(config)
    assert [error["loc"] for error in refused.value.errors()] == [(key,)]


def test_a_wrong_config_is_told_by_a_pointer_to_each_key() -> None:
    with pytest.raises(Invalid) as refused:
        read_config({"mesage_tokens": 5, "preset": "compact", "reflect_to": 2})
    assert {error.pointer for error in refused.value.errors} == {"/config/mesage_tokens", "/config/reflect_to"}
    assert all(isinstance(error, FieldError) and error.detail for error in refused.value.errors)


def test_a_config_keeps_its_nulls_for_they_unset_what_is_stored() -> None:
    assert read_config({"message_tokens": 5, "buffer_every": None, "preset": None}) == {
        "message_tokens": 5,
        "buffer_every": None,
        "preset": None,
    }


@pytest.mark.parametrize("name", ["UTC", "Europe/Lisbon", "Asia/Kolkata", "America/St_Johns"])
def test_a_time_zone_is_one_of_the_iana_data_base(name: str) -> None:
    assert resolved(session={"timezone": name}).zone.key == name


def test_a_log_is_condensed_early_enough_to_fit_a_small_memory_budget() -> None:
    assert Rules.resolve({}, {"memory_budget": 3_000}).observation_tokens == 2_000
    assert Rules.resolve({}, {"memory_budget": 3_000, "observation_tokens": 500}).observation_tokens == 500
    assert Rules.resolve({}, {"memory_budget": 0}).observation_tokens == 20_000
