import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from app.llm.build import MID_MODELS, SMALL_MODELS, build_model, default_provider
from app.llm.calls import ModelSetupError
from app.llm.port import LlmConfig, Provider


def models_of_the_sdk(provider: Provider) -> set[str]:
    if provider is Provider.ANTHROPIC:
        from anthropic.types.model import Model

        literal, _any_string = get_args(Model)
        return set(get_args(literal))
    from openai.types.shared.chat_model import ChatModel

    return set(get_args(ChatModel))


@pytest.mark.parametrize("defaults", [SMALL_MODELS, MID_MODELS], ids=["small", "mid"])
@pytest.mark.parametrize("provider", [Provider.ANTHROPIC, Provider.OPENAI])
def test_each_default_model_is_one_the_installed_sdk_names(defaults: dict[Provider, str], provider: Provider) -> None:
    assert defaults[provider] in models_of_the_sdk(provider)


@pytest.mark.parametrize(
    ("environ", "provider"),
    [
        ({}, Provider.EXTRACTIVE),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:11434/v1"}, Provider.EXTRACTIVE),
        ({"ANTHROPIC_API_KEY": "", "OPENAI_API_KEY": ""}, Provider.EXTRACTIVE),
        ({"ANTHROPIC_API_KEY": " ", "OPENAI_API_KEY": "\n"}, Provider.EXTRACTIVE),
        ({"ANTHROPIC_API_KEY": " ", "OPENAI_API_KEY": "k\n"}, Provider.OPENAI),
        ({"OPENAI_API_KEY": "k"}, Provider.OPENAI),
        ({"ANTHROPIC_API_KEY": "k"}, Provider.ANTHROPIC),
        ({"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}, Provider.ANTHROPIC),
    ],
)
def test_the_provider_is_the_one_whose_key_is_set(environ: dict[str, str], provider: Provider) -> None:
    assert default_provider(environ) is provider


def test_nothing_slow_is_imported_before_a_model_is_built() -> None:
    code = "import sys, app.llm.build; print(*sys.modules)"
    root = Path(__file__).parents[2]

    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)

    assert {"anthropic", "openai", "genai_prices", "httpx2"}.isdisjoint(done.stdout.split())


@pytest.fixture
def keyless(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("ANTHROPIC_CONFIG_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))  # no profile of the machine's user


@pytest.mark.usefixtures("keyless")
@pytest.mark.parametrize(
    ("provider", "variable"), [(Provider.ANTHROPIC, "ANTHROPIC_API_KEY"), (Provider.OPENAI, "OPENAI_API_KEY")]
)
def test_a_missing_key_is_one_line_that_names_the_variable(provider: Provider, variable: str) -> None:
    with pytest.raises(ModelSetupError) as caught:
        build_model(provider, "some-model", LlmConfig())

    assert variable in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("keyless")
def test_a_profile_that_is_not_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_PROFILE", "elsewhere")

    with pytest.raises(ModelSetupError, match="elsewhere") as caught:
        build_model(Provider.ANTHROPIC, "some-model", LlmConfig())

    assert "\n" not in str(caught.value)


def test_the_extractive_provider_has_no_model() -> None:
    with pytest.raises(ModelSetupError, match="extractive"):
        build_model(Provider.EXTRACTIVE, "", LlmConfig())
