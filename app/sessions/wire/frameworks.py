"""Recognises messages of agent frameworks, and whole responses, to tell the caller what to send instead."""

from collections.abc import Mapping

from app.sessions.wire.fields import Wire

AGENTS = "this is an item of the Agents SDK for JavaScript: send it as OpenAI's Responses API has it (call_id, ...)"
AI_SDK = "this is of the AI SDK: clients/typescript/examples/ai_sdk.ts has the function that sends it"
AUTOGEN = "this is a message of AutoGen: send it as OpenAI's chat has it (role, content, tool_calls, ...)"
CLAUDE_AGENT = (
    "this is of the Claude Agent SDK: send what the user and the assistant said, as Anthropic's Messages API has it "
    "(role, content with type, ...)"
)
COHERE = "this is a document of Cohere: send its data as a text"
CONTENT = "this holds a content of Gemini: send that content as the message (role, parts)"
CONVERSE = "this is of Bedrock's Converse API: send it as Anthropic's Messages API has it (type, tool_use, ...)"
HAYSTACK = "this is a message of Haystack: send what its to_openai_dict_format makes of it"
LANGCHAIN = "this is a message of LangChain: send what its convert_to_openai_messages makes of it"
LANGCHAIN_BLOCKS = "these are LangChain's content blocks v1: send those of its output_version 'responses/v1' or 'v0'"
LLAMA_INDEX = "this is a message of LlamaIndex: send what its to_openai_message_dicts makes of it"
PYDANTIC_AI = "this is a message of Pydantic AI: examples/python/pydantic_ai_agent.py has the function that sends it"
RESPONSE = "this is a whole response: send what is said in it (choices[0].message, candidates[0].content, output, ...)"
SMOLAGENTS = (
    "this is a message of smolagents: send what its get_clean_message_list makes of it with tool_role_conversions"
)

BY_TYPE: Mapping[str, str] = {
    **dict.fromkeys(("function_call_result", "hosted_tool_call"), AGENTS),
    **dict.fromkeys(("assistant", "result", "user"), CLAUDE_AGENT),
    **dict.fromkeys(("human", "ai", "system", "tool", "constructor"), LANGCHAIN),
    **dict.fromkeys(("SystemMessage", "UserMessage", "AssistantMessage", "FunctionExecutionResultMessage"), AUTOGEN),
    **dict.fromkeys(("TextMessage", "MultiModalMessage", "ThoughtEvent", "ToolCallRequestEvent"), AUTOGEN),
    **dict.fromkeys(("ToolCallExecutionEvent", "ToolCallSummaryMessage"), AUTOGEN),
}
BY_ROLE: Mapping[str, str] = dict.fromkeys(("tool-call", "tool-response"), SMOLAGENTS)
BY_FIELD: Mapping[str, str] = {
    **dict.fromkeys(("callId", "providerData"), AGENTS),
    **dict.fromkeys(("parent_tool_use_id", "subtype"), CLAUDE_AGENT),
    **dict.fromkeys(("choices", "candidates", "done", "incomplete_details"), RESPONSE),
    "blocks": LLAMA_INDEX,
    "meta": HAYSTACK,
}
BY_BLOCK: Mapping[str, str] = {
    "part_kind": PYDANTIC_AI,
    **dict.fromkeys(("toolCallId", "toolName"), AI_SDK),
    **dict.fromkeys(("args", "base64", "mime_type", "reasoning"), LANGCHAIN_BLOCKS),
}
CONVERSE_BLOCKS = frozenset({"text", "toolUse", "toolResult", "reasoningContent", "image", "document", "cachePoint"})


def of_framework(raw: Wire) -> str:
    """The hint for a message that was refused: whose shape it has, and what to send instead; "" if unknown."""
    content = raw.get("content", raw.get("parts"))
    if isinstance(content, dict) and "parts" in content:
        return CONTENT
    if field := next((field for field in BY_FIELD if field in raw), None):
        return BY_FIELD[field]
    for told, by in ((raw.get("type"), BY_TYPE), (raw.get("role"), BY_ROLE)):
        if isinstance(told, str) and told in by:
            return by[told]
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    return _of_blocks(blocks, of_gemini="content" not in raw)


def _of_blocks(blocks: list[Wire], *, of_gemini: bool) -> str:
    if any(block.get("type") == "document" and "document" in block for block in blocks):
        return COHERE
    if not of_gemini and any(CONVERSE_BLOCKS & block.keys() and "type" not in block for block in blocks):
        return CONVERSE
    return next((words for field, words in BY_BLOCK.items() if any(field in block for block in blocks)), "")
