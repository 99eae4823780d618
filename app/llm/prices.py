"""What a call cost, by the price list that genai-prices carries with it. No network."""

import asyncio
from dataclasses import replace

from app.kit.tokens import text_tokens
from app.llm.port import Model, ModelRequest, Provider, Usage

INPUT_MARGIN = 1.25  # tokens are an estimate, and providers count a little around the texts


def cost_usd(provider: Provider | None, model: str, usage: Usage) -> float | None:
    """US dollars by the list price of the day, or None where the list does not know the model.

    Without a provider, it is found by the model's name.
    """
    import genai_prices

    tokens = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        cache_read_tokens=usage.cached_input_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        output_tokens=usage.output_tokens,
    )
    try:
        return float(genai_prices.calc_price(tokens, model, provider_id=provider and provider.value).total_price)
    except (LookupError, ValueError):  # unknown model; counts that contradict each other
        return None


async def priced(provider: Provider | None, model: str, usage: Usage) -> Usage:
    """``usage`` with its cost. In a thread: the first look-up imports the list, half a second."""
    return replace(usage, cost_usd=await asyncio.to_thread(cost_usd, provider, model, usage))


async def estimated(model: Model, request: ModelRequest) -> Usage:
    """What a call may use at most, with its cost: nothing read from a cache, and all of the output it may have."""
    usage = replace(await _input(request), output_tokens=request.max_output_tokens + model.reasoning_tokens)
    return await priced(model.provider, model.name, usage)


async def unanswered(model: Model, request: ModelRequest) -> Usage:
    """What a call without any answer is booked at: the provider may have read what was sent."""
    return await priced(model.provider, model.name, await _input(request))


async def reckoned(model: Model, request: ModelRequest, text: str) -> Usage:
    """What an answer of ``text`` is booked at whose server tells no usage: else no cap would bind."""
    usage = replace(await _input(request), output_tokens=await asyncio.to_thread(text_tokens, text))
    return await priced(model.provider, model.name, usage)


async def _input(request: ModelRequest) -> Usage:
    counted = await asyncio.to_thread(lambda: text_tokens(request.system) + text_tokens(request.prompt))
    return Usage(input_tokens=round(counted * INPUT_MARGIN))
