"""The laws of architecture.md section 5, checked over the answers of the public API.

Each takes one look at a session, or two successive looks, and fails with what breaks it. They do not depend on how a
context is made: budgets are those of the caller, shapes those of the providers' SDKs.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from app.context.model import Format
from tests.conftest import Service
from tests.context.shapes import CHECKS, MARKS
from tests.journeys.looks import Json, Look


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of a context: tokens of the tail and of the log, numbers of notes (None: no limit)."""

    message_budget: int
    memory_budget: int
    max_reflections: int | None = None
    max_observations: int | None = None


COMPACT = Limits(message_budget=8_000, memory_budget=4_000, max_reflections=5, max_observations=20)


def check_all(limits: Limits, now: Look, before: Look | None) -> None:
    """Check every law on this look, and on both together."""
    coverage_is_whole(now)
    observed_exactly_once(now)
    budgets_hold(limits, now)
    tail_is_verbatim(now)
    calls_keep_their_results(now)
    if before is not None:
        cursor_goes_forward(before, now)
        prefix_holds(before, now)


def coverage_is_whole(look: Look) -> None:
    """Law 1: the intervals are contiguous from 1 to the last seq, and distinguish derived messages from the tail."""
    coverage, cursor = look.memory["coverage"], look.cursor
    assert coverage["gaps"] == []
    assert _follow_one_another(_spans(coverage["intervals"], "from", "to")) == cursor["last_seq"] == len(look.stored)
    derived = [interval for interval in coverage["intervals"] if interval["by"] != "tail"]
    assert max((interval["to"] for interval in derived), default=0) == look.derived_seq
    skips = [interval for interval in derived if interval["by"] == "skip"]
    skipped = {seq for skip in skips for seq in range(skip["from"], skip["to"] + 1)}
    untold = {seq for one in _by_summary(look) for seq in range(one[0], one[1] + 1)}
    unseen = {message["seq"] for message in look.stored[: look.derived_seq] if not message["observe"]}
    assert skipped == unseen - untold


def observed_exactly_once(look: Look) -> None:
    """Law 2: each derived message is in one observation, be it buffered, live, condensed or deleted."""
    kept = [one for one in look.observations if one["retired_by"] != "edited"]  # edited ones have a copy
    spans = sorted([*_spans(kept, "from_seq", "to_seq"), *_by_summary(look)])
    assert _follow_one_another(spans) == look.derived_seq


def cursor_goes_forward(before: Look, now: Look) -> None:
    """Law 2: no cursor moves backward, and neither does the version."""
    for name, seq in before.cursor.items():
        assert now.cursor[name] >= seq, name
    assert now.memory["log"]["version"] >= before.memory["log"]["version"]


def budgets_hold(limits: Limits, look: Look) -> None:
    """Law 4: no section is over its budget, and omitted notes are counted. Law 9: the live log is within its budget."""
    for context in look.contexts.values():
        tokens = context["tokens"]
        assert tokens["messages"] <= limits.message_budget
        assert tokens["reflections"] + tokens["observations"] <= limits.memory_budget
        assert tokens["total"] == sum(count for section, count in tokens.items() if section != "total")
        assert tokens["total"] == sum(segment["tokens"] for segment in context["segments"])
        for section, most in (("reflections", limits.max_reflections), ("observations", limits.max_observations)):
            shown = sum(segment["section"] == section for segment in context["segments"])
            assert most is None or shown <= most
            assert shown + context["omitted"][section] == look.memory["log"][section]
    assert look.memory["log"]["tokens"] <= limits.memory_budget


def tail_is_verbatim(look: Look) -> None:
    """Law 4: the tail is verbatim, up to the newest message; only a message that alone is over the budget is cut."""
    context = look.contexts["neutral"]
    shown = [_message_seq(segment) for segment in context["segments"] if segment["section"] == "messages"]
    summaries = {message["seq"] for message in look.stored if message["kind"] == "summary"}
    if shown[0] in summaries:  # it stands for messages before the tail; the tail itself has no summaries
        shown = shown[1:]
    first, last = shown[0], look.cursor["last_seq"]
    assert shown == [seq for seq in range(first, last + 1) if seq not in summaries]
    before = set(range(look.cursor["tail_from_seq"], first)) - summaries
    again = any(interval["by"] == "rebuilding" for interval in look.memory["coverage"]["intervals"])
    omitted = context["omitted"]["messages"]
    assert omitted == len(before) or (again and omitted > len(before))  # an erasure left messages without a note
    cut = {_message_seq(one) for one in context["decisions"] if one["verdict"] == "cut"}
    tail = [one for one in look.stored[first - 1 :] if one["seq"] not in summaries]
    telling = [one for one in tail if one["content"]]  # empty messages are not shown
    messages = settled(context)
    for message, stored in zip(messages[len(messages) - len(telling) :], telling, strict=True):
        assert stored["seq"] in cut or message["content"] == stored["content"]
        assert (message["role"], message.get("name")) == (stored["role"], stored["name"])


def calls_keep_their_results(look: Look) -> None:
    """Law 5: payloads are valid for the providers, and no cut separates a call from a result that came in time."""
    for shape, context in look.contexts.items():
        if check := CHECKS.get(Format(shape)):
            check(context["payload"])
    summaries = {message["seq"] for message in look.stored if message["kind"] == "summary"}
    shown = {_message_seq(s) for s in look.contexts["neutral"]["segments"] if s["section"] == "messages"}
    first = min(shown - summaries)
    for call, result in _pairs(look.stored):
        assert not call < first <= result


def prefix_holds(before: Look, now: Look) -> None:
    """Law 3: within one epoch the cacheable prefix of a context is a prefix of the next one, byte for byte."""
    for shape, context in now.contexts.items():
        earlier = before.contexts[shape]
        if earlier["cache"]["epoch"] == context["cache"]["epoch"]:
            start = cacheable(earlier)
            assert cacheable(context)[: len(start)] == start


async def posted_again_changes_nothing(service: Service, key: str, messages: list[Json]) -> None:
    """Law 6 (idempotency): the same ids twice are stored once and answered the same; the memory does not change."""
    stored = [await service.get(f"/sessions/{key}/messages/{message['id']}") for message in messages]
    before = await service.memory(key)
    answer = await service.client.post(f"/sessions/{key}/messages", json={"messages": messages})
    assert (answer.status_code, answer.json()["replayed"]) == (200, len(messages))
    assert answer.json()["messages"] == [
        {name: one[name] for name in ("id", "seq", "kind", "tokens")} for one in stored
    ]
    after = await service.memory(key)
    assert {**after, "pending": None} == {**before, "pending": None}
    assert after["pending"]["tokens"] == before["pending"]["tokens"]


def cacheable(context: Json) -> list[str]:
    """The pieces of a payload, as JSON texts, that a provider could cache.

    They end at the last breakpoint; the neutral shape has none, so there they are all but the volatile part.
    """
    if context["format"] == "neutral":
        payload = {**context["payload"], "messages": settled(context)}
        return [json.dumps(piece) for piece in _pieces(payload)]
    pieces = list(_pieces(context["payload"]))
    marked = [number for number, (_, piece) in enumerate(pieces) if any(mark in piece for mark in MARKS)]
    return [json.dumps((where, _unmarked(piece))) for where, piece in pieces[: max(marked, default=-1) + 1]]


def settled(context: Json) -> list[Json]:
    """The messages of a neutral payload without the volatile part, which is the last part of the last one."""
    messages: list[Json] = context["payload"]["messages"]
    if not any(segment["stability"] == "volatile" for segment in context["segments"]):
        return messages
    last = {**messages[-1], "content": messages[-1]["content"][:-1]}
    return [*messages[:-1], last] if last["content"] else messages[:-1]


def _pieces(payload: Json) -> Iterable[tuple[str | int, Json]]:
    """Every block, every message's head and every part, each with its position."""
    yield from (("system", block) for block in payload.get("system", []))
    for index, message in enumerate(payload["messages"]):
        yield index, {name: value for name, value in message.items() if name not in {"content", "tool_calls"}}
        yield from ((index, part) for part in [*(message["content"] or []), *message.get("tool_calls", [])])


def _unmarked(piece: Json) -> Json:
    return {name: value for name, value in piece.items() if name not in MARKS}


def _pairs(stored: list[Json]) -> Iterable[tuple[int, int]]:
    """The seqs of each call and its result, if no user's message or boundary came between."""
    waiting: dict[str, int] = {}
    for message in stored:
        if message["kind"] in {"user_message", "boundary"}:
            waiting.clear()
        for part in message["content"]:
            if part["type"] == "tool_call":
                waiting[part["id"]] = message["seq"]
            elif part["type"] == "tool_result" and part["tool_call_id"] in waiting:
                yield waiting.pop(part["tool_call_id"]), message["seq"]


def _by_summary(look: Look) -> list[tuple[int, int]]:
    """The ranges that only a summary covers."""
    intervals = look.memory["coverage"]["intervals"]
    return [(one["from"], one["to"]) for one in intervals if one["by"].startswith("summary:")]


def _message_seq(segment: Json) -> int:
    return int(segment["id"].removeprefix("message:"))


def _spans(found: list[Json], first: str, last: str) -> list[tuple[int, int]]:
    return sorted((one[first], one[last]) for one in found)


def _follow_one_another(spans: list[tuple[int, int]]) -> int:
    """Check that spans begin at 1 without gap or overlap; returns their end, 0 for none."""
    end = 0
    for first, last in spans:
        assert first == end + 1
        assert first <= last
        end = last
    return end
