"""Computes the cost of replayed conversations under a provider's scheme. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from statistics import mean

from benchmarks.cache.conversations import Conversation
from benchmarks.cache.evidence import Held
from benchmarks.cache.pricing import (
    FIVE_MINUTES,
    ONE_HOUR,
    PREFIX_TOKENS_MIN,
    AnthropicCache,
    Billed,
    Cache,
    NoCache,
    OpenAICache,
    Rates,
)
from benchmarks.cache.rates import ANTHROPIC, OPENAI, Models, rates
from benchmarks.cache.replay import Turn
from benchmarks.cache.strategies import PLAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """The cache of one provider, and the models whose prices count."""

    cache: Callable[[], Cache]
    models: Models
    hour: bool = False

    @property
    def actor(self) -> Rates:
        return _rates(self.models.actor, self.models, hour=self.hour)

    @property
    def memory(self) -> Rates:
        return _rates(self.models.memory, self.models, hour=False)


SCHEMES: Mapping[str, Scheme] = {
    "Anthropic, 5 minutes": Scheme(cache=AnthropicCache, models=ANTHROPIC),
    "Anthropic, 1 hour": Scheme(cache=lambda: AnthropicCache(ttl=ONE_HOUR), models=ANTHROPIC, hour=True),
    "OpenAI, automatic": Scheme(cache=OpenAICache, models=OPENAI),
}


@cache
def _rates(model: str, models: Models, *, hour: bool) -> Rates:
    return rates(models.provider, model, hour=hour)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A conversation by one strategy; ``held`` is the share of each question's evidence in its last context."""

    conversation: Conversation
    strategy: str
    turns: tuple[Turn, ...]
    held: tuple[Held, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """The price of one turn. ``memory_usd`` is for the calls of observer and reflector before it."""

    tokens: int
    billed: Billed
    actor_usd: float
    memory_usd: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One strategy over some conversations. US dollars are for the actor's input, and all of the memory's calls.

    ``prefix_read``: the share of the previous call's cached prefix that was read, over calls of the same epoch while
    the cache was warm. None if there was nothing to measure.
    """

    actor_usd: float
    memory_usd: float
    context_tokens: float
    context_tokens_max: int
    read_share: float
    prefix_read: float | None
    covered: float | None
    noted: float | None

    @property
    def usd(self) -> float:
        return self.actor_usd + self.memory_usd


def prices(replayed: Replayed, scheme: Scheme) -> Iterator[Price]:
    cached: Cache = NoCache() if replayed.strategy == PLAIN else scheme.cache()
    for turn in replayed.turns:
        billed = cached.bill(turn.request)
        yield Price(
            tokens=turn.request.tokens,
            billed=billed,
            actor_usd=scheme.actor.input_usd(billed),
            memory_usd=sum(
                call.input_tokens * scheme.memory.plain + call.output_tokens * scheme.memory.output
                for call in turn.memory
            ),
        )


def figures(replays: Sequence[Replayed], scheme: Scheme) -> Figures:
    """The figures of one strategy; every conversation has a cache of its own."""
    each = [list(prices(replayed, scheme)) for replayed in replays]
    paid = [price for some in each for price in some]
    kept = [share for replayed, some in zip(replays, each, strict=True) for share in warm_reads(replayed.turns, some)]
    held = [one for replayed in replays for one in replayed.held]
    return Figures(
        actor_usd=sum(price.actor_usd for price in paid),
        memory_usd=sum(price.memory_usd for price in paid),
        context_tokens=mean(price.tokens for price in paid),
        context_tokens_max=max(price.tokens for price in paid),
        read_share=sum(price.billed.read for price in paid) / sum(price.tokens for price in paid),
        prefix_read=sum(read for read, _ in kept) / sum(prefix for _, prefix in kept) if kept else None,
        covered=mean(one.covered for one in held) if held else None,
        noted=mean(one.noted for one in held) if held else None,
    )


def warm_reads(turns: Iterable[Turn], paid: Iterable[Price]) -> Iterator[tuple[int, int]]:
    """The tokens read of the previous call's prefix, and its size, within an epoch while the cache was warm."""
    for (before, _), (turn, price) in pairwise(zip(turns, paid, strict=True)):
        prefix = before.request.prefix_tokens
        warm = turn.request.at - before.request.at <= FIVE_MINUTES
        if warm and turn.epoch == before.epoch is not None and prefix >= PREFIX_TOKENS_MIN:
            yield min(price.billed.read, prefix), prefix
