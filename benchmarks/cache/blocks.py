"""Splits requests of the Anthropic format into cacheable blocks, and builds the requests of agents without Daybook."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from app.kit.tokens import text_tokens
from app.kit.words import terms
from app.sessions.model import Role
from benchmarks.cache.conversations import Conversation
from benchmarks.cache.pricing import Block, Request

MESSAGE_TOKENS = 4  # around a message, as the service counts it (memory-rules.md section 1)
SYSTEM_TOKENS, WINDOW_TOKENS, RECALL_TOKENS = 500, 8_000, 2_000
RULE = "Answer briefly and truthfully, in the language of the user, and say so when you do not know. "
SYSTEM = RULE * (SYSTEM_TOKENS // text_tokens(RULE))


def payload_blocks(payload: dict[str, Any]) -> tuple[Block, ...]:
    """The blocks of a context with ``format=anthropic``; those with ``cache_control`` are breakpoints."""
    return tuple(_payload_blocks(payload))


def _payload_blocks(payload: dict[str, Any]) -> Iterator[Block]:
    for part in payload.get("system", ()):
        yield _block("system", part, first=False)
    for message in payload["messages"]:
        for number, part in enumerate(message["content"]):
            yield _block(message["role"], part, first=number == 0)


def _block(role: str, part: dict[str, Any], *, first: bool) -> Block:
    content = {name: value for name, value in part.items() if name != "cache_control"}
    text = content["text"] if content["type"] == "text" else json.dumps(content, sort_keys=True)
    return _counted(f"{role}: {text}", MESSAGE_TOKENS if first else 0, is_breakpoint="cache_control" in part)


@lru_cache(maxsize=100_000)
def _counted(text: str, extra: int, *, is_breakpoint: bool) -> Block:
    return Block(text=text, tokens=text_tokens(text) + extra, breakpoint=is_breakpoint)


def full_history(conversation: Conversation) -> Iterator[Request]:
    """Requests with the whole history, with breakpoints after the system prompt and at the end."""
    blocks = [_said(message) for message in conversation.messages]
    for call in conversation.calls:
        yield _request(conversation, call, [], blocks[: call.stop])


def window(conversation: Conversation, *, recall: bool = False) -> Iterator[Request]:
    """Requests with the newest 8,000 tokens; ``recall`` adds messages like the question to the system prompt."""
    blocks = [_said(message) for message in conversation.messages]
    words = [frozenset(terms(block.text)) for block in blocks]
    for call in conversation.calls:
        begin = _fitting(blocks[: call.stop], WINDOW_TOKENS)
        found = _recalled(blocks[:begin], words, words[call.stop - 1]) if recall else []
        yield _request(conversation, call, found, blocks[begin : call.stop])


def _request(conversation: Conversation, call: slice, recalled: list[Block], tail: Sequence[Block]) -> Request:
    system = [_counted(f"system: {SYSTEM}", 0, is_breakpoint=not recalled), *recalled]
    blocks = (*system, *tail[:-1], _counted(tail[-1].text, MESSAGE_TOKENS, is_breakpoint=True))
    return Request(at=moment(conversation.messages[call.stop - 1]), blocks=blocks)


def _recalled(earlier: Sequence[Block], words: Sequence[frozenset[str]], asked: frozenset[str]) -> list[Block]:
    """Earlier messages that share most words with the question, best first, as one block of the system prompt."""
    order = sorted(range(len(earlier)), key=lambda at: (-len(words[at] & asked), -at))
    kept = [earlier[at] for at in order[: _within([earlier[at] for at in order], RECALL_TOKENS)]]
    text = "system: recalled\n" + "\n".join(block.text for block in kept)
    return [_counted(text, 0, is_breakpoint=True)] if kept else []


def _fitting(blocks: Sequence[Block], budget: int) -> int:
    """The index of the first of the newest blocks that fit the budget; the newest one always counts."""
    return len(blocks) - max(1, _within(blocks[::-1], budget))


def _within(blocks: Sequence[Block], budget: int) -> int:
    """The number of blocks, from the first on, that fit the budget."""
    for count, block in enumerate(blocks):
        budget -= block.tokens
        if budget < 0:
            return count
    return len(blocks)


def _said(message: dict[str, Any]) -> Block:
    rest = {name: message[name] for name in ("tool_calls", "tool_call_id") if message.get(name)}
    role = Role.ASSISTANT if message["role"] == Role.ASSISTANT else Role.USER
    text = message["content"] if isinstance(message["content"], str) else json.dumps(message["content"])
    told = f"{text}\n{json.dumps(rest)}" if rest else text
    return _counted(f"{role}: {told}", MESSAGE_TOKENS, is_breakpoint=False)


def moment(message: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(message["created_at"])
