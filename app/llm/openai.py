"""OpenAI's chat completions, and every endpoint that speaks them: Ollama, vLLM, Gemini, OpenRouter.

Key and endpoint are the SDK's own variables (OPENAI_API_KEY, OPENAI_BASE_URL).
"""

import asyncio
import json
import re
from dataclasses import replace
from typing import Any

import openai
from openai.types.chat import ChatCompletion

from app.llm.bounded import BoundedReplies
from app.llm.calls import ModelSetupError, SdkErrors, answered, tokens, understood
from app.llm.port import ModelReply, ModelRequest, Provider, Stop, Usage
from app.llm.prices import priced

ERRORS = SdkErrors(
    timeout=openai.APITimeoutError,
    status=openai.APIStatusError,
    connection=openai.APIConnectionError,
    base=openai.OpenAIError,
)
STOPS = {"length": Stop.LENGTH, "content_filter": Stop.REFUSAL}

OWN_HOSTS = (".openai.com", ".openai.azure.com")
PLACEHOLDER_KEY = "none"  # the SDK insists on a key, an endpoint of one's own need not
REASONS = re.compile(r"gpt-[5-9](?!.*(chat|pro))")  # the "chat" and "pro" models take no low effort


class OpenAIModel:
    """``timeout_seconds`` bounds a whole call, ``reasoning_tokens`` the thinking, ``reply_bytes_max`` what is read.

    The API counts thinking and answer to one limit, so the limit sent is the sum of both.
    """

    provider = Provider.OPENAI

    def __init__(self, name: str, *, timeout_seconds: float, reasoning_tokens: int, reply_bytes_max: int) -> None:
        self.name = name
        self._timeout_seconds = timeout_seconds
        self.reasoning_tokens = reasoning_tokens
        self._client = client(timeout_seconds, reply_bytes_max=reply_bytes_max)
        self._own = is_own(self._client)

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Read in a thread, and not by the SDK: 20,000 choices would hold up every request for a second."""
        call = self._client.chat.completions.with_raw_response.create(
            model=self.name,
            messages=[{"role": "system", "content": request.system}, {"role": "user", "content": request.prompt}],
            **output_limit(self.name, tokens=request.max_output_tokens + self.reasoning_tokens, own=self._own),
        )
        reply = await answered(call, provider=self.provider, errors=ERRORS, timeout_seconds=self._timeout_seconds)
        completion = await asyncio.to_thread(understood, reply.content, read_completion, provider=self.provider)
        used = understood(completion, read_usage, provider=self.provider)
        usage = await priced(self.provider, self.name, used)
        return replace(understood(completion, read_reply, provider=self.provider, usage=usage), usage=usage)

    async def close(self) -> None:
        await self._client.close()


class _Http(BoundedReplies, openai.DefaultAsyncHttpxClient):
    pass


def client(timeout_seconds: float, *, reply_bytes_max: int) -> openai.AsyncOpenAI:
    http = _Http(reply_bytes_max=reply_bytes_max, timeout=timeout_seconds)
    try:
        return openai.AsyncOpenAI(timeout=timeout_seconds, max_retries=0, http_client=http)
    except openai.OpenAIError as error:
        keyless = openai.AsyncOpenAI(api_key=PLACEHOLDER_KEY, timeout=timeout_seconds, max_retries=0, http_client=http)
        if is_own(keyless):
            raise ModelSetupError(
                "provider openai: set OPENAI_API_KEY, or OPENAI_BASE_URL to an endpoint that needs no key"
            ) from error
        return keyless


def is_own(client: openai.AsyncOpenAI) -> bool:
    return client.base_url.host.endswith(OWN_HOSTS)


def output_limit(name: str, *, tokens: int, own: bool) -> dict[str, Any]:
    """The limit by the name the endpoint knows.

    OpenAI's reasoning models refuse ``max_tokens``; Ollama silently ignores ``max_completion_tokens`` (its issue
    7125) and other servers refuse it. So OpenAI's own hosts get the new name, all others the old one.
    """
    if not own:
        return {"max_tokens": tokens}
    effort = {"reasoning_effort": "low"} if REASONS.match(name) else {}
    return {"max_completion_tokens": tokens} | effort


def read_completion(body: bytes) -> ChatCompletion:
    """Unchecked, as the SDK does it. Raises TypeError, ValueError or RecursionError for what is no JSON object."""
    return ChatCompletion.construct(**json.loads(body))


def read_reply(completion: ChatCompletion) -> ModelReply:
    """Raises TypeError or ValueError for a text that is none, or tokens that are no numbers."""
    choice = completion.choices[0]
    refused = bool(choice.message.refusal)
    text = choice.message.content or ""
    if not isinstance(text, str):
        raise TypeError("the content of the answer is no text")
    return ModelReply(
        text=without_thinking(text),
        stop=Stop.REFUSAL if refused else STOPS.get(choice.finish_reason, Stop.END),
        usage=read_usage(completion),
        model=completion.model or "",
    )


def without_thinking(text: str) -> str:
    """What a server without a parser for it leaves before the answer, in tags.

    DeepSeek's and Qwen's templates open it in the prompt, so that only its end is in the reply, on a line of its own.
    """
    thought, tag, answer = text.partition("</think>")
    is_thought = thought.lstrip().startswith("<think>") or (thought.endswith("\n") and answer.startswith("\n"))
    return answer if tag and is_thought else text


def read_usage(completion: ChatCompletion) -> Usage:
    """``prompt_tokens`` is already the whole input. Some compatible servers send no usage at all, or null in it."""
    usage = completion.usage
    if usage is None:
        return Usage()
    details = usage.prompt_tokens_details
    return Usage(
        input_tokens=tokens(usage.prompt_tokens),
        cached_input_tokens=tokens(details.cached_tokens if details else None),
        cache_write_tokens=tokens(details.cache_write_tokens if details else None),
        output_tokens=tokens(usage.completion_tokens),
    )
