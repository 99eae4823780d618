"""Limits concurrent calls to a provider, and stops calls for a while after several failures in a row.

The circuit breaker has three states (Nygard, Release It!): closed, calls pass; open, calls fail at once with the time
to retry after; half open, one call passes as a probe. Only failures of the provider count, not refused requests.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from math import inf
from typing import TypeVar

from opentelemetry.trace import SpanKind, Tracer
from opentelemetry.util.types import AttributeValue

from app.kit.tracing import UNTRACED, traced
from app.llm.port import CIRCUIT_OPEN, Model, ModelError, ModelReply, ModelRequest, Provider

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardConfig:
    """Limits per provider and process. ``failures_max`` failures in a row open the circuit for ``open_seconds``."""

    concurrency: int = 4
    failures_max: int = 5
    open_seconds: float = 30.0


@dataclass(slots=True)
class Breaker:
    """The circuit of one provider. ``now`` is the time of any monotonic clock, in seconds."""

    config: GuardConfig
    failures: int = 0
    opened_at: float = 0.0
    last: str = ""  # the kind of the last failure; its message may tell of another tenant
    probing: bool = False

    def wait_seconds(self, now: float) -> float:
        """How long no call may pass; 0 lets this call pass, as the one probe if the circuit is half open."""
        if self.failures < self.config.failures_max:
            return 0.0
        left = self.opened_at + self.config.open_seconds - now
        if left > 0:
            return left
        if self.probing:
            return self.config.open_seconds
        self.probing = True
        return 0.0

    def succeeded(self) -> None:
        self.failures = 0

    def failed(self, now: float, kind: str) -> None:
        self.failures += 1
        self.opened_at = now
        self.last = kind

    def half_open(self) -> None:
        """Let the next caller through as the probe, without waiting for the time to pass."""
        self.opened_at = -inf

    def probed(self) -> None:
        """The probe ended, however that was: a refused or cancelled one says nothing about the provider's health."""
        self.probing = False


class Circuit(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """How calls to a provider went in this process. Seconds are ago, ``next_try_seconds`` from now; None: never.

    ``failures`` are the provider's in a row; ``last_error`` is the kind of the last failed call, even a refused one.
    """

    circuit: Circuit = Circuit.CLOSED
    failures: int = 0
    next_try_seconds: float | None = None
    last_error: str | None = None
    last_error_seconds: float | None = None
    answered_seconds: float | None = None


class Guard:
    """The guard of one provider, shared by all its models."""

    def __init__(self, config: GuardConfig, clock: Callable[[], float] = time.monotonic) -> None:
        self.places = asyncio.Semaphore(config.concurrency)
        self.breaker = Breaker(config)
        self._clock = clock
        self._failed: tuple[str, float] | None = None  # the kind, and when
        self._answered_at: float | None = None

    def is_open(self) -> bool:
        """Whether the circuit is open or half open, so that no call or only a probe passes."""
        return self.breaker.failures >= self.breaker.config.failures_max

    def try_now(self) -> None:
        """If the circuit is open, let the next call pass as a probe, because an operator or caller asked for it."""
        self.breaker.half_open()

    def condition(self) -> Condition:
        """The condition now; unlike ``Breaker.wait_seconds`` it starts no probe."""
        now, breaker = self._clock(), self.breaker
        left = breaker.opened_at + breaker.config.open_seconds - now if self.is_open() else None
        error, failed_at = self._failed or (None, None)
        return Condition(
            circuit=Circuit.CLOSED if left is None else Circuit.OPEN if left > 0 else Circuit.HALF_OPEN,
            failures=breaker.failures,
            next_try_seconds=None if left is None else max(left, 0.0),
            last_error=error,
            last_error_seconds=None if failed_at is None else now - failed_at,
            answered_seconds=None if self._answered_at is None else now - self._answered_at,
        )

    async def passed(self, provider: str, call: Callable[[], Awaitable[T]], *, wait_seconds: float | None = None) -> T:
        """One guarded call, which waits at most ``wait_seconds`` for its place (None: as long as it takes).

        Raises ModelError ``circuit_open``, with ``retry_after``, while the circuit is open; ``busy`` without a place.
        """
        await self._place(provider, wait_seconds)
        try:
            wait = self.breaker.wait_seconds(self._clock())
            if wait:
                message = (  # without the time of the next try: the message is stored, and would soon be wrong
                    f"{provider} failed {self.breaker.failures} times in a row, the last time by {self.breaker.last}"
                )
                raise ModelError(CIRCUIT_OPEN, message, retryable=True, retry_after=wait)
            return await self._tried(call, is_probe=self.is_open())
        finally:
            self.places.release()

    async def _place(self, provider: str, wait_seconds: float | None) -> None:
        try:
            async with asyncio.timeout(wait_seconds):
                await self.places.acquire()
        except TimeoutError as error:
            raise ModelError("busy", f"{provider} has no place for another call", retryable=True) from error

    async def _tried(self, call: Callable[[], Awaitable[T]], *, is_probe: bool) -> T:
        try:
            reply = await call()
        except ModelError as error:
            self._failed = (error.kind, self._clock())
            if error.retryable:
                self.breaker.failed(self._clock(), error.kind)
            raise
        finally:
            if is_probe:  # a call that began before the circuit opened may end while the probe runs
                self.breaker.probed()
        self._answered_at = self._clock()
        self.breaker.succeeded()
        return reply


class GuardedModel:
    """A model behind the guard of its provider."""

    def __init__(self, model: Model, guard: Guard, tracer: Tracer = UNTRACED) -> None:
        self._model = model
        self._guard = guard
        self._tracer = tracer

    @property
    def provider(self) -> Provider:
        return self._model.provider

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def reasoning_tokens(self) -> int:
        return self._model.reasoning_tokens

    @property
    def output_tokens_max(self) -> int | None:
        return self._model.output_tokens_max

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The reply. The span follows the semantic conventions for generative AI, and has no content."""
        asked: dict[str, AttributeValue] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": self.provider.value,
            "gen_ai.request.model": self.name,
            "gen_ai.request.max_tokens": request.max_output_tokens,
        }
        with traced(self._tracer, f"chat {self.name}", kind=SpanKind.CLIENT, attributes=asked) as going:
            reply = await self._guard.passed(self.provider, partial(self._sent, request))
            going.set_attributes(
                {
                    "gen_ai.response.model": reply.model,
                    "gen_ai.response.finish_reasons": (reply.stop.value,),
                    "gen_ai.usage.input_tokens": reply.usage.input_tokens,
                    "gen_ai.usage.cache_read.input_tokens": reply.usage.cached_input_tokens,
                    "gen_ai.usage.output_tokens": reply.usage.output_tokens,
                }
            )
        return reply

    async def _sent(self, request: ModelRequest) -> ModelReply:
        if request.before_sending is not None:
            await request.before_sending()
        return await self._model.complete(request)

    async def close(self) -> None:
        await self._model.close()
