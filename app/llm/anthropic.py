"""The adapter of Anthropic's Messages API. The SDK's own variables: ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL."""

import json
import os

import anthropic
from anthropic.types import Message, TextBlockParam

from app.kit.patterns import lazy_pattern
from app.llm.bounded import BoundedReplies
from app.llm.calls import ModelSetupError, Readers, SdkErrors, completed, tokens
from app.llm.complaints import Complaint, answer_in, complaint
from app.llm.environment import building, given_address, given_key
from app.llm.finish_reasons import stop_of
from app.llm.port import LlmConfig, ModelReply, ModelRequest, Provider, Usage
from app.llm.thinking import without_thinking

ERRORS = SdkErrors(
    timeout=anthropic.APITimeoutError,
    status=anthropic.APIStatusError,
    connection=anthropic.APIConnectionError,
    base=anthropic.AnthropicError,
)
ADDRESS, ADDRESS_VARIABLE = "https://api.anthropic.com", "ANTHROPIC_BASE_URL"

# Claude 5 and later think unless told otherwise, and accept an effort; older models do neither (whats-new-haiku-5-5,
# "effort" in Anthropic's documentation). Observing is extraction, which needs little thinking.
EFFORT = lazy_pattern(r"\b(output_config|effort)\b")
TRIES = 3  # as configured, without the effort, and for fewer tokens
THINKS_UNASKED = lazy_pattern(r"claude-[a-z]+-([5-9]|\d\d)(-|$)")


class AnthropicModel:
    """A model of the Messages API. Its one limit covers thinking and answer, so the sum of both limits is sent."""

    provider = Provider.ANTHROPIC

    def __init__(self, name: str, config: LlmConfig) -> None:
        self.name = name
        self.reasoning_tokens = config.reasoning_tokens
        self._timeout_seconds = config.timeout_seconds
        self._client = _client(config.timeout_seconds, reply_bytes_max=config.reply_bytes_max)
        self._effort = THINKS_UNASKED.match(name) is not None
        self.output_tokens_max: int | None = None

    async def complete(self, request: ModelRequest) -> ModelReply:
        call = self._asked(request)
        return await completed(call, request, self, ERRORS, READERS, timeout_seconds=self._timeout_seconds)

    async def close(self) -> None:
        await self._client.close()

    async def _asked(self, request: ModelRequest) -> bytes:
        """The body of the answer. If the endpoint refuses the effort or the token limit, retries at once without.

        What was refused is remembered for later calls.
        """
        wanted = request.max_output_tokens + self.reasoning_tokens
        for left in reversed(range(TRIES)):
            effort, tokens_max = self._effort, min(wanted, self.output_tokens_max or wanted)
            try:
                reply = await self._client.messages.with_raw_response.create(
                    model=self.name,
                    max_tokens=tokens_max,
                    system=[_cacheable(request.system)],
                    messages=[{"role": "user", "content": request.prompt}],
                    output_config={"effort": "low"} if effort else anthropic.omit,
                )
            except (anthropic.BadRequestError, anthropic.UnprocessableEntityError) as error:
                if not (left and self._learnt(complaint(error.body), effort=effort, asked=tokens_max)):
                    raise
            else:
                return await reply.read()
        raise AssertionError  # not reached: the last try returns or raises

    def _learnt(self, refused: Complaint, *, effort: bool, asked: int) -> bool:
        """Drop the effort, or lower the token limit, if the refusal is about that. Answers whether to retry."""
        if effort and EFFORT.search(refused.text):
            self._effort = False
            return True
        told = refused.output_tokens_max(asked=asked)
        self.output_tokens_max = told or self.output_tokens_max
        return told is not None


class _Http(BoundedReplies, anthropic.DefaultAsyncHttpxClient):
    pass


def _client(timeout_seconds: float, *, reply_bytes_max: int) -> anthropic.AsyncAnthropic:
    """The SDK's client. Raises ModelSetupError, in one line for the operator."""
    (key, token), address = _credentials(), _address()
    try:
        with building("anthropic"):
            http = _Http(reply_bytes_max=reply_bytes_max, timeout=timeout_seconds)
            client = anthropic.AsyncAnthropic(
                api_key=key,
                auth_token=token,
                base_url=address,
                timeout=timeout_seconds,
                max_retries=0,
                http_client=http,
            )
    except anthropic.AnthropicError as error:
        raise ModelSetupError(f"provider anthropic: {' '.join(str(error).split())}") from error
    if not ((client.api_key or "").strip() or (client.auth_token or "").strip() or client.credentials):
        raise ModelSetupError("provider anthropic: set ANTHROPIC_API_KEY")
    return client


def _credentials() -> tuple[str | None, str | None]:
    """Key or token, in the SDK's order; without either the SDK looks for other credentials itself."""
    key, token = given_key(os.environ, "ANTHROPIC_API_KEY"), given_key(os.environ, "ANTHROPIC_AUTH_TOKEN")
    return key, None if key else token


def _address() -> str | None:
    """The base URL; None without the variable, because a profile of the SDK may name one."""
    address = given_address(os.environ, ADDRESS_VARIABLE)
    return ADDRESS if address is None and ADDRESS_VARIABLE in os.environ else address


def _cacheable(system: str) -> TextBlockParam:
    """The instructions with a cache breakpoint: they repeat with every call, and the cache lasts five minutes."""
    return {"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}


def read_message(body: bytes) -> Message:
    """The body as the SDK's type, unvalidated as the SDK does it.

    Raises TypeError, ValueError or RecursionError if it is no JSON object, Complained if it is an error.
    """
    return Message.construct(**answer_in(json.loads(body), "content"))


def read_reply(message: Message) -> ModelReply:
    """The reply, from the text blocks alone. Raises Complained for an answer that broke off."""
    return ModelReply(
        text=without_thinking("".join(block.text for block in message.content if block.type == "text")),
        stop=stop_of(message.stop_reason),
        usage=read_usage(message),
        model=message.model or "",
    )


def read_usage(message: Message) -> Usage:
    """The usage. Anthropic's ``input_tokens`` excludes cache reads and writes; ours includes both.

    Some compatible servers send no usage at all, or nulls in it.
    """
    usage = message.usage
    if usage is None:
        return Usage()
    read, written = tokens(usage.cache_read_input_tokens), tokens(usage.cache_creation_input_tokens)
    return Usage(
        input_tokens=tokens(usage.input_tokens) + read + written,
        cached_input_tokens=read,
        cache_write_tokens=written,
        output_tokens=tokens(usage.output_tokens),
    )


READERS = Readers(answer=read_message, usage=read_usage, reply=read_reply)
