"""A pure model of what providers bill for a request with prefix caching, in the schemes of Anthropic and OpenAI.

Sources: Anthropic's documents on prompt caching (entries are written at breakpoints only and found by looking back at
most 20 blocks from one, each use renews their time to live), OpenAI's on models before GPT-5.6 (the longest common
prefix in steps of 128 tokens, from 1,024 on). For prices per token see ``rates.py``.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import accumulate, takewhile
from typing import Protocol

from app.kit.tokens import text_tokens

BREAKPOINTS_MAX, LOOKBACK_BLOCKS, PREFIX_TOKENS_MIN = 4, 20, 1_024
STEP_TOKENS = 128
FIVE_MINUTES, ONE_HOUR = timedelta(minutes=5), timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block of a request as the provider caches it; blocks with the same ``text`` are the same."""

    text: str
    tokens: int
    breakpoint: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    at: datetime
    blocks: tuple[Block, ...]

    @property
    def tokens(self) -> int:
        return sum(block.tokens for block in self.blocks)

    @property
    def prefix_tokens(self) -> int:
        """The tokens up to and including the last breakpoint; 0 without one."""
        sums = accumulate(block.tokens for block in self.blocks)
        return max((upto for block, upto in zip(self.blocks, sums, strict=True) if block.breakpoint), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Billed:
    """The tokens of a request by price: plain input, cache reads, cache writes."""

    plain: int
    read: int = 0
    written: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """US dollars per token."""

    plain: float
    read: float
    written: float
    output: float

    def input_usd(self, billed: Billed) -> float:
        return billed.plain * self.plain + billed.read * self.read + billed.written * self.written


class Cache(Protocol):
    def bill(self, request: Request) -> Billed:
        """Bill this request, given the earlier ones; requests come in the order of their times."""
        ...


class NoCache:
    def bill(self, request: Request) -> Billed:
        return Billed(plain=request.tokens)


@dataclass(slots=True, kw_only=True)
class AnthropicCache:
    """The cache of one conversation. An entry is the digest of a prefix and the time at which it expires."""

    ttl: timedelta = FIVE_MINUTES
    prefix_tokens_min: int = PREFIX_TOKENS_MIN
    _until: dict[bytes, datetime] = field(default_factory=dict)

    def bill(self, request: Request) -> Billed:
        """Raises ValueError for a request that the provider would refuse: more than four breakpoints."""
        marks = [at for at, block in enumerate(request.blocks) if block.breakpoint]
        if len(marks) > BREAKPOINTS_MAX:
            raise ValueError(f"{len(marks)} breakpoints; {BREAKPOINTS_MAX} are allowed")
        prefixes = list(_digests(request.blocks))
        sums = list(accumulate(block.tokens for block in request.blocks))
        hit = max((self._found(prefixes, mark, request.at) for mark in marks), default=-1)
        cacheable = [mark for mark in marks if sums[mark] >= self.prefix_tokens_min]
        # A prefix within the one that was read is not written, only renewed if it was cached.
        kept = [mark for mark in cacheable if mark > hit or self._is_live(prefixes[mark], request.at)]
        for at in [*kept, *([hit] if hit >= 0 else [])]:
            self._until[prefixes[at]] = request.at + self.ttl
        read = sums[hit] if hit >= 0 else 0
        written = max(sums[cacheable[-1]] - read, 0) if cacheable else 0
        return Billed(plain=request.tokens - read - written, read=read, written=written)

    def _found(self, prefixes: Sequence[bytes], mark: int, now: datetime) -> int:
        """The last block of the longest live prefix that the look-back from this breakpoint meets, or -1."""
        looked_at = range(mark, max(mark - LOOKBACK_BLOCKS, -1), -1)
        return next((at for at in looked_at if self._is_live(prefixes[at], now)), -1)

    def _is_live(self, prefix: bytes, now: datetime) -> bool:
        return prefix in self._until and now <= self._until[prefix]


@dataclass(slots=True, kw_only=True)
class OpenAICache:
    """Automatic caching: without breakpoints, and without a price for writes."""

    ttl: timedelta = FIVE_MINUTES
    _live: list[Request] = field(default_factory=list)

    def bill(self, request: Request) -> Billed:
        self._live = [earlier for earlier in self._live if request.at <= earlier.at + self.ttl]
        shared = max((shared_tokens(earlier, request) for earlier in self._live), default=0)
        self._live.append(request)
        read = shared // STEP_TOKENS * STEP_TOKENS if shared >= PREFIX_TOKENS_MIN else 0
        return Billed(plain=request.tokens - read, read=read)


def shared_tokens(left: Request, right: Request) -> int:
    """The tokens of the common prefix, including that of the first block that differs."""
    pairs = list(zip(left.blocks, right.blocks, strict=False))
    same = list(takewhile(lambda pair: pair[0].text == pair[1].text, pairs))
    whole = sum(block.tokens for _, block in same)
    if len(same) == len(pairs):
        return whole
    one, other = (block.text for block in pairs[len(same)])
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return whole + text_tokens(one[:alike])


def _digests(blocks: Sequence[Block]) -> Iterator[bytes]:
    """The digest of each prefix; it includes the lengths, so that different block boundaries give different digests."""
    running = hashlib.sha256()
    for block in blocks:
        content = block.text.encode()
        running.update(b"%d:" % len(content))
        running.update(content)
        yield running.digest()
