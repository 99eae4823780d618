"""Runs a call of a provider's SDK within a time-out and translates its errors to ModelError.

The two SDKs are generated from one template, so their error classes have the same shape under different names.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Generic, Protocol, TypeVar, cast

from app.kit.errors import StartError
from app.llm.complaints import Complained, Complaint, complaint
from app.llm.port import (
    BAD_REPLY,
    TIMEOUT,
    TOO_LARGE,
    TOO_LONG,
    BrokenOffError,
    Model,
    ModelError,
    ModelReply,
    ModelRequest,
    TooLargeError,
    Usage,
)
from app.llm.prices import priced, sent

T = TypeVar("T")
R = TypeVar("R")
RETRY_AFTER_SECONDS_MAX = 3_600.0  # a longer wish is cut to this
TOKENS_MAX = 2**31 - 1  # of one kind in one call: no model reads or writes more, and sums of it can be stored
UNPAID = Usage()

# Kinds of errors by status. 529 is Anthropic's "overloaded"; other 5xx are retried too. A gateway with a slow model may
# answer 504 before our own time-out, and so may Anthropic; 408 is for a request that arrived too slowly.
UNAUTHORIZED = 401  # unlike 403, which is for a known key: of another model, in another country
KINDS: Mapping[int, str] = {
    UNAUTHORIZED: "unauthorized",
    403: "unauthorized",
    408: "overloaded",
    409: "overloaded",
    429: "rate_limited",
    503: "overloaded",
    504: TIMEOUT,
    529: "overloaded",
}
RETRYABLE = frozenset({408, 409, 429})
SERVER_ERRORS_FROM = 500
BROKEN_OFF = 502  # assumed for an error that came with a 200 and no status: from a gateway whose model failed
# What reading a body may raise: no JSON, nested too deep, a charset that decodes to no text, a huge number.
UNREADABLE = (ValueError, RecursionError, TypeError, AssertionError, OverflowError)


class ModelSetupError(StartError):
    """A model cannot be built as configured. The message is one line for the operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SdkErrors:
    """An SDK's error classes, from narrow to wide."""

    timeout: type[Exception]
    status: type[Exception]
    connection: type[Exception]
    base: type[Exception]


class _Response(Protocol):
    @property
    def headers(self) -> Mapping[str, str]: ...


class _StatusError(Protocol):
    """The attributes that both SDKs' APIStatusError have."""

    status_code: int
    body: object
    response: _Response


@dataclass(frozen=True, slots=True, kw_only=True)
class Readers(Generic[T]):
    """Parse a body to the SDK's own type, and that to usage and reply; may raise what ``understood`` catches."""

    answer: Callable[[bytes], T]
    usage: Callable[[T], Usage]
    reply: Callable[[T], ModelReply]


async def completed(
    call: Awaitable[bytes],
    request: ModelRequest,
    model: Model,
    errors: SdkErrors,
    readers: Readers[T],
    *,
    timeout_seconds: float,
) -> ModelReply:
    """The model's reply to ``request``, with its cost. ``call`` sends the request. Raises ModelError.

    The body is parsed in a thread, not by the SDK: 20,000 blocks or choices would hold up all requests for a second.
    """
    provider = model.provider
    try:
        body = await answered(call, provider=provider, errors=errors, timeout_seconds=timeout_seconds)
    except ModelError as error:
        most = error.input_tokens_max
        if most is not None and (await sent(request)).input_tokens > most:
            error.kind, error.retryable = TOO_LONG, False
        raise
    answer = await asyncio.to_thread(understood, body, readers.answer, provider=provider)
    usage = await priced(provider, model.name, understood(answer, readers.usage, provider=provider))
    return replace(understood(answer, readers.reply, provider=provider, usage=usage), usage=usage)


async def answered(call: Awaitable[T], *, provider: str, errors: SdkErrors, timeout_seconds: float) -> T:
    """The SDK's answer, or ModelError. The SDK bounds each read only; the time of the whole call is bounded here."""
    try:
        async with asyncio.timeout(timeout_seconds):
            return await call
    except (TimeoutError, errors.timeout) as error:
        raise ModelError(TIMEOUT, f"{provider} gave no reply in {timeout_seconds:g} s", retryable=True) from error
    except errors.status as error:
        raise status_failure(provider, cast("_StatusError", error), now=datetime.now(UTC)) from error
    except (errors.connection, TooLargeError, BrokenOffError, ExceptionGroup) as error:  # a port of 99999: a group
        raise unreached(provider, error) from error
    except (errors.base, *UNREADABLE) as error:
        raise bad_reply(provider) from error


def understood(reply: T, read: Callable[[T], R], *, provider: str, usage: Usage = UNPAID) -> R:
    """``read(reply)``. The SDKs do not validate, so a body of another shape fails only here. Raises ModelError.

    ``usage``: what the reply has cost, which the error then carries.
    """
    try:
        return read(reply)
    except Complained as error:
        failure = told_failure(provider, error.complaint)
        failure.usage = usage
        raise failure from error
    except (AttributeError, LookupError, RuntimeError, *UNREADABLE) as error:  # 1e999 tokens overflow
        failure = bad_reply(provider)
        failure.usage = usage
        raise failure from error


def tokens(told: Any) -> int:
    """A token count that can be stored, from whatever servers send: null, a text, a fraction, or -1 for none.

    Raises TypeError, ValueError or OverflowError if it is no number.
    """
    return min(max(int(told or 0), 0), TOKENS_MAX)


def unreached(provider: str, error: Exception) -> ModelError:
    """The ModelError of a connection error, as which the SDKs also wrap whatever is raised while a reply is read."""
    for each in (error, error.__cause__):
        if isinstance(each, TooLargeError):
            return ModelError(TOO_LARGE, f"{provider} answered with {each}", retryable=True)
        if isinstance(each, BrokenOffError):
            return ModelError(BAD_REPLY if each.begun else "connection", f"{provider} {each}", retryable=True)
    return ModelError("connection", f"{provider} could not be reached", retryable=True)


def bad_reply(provider: str) -> ModelError:
    return ModelError(BAD_REPLY, f"{provider} answered in a shape its API does not have", retryable=True)


def status_failure(provider: str, error: _StatusError, *, now: datetime) -> ModelError:
    told, status = complaint(error.body), error.status_code
    wish = retry_after_seconds(error.response.headers, now=now)
    return _failure(
        told, status, f"{provider} answered {status}", retry_after=told.retry_after if wish is None else wish
    )


def told_failure(provider: str, told: Complaint) -> ModelError:
    """The ModelError of an error that came with a 200, instead of an answer or within it."""
    said = f"{provider} answered with an error" + ("" if told.status is None else f" {told.status}")
    return _failure(told, told.status or BROKEN_OFF, said, retry_after=told.retry_after)


def _failure(told: Complaint, status: int, said: str, *, retry_after: float | None) -> ModelError:
    server_error = status >= SERVER_ERRORS_FROM
    kind = KINDS.get(status, "server_error" if server_error else "bad_request")
    too_long = told.is_too_long(status)
    if told.is_refusal(status):
        kind = "refused"
    elif too_long:
        kind = TOO_LONG
    return ModelError(
        kind,
        f"{said}: {_detail(told, status, kind)}",
        retryable=not too_long and (server_error or status in RETRYABLE),  # a retry would be as long
        retry_after=None if retry_after is None else min(retry_after, RETRY_AFTER_SECONDS_MAX),
        input_tokens_max=told.input_tokens_max(status),
    )


def _detail(told: Complaint, status: int, kind: str) -> str:
    """The provider's text, except about a key, which it may quote."""
    if kind != "unauthorized":
        return told.text or "no reason was told"
    if status == UNAUTHORIZED:
        return "the key was refused"
    return "the key may not do this" + (f" ({told.slug})" if told.slug else "")


def retry_after_seconds(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """The ``Retry-After`` header (RFC 9110 section 10.2.3: seconds or an HTTP date) in seconds, None if unreadable.

    A date is compared with the server's own ``Date``. ``retry-after-ms`` is OpenAI's finer form of the same.
    """
    milliseconds, value = headers.get("retry-after-ms"), headers.get("retry-after")
    seconds = _number(milliseconds, scale=0.001)
    if seconds is None:
        seconds = _number(value, scale=1.0)
    moment = _moment(value)
    if seconds is None and moment is not None:
        seconds = (moment - (_moment(headers.get("date")) or now)).total_seconds()
    return None if seconds is None else min(max(0.0, seconds), RETRY_AFTER_SECONDS_MAX)


def _number(text: str | None, *, scale: float) -> float | None:
    try:
        seconds = float(text or "") * scale
    except ValueError:
        return None
    return None if math.isnan(seconds) else seconds


def _moment(text: str | None) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text or "")
    except (OverflowError, ValueError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)  # "-0000": a time in UTC of unknown zone
