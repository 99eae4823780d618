"""Builds snapshots, asks and random logs for the context's tests."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from app.context.model import Ask, Format, Snapshot
from app.facts.model import Author, Category
from app.facts.standing import StandingFact
from app.memory.model import Cite, Detail, Item, Observation, Priority, Reflection, Status, Tag
from app.memory.rules import Rules
from app.sessions.counting import message_tokens
from app.sessions.model import Kind, Message, Part, Role

SESSION_ID = UUID(int=1)
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
START = datetime(2026, 11, 7, 9, 0, tzinfo=UTC)


def text(value: str) -> Part:
    return {"type": "text", "text": value}


def call(call_id: str, arguments: Any = None, *, name: str = "search") -> Part:
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments or {}}


def result(call_id: str, output: Any = "done", **fields: Any) -> Part:
    return {"type": "tool_result", "tool_call_id": call_id, "output": output, **fields}


def message(seq: int, role: Role, *parts: Part, tokens: int | None = None, name: str | None = None) -> Message:
    return Message(
        seq=seq,
        id=f"m-{seq}",
        kind=kind_of(role, parts),
        role=role,
        parts=parts,
        tokens=message_tokens(parts) if tokens is None else tokens,
        created_at=START + timedelta(minutes=seq),
        name=name,
    )


def kind_of(role: Role, parts: Sequence[Part]) -> Kind:
    types = {part["type"] for part in parts}
    if "tool_call" in types:
        return Kind.TOOL_CALL
    if role is Role.TOOL:
        return Kind.TOOL_RESULT
    return {Role.USER: Kind.USER, Role.ASSISTANT: Kind.ASSISTANT, Role.SYSTEM: Kind.SYSTEM}[role]


def log_of(*said: tuple[Role, tuple[Part, ...]]) -> tuple[Message, ...]:
    return tuple(message(seq, role, *parts) for seq, (role, parts) in enumerate(said, start=1))


def user(*parts: Part | str) -> tuple[Role, tuple[Part, ...]]:
    return Role.USER, _parts(parts)


def assistant(*parts: Part | str) -> tuple[Role, tuple[Part, ...]]:
    return Role.ASSISTANT, _parts(parts)


def system(*parts: Part | str) -> tuple[Role, tuple[Part, ...]]:
    return Role.SYSTEM, _parts(parts)


def tool(*parts: Part) -> tuple[Role, tuple[Part, ...]]:
    return Role.TOOL, parts


def _parts(parts: Sequence[Part | str]) -> tuple[Part, ...]:
    return tuple(text(part) if isinstance(part, str) else part for part in parts)


def observation(number: int, *lines: str, first: int | None = None) -> Observation:
    start = first or number * 10 - 9
    items = tuple(
        Item(
            text=line,
            day="Nov 7, 2026",
            time="10:00",
            priority=Priority.HIGH,
            tag=Tag.FACT,
            cites=(Cite(start, start),),
        )
        for line in lines
    )
    return Observation(
        id=number,
        ordinal=start,
        status=Status.ACTIVE,
        text="\n".join(lines),
        items=items,
        tokens=10 * len(lines),
        message_tokens=100,
        session_id=SESSION_ID,
        from_seq=start,
        to_seq=start + 9,
        covers=((start, start + 9),),
        born_version=number,
        created_at=START,
    )


def reflection(number: int, *lines: str, level: int = 1) -> Reflection:
    items = tuple(Item(text=line, day="Oct 1, 2026", details=(Detail(text="more of it"),)) for line in lines)
    return Reflection(
        id=number,
        level=level,
        generation=1,
        status=Status.ACTIVE,
        text="\n".join(lines),
        items=items,
        tokens=10 * len(lines),
        source_tokens=100,
        covers={SESSION_ID: ((number, number),)},
        from_seq=number,
        to_seq=number,
        sources=(),
        born_version=1,
        created_at=START,
    )


def standing_fact(number: int, text: str = "", **fields: Any) -> StandingFact:
    values: dict[str, Any] = {
        "text": text or f"Fact {number}.",
        "category": Category.PREFERENCE,
        "author": Author.CALLER,
        "valid_from": START,
        "valid_to": None,
        "worth": 1,
        "passed": False,
    }
    return StandingFact(id=number, **values | fields)


def snapshot(tail: Sequence[Message] = (), **fields: Any) -> Snapshot:
    """A session whose tail is ``tail``; ``rules`` is the session's config."""
    values: dict[str, Any] = {
        "key": "s1",
        "version": 3,
        "last_seq": tail[-1].seq if tail else 0,
        "observed_seq": tail[0].seq - 1 if tail else 0,
        "tail_from_seq": tail[0].seq if tail else 1,
        "anchor_date": date(2026, 11, 21),
        "newest_created_at": tail[-1].created_at if tail else None,
        "reflections": (),
        "observations": (),
    }
    rules = Rules.resolve({}, fields.pop("rules", {}))
    return Snapshot(tail=tuple(tail), rules=rules, **{**values, **fields})


def ask(shape: Format = Format.NEUTRAL, **fields: Any) -> Ask:
    return Ask(format=shape, **{"now": NOW, **fields})


# Random logs: whatever an agent may send, in any order. Ids are few, so calls and results meet, repeat and miss.
IDS = st.sampled_from(["c1", "c2", "c3", "gemini:search:1", "call with spaces/" * 5])
TEXTS = st.sampled_from(["", " ", "hello", "more\nlines", "Grüße, 서울", "x" * 300])
REASONING = st.sampled_from(
    [
        {"type": "reasoning", "text": "hm", "signature": "sig", "provider": "anthropic"},
        {"type": "reasoning", "text": "hm", "provider": "gemini"},
        {"type": "reasoning", "text": "hm", "provider": "gemini", "thoughtSignature": "c2ln"},
        {"type": "reasoning", "text": "", "provider": "openai-responses", "native": "reasoning", "item_id": "rs_1"},
        {
            "type": "reasoning",
            "text": "",
            "provider": "openai-responses",
            "native": "reasoning",
            "item_id": "rs_2",
            "summary": [],
            "encrypted_content": "gAAA",
        },
        {"type": "reasoning", "text": "", "provider": "anthropic", "native": "redacted_thinking", "data": "abc"},
    ]
)
MEDIA = st.sampled_from(
    [
        {"type": "image", "url": "https://example.com/a.png"},
        {"type": "image", "data": "aGk=", "media_type": "image/png"},
        {"type": "image", "data": "aGk=", "media_type": "image/tiff"},
        {"type": "image", "data": "R0lGODlhAQABAAAAACw=", "media_type": "image/jpeg"},
        {"type": "image", "url": "gs://bucket/a.png", "media_type": "image/png"},
        {"type": "image", "url": "data:image/svg+xml,<svg/>"},
        {"type": "file", "data": "aGk=", "media_type": "audio/wav"},
        {"type": "file", "url": "ftp://example.com/a.pdf"},
        {"type": "file", "url": "https://example.com", "content": [{"type": "text", "text": "found"}]},
        {"type": "file", "data": "aGk=", "media_type": "application/pdf", "name": "a.pdf"},
        {"type": "file", "data": "aGk=", "media_type": "text/csv", "name": "a.csv"},
        {"type": "file", "data": "aGk=", "media_type": "application/zip", "name": "a.zip"},
        {"type": "file", "data": "iVBORw0KGgo=", "media_type": "image/png", "name": "a.png"},
        {"type": "file", "content": "plain words", "name": "a.txt"},
        {"type": "file", "file_id": "f-1"},
    ]
)
ARGUMENTS = st.sampled_from([{}, {"q": "Lisbon"}, "not json", "", "[1]"])
# A tool may answer any JSON, also such that only looks like a part.
ALIKE = st.sampled_from(
    [{"type": ["string", "null"]}, {"type": "text"}, {"type": "image", "data": 5, "media_type": {}, "url": []},
     {"type": "file", "data": "aGk=", "media_type": "application/pdf", "name": ["x"]}]
)  # fmt: skip
OUTPUTS = st.one_of(
    st.sampled_from(["found", "", {"hits": 3}, [1, 2], None, []]),
    st.lists(st.one_of(st.builds(text, TEXTS), MEDIA), max_size=2),
    st.lists(st.one_of(ALIKE, MEDIA), max_size=2),
)
CALLS = st.one_of(
    st.builds(call, IDS, ARGUMENTS),
    st.builds(lambda call_id: call(call_id) | {"item_id": "fc_1", "status": "completed"}, IDS),
    st.builds(lambda call_id: call(call_id, "x") | {"provider": "openai-responses", "native": "custom_tool_call"}, IDS),
    st.builds(
        lambda signature: call("gemini:search:1") | {"thoughtSignature": signature}, st.sampled_from(["c2ln", 5])
    ),
)
RESULTS = st.builds(
    lambda call_id, output, failed: result(call_id, output, is_error=failed), IDS, OUTPUTS, st.booleans()
)
SAID = st.one_of(
    st.builds(text, TEXTS),
    st.builds(lambda said: text(said) | {"item_id": "msg_1"}, TEXTS),
    st.builds(lambda said: text(said) | {"thoughtSignature": "c2ln"}, TEXTS),
)
MESSAGES = st.one_of(
    st.tuples(st.just(Role.USER), st.lists(st.one_of(SAID, MEDIA, RESULTS), max_size=3)),
    st.tuples(st.just(Role.ASSISTANT), st.lists(st.one_of(SAID, CALLS, REASONING), max_size=3)),
    st.tuples(st.just(Role.ASSISTANT), st.lists(CALLS, min_size=1, max_size=3)),
    st.tuples(st.just(Role.ASSISTANT), st.lists(st.one_of(SAID, CALLS, RESULTS, MEDIA), max_size=4)),
    st.tuples(st.just(Role.TOOL), st.lists(RESULTS, min_size=1, max_size=2)),
    st.tuples(st.just(Role.TOOL), st.lists(RESULTS, min_size=1, max_size=1)),
    st.tuples(st.just(Role.SYSTEM), st.lists(SAID, max_size=1)),
)
LOGS = st.lists(MESSAGES, max_size=14).map(lambda said: log_of(*((role, tuple(parts)) for role, parts in said)))
FORMATS = st.sampled_from(list(Format))
