import pytest

from app.llm.port import Provider, Usage
from app.llm.prices import cost_usd, priced

USAGE = Usage(input_tokens=10_000, cached_input_tokens=6_000, cache_write_tokens=1_000, output_tokens=500)


@pytest.mark.parametrize(
    ("provider", "model"), [(Provider.ANTHROPIC, "claude-haiku-5-5"), (Provider.OPENAI, "gpt-6-luna")]
)
def test_cached_input_costs_less(provider: Provider, model: str) -> None:
    cached, uncached = (
        cost_usd(provider, model, USAGE),
        cost_usd(provider, model, Usage(input_tokens=10_000, output_tokens=500)),
    )

    assert cached is not None
    assert uncached is not None
    assert 0 < cached < uncached


@pytest.mark.parametrize("provider", [Provider.ANTHROPIC, Provider.OPENAI, Provider.SCRIPTED])
def test_an_unknown_model_has_no_price(provider: Provider) -> None:
    assert cost_usd(provider, "of-ones-own-making", USAGE) is None


def test_counts_that_contradict_each_other_have_no_price() -> None:
    assert cost_usd(Provider.OPENAI, "gpt-6-luna", Usage(input_tokens=10, cached_input_tokens=20)) is None


async def test_a_price_leaves_the_counts_alone() -> None:
    usage = await priced(Provider.SCRIPTED, "script", USAGE)

    assert usage == USAGE
