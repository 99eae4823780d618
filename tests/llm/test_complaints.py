"""What providers and gateways answer in the place of a reply, as they document it or as it was reported of them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.llm.build import build_model
from app.llm.complaints import CHARS_MAX, complaint
from app.llm.port import LlmConfig, ModelError, ModelRequest, Provider
from tests.model_server import ModelServer, Said

ASK = ModelRequest(system="s", prompt="p", max_output_tokens=10)
AZURE_FILTER = {
    "error": {
        "inner_error": {
            "code": "ResponsibleAIPolicyViolation",
            "content_filter_results": {"violence": {"filtered": True, "severity": "medium"}},
        },
        "code": "content_filter",
        "message": "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        "param": "prompt",
        "type": None,
        "status": 400,
    }
}
GEMINI_QUOTA = [
    {
        "error": {
            "code": 429,
            "message": "You exceeded your current quota.\n* Quota exceeded for metric: requests",
            "status": "RESOURCE_EXHAUSTED",
            "details": [
                {"@type": "type.googleapis.com/google.rpc.Help"},
                {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"},
            ],
        }
    }
]
OPENROUTER_FLAGGED = {
    "error": {
        "code": 403,
        "message": "openai/gpt requires moderation on OpenRouter. Your input was flagged for violence.",
        "metadata": {"reasons": ["violence"], "flagged_input": "kill the process", "provider_name": "OpenAI"},
    }
}
XAI_FILTER = {
    "code": "The caller does not have permission to execute the specified operation",
    "error": "Content violates usage guidelines. Team: t, API key ID: k, Model: grok-4, Failed check: "
    "SAFETY_CHECK_TYPE_BIO",
}
XAI_LENGTH = {
    "code": "Client specified an invalid argument",
    "error": "This model's maximum prompt length is 131072 but the request contains 200000 tokens.",
}
TGI_LENGTH = {
    "error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens "
    "and 8000 `max_new_tokens`",
    "error_type": "validation",
}
TGI_INPUTS = {"error": "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000"}
COUNTRY = {
    "error": {
        "code": "unsupported_country_region_territory",
        "message": "Country, region, or territory not supported",
        "param": None,
        "type": "request_forbidden",
    }
}
VLLM_LENGTH = {
    "object": "error",
    "message": "This model's maximum context length is 8192 tokens. However, you requested 30000 tokens.",
    "type": "BadRequestError",
    "param": None,
    "code": 400,
}
TPM = (
    "Request too large for gpt-x in organization org-1 on tokens per min (TPM): Limit 30000, Requested 36422. The "
    "input or output tokens must be reduced in order to run successfully."
)
TPM_BUSY = (
    "Rate limit reached for gpt-x in organization org-1 on tokens per min (TPM): Limit 30000, Used 20000, Requested "
    "16422. Please try again in 12s."
)
DECODER = "The decoder prompt (length 66501) is longer than the maximum model length of 65536. Make sure that ..."
LITELLM_500 = "litellm.ContextWindowExceededError: This model's maximum context length is 4096 tokens."
NOVA = "The model returned the following errors: Input Tokens Exceeded: Number of input tokens exceeds maximum length."
ANTHROPIC_LENGTH = {
    "type": "error",
    "error": {"type": "invalid_request_error", "message": "prompt is too long: 208310 tokens > 200000 maximum"},
}
ANTHROPIC_BOTH = {
    "type": "error",
    "error": {
        "type": "invalid_request_error",
        "message": "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length "
        "or `max_tokens` and try again",
    },
}


def upstream(code: Any, said: str) -> dict[str, Any]:
    """OpenRouter's, of a model that failed."""
    raw = {"message": "Provider returned error", "code": code, "metadata": {"raw": said, "provider_name": "BaseTen"}}
    return {"error": raw, "user_id": "user_1"}


def coded(message: str, code: Any = None, kind: str = "invalid_request_error") -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


ANSWERS: dict[str, tuple[int, Any, str, bool, str]] = {
    "Azure's filter": (400, AZURE_FILTER, "refused", False, "400: The response was filtered"),
    "OpenAI's policy": (400, coded("Invalid prompt: it was flagged", "invalid_prompt"), "refused", False, "flagged"),
    "DeepSeek's filter": (400, coded("Content Exists Risk", "invalid_request_error"), "refused", False, "Risk"),
    "DashScope's filter": (400, coded("Input data may be bad", "data_inspection_failed"), "refused", False, "bad"),
    "Moonshot's filter": (400, coded("considered high risk", 400, "content_filter"), "refused", False, "high risk"),
    "Zhipu's filter": (400, coded("可能包含不安全内容", "1301"), "refused", False, "可能包含不安全内容"),
    "OpenRouter's moderation": (403, OPENROUTER_FLAGGED, "refused", False, "flagged for violence"),
    "xAI's filter": (403, XAI_FILTER, "refused", False, "403: Content violates usage guidelines"),
    "new-api's words": (
        400,
        coded("user input", "sensitive_words_detected", "new_api_error"),
        "refused",
        False,
        "user",
    ),
    "xAI's length": (400, XAI_LENGTH, "too_long", False, "maximum prompt length is 131072"),
    "TGI's length": (422, TGI_LENGTH, "too_long", False, "must be <= 4096"),
    "TGI's inputs": (422, TGI_INPUTS, "too_long", False, "less than 4096 tokens"),
    "Moonshot's length": (400, coded("Your request exceeded model token limit: 262144"), "too_long", False, "262144"),
    "Kimi's length": (400, coded("model max length exceeded"), "too_long", False, "max length"),
    "DashScope's length": (400, coded("Range of input length should be [1, 30720]"), "too_long", False, "30720"),
    "another country": (
        403,
        COUNTRY,
        "unauthorized",
        False,
        "403: the key may not do this (unsupported_country_region_territory)",
    ),
    "another project": (
        403,
        coded("sk-1 has no access", "model_x", ""),
        "unauthorized",
        False,
        "may not do this (model_x)",
    ),
    "no right at all": (403, coded("sk-1 has no access", None, ""), "unauthorized", False, "the key may not do this"),
    "vLLM's length": (400, VLLM_LENGTH, "too_long", False, "maximum context length is 8192"),
    "OpenAI's length": (400, coded("Too much", "context_length_exceeded"), "too_long", False, "Too much"),
    "a body too large": (413, "<html>Request Entity Too Large</html>", "too_long", False, "413: <html>Request"),
    "Groq's length": (413, coded("Request too large for model", "rate_limit_exceeded"), "too_long", False, "large"),
    "OpenAI's limit of a minute": (429, coded(TPM, "rate_limit_exceeded", "tokens"), "too_long", False, "too large"),
    "what of it is used": (429, coded(TPM_BUSY, "rate_limit_exceeded", "tokens"), "rate_limited", True, "12s"),
    "Bedrock's wait": (429, {"message": "Too many tokens, please wait."}, "rate_limited", True, "please wait"),
    "vLLM's engine": (400, coded(DECODER, 400, "BadRequestError"), "too_long", False, "than the maximum"),
    "Xinference's 500": (500, {"detail": DECODER}, "too_long", False, "500: The decoder prompt"),
    "LiteLLM's 500": (500, coded(LITELLM_500, "500"), "too_long", False, "ContextWindow"),
    "a full window in a 200": (200, coded("the context window is full", "x"), "too_long", False, "is full"),
    "a 500 of its memory": (500, {"error": "cannot allocate context size 8192"}, "server_error", True, "allocate"),
    "Nova's length": (400, coded(NOVA), "too_long", False, "Input Tokens Exceeded"),
    "Bedrock's length": (400, coded("expected maxLength: 400000, actual: 500000"), "too_long", False, "400000"),
    "Titan's length": (400, coded("Too many input tokens. Max: 8192"), "too_long", False, "8192"),
    "Gemini's list": (
        400,
        [{"error": {"code": 400, "message": "API key not valid."}}],
        "bad_request",
        False,
        "not valid",
    ),
    "Ollama's text": (404, {"error": "model 'm' not found"}, "bad_request", False, "404: model 'm' not found"),
    "FastAPI's detail": (422, {"detail": "wrong"}, "bad_request", False, "422: wrong"),
    "no words at all": (400, {}, "bad_request", False, "400: no reason was told"),
    "no body at all": (502, "", "server_error", True, "502: no reason was told"),
    "no credit": (402, upstream(402, "Insufficient credits"), "bad_request", False, "error: Insufficient credits"),
    "OpenRouter's 429": (429, upstream(429, "z-ai/glm is busy"), "rate_limited", True, "error: z-ai/glm is busy"),
    "an error in a 200": (
        200,
        upstream(429, "busy"),
        "rate_limited",
        True,
        "an error 429: Provider returned error: busy",
    ),
    "one of a server": (200, upstream(502, "down"), "server_error", True, "answered with an error 502"),
    "one of the key": (200, coded("No auth: sk-1", 401), "unauthorized", False, "an error 401: the key was refused"),
    "one of a key by name": (200, coded("Bad key: sk-1", "invalid_api_key"), "unauthorized", False, "401: the key was"),
    "one without a number": (200, coded("It broke", "server_error"), "server_error", True, "with an error: It broke"),
    "one in words": (200, {"error": "out of memory"}, "server_error", True, "with an error: out of memory"),
}


@pytest.mark.parametrize(("status", "body", "kind", "retryable", "said"), ANSWERS.values(), ids=ANSWERS)
async def test_what_an_endpoint_says_is_classed_and_told(
    server: ModelServer, status: int, body: Any, kind: str, *, retryable: bool, said: str
) -> None:
    error = await failure(server, Provider.OPENAI, Said(status=status, body=body))

    assert (error.kind, error.retryable) == (kind, retryable)
    assert said in str(error)
    assert "sk-1" not in str(error)


@pytest.mark.parametrize(
    ("status", "body", "kind", "said"),
    [
        (400, ANTHROPIC_LENGTH, "too_long", "anthropic answered 400: prompt is too long: 208310 tokens"),
        (400, ANTHROPIC_BOTH, "too_long", "exceed context limit"),
        (
            403,
            {"type": "error", "error": {"type": "permission_error", "message": "Your key sk-1 may not"}},
            "unauthorized",
            "403: the key may not do this (permission_error)",
        ),
        (400, {"error": {"message": "Your credit balance is too low"}}, "bad_request", "400: Your credit balance"),
        (400, {"error": {"message": "Output blocked by content filtering policy"}}, "refused", "blocked by content"),
        (
            200,
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
            "overloaded",
            "an error 529: Overloaded",
        ),
        (
            200,
            {"type": "error", "error": {"type": "authentication_error", "message": "no such key: sk-1"}},
            "unauthorized",
            "an error 401: the key was refused",
        ),
    ],
)
async def test_what_anthropic_says_is_classed_and_told(
    server: ModelServer, status: int, body: Any, kind: str, said: str
) -> None:
    error = await failure(server, Provider.ANTHROPIC, Said(status=status, body=body))

    assert error.kind == kind
    assert said in str(error)


async def test_google_s_wish_to_wait_is_passed_on(server: ModelServer) -> None:
    error = await failure(server, Provider.OPENAI, Said(status=429, body=GEMINI_QUOTA))

    assert (error.kind, error.retry_after) == ("rate_limited", 34.5)
    assert "You exceeded your current quota. * Quota exceeded" in str(error)


async def test_the_header_s_wish_goes_before_the_body_s(server: ModelServer) -> None:
    said = Said(status=429, body=GEMINI_QUOTA, headers={"retry-after": "7"})

    assert (await failure(server, Provider.OPENAI, said)).retry_after == 7.0


async def failure(server: ModelServer, provider: Provider, said: Said) -> ModelError:
    server.fail_next(said)
    model = build_model(provider, "m", LlmConfig())
    with pytest.raises(ModelError) as failed:
        await model.complete(ASK)
    await model.close()
    return failed.value


PYDANTIC = [{"type": "string_type", "loc": ["body", "messages", 1], "msg": "Input should be", "input": "the prompt"}]


@pytest.mark.parametrize("body", [{"detail": PYDANTIC}, {"message": {"detail": PYDANTIC}}, {"errors": PYDANTIC}])
def test_what_an_endpoint_repeats_of_the_request_is_not_told(body: Any) -> None:
    told = complaint(body).text

    assert "messages" in told
    assert "Input should be" in told
    assert "the prompt" not in told


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "message", "code", "metadata", "raw", "details", "retryDelay", "innererror"])
            | st.text(),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_whatever_a_body_is_a_complaint_is_one_line(body: Any) -> None:
    told = complaint(body)

    assert len(told.text) <= CHARS_MAX
    assert len(told.text.splitlines()) <= 1
    assert json.dumps(told.names)
