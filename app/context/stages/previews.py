"""Shows large parts that the agent has worked with already as previews: their handle, beginning and end.

The choice depends only on the state at the last activation, so that within an epoch the rendering of a stored message
never changes (memory-rules.md section 6). Messages after the activation are shown in full.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from app.artifacts.model import PartAt
from app.artifacts.parts import PartContent, is_large, part_content, part_handle
from app.context.draft import Draft, noting
from app.context.explain import decision
from app.context.model import Ask, Snapshot, Verdict
from app.context.wording import preview_text
from app.memory.spans import groups
from app.sessions.counting import message_tokens
from app.sessions.model import Kind, Message, Part, PartType

HEAD_CHARS, END_CHARS = 1_000, 500
NEVER = frozenset({Kind.SYSTEM, Kind.SUMMARY})  # instructions, and the replacement of other messages

# The field that a preview replaces. Not of calls: a provider wants their arguments as they were made.
_SAID = {PartType.TEXT: "text", PartType.TOOL_RESULT: "output", PartType.FILE: "content"}


def previews(draft: Draft, snapshot: Snapshot, ask: Ask) -> Draft:
    """Preview parts after ``budget`` has fitted the full messages: so no preview moves the start of the tail."""
    if not snapshot.rules.enabled:
        return draft
    stored = draft.tail.stored
    seqs = previewed_seqs(
        stored,
        activated_seq=snapshot.activated_seq,
        observed_seq=snapshot.observed_seq,
        keep_results=snapshot.rules.keep_last_tool_results,
    )
    key, bytes_max = snapshot.key, ask.limits.part_bytes_inline_max
    after = tuple(with_previews(one, key=key, bytes_max=bytes_max) if one.seq in seqs else one for one in stored)
    decisions = (
        decision("previews", Verdict.CUT, message, "a large part of it is shown as a preview, by its handle")
        for before, message in zip(stored, after, strict=True)
        if before is not message
    )
    return noting(replace(draft, tail=replace(draft.tail, stored=after)), ask, decisions)


def previewed_seqs(
    messages: Sequence[Message], *, activated_seq: int, observed_seq: int, keep_results: int
) -> frozenset[int]:
    """The seqs of messages whose large parts are previews: tool results but the last few, others once observed.

    ``activated_seq`` was the newest message at the last activation; its group is shown in full like what came after.
    """
    settled = [message for message in messages if message.seq <= activated_seq]
    if not settled:
        return frozenset()
    newest = {message.seq for message in groups(settled)[-1].messages}
    inline = set(_last_results(settled, keep_results))
    return frozenset(
        message.seq
        for message in settled
        if message.seq not in newest | inline
        and message.kind not in NEVER
        and (message.kind is Kind.TOOL_RESULT or message.seq <= observed_seq)
    )


def with_previews(message: Message, *, key: str, bytes_max: int) -> Message:
    """The message with a preview for each of its parts that says more than ``bytes_max`` bytes, if that costs less."""
    parts = tuple(
        _preview(part, part_handle(key, PartAt(message.seq, place))) if is_large(part, bytes_max=bytes_max) else part
        for place, part in enumerate(message.parts)
    )
    tokens = message_tokens(parts)
    return replace(message, parts=parts, tokens=tokens) if tokens < message.tokens else message


def _last_results(messages: Sequence[Message], count: int) -> Iterator[int]:
    """The messages with the last ``count`` tool results."""
    for message in reversed(messages):
        if count <= 0:
            return
        if message.kind is Kind.TOOL_RESULT:
            count -= sum(part["type"] == PartType.TOOL_RESULT for part in message.parts)
            yield message.seq


def _preview(part: Part, handle: str) -> Part:
    """The part with a preview as its content, and without its sender's ``tokens``, which counted the whole."""
    content = part_content(part)
    field = _SAID.get(part["type"])
    if content is None or field is None or len(content.text) <= HEAD_CHARS + END_CHARS:
        return part
    rest = {name: value for name, value in part.items() if name != "tokens"}
    return {**rest, field: _shown(content, handle)}


def _shown(content: PartContent, handle: str) -> str:
    text = content.text
    return preview_text(
        handle=handle,
        media_type=content.media_type.partition(";")[0],
        size=len(text.encode()),
        head=text[:HEAD_CHARS],
        end=text[-END_CHARS:],
        left_out=len(text) - HEAD_CHARS - END_CHARS,
    )
