import pytest

from app.llm.build import LlmConfig, build_model
from app.llm.port import ModelRequest, Provider
from tests.model_server import ModelServer, Recorded

ASK = ModelRequest(system="Be brief.", prompt="Hello", max_output_tokens=10)


async def sent(server: ModelServer, name: str) -> Recorded:
    model = build_model(Provider.ANTHROPIC, name, LlmConfig())
    await model.complete(ASK)
    await model.close()
    return server.requests[-1]


async def test_the_instructions_are_marked_for_the_cache(server: ModelServer) -> None:
    request = await sent(server, "claude-haiku-5-5")

    assert request.body["system"] == [{"type": "text", "text": ASK.system, "cache_control": {"type": "ephemeral"}}]


@pytest.mark.parametrize(
    ("name", "effort"),
    [
        ("claude-haiku-5-5", {"effort": "low"}),
        ("claude-sonnet-5", {"effort": "low"}),
        ("claude-opus-10-1", {"effort": "low"}),
        ("claude-haiku-4-5", None),
        ("claude-sonnet-4-6", None),
        ("qwen3", None),
    ],
)
async def test_only_a_model_that_thinks_unasked_is_asked_to_think_little(
    server: ModelServer, name: str, effort: dict[str, str] | None
) -> None:
    assert (await sent(server, name)).body.get("output_config") == effort
