"""The adapter of OpenAI's chat completions API, which Ollama, vLLM, Gemini and OpenRouter have too.

Key and endpoint are the SDK's own variables (OPENAI_API_KEY, OPENAI_BASE_URL).
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import openai
from openai.types.chat import ChatCompletion, ChatCompletionContentPartTextParam, ChatCompletionMessageParam
from openai.types.chat.chat_completion import Choice
from openai.types.chat.chat_completion_content_part_text_param import PromptCacheBreakpoint

from app.kit.patterns import lazy_pattern
from app.llm.bounded import BoundedReplies
from app.llm.calls import ModelSetupError, Readers, SdkErrors, completed, tokens
from app.llm.complaints import Complained, Complaint, answer_in, complaint
from app.llm.environment import building, given_address, given_key
from app.llm.finish_reasons import stop_of
from app.llm.port import LlmConfig, ModelReply, ModelRequest, Provider, Stop, Usage
from app.llm.thinking import without_thinking

ERRORS = SdkErrors(
    timeout=openai.APITimeoutError,
    status=openai.APIStatusError,
    connection=openai.APIConnectionError,
    base=openai.OpenAIError,
)
ADDRESS = "https://api.openai.com/v1"
OWN_HOSTS = (".openai.com", ".openai.azure.com")
PLACEHOLDER_KEY = "none"  # the SDK requires a key, a self-hosted endpoint need not
REASONS = lazy_pattern(r"gpt-[5-9](?!.*(chat|pro))")  # the "chat" and "pro" models take no low effort
BREAKPOINTS = lazy_pattern(r"gpt-(?:5\.(?:[6-9]|\d\d)|[6-9])")  # with a cache that is read and written at breakpoints
NEW_LIMIT, OLD_LIMIT, EFFORT = "max_completion_tokens", "max_tokens", "reasoning_effort"
CACHED, EXPLICIT = "prompt_cache", PromptCacheBreakpoint(mode="explicit")
TRIES = 6  # one more than the parameters that ``Parameters.without`` can change
NO_SYSTEM = lazy_pattern(
    r"system role (?:is )?not supported|(?:developer|system) instruction is not enabled"
    r"|does not support ['\"]?(?:system|developer)|roles must alternate",
    re.IGNORECASE,
)
UNKNOWN = lazy_pattern(
    r"unsupported|not supported|unknown|unrecognized|unexpected|not permitted|\bextra\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """The parts of a request that depend on the endpoint: the limit's name and maximum, and the effort.

    OpenAI's reasoning models refuse ``max_tokens``; Ollama silently ignores ``max_completion_tokens`` (its issue
    7125) and other servers refuse it. So OpenAI's own hosts get the new name, all others the old one, until they refuse
    it: a gateway, or the name of an Azure deployment, hides which model it is.

    ``system``: whether the instructions have a role of their own, which Gemma's template lacks. ``cached``: they end in
    a breakpoint, the only one, as they repeat with every call. By default a model that knows breakpoints has one at the
    end of the prompt: it would write each whole call to its cache, for 1.25 of the price, and find nothing again.
    """

    limit: str
    effort: bool
    renamed: bool = False
    tokens_max: int | None = None
    system: bool = True
    cached: bool = False

    @classmethod
    def of(cls, name: str, *, own: bool) -> Self:
        effort, cached = (own and pattern.match(name) is not None for pattern in (REASONS, BREAKPOINTS))
        return cls(limit=NEW_LIMIT if own else OLD_LIMIT, effort=effort, cached=cached)

    def sent(self, tokens: int) -> dict[str, Any]:
        optional = {EFFORT: "low"} if self.effort else {}
        return {self.limit: self.most(tokens)} | optional | ({f"{CACHED}_options": EXPLICIT} if self.cached else {})

    def most(self, tokens: int) -> int:
        return min(tokens, self.tokens_max or tokens)

    def messages(self, request: ModelRequest) -> list[ChatCompletionMessageParam]:
        if self.system:
            return [{"role": "system", "content": self._system(request)}, {"role": "user", "content": request.prompt}]
        return [{"role": "user", "content": f"{request.system}\n\n{request.prompt}"}]

    def _system(self, request: ModelRequest) -> str | list[ChatCompletionContentPartTextParam]:
        if not self.cached:
            return request.system
        return [{"type": "text", "text": request.system, "prompt_cache_breakpoint": EXPLICIT}]

    def without(self, refused: Complaint, *, asked: int) -> Self | None:
        """The parameters changed as the refusal demands; None if it is about none of them.

        ``asked``: the tokens that were asked for.
        """
        said = f"{refused.names} {refused.text}"
        if self.effort and EFFORT in said:
            return replace(self, effort=False)
        if self.cached and CACHED in said:
            return replace(self, cached=False)
        if not self.renamed and UNKNOWN.search(said) and re.search(rf"\b{self.limit}\b", said):
            return replace(self, limit=OLD_LIMIT if self.limit == NEW_LIMIT else NEW_LIMIT, renamed=True)
        if self.system and NO_SYSTEM.search(said):
            return replace(self, system=False)
        told = refused.output_tokens_max(asked=self.most(asked))
        return None if told is None else replace(self, tokens_max=told)


class OpenAIModel:
    """A model of the API. Its one limit covers thinking and answer, so the sum of both limits is sent."""

    provider = Provider.OPENAI

    def __init__(self, name: str, config: LlmConfig) -> None:
        self.name = name
        self.reasoning_tokens = config.reasoning_tokens
        self._timeout_seconds = config.timeout_seconds
        self._client = client(config.timeout_seconds, reply_bytes_max=config.reply_bytes_max)
        self._parameters = Parameters.of(name, own=is_own(self._client))

    @property
    def output_tokens_max(self) -> int | None:
        return self._parameters.tokens_max

    async def complete(self, request: ModelRequest) -> ModelReply:
        call = self._asked(request)
        return await completed(call, request, self, ERRORS, READERS, timeout_seconds=self._timeout_seconds)

    async def close(self) -> None:
        await self._client.close()

    async def _asked(self, request: ModelRequest) -> bytes:
        """The body of the answer. Retries at once with refused parameters changed, and keeps them for later calls."""
        wanted = request.max_output_tokens + self.reasoning_tokens
        for again in reversed(range(TRIES)):
            parameters = self._parameters
            try:
                reply = await self._client.chat.completions.with_raw_response.create(
                    model=self.name,
                    messages=parameters.messages(request),
                    **parameters.sent(wanted),
                )
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                left = parameters.without(complaint(error.body), asked=wanted)
                if left is None or not again:
                    raise
                if self._parameters is parameters:  # otherwise another call has changed them meanwhile
                    self._parameters = left
            else:
                body: bytes = reply.content
                return body
        raise AssertionError  # not reached: the last try returns or raises


class _Http(BoundedReplies, openai.DefaultAsyncHttpxClient):
    pass


def client(timeout_seconds: float, *, reply_bytes_max: int) -> openai.AsyncOpenAI:
    """The SDK's client. Raises ModelSetupError, in one line for the operator."""
    key = given_key(os.environ, "OPENAI_API_KEY") or ""
    address = given_address(os.environ, "OPENAI_BASE_URL") or ADDRESS
    with building("openai"):
        http = _Http(reply_bytes_max=reply_bytes_max, timeout=timeout_seconds)
    build = partial(openai.AsyncOpenAI, base_url=address, timeout=timeout_seconds, max_retries=0, http_client=http)
    try:
        return build(api_key=key)
    except openai.OpenAIError as error:
        keyless = build(api_key=PLACEHOLDER_KEY)
        if is_own(keyless):
            raise ModelSetupError(
                "provider openai: set OPENAI_API_KEY, or OPENAI_BASE_URL to an endpoint that needs no key"
            ) from error
        return keyless


def is_own(client: openai.AsyncOpenAI) -> bool:
    return client.base_url.host.endswith(OWN_HOSTS)


def read_completion(body: bytes) -> ChatCompletion:
    """The body as the SDK's type, unvalidated as the SDK does it.

    Raises TypeError, ValueError or RecursionError if it is no JSON object, Complained if it is an error.
    """
    return ChatCompletion.construct(**answer_in(json.loads(body), "choices"))


def read_reply(completion: ChatCompletion) -> ModelReply:
    """The reply. Raises TypeError or ValueError if the content is no text, or a token count no number.

    Complained for an answer that broke off: a gateway puts the error into the choice, beside the partial text.
    """
    choice = completion.choices[0]
    refused = bool(choice.message.refusal)
    return ModelReply(
        text=without_thinking(_text(choice.message.content)),
        stop=Stop.REFUSAL if refused else _stop(choice),
        usage=read_usage(completion),
        model=completion.model or "",
    )


def _stop(choice: Choice) -> Stop:
    try:
        return stop_of(choice.finish_reason)
    except Complained as broken:
        told = (choice.model_extra or {}).get("error")
        raise Complained(complaint(told)) if told else broken from broken


def _text(content: Any) -> str:
    """The text. Mistral, Databricks and their gateways answer in parts; those that are not text are thinking."""
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, Mapping) and part.get("type") in {"text", "output_text"}]
        content = "".join(part["text"] for part in parts)
    if not isinstance(content or "", str):
        raise TypeError("the content of the answer is no text")
    return content or ""


def read_usage(completion: ChatCompletion) -> Usage:
    """The usage. ``prompt_tokens`` is the whole input, except from a gateway that passes on Anthropic's numbers.

    Those exclude cache reads and writes, which shows when these are more than ``prompt_tokens``. Some compatible
    servers send no usage at all, or nulls in it.
    """
    usage = completion.usage
    if usage is None:
        return Usage()
    details = usage.prompt_tokens_details
    whole = tokens(usage.prompt_tokens)
    read = tokens(details.cached_tokens if details else None)
    written = tokens(details.cache_write_tokens if details else None)
    return Usage(
        input_tokens=whole if whole >= read + written else tokens(whole + read + written),
        cached_input_tokens=read,
        cache_write_tokens=written,
        output_tokens=tokens(usage.completion_tokens),
    )


READERS = Readers(answer=read_completion, usage=read_usage, reply=read_reply)
