"""Settings from the environment, and what a misspelt or wrong one is told."""

import re

import pytest

from app.llm.port import Provider
from app.memory.rules import Rules
from app.settings import (
    Settings,
    SettingsError,
    load_settings,
    without_password,
)

pytestmark = pytest.mark.usefixtures("clean_environment")


@pytest.mark.parametrize(
    ("name", "likely"),
    [
        ("DAYBOOK_PROVIDR", "DAYBOOK_PROVIDER"),
        ("DAYBOOK_DATABASE_URI", "DAYBOOK_DATABASE_URL"),
        ("DAYBOOK_MEMORY_PRESET", "DAYBOOK_MEMORY__PRESET"),
        ("DAYBOOK_MEMORY__MESAGE_TOKENS", "DAYBOOK_MEMORY__MESSAGE_TOKENS"),
        ("DAYBOOK_OBSERVER_MODEL", "DAYBOOK_OBSERVER__MODEL"),
        ("DAYBOOK_OBSERVER__MODEL__NAME", "DAYBOOK_OBSERVER__MODEL"),
        ("daybook_prot", "DAYBOOK_PORT"),
    ],
)
def test_a_misspelt_setting_is_told_with_the_one_that_was_meant(
    monkeypatch: pytest.MonkeyPatch, name: str, likely: str
) -> None:
    monkeypatch.setenv(name, "1")
    with pytest.raises(SettingsError) as refused:
        load_settings()
    assert str(refused.value) == f"{name} is not a setting of Daybook; did you mean {likely}?"


def test_a_name_like_no_setting_is_told_without_a_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAYBOOK_ZZZZZZZZZZZZZZZZ", "1")
    with pytest.raises(SettingsError, match=r"^DAYBOOK_ZZZZZZZZZZZZZZZZ is not a setting of Daybook$"):
        load_settings()


def test_variables_of_others_are_none_of_its_business(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAYBOOKS_ON_THE_SHELF", "12")
    assert load_settings() == Settings()


@pytest.mark.parametrize(
    "name", ["DAYBOOK_PORT", "DAYBOOK_DATA_DIR", "DAYBOOK_DATABASE_URL", "DAYBOOK_OBSERVER__MODEL"]
)
def test_an_empty_setting_is_one_that_is_not_set(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "")
    assert load_settings() == Settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DAYBOOK_PORT", "eighty"),
        ("DAYBOOK_PORT", "65536"),
        ("DAYBOOK_PORT", "-1"),
        ("DAYBOOK_ENV", "staging"),
        ("DAYBOOK_MIGRATE", "sometimes"),
        ("DAYBOOK_WORKERS", "0"),
        ("DAYBOOK_PROVIDER", "skynet"),
        ("DAYBOOK_OBSERVER__PROVIDER", "skynet"),
        ("DAYBOOK_LOG_LEVEL", "loud"),
        ("DAYBOOK_MEMORY__PRESET", "huge"),
        ("DAYBOOK_MEMORY__MESSAGE_TOKENS", "0"),
        ("DAYBOOK_MEMORY__MESSAGE_TOKENS", "many"),
        ("DAYBOOK_MEMORY__TIMEZONE", "Mars/Olympus"),
        ("DAYBOOK_MEMORY__COMPACT_ON_OBSERVE", "perhaps"),
        ("DAYBOOK_SESSIONS__MESSAGES_MAX", "0"),
        ("DAYBOOK_ENGINE__LEASE_SECONDS", "0.5"),
        ("DAYBOOK_POOL__MAX", "0"),
        ("DAYBOOK_CAPS__SESSION_USD_PER_DAY", "inf"),
        ("DAYBOOK_CAPS__TENANT_USD_PER_DAY", "nan"),
        ("DAYBOOK_CAPS__TENANT_TOKENS_PER_DAY", "9" * 30),
    ],
)
def test_a_wrong_value_is_told_in_one_line_by_its_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as refused:
        load_settings()
    assert re.fullmatch(rf"{name}: .+", str(refused.value))  # a dot matches no line break


def test_a_wrong_option_is_told_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was told as a variable, which nobody had set."""
    monkeypatch.setenv("DAYBOOK_WORKERS", "2")
    with pytest.raises(SettingsError, match=r"^--port: .+65535"):
        load_settings(port=99_999)


@pytest.mark.parametrize("key", ["hunter2", "hunter2-hunter2-\u00fc", "hunter2-hunter2-\n", " hunter2-hunter2-"])
def test_a_key_too_short_or_that_no_header_carries_is_refused_without_showing_it(
    monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("DAYBOOK_BOOTSTRAP_KEY", key)
    with pytest.raises(SettingsError, match=r"^DAYBOOK_BOOTSTRAP_KEY: ") as refused:
        load_settings()
    assert "hunter2" not in str(refused.value)
    assert "characters" in str(refused.value)


def test_a_key_is_not_shown_with_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAYBOOK_BOOTSTRAP_KEY", "correct horse battery")
    assert "horse" not in repr(load_settings())


def test_settings_are_read_from_the_environment_nested_with_two_underscores(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "DAYBOOK_PORT": "9000",
        "DAYBOOK_OBSERVER__PROVIDER": "openai",
        "DAYBOOK_MEMORY__PRESET": "compact",
        "DAYBOOK_MEMORY__BUFFER_EVERY": "0",
        "DAYBOOK_ENGINE__SWEEP_SECONDS": "0.5",
    }.items():
        monkeypatch.setenv(name, value)
    settings = load_settings()
    assert (settings.port, settings.observer.provider, settings.engine.sweep_seconds) == (9000, Provider.OPENAI, 0.5)
    assert settings.memory.values() == {"preset": "compact", "buffer_every": 0}


def test_null_switches_off_what_a_session_switches_off_by_null(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAYBOOK_MEMORY__BUFFER_EVERY", "null")
    monkeypatch.setenv("DAYBOOK_DATABASE_URL", "null")
    settings = load_settings()
    assert (settings.memory.values(), settings.database_url) == ({"buffer_every": None}, None)


def test_an_option_stands_above_the_environment_and_one_not_given_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAYBOOK_PORT", "9000")
    monkeypatch.setenv("DAYBOOK_HOST", "::1")
    settings = load_settings(port=9001, host=None)
    assert (settings.port, settings.host) == (9001, "::1")


def test_with_nothing_set_it_is_a_service_for_one_machine() -> None:
    settings = load_settings()
    assert (settings.env, settings.host, settings.port, settings.workers) == ("development", "127.0.0.1", 8000, 1)
    assert (settings.database_url, settings.data_dir, settings.bootstrap_key, settings.migrate) == (
        None,
        None,
        None,
        "auto",
    )
    assert Rules.resolve(settings.memory.values(), {}) == Rules.resolve({}, {})


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:secret@host/db", "postgresql://me:***@host/db"),
        ("postgresql://me:se:cr@t@host:5432/db", "postgresql://me:***@host:5432/db"),
        ("postgresql+asyncpg://me:secret@[::1]:5432/db?a=b", "postgresql+asyncpg://me:***@[::1]:5432/db?a=b"),
        ("postgresql://me@host:5432/db", "postgresql://me@host:5432/db"),
        ("postgresql://host:5432/db", "postgresql://host:5432/db"),
        ("postgresql:///db?host=/tmp&user=me", "postgresql:///db?host=/tmp&user=me"),
        ("postgresql://host/db?user=me&password=secret&a=b", "postgresql://host/db?user=me&password=***&a=b"),
        ("postgresql://host/db?sslpassword=secret", "postgresql://host/db?sslpassword=***"),
    ],
)
def test_an_address_is_shown_without_its_password(url: str, shown: str) -> None:
    assert without_password(url) == shown
