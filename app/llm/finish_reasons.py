"""Maps the finish reasons of providers to ``Stop``. Pure.

A reply known to be cut, refused or broken off is not taken as complete; an unknown reason is a normal end.
Sources: the documentation of OpenAI, Anthropic, Gemini (by its OpenAI endpoint in capitals, or after
``content_filter:``), DeepSeek, Zhipu, Mistral, OpenRouter, Bedrock, Cohere, vLLM.
"""

import re
from typing import Any, Final

from app.llm.complaints import Complained, Complaint
from app.llm.port import Stop

_CUT: Final = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"})
_REFUSED: Final = frozenset(
    {"content_filter", "content_filtered", "refusal", "sensitive", "safety", "recitation", "blocklist", "spii"}
    | {"prohibited_content", "language", "guardrail_intervened", "error_toxic"}
)
_BROKEN_OFF: Final = frozenset(
    {"error", "abort", "aborted", "cancelled", "network_error", "insufficient_system_resource", "time_limit"}
    | {"pause_turn", "malformed_function_call", "unexpected_tool_call", "malformed_response", "other"}
)


def stop_of(reason: Any) -> Stop:
    """How the reply ended. Raises Complained if it broke off, so that only a part came."""
    words = frozenset(re.split(r"[:\s]+", str(reason or "")[:100].casefold()))
    if words & _REFUSED:
        return Stop.REFUSAL
    if words & _CUT:
        return Stop.LENGTH
    if words & _BROKEN_OFF:
        raise Complained(Complaint(text=f"the answer broke off ({' '.join(sorted(words & _BROKEN_OFF))})"))
    return Stop.END
