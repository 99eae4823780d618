"""Prices per token of the benchmark's models, by the price list in the package genai-prices. No network."""

from dataclasses import dataclass

import genai_prices

from app.llm.port import Provider
from benchmarks.cache.pricing import Rates

SAMPLE_TOKENS = 1_000  # small enough for the lowest tier of every list price


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The model that answers the user (``actor``), and the one that observes and reflects (``memory``)."""

    provider: Provider
    actor: str
    memory: str


ANTHROPIC = Models(provider=Provider.ANTHROPIC, actor="claude-sonnet-4-5", memory="claude-haiku-4-5")
OPENAI = Models(provider=Provider.OPENAI, actor="gpt-5.4", memory="gpt-5-mini")


def rates(provider: Provider, model: str, *, hour: bool) -> Rates:
    """The prices; ``hour``: of cache writes for one hour, not five minutes. Raises LookupError: an unknown model."""
    plain = _usd(provider, model, input_tokens=SAMPLE_TOKENS)
    written = "cache_write_1h_tokens" if hour else "cache_write_tokens"
    return Rates(
        plain=plain,
        read=_usd(provider, model, input_tokens=SAMPLE_TOKENS, cache_read_tokens=SAMPLE_TOKENS),
        written=_usd(provider, model, input_tokens=SAMPLE_TOKENS, **_write(written)),
        output=_usd(provider, model, output_tokens=SAMPLE_TOKENS),
    )


def _write(name: str) -> dict[str, int]:
    return {"cache_write_tokens": SAMPLE_TOKENS, name: SAMPLE_TOKENS}


def _usd(provider: Provider, model: str, **tokens: int) -> float:
    usage = genai_prices.Usage(**tokens)
    return float(genai_prices.calc_price(usage, model, provider_id=provider.value).total_price) / SAMPLE_TOKENS
