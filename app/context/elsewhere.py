"""The unobserved messages of other sessions that share the memory, within a budget. Pure."""

from collections.abc import Iterator, Sequence
from datetime import tzinfo
from itertools import groupby

from app.context.draft import Line
from app.context.model import Elsewhere, Snapshot
from app.context.wording import by_name, marked, other_conversation, said
from app.kit.tokens import text_tokens
from app.sessions.model import Message, text_of


def elsewhere(snapshot: Snapshot, *, tokens_max: int) -> Iterator[Line]:
    """One block for each conversation, by name, with the newest messages of all that fit."""
    zone = snapshot.rules.zone
    told = [(one, _told(one.message, zone)) for one in snapshot.elsewhere if text_of(one.message.parts)]
    kept = _newest(told, tokens_max=tokens_max)
    for key, of_one in groupby(sorted(kept, key=_conversation), key=lambda found: found[0].conversation):
        yield Line(f"elsewhere:{key}", other_conversation(key, [text for _, text in of_one]))


def _newest(told: Sequence[tuple[Elsewhere, str]], *, tokens_max: int) -> list[tuple[Elsewhere, str]]:
    """The newest that fit, newest first, as ``newest_within``; a conversation's first one also pays for its block."""
    kept: list[tuple[Elsewhere, str]] = []
    left, named = tokens_max, set[str]()
    for one, text in reversed(told):
        size = text_tokens(text) + 1  # and the line break
        if one.conversation not in named:
            size += text_tokens(other_conversation(one.conversation, []))
        if size > tokens_max:
            continue
        if size > left:
            break
        left -= size
        named.add(one.conversation)
        kept.append((one, text))
    return kept


def _conversation(found: tuple[Elsewhere, str]) -> tuple[str, int]:
    return found[0].conversation, found[0].message.seq


def _told(message: Message, zone: tzinfo) -> str:
    said_at, by = message.created_at.astimezone(zone), by_name(message.role, message.name)
    text = marked(text_of(message.parts), role=message.role, trust=message.trust)
    return said(seq=message.seq, said_at=said_at, by=by, text=text)
