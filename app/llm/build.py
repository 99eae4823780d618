"""Which model answers: the defaults, and the one place where an adapter is chosen.

Importing an SDK takes one to three seconds, so an adapter is imported when it is built and not before.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from app.llm.calls import ModelSetupError
from app.llm.port import Model, Provider

# The newest small and mid-sized model of each provider that the installed SDKs name (anthropic 2.12, openai 3.54).
SMALL_MODELS: Mapping[Provider, str] = {Provider.ANTHROPIC: "claude-haiku-5-5", Provider.OPENAI: "gpt-6-luna"}
MID_MODELS: Mapping[Provider, str] = {Provider.ANTHROPIC: "claude-sonnet-5-5", Provider.OPENAI: "gpt-6.1-terra"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmConfig:
    """``timeout_seconds`` bounds one call.

    ``reasoning_tokens`` is what a model may spend on thinking beyond the answer it is asked for.
    ``reply_bytes_max`` of a reply are read, unpacked.
    """

    timeout_seconds: float = 90.0
    reasoning_tokens: int = 4_000
    reply_bytes_max: int = 4 * 1024 * 1024


def default_provider(environ: Mapping[str, str]) -> Provider:
    """The provider whose key is set; both: Anthropic; none: the built-in that needs no model (api.md, Settings).

    An empty variable is not set. OPENAI_BASE_URL alone selects nothing: which model to ask there is unknown.
    """
    if environ.get("ANTHROPIC_API_KEY"):
        return Provider.ANTHROPIC
    if environ.get("OPENAI_API_KEY"):
        return Provider.OPENAI
    return Provider.EXTRACTIVE


def build_model(provider: Provider, name: str, config: LlmConfig) -> Model:
    """For the scripted provider ``name`` is the script's path.

    Raises ModelSetupError, in one line for the operator, if the model cannot be built.
    """
    match provider:
        case Provider.ANTHROPIC:
            from app.llm.anthropic import AnthropicModel

            return AnthropicModel(
                name,
                timeout_seconds=config.timeout_seconds,
                reasoning_tokens=config.reasoning_tokens,
                reply_bytes_max=config.reply_bytes_max,
            )
        case Provider.OPENAI:
            from app.llm.openai import OpenAIModel

            return OpenAIModel(
                name,
                timeout_seconds=config.timeout_seconds,
                reasoning_tokens=config.reasoning_tokens,
                reply_bytes_max=config.reply_bytes_max,
            )
        case Provider.SCRIPTED:
            from app.llm.scripted import ScriptedModel

            return ScriptedModel(Path(name))
        case Provider.EXTRACTIVE:
            raise ModelSetupError("provider extractive is built into the memory and has no model to build")
    assert_never(provider)
