"""The default providers and models, and the one factory of model adapters.

Importing an SDK takes one to three seconds, so an adapter is imported only when it is built.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import assert_never

from app.llm.calls import ModelSetupError
from app.llm.port import LlmConfig, Model, Provider

# The newest small and mid-sized model of each provider that the installed SDKs name (anthropic 2.12, openai 3.54).
SMALL_MODELS: Mapping[Provider, str] = {Provider.ANTHROPIC: "claude-haiku-5-5", Provider.OPENAI: "gpt-6-luna"}
MID_MODELS: Mapping[Provider, str] = {Provider.ANTHROPIC: "claude-sonnet-5-5", Provider.OPENAI: "gpt-6.1-terra"}


def default_provider(environ: Mapping[str, str]) -> Provider:
    """The provider whose key is set; both: Anthropic; none: the built-in that needs no model (api.md, Settings).

    An empty or blank variable counts as not set. OPENAI_BASE_URL alone selects nothing, because the model to ask there
    is unknown.
    """
    if environ.get("ANTHROPIC_API_KEY", "").strip():
        return Provider.ANTHROPIC
    if environ.get("OPENAI_API_KEY", "").strip():
        return Provider.OPENAI
    return Provider.EXTRACTIVE


def build_model(provider: Provider, name: str, config: LlmConfig) -> Model:
    """The adapter of a model. For the scripted provider ``name`` is the script's path.

    Raises ModelSetupError, in one line for the operator, if it cannot be built.
    """
    match provider:
        case Provider.ANTHROPIC:
            from app.llm.anthropic import AnthropicModel

            return AnthropicModel(name, config)
        case Provider.OPENAI:
            from app.llm.openai import OpenAIModel

            return OpenAIModel(name, config)
        case Provider.SCRIPTED:
            from app.llm.scripted import ScriptedModel

            return ScriptedModel(Path(name))
        case Provider.EXTRACTIVE:
            raise ModelSetupError("provider extractive is built into the memory and has no model to build")
    assert_never(provider)
