"""Every payload splatted into the provider's own client, and what the provider then receives."""

from typing import Any

import anthropic
import openai
from google import genai
from google.genai import types

from app.context.model import Format
from app.kit.json import dumps, loads
from tests.context.rendering.capture import Capture
from tests.context.rendering.test_golden import compiled


def payload_of(shape: Format) -> dict[str, Any]:
    """As a caller of the service has it: read from JSON."""
    payload: dict[str, Any] = loads(dumps(compiled(shape)["payload"]))
    return payload


def test_anthropic_receives_the_payload(provider: Capture) -> None:
    payload = payload_of(Format.ANTHROPIC)
    with anthropic.Anthropic(api_key="k", base_url=provider.url, max_retries=0) as client:
        client.messages.create(model="m", max_tokens=10, **payload)
    assert provider.bodies[-1] == {"model": "m", "max_tokens": 10, **payload}


def test_openai_chat_receives_the_payload(provider: Capture) -> None:
    payload = payload_of(Format.OPENAI)
    with openai.OpenAI(api_key="k", base_url=f"{provider.url}/v1", max_retries=0) as client:
        client.chat.completions.create(model="m", **payload)
    assert provider.bodies[-1] == {"model": "m", **payload}


def test_openai_responses_receives_the_payload(provider: Capture) -> None:
    payload = payload_of(Format.OPENAI_RESPONSES)
    with openai.OpenAI(api_key="k", base_url=f"{provider.url}/v1", max_retries=0) as client:
        client.responses.create(model="m", **payload)
    assert provider.bodies[-1] == {"model": "m", **payload}


def test_gemini_receives_the_payload(provider: Capture) -> None:
    """The client sends the REST API's names, and the config's system instruction beside the contents."""
    payload = payload_of(Format.GEMINI)
    options = types.HttpOptions(base_url=provider.url, retry_options=types.HttpRetryOptions(attempts=1))
    with genai.Client(api_key="k", http_options=options) as client:
        client.models.generate_content(model="m", **payload)
    received = provider.bodies[-1]
    assert [as_sent(content) for content in received["contents"]] == [as_sent(each) for each in payload["contents"]]
    assert received["systemInstruction"] == payload["config"]["system_instruction"]


def as_sent(value: Any) -> Any:
    """The same value whichever of its two names a field has."""
    if isinstance(value, list):
        return [as_sent(item) for item in value]
    if isinstance(value, dict):
        return {key.replace("_", "").lower(): as_sent(item) for key, item in value.items()}
    return value
