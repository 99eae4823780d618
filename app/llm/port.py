"""The model seam: one request, one reply, few errors. Nothing here knows what a memory is."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

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

    ``reasoning_tokens`` is what a model may spend on thinking beyond the answer it is asked for.
    ``reply_bytes_max`` of a reply are read, unpacked.
    """

    timeout_seconds: float = 90.0
    reasoning_tokens: int = 4_000
    reply_bytes_max: int = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one call. ``input_tokens`` is the whole input, the cached part of it included."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None

    @property
    def is_told(self) -> bool:
        """Not every server tells what was used."""
        return bool(self.input_tokens or self.output_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    system: str
    prompt: str
    max_output_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """``text`` and ``model`` can be stored, whatever the provider sent."""

    text: str
    stop: Stop
    usage: Usage
    model: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", storable(self.text))
        object.__setattr__(self, "model", storable(self.model))


TIMEOUT = "timeout"  # the kind of a call that may have been answered, but too late
TOO_LARGE = "too_large"  # and of one whose answer was not read to its end
BAD_REPLY = "bad_reply"  # or could not be read
TOO_LONG = "too_long"  # of a request that no other try makes shorter
UNHEARD = frozenset({TIMEOUT, TOO_LARGE, BAD_REPLY})  # which are paid for, though no usage was reported
CIRCUIT_OPEN = "circuit_open"  # of no call: the provider failed so often that it is not asked for a while


class Model(Protocol):
    """A language model behind a provider's API. ``complete`` raises ModelError and nothing else."""

    @property
    def provider(self) -> Provider: ...

    @property
    def name(self) -> str: ...

    @property
    def reasoning_tokens(self) -> int:
        """What a call may spend on thinking beyond ``max_output_tokens``."""

    @property
    def output_tokens_max(self) -> int | None:
        """What a call may write at most, thinking included; None as long as the provider has refused no number."""

    async def complete(self, request: ModelRequest) -> ModelReply: ...

    async def close(self) -> None: ...


class TooLargeError(Exception):
    """A reply of more bytes than are read."""


class BrokenOffError(Exception):
    """A connection that was there, and ended without a reply, or in the middle of it: ``begun``."""

    def __init__(self, *, begun: bool) -> None:
        super().__init__("broke off in the middle of its answer" if begun else "was reached, but gave no answer")
        self.begun = begun


class ModelError(Exception):
    """A call that gave no reply.

    ``kind`` is a short slug for diagnostics (rate_limited, overloaded, timeout, connection, server_error, bad_request,
    unauthorized, refused, too_long, bad_reply, too_large). ``retryable`` says whether the same call may succeed later;
    ``retry_after`` is the provider's own wish in seconds. ``reply`` is what came but was no answer. ``model`` was asked
    ("": none was), and ``usage`` is what is paid for anyway. ``input_tokens_max``: a request of more never succeeds.
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
