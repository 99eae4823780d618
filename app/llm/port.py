"""The interface of language models: requests, replies, usage and errors. Nothing here depends on the memory."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeAlias

from app.kit.json import storable


class Provider(StrEnum):
    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    EXTRACTIVE = "extractive"  # no model: built into the memory
    SCRIPTED = "scripted"  # replies from a file


class Stop(StrEnum):
    END = "end"
    LENGTH = "length"  # cut off by the output limit
    REFUSAL = "refusal"


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmConfig:
    """``timeout_seconds`` bounds one call.

    ``reasoning_tokens`` are those a model may spend on thinking, beyond the answer. ``reply_bytes_max`` limits the
    decompressed bytes of a reply.
    """

    timeout_seconds: float = 90.0
    reasoning_tokens: int = 4_000
    reply_bytes_max: int = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one call. ``input_tokens`` is the whole input, including its cached part."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None

    @property
    def is_told(self) -> bool:
        """Whether the server reported its usage, which not every one does."""
        return bool(self.input_tokens or self.output_tokens)


Check: TypeAlias = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """``before_sending``: awaited by the guard once the call may be made; if it raises, nothing is sent."""

    system: str
    prompt: str
    max_output_tokens: int
    before_sending: Check | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """A reply. ``text`` and ``model`` are storable, whatever the provider sent."""

    text: str
    stop: Stop
    usage: Usage
    model: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", storable(self.text))
        object.__setattr__(self, "model", storable(self.model))


# Kinds of ModelError.
TIMEOUT = "timeout"  # the provider may have answered, but too late
TOO_LARGE = "too_large"  # the answer was not read to its end
BAD_REPLY = "bad_reply"  # the answer could not be read
TOO_LONG = "too_long"  # the request is too long, which no retry changes
UNHEARD = frozenset({TIMEOUT, TOO_LARGE, BAD_REPLY})  # paid for, though no usage was reported
CIRCUIT_OPEN = "circuit_open"  # no call was made: the provider failed so often that it is not called for a while


class Model(Protocol):
    """A language model behind a provider's API. ``complete`` raises ModelError and nothing else."""

    @property
    def provider(self) -> Provider: ...

    @property
    def name(self) -> str: ...

    @property
    def reasoning_tokens(self) -> int:
        """The tokens a call may spend on thinking, beyond ``max_output_tokens``."""

    @property
    def output_tokens_max(self) -> int | None:
        """The model's output limit, thinking included; None unless the provider has refused a higher one."""

    async def complete(self, request: ModelRequest) -> ModelReply: ...

    async def close(self) -> None: ...


class TooLargeError(Exception):
    """A reply has more bytes than the limit."""


class BrokenOffError(Exception):
    """An established connection ended without a reply or, if ``begun``, in the middle of it."""

    def __init__(self, *, begun: bool) -> None:
        super().__init__("broke off in the middle of its answer" if begun else "was reached, but gave no answer")
        self.begun = begun


class ModelError(Exception):
    """A call that gave no reply.

    ``kind`` is a short slug for diagnostics (rate_limited, overloaded, timeout, connection, server_error, bad_request,
    unauthorized, refused, too_long, bad_reply, too_large, circuit_open, busy, not_loaded). ``retryable``: whether the
    same call may succeed later; ``retry_after``: the provider's wish in seconds. ``reply``: one that was not usable.
    ``model``: the one that was called ("": none); ``usage``: paid for anyway. A request over ``input_tokens_max`` never
    succeeds.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        retryable: bool,
        retry_after: float | None = None,
        reply: ModelReply | None = None,
        input_tokens_max: int | None = None,
    ) -> None:
        super().__init__(storable(message))
        self.kind = kind
        self.retryable = retryable
        self.retry_after = retry_after
        self.reply = reply
        self.input_tokens_max = input_tokens_max
        self.model = "" if reply is None else reply.model
        self.usage = Usage() if reply is None else reply.usage
