"""The cost of model calls, by the price list in the package genai-prices. No network."""

import asyncio
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeVar

from app.kit.offload import UNKNOWN, offloaded
from app.kit.tokens import text_tokens
from app.llm.port import Model, ModelRequest, Provider, Usage

if TYPE_CHECKING:
    from genai_prices.types import PriceCalculation

Used = TypeVar("Used", bound=Usage)

INPUT_MARGIN = 1.25  # token counts are estimates, and providers add a few tokens around the texts
QUARTER_SECONDS: Final = 15 * 60  # some prices are different at night: they change at a full or a half hour
PRICES_KEPT: Final = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rates:
    """US dollars per token: of uncached input, of cache reads, of cache writes, of output."""

    new: Decimal
    cached: Decimal
    written: Decimal
    output: Decimal


def cost_usd(provider: Provider | None, model: str, usage: Usage) -> float | None:
    """US dollars by the current list price; None for a model not in the list, or counts that contradict each other.

    Without a provider, the list finds it by the model's name. Prices are cached for a quarter of an hour, because a
    lookup takes half a millisecond.
    """
    quarter = int(time.time()) // QUARTER_SECONDS
    tiers = _tiers(provider, model, quarter)
    new = usage.input_tokens - usage.cached_input_tokens - usage.cache_write_tokens
    if tiers is None or new < 0:
        return None
    above = max((tier for tier in tiers if tier < usage.input_tokens), default=0)
    rates = _rates(provider, model, quarter, input_tokens=above + 1)
    return float(
        new * rates.new
        + usage.cached_input_tokens * rates.cached
        + usage.cache_write_tokens * rates.written
        + usage.output_tokens * rates.output
    )


@lru_cache(maxsize=PRICES_KEPT)
def _tiers(provider: Provider | None, model: str, quarter: int) -> tuple[int, ...] | None:
    """The numbers of input tokens above which a token has another price; None for an unknown model."""
    from genai_prices.types import TieredPrices

    try:
        prices = vars(_listed(provider, model, quarter).model_price).values()
    except (LookupError, ValueError):
        return None
    return tuple(tier.start for price in prices if isinstance(price, TieredPrices) for tier in price.tiers)


@lru_cache(maxsize=PRICES_KEPT)
def _rates(provider: Provider | None, model: str, quarter: int, *, input_tokens: int) -> _Rates:
    """The prices of a token in a call with this number of input tokens."""

    def total(**counts: int) -> Decimal:
        return _listed(provider, model, quarter, input_tokens=input_tokens, **counts).total_price / input_tokens

    new = total()
    return _Rates(
        new=new,
        cached=total(cache_read_tokens=input_tokens),
        written=total(cache_write_tokens=input_tokens),
        output=total(output_tokens=input_tokens) - new,
    )


def _listed(provider: Provider | None, model: str, quarter: int, **counts: int) -> "PriceCalculation":
    """The list's price of a call with these counts. Raises LookupError for an unknown model."""
    import genai_prices

    at = datetime.fromtimestamp(quarter * QUARTER_SECONDS, UTC)
    usage = genai_prices.Usage(**counts)
    return genai_prices.calc_price(usage, model, provider_id=provider and provider.value, genai_request_timestamp=at)


async def priced(provider: Provider | None, model: str, usage: Used) -> Used:
    """``usage`` with its cost. The first call runs in a thread, because importing the list takes half a second."""
    size = 0 if _tiers.cache_info().currsize else UNKNOWN
    return replace(usage, cost_usd=await offloaded(lambda: cost_usd(provider, model, usage), size=size))


async def estimated(model: Model, request: ModelRequest) -> Usage:
    """The maximal usage of a call, with its cost: no cache reads, and all of the output that it may have."""
    usage = replace(await sent(request), output_tokens=request.max_output_tokens + model.reasoning_tokens)
    return await priced(model.provider, model.name, usage)


async def unanswered(model: Model, request: ModelRequest) -> Usage:
    """The usage booked for a call without an answer: its input, which the provider may have read."""
    return await priced(model.provider, model.name, await sent(request))


async def reckoned(model: Model, request: ModelRequest, text: str) -> Usage:
    """The usage booked for an answer ``text`` of a server that reports none; otherwise no cap would bind."""
    usage = replace(await sent(request), output_tokens=await asyncio.to_thread(text_tokens, text))
    return await priced(model.provider, model.name, usage)


async def sent(request: ModelRequest) -> Usage:
    """The maximal input tokens of a request, without output and cost."""
    counted = await asyncio.to_thread(lambda: text_tokens(request.system) + text_tokens(request.prompt))
    return Usage(input_tokens=round(counted * INPUT_MARGIN))
