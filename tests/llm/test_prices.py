import genai_prices
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.llm.port import Provider, Usage
from app.llm.prices import cost_usd, priced
from tests.steps import steps

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


COUNTS = st.one_of(st.integers(0, 20), st.sampled_from([199_999, 200_000, 200_001, 272_001, 1_000_000]))
MODELS = ["claude-sonnet-4-5", "claude-haiku-5-5", "gpt-5", "gpt-5.4", "gpt-6-luna", "gemini-2.5-pro", "deepseek-chat"]


@given(st.sampled_from(MODELS), COUNTS, COUNTS, COUNTS, COUNTS)
def test_a_price_is_that_of_the_list_for_any_counts(model: str, new: int, cached: int, written: int, said: int) -> None:
    """Also of a model that costs more by the token once there are many."""
    listed = genai_prices.Usage(
        input_tokens=new + cached + written, cache_read_tokens=cached, cache_write_tokens=written, output_tokens=said
    )
    usage = Usage(
        input_tokens=new + cached + written,
        cached_input_tokens=cached,
        cache_write_tokens=written,
        output_tokens=said,
    )
    assert cost_usd(None, model, usage) == float(genai_prices.calc_price(listed, model).total_price)


@pytest.mark.parametrize("model", [*MODELS, "of-ones-own-making"])
def test_the_list_is_looked_into_once_for_a_model(model: str) -> None:
    cost_usd(None, model, USAGE)
    assert min(steps(lambda: cost_usd(None, model, USAGE)) for _ in range(2)) < 50  # 500 us of them


async def test_a_price_leaves_the_counts_alone() -> None:
    usage = await priced(Provider.SCRIPTED, "script", USAGE)

    assert usage == USAGE
