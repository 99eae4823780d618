"""Parses the error bodies of providers, whatever their shape. Pure.

OpenAI and Anthropic have an object under ``error``, Gemini's OpenAI endpoint a list of one, Ollama a text, FastAPI
(vLLM, Mistral) ``detail``. OpenRouter has little in ``message``, and the whole in ``metadata.raw``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from json import dumps
from typing import Any, Final

from app.kit.patterns import lazy_pattern

CHARS_MAX: Final = 200
READ_MAX: Final = 10_000
STATUSES: Final = range(400, 600)

# Codes and words of a content refusal: OpenAI, Azure, Anthropic, Gemini, OpenRouter, DeepSeek, DashScope, Moonshot,
# Zhipu, Bedrock, xAI, new-api.
_REFUSED: Final = lazy_pattern(
    r"content[ _]?(?:filter|policy|management)|responsibleai|invalid_prompt|\bflagged\b|\bmoderation\b|usage polic"
    r"|content exists risk|data[ _]?inspection[ _]?failed|considered high risk|guardrail|prohibited_content|\b1301\b"
    r"|usage guidelines|safety_check|sensitive[ _]words",
    re.IGNORECASE,
)
_REFUSES: Final = frozenset({400, 403, 422, 451})
_TOO_LONG: Final = lazy_pattern(
    r"context[ _](?:length|window|size)|(?:prompt|input|request) (?:is )?too (?:long|large)|maximum context"
    r"|reduce the length|too many (?:input )?tokens|maximum number of (?:input )?tokens|context the overflows"
    r"|maximum (?:prompt|model) length|`?inputs`? (?:tokens \+ |must have less than )|exceeded model token limit"
    r"|model max length exceeded|range of input length|exceed context limit|input tokens exceed|expected maxlength",
    re.IGNORECASE,
)
# For a status that is otherwise temporary: OpenAI answers 429 to a request that alone exceeds the limit per minute,
# Xinference, vLLM or a gateway 500. Words for a server that is only busy ("too many tokens, please wait") are left out.
_SURELY_TOO_LONG: Final = lazy_pattern(
    r"request too large|(?:prompt|input) is too long|maximum (?:context|prompt|model) length|context_length_exceeded"
    r"|exceeds? the (?:available )?context|context window is full",
    re.IGNORECASE,
)
# Anthropic's text is the same for a request that exceeds what is left of this minute's limit, and the whole limit.
_A_MINUTE: Final = lazy_pattern(r"request would exceed\b.{0,40} rate limit .{0,90}?\bof (\d[\d,]{0,14}) input tokens")
_RATE_LIMITED: Final = 429
_TOO_LARGE: Final = 413
_SLUG: Final = re.compile(r"[a-z]+(?:_[a-z]+)+")  # an error code in words, which quotes no content
_LENGTHS: Final = dict.fromkeys((400, 422), _TOO_LONG) | dict.fromkeys((429, 500, 502), _SURELY_TOO_LONG)
# "[1, 8192]", "8000 > 4096, which is the maximum", "at most 16384 completion tokens", "to 65537 (exclusive)".
_OUTPUT: Final = lazy_pattern(
    r"max_(?:completion_|output_)?tokens|maxoutputtokens|maximum tokens|(?:completion|output) tokens", re.IGNORECASE
)
_WITH_INPUT: Final = lazy_pattern(r"context (?:length|limit)|\b(?:inputs?|prompt|messages)\b", re.IGNORECASE)
_NUMBER: Final = re.compile(r"(?<![\w.-])(\d{3,7}|\d{1,3}(?:,\d{3})+)(?![\w-]|\.\d)( \(exclusive\))?")
OUTPUT_TOKENS_MIN: Final = 512  # a smaller number may be anything else: a status, part of a name
_STATUS_OF: Final = {
    "authentication_error": 401,
    "invalid_api_key": 401,
    "permission_error": 403,
    "rate_limit_error": 429,
    "overloaded_error": 529,
}
_NAMES: Final = ("code", "type", "param", "status")
_INNER: Final = ("innererror", "inner_error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """A parsed error body. ``text`` is one line, "" if there is none; ``names`` are its codes and types.

    ``status`` is the HTTP status in the body: a number, or implied by a name. ``retry_after`` is Google's RetryInfo, in
    seconds.
    """

    text: str
    names: str = ""
    status: int | None = None
    retry_after: float | None = None

    @property
    def slug(self) -> str:
        """The first of the names that is a code in words, or ""."""
        return next((name for name in self.names.split() if _SLUG.fullmatch(name)), "")

    def is_refusal(self, status: int) -> bool:
        """Whether the request was refused for its content."""
        return status in _REFUSES and _REFUSED.search(f"{self.names} {self.text}") is not None

    def is_too_long(self, status: int) -> bool:
        """Whether the request was refused for its length."""
        words = _LENGTHS.get(status)
        told = words is not None and words.search(f"{self.names} {self.text}") is not None
        return told or status == _TOO_LARGE

    def input_tokens_max(self, status: int) -> int | None:
        """The input tokens allowed per minute, if the request was refused for that limit."""
        found = _A_MINUTE.search(self.text) if status == _RATE_LIMITED else None
        return None if found is None else int(found[1].replace(",", ""))

    def output_tokens_max(self, *, asked: int) -> int | None:
        """The model's output limit, if more was ``asked`` for; None for a limit on input and output together."""
        said = f"{self.names} {self.text}"
        if _OUTPUT.search(said) is None or _WITH_INPUT.search(said):
            return None
        told = [int(number.replace(",", "")) - bool(exclusive) for number, exclusive in _NUMBER.findall(self.text)]
        return max((number for number in told if OUTPUT_TOKENS_MIN <= number < asked), default=None)


class Complained(Exception):
    """An error instead of an answer, or beside the part of it that was written before."""

    def __init__(self, complaint: Complaint) -> None:
        super().__init__(complaint.text)
        self.complaint = complaint


def complaint(body: Any) -> Complaint:
    """Parse an error body. Never raises."""
    error = _error(body)
    if not isinstance(error, Mapping):
        return Complaint(text=_line(error) if isinstance(error, str) else "")
    inner: Mapping[str, Any] = next((error[name] for name in _INNER if isinstance(error.get(name), Mapping)), {})
    names = [str(of[name])[:CHARS_MAX] for of in (error, inner) for name in _NAMES if of.get(name) is not None]
    status = _status(error.get("code")) or next((_STATUS_OF[name] for name in names if name in _STATUS_OF), None)
    return Complaint(text=_text(error), names=" ".join(names), status=status, retry_after=_retry_after(error))


def answer_in(body: Any, name: str) -> Any:
    """``body``, whose answer should be under ``name``. Raises Complained if it is an error instead.

    OpenRouter, and any server that keeps a connection open with blanks, sends the 200 long before the model fails.
    """
    if isinstance(body, dict) and body.get("error") and not body.get(name):
        raise Complained(complaint(body))
    return body


def _error(body: Any) -> Any:
    if isinstance(body, list) and body:
        body = body[0]
    return (body.get("error") or body) if isinstance(body, Mapping) else body


def _text(error: Mapping[str, Any]) -> str:
    said = next((error[name] for name in ("message", "detail", "msg") if error.get(name)), error)
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    return _line(": ".join(one if isinstance(one, str) else _dumped(one) for one in (said, raw) if one))


def _dumped(value: Any) -> str:
    try:
        return dumps(_unquoted(value), ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return ""


def _unquoted(value: Any) -> Any:
    """The value without pydantic's ``input`` (FastAPI, Mistral), which quotes the request."""
    if isinstance(value, Mapping):
        return {name: _unquoted(one) for name, one in value.items() if name != "input"}
    return [_unquoted(one) for one in value] if isinstance(value, list) else value


def _line(text: str) -> str:
    return " ".join(text[:READ_MAX].split())[:CHARS_MAX]


def _status(code: Any) -> int | None:
    """The HTTP status if ``code`` is one, as a number or as digits, else None."""
    digits = str(code)
    found = int(digits) if digits.isascii() and digits.isdigit() and len(digits) == 3 else 0  # noqa: PLR2004 - of a status
    return found if found in STATUSES else None


def _retry_after(error: Mapping[str, Any]) -> float | None:
    details = error.get("details")
    for detail in details if isinstance(details, list) else ():
        wish = detail.get("retryDelay") if isinstance(detail, Mapping) else None
        if isinstance(wish, str) and (seconds := re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)s", wish)):
            return float(seconds[1])
    return None
