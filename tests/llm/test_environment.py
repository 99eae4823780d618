"""Keys and addresses as they stand in files and variables: taken as meant, or refused by one line with their name."""

from pathlib import Path

import pytest

from app.llm.build import build_model
from app.llm.calls import ModelSetupError
from app.llm.embedding import EmbeddingConfig, EmbeddingProvider
from app.llm.embedding_build import build_embedder
from app.llm.port import LlmConfig, ModelRequest, Provider
from tests.model_server import ModelServer

ASK = ModelRequest(system="s", prompt="p", max_output_tokens=10)
PREFIX = {Provider.ANTHROPIC: "ANTHROPIC", Provider.OPENAI: "OPENAI"}
BOTH = pytest.mark.parametrize("provider", PREFIX, ids=str)


async def asked(provider: Provider) -> str:
    model = build_model(provider, "m", LlmConfig(timeout_seconds=20.0))
    try:
        return (await model.complete(ASK)).text
    finally:
        await model.close()


def refusal(provider: Provider) -> str:
    with pytest.raises(ModelSetupError) as refused:
        build_model(provider, "m", LlmConfig())
    assert "\n" not in str(refused.value)
    return str(refused.value)


@BOTH
@pytest.mark.parametrize("around", ["{}\n", "{}\r", " {} ", "\t{}\r\n"], ids=repr)
async def test_what_a_file_adds_to_a_key_or_an_address_is_none_of_it(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, provider: Provider, around: str
) -> None:
    for name in ("API_KEY", "BASE_URL"):
        variable = f"{PREFIX[provider]}_{name}"
        monkeypatch.setenv(variable, around.format(server.environment()[variable]))

    assert await asked(provider) == "Lisbon, of course."
    assert server.requests[0].headers["authorization"] == "Bearer test-key"


@BOTH
def test_a_key_of_blanks_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, provider: Provider) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # no profile of the machine's user
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    variable = f"{PREFIX[provider]}_API_KEY"
    monkeypatch.setenv(variable, " \n")

    assert f"set {variable}" in refusal(provider)


@BOTH
@pytest.mark.parametrize("key", ["sk-ключ", "sk-1\nsk-2", "sk-\x7f"], ids=repr)
def test_a_key_that_no_header_carries_is_refused_by_the_variable_s_name(
    monkeypatch: pytest.MonkeyPatch, provider: Provider, key: str
) -> None:
    variable = f"{PREFIX[provider]}_API_KEY"
    monkeypatch.setenv(variable, key)

    told = refusal(provider)

    assert variable in told
    assert "sk-" not in told


@BOTH
@pytest.mark.parametrize("address", ["", " "], ids=repr)
def test_an_empty_address_is_the_provider_s_own(
    monkeypatch: pytest.MonkeyPatch, provider: Provider, address: str
) -> None:
    monkeypatch.setenv(f"{PREFIX[provider]}_API_KEY", "k")
    monkeypatch.setenv(f"{PREFIX[provider]}_BASE_URL", address)

    model = build_model(provider, "m", LlmConfig())

    assert model._client.base_url.host == f"api.{provider}.com"  # type: ignore[attr-defined] # the SDK's


@BOTH
@pytest.mark.parametrize(
    "address",
    [
        "localhost:11434/v1",
        "127.0.0.1",
        "ftp://user:secret@here/v1",
        "http://user:secret@here:abc/v1",
        "http://user:sec/ret@here/v1",
        "http://127.0.0.1:99999/v1",
        "http:///v1",
        "http://he re/v1",
        "http://here/v1\nhttp://there/v1",
    ],
)
def test_what_is_no_address_is_refused_by_the_variable_s_name_and_not_quoted(
    monkeypatch: pytest.MonkeyPatch, provider: Provider, address: str
) -> None:
    variable = f"{PREFIX[provider]}_BASE_URL"
    monkeypatch.setenv(f"{PREFIX[provider]}_API_KEY", "k")
    monkeypatch.setenv(variable, address)

    told = refusal(provider)

    assert variable in told
    assert "sec" not in told


@BOTH
@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ALL_PROXY", "socks5://user:secret@127.0.0.1:1080"),
        ("HTTPS_PROXY", "ftp://user:secret@x"),
        ("HTTPS_PROXY", "http://user:secret@x:port"),
        ("SSL_CERT_FILE", "/nowhere/secret.pem"),
    ],
)
def test_a_proxy_or_certificate_that_is_none_is_one_line_that_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, provider: Provider, variable: str, value: str
) -> None:
    monkeypatch.setenv(f"{PREFIX[provider]}_API_KEY", "k")
    monkeypatch.delenv(f"{PREFIX[provider]}_BASE_URL", raising=False)
    monkeypatch.setenv(variable, value)

    told = refusal(provider)

    assert variable in told
    assert "secret" not in told


def test_an_embedding_model_is_reached_by_the_same_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", "localhost:11434/v1")

    with pytest.raises(ModelSetupError, match="OPENAI_BASE_URL"):
        build_embedder(EmbeddingConfig(provider=EmbeddingProvider.OPENAI))
