"""The compiled context over HTTP (api.md, Context)."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from app.context.schemas import ContextIn, ContextQuery
from app.context.service import ContextService
from app.sessions.schemas import MessageIn
from tests.conftest import Service, StartService
from tests.context.turns import alone
from tests.test_problems import pointers

CONTEXT = "/sessions/s1/context"
FACTS = ["I moved to Lisbon.", "I work at a bank in Porto.", "My dog is called Rex."]
EMPTY: dict[str, dict[str, Any]] = {
    "neutral": {"system": [], "messages": []},
    "anthropic": {"messages": []},
    "openai": {"messages": []},
    "openai-responses": {"input": []},
    "gemini": {"contents": []},
    "text": {"text": ""},
}


class Watched(list[Any]):
    """A list that notes in which threads it is gone through."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[threading.Thread] = set()

    def __iter__(self) -> Iterator[Any]:
        self.threads.add(threading.current_thread())
        return super().__iter__()


async def talk(service: Service, *texts: str) -> None:
    """One message each, oldest first."""
    await service.append("s1", *({"role": "user", "content": text} for text in texts))


async def remember(service: Service, *texts: str) -> None:
    """One observation of each message; none of them is kept in the tail but the last."""
    await service.configure("s1", keep_last=0)
    for text in texts:
        await talk(service, text)
        await service.observe("s1")


async def compiled(service: Service, body: dict[str, Any], **parameters: Any) -> dict[str, Any]:
    answer = await service.client.post(CONTEXT, json=body, params=parameters)
    assert answer.status_code == 200, answer.text
    context: dict[str, Any] = answer.json()
    return context


def texts_of(context: dict[str, Any]) -> list[str]:
    return [part["text"] for message in context["payload"]["messages"] for part in message["content"]]


def shown(context: dict[str, Any]) -> list[str]:
    """What was said, in its order: neither the note before it nor the volatile part behind."""
    return [text for text in texts_of(context) if not text.startswith(("(The conversation continues", "<context>"))]


def notes(context: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in context["payload"]["system"])


async def test_a_post_without_a_body_is_answered_as_a_get(service: Service) -> None:
    await talk(service, *FACTS)
    posted, got = await service.client.post(CONTEXT), await service.client.get(CONTEXT)
    assert (posted.status_code, posted.json()["payload"]) == (200, got.json()["payload"])
    assert (await service.client.post(CONTEXT, content=b"system")).status_code == 422


async def test_a_session_never_seen_is_empty_and_stays_unseen(service: Service) -> None:
    for shape, payload in EMPTY.items():
        context = await service.context("s1", format=shape)
        assert (context["format"], context["as_of_seq"], context["memory_version"]) == (shape, 0, 0)
        assert {name: context["payload"][name] for name in payload} == payload
        assert set(context["tokens"].values()) == {0}
        assert context["notices"] == []
        assert not {"segments", "decisions"} & set(context)
    assert (await service.client.get("/sessions/s1")).status_code == 404


async def test_a_session_without_messages_is_empty_however_often_it_is_asked_for(service: Service) -> None:
    await service.configure("s1", keep_last=3)
    for _ in range(3):
        assert (await service.context("s1"))["payload"]["messages"] == []


async def test_a_session_never_seen_shows_what_the_caller_sends(service: Service) -> None:
    body = {"channel": "sms", "knowledge": [{"title": "Hours", "text": "Till 6.", "placement": "tail"}]}
    answer = await service.client.post("/sessions/s1/context", json=body)
    [message] = answer.json()["payload"]["messages"]
    assert message["role"] == "user"
    assert "Channel: sms" in message["content"][0]["text"]
    assert "## Hours\n\nTill 6." in message["content"][0]["text"]


async def test_without_a_memory_a_context_is_the_conversation_in_every_format(service: Service) -> None:
    await talk(service, "Hi", "Are you there?")
    neutral, anthropic, openai, text = [
        await service.context("s1", format=shape) for shape in ("neutral", "anthropic", "openai", "text")
    ]
    assert shown(neutral) == shown(anthropic) == shown(openai) == ["Hi", "Are you there?"]
    assert neutral["payload"]["system"] == []
    assert "system" not in anthropic["payload"]
    assert text["payload"]["text"].index("Hi") < text["payload"]["text"].index("Are you there?")
    assert neutral["as_of_seq"] == 2
    assert neutral["tokens"]["total"] == neutral["tokens"]["messages"] > 0


async def test_what_is_remembered_stands_before_the_messages_and_the_total_is_the_sum(service: Service) -> None:
    await remember(service, *FACTS)
    context = await service.context("s1")
    assert context["memory_version"] == 3
    assert [fact in notes(context) for fact in ("moved to Lisbon", "bank in Porto", "called Rex")] == [True] * 3
    assert shown(context) == FACTS[-1:]
    tokens = context["tokens"]
    assert tokens.pop("total") == sum(tokens.values())
    assert min(tokens["guide"], tokens["observations"], tokens["messages"]) > 0
    assert context["cache"]["epoch"].startswith("3:")


async def test_budgets_cut_the_oldest_and_say_what_is_left_out(service: Service) -> None:
    await remember(service, *FACTS)
    for limit, left_out in ((1, 2), (2, 1), (3, 0), (0, 0)):
        context = await service.context("s1", max_observations=limit)
        assert context["omitted"]["observations"] == left_out
        assert "called Rex" in notes(context)
        assert ("moved to Lisbon" in notes(context)) is (left_out == 0)
    whole = (await service.context("s1"))["tokens"]["observations"]
    context = await service.context("s1", memory_budget=whole - 1)
    assert context["omitted"]["observations"] == 1
    assert 0 < context["tokens"]["observations"] < whole
    assert (await service.context("s1", memory_budget=0))["tokens"]["observations"] == whole


async def test_the_newest_message_is_shown_whatever_the_budget(service: Service) -> None:
    await talk(service, *(f"This is what was said in turn {turn}." for turn in range(20)))
    whole = await service.context("s1", message_budget=0)
    assert len(shown(whole)) == 20
    cut = await service.context("s1", message_budget=whole["tokens"]["messages"] // 2)
    assert shown(cut) == shown(whole)[-len(shown(cut)) :]
    assert 0 < cut["tokens"]["messages"] <= whole["tokens"]["messages"] // 2
    assert cut["omitted"] == {
        "messages": 20 - len(shown(cut)),
        "unobserved_messages": 20 - len(shown(cut)),
        "observations": 0,
        "reflections": 0,
    }
    least = await service.context("s1", message_budget=1)
    assert len(shown(least)) == 1


@pytest.mark.parametrize("count", [3, 90])
async def test_the_newest_results_are_shown_with_their_calls_whatever_the_budget(service: Service, count: int) -> None:
    await service.configure("s1", enabled=False)  # or these many tokens may be observed by then
    calls = [{"type": "tool_call", "id": f"c{n}", "name": "find", "arguments": {}} for n in range(count)]
    results = [{"type": "tool_result", "tool_call_id": call["id"], "output": "word " * 500} for call in calls]
    await talk(service, "Go")
    await service.append("s1", {"role": "assistant", "content": calls})
    await service.append("s1", *({"role": "tool", "content": [result]} for result in results))
    messages = (await service.context("s1", message_budget=100 * count))["payload"]["messages"]
    assert [message["role"] for message in messages] == ["assistant", *["tool"] * count]
    assert [message["content"][0]["tool_call_id"] for message in messages[1:]] == [call["id"] for call in calls]


async def test_the_newest_results_are_shown_with_calls_that_came_as_items_of_their_own(service: Service) -> None:
    """As the Responses API has parallel calls."""
    await service.configure("s1", enabled=False)  # or these many tokens may be observed by then
    ids = [f"c{n}" for n in range(90)]
    calls = [{"type": "function_call", "call_id": one, "name": "find", "arguments": "{}"} for one in ids]
    results = [{"type": "function_call_output", "call_id": one, "output": "word " * 500} for one in ids]
    await talk(service, "word " * 500)
    await service.append("s1", *calls)
    await service.append("s1", *results)
    context = await service.context("s1", message_budget=9_000, format="openai-responses")
    items = [item for item in context["payload"]["input"] if item["type"] != "message"]
    assert [item["call_id"] for item in items] == [*ids, *ids]
    assert all("(no result)" not in item.get("output", "") for item in items)


async def test_a_session_s_own_budget_is_the_default(service: Service) -> None:
    await talk(service, *(f"This is what was said in turn {turn}." for turn in range(20)))
    await service.configure("s1", message_budget=100)
    own = await service.context("s1")
    assert 0 < own["tokens"]["messages"] <= 100
    assert alone(own) == alone(await service.context("s1", message_budget=100))
    assert len(shown(await service.context("s1", message_budget=0))) == 20
    await talk(service, *["word " * 400] * 40)
    await service.configure("s1", preset="compact", message_budget=0)
    assert len(shown(await service.context("s1"))) == 60


async def test_a_disabled_memory_leaves_the_conversation(service: Service, start_service: StartService) -> None:
    await remember(service, *FACTS)
    async with start_service(memory={"enabled": False}) as disabled:
        by_the_service = await disabled.context("s1")
    await service.configure("s1", enabled=False)
    for context in (by_the_service, await service.context("s1")):
        assert (context["payload"]["system"], shown(context)) == ([], FACTS)


async def test_reading_changes_nothing(service: Service) -> None:
    await remember(service, *FACTS)
    now = "2026-12-01T10:00:00Z"
    first = alone(await service.context("s1", now=now))
    assert alone(await service.context("s1", now=now)) == first
    assert alone(await compiled(service, {}, now=now)) == first
    assert alone(await compiled(service, {"now": now})) == first


# Read your writes


async def test_a_context_waits_for_the_message_it_is_to_hold(service: Service) -> None:
    waiting = asyncio.create_task(service.context("s1", min_seq=2, wait_ms=30_000))
    await talk(service, "one")
    await talk(service, "two")
    context = await waiting
    assert (context["as_of_seq"], context["notices"]) == (2, [])


async def test_a_context_waits_for_what_the_memory_makes_of_it(service: Service) -> None:
    await service.configure("s1", message_tokens=1, buffer_every=None)
    await talk(service, FACTS[0])
    context = await service.context("s1", min_seq=1, wait_ms=30_000)
    assert (context["memory_version"], context["notices"]) == (1, [])


@pytest.mark.parametrize("parameters", [{"min_seq": 2}, {"min_seq": 2, "wait_ms": 30}])
async def test_when_the_time_runs_out_the_context_says_so(service: Service, parameters: dict[str, int]) -> None:
    await talk(service, "one")
    context = await service.context("s1", **parameters)
    assert shown(context) == ["one"]
    [notice] = context["notices"]
    assert notice == "the wait ended before message #2 was stored"
    assert (await service.context("s1"))["notices"] == []
    assert (await service.context("s1", **parameters))["notices"] == [notice]


async def test_what_is_there_already_is_not_waited_for(service: Service) -> None:
    await talk(service, "one")
    assert (await service.context("s1", min_seq=1))["notices"] == []
    assert (await service.context("s1", wait_ms=30_000))["notices"] == []


# What the caller adds


async def test_the_caller_s_own_parts_stand_around_the_conversation(service: Service) -> None:
    await talk(service, "Hi")
    context = await compiled(
        service,
        {
            "system": ["You help.", "", "Be brief."],
            "knowledge": [
                {"title": "Prices", "text": "Tea is 2 euros."},
                {"title": "News", "text": "Rain today.", "placement": "tail"},
            ],
            "channel": "sms",
            "now": "2026-08-01T10:00:00Z",
        },
    )
    texts = [block["text"] for block in context["payload"]["system"]]
    assert texts == ["You help.", "Be brief.", "## Prices\n\nTea is 2 euros."]
    first, volatile = texts_of(context)
    assert first == "Hi"
    assert [wanted in volatile for wanted in ("Rain today.", "sms", "August 1, 2026")] == [True] * 3
    assert min(context["tokens"][name] for name in ("system", "knowledge", "volatile")) > 0


async def test_a_system_prompt_may_be_one_text(service: Service) -> None:
    one, listed = [await compiled(service, {"system": system}) for system in ("You help.", ["You help."])]
    assert one["payload"]["system"] == listed["payload"]["system"] == [{"type": "text", "text": "You help."}]


async def test_today_is_that_of_the_later_clock_unless_the_caller_says_when_it_is(service: Service) -> None:
    await service.configure("s1", timezone="Asia/Tokyo", cache_ttl=0)
    said = {"role": "user", "content": FACTS[0], "created_at": "2099-05-04T20:00:00Z"}
    await service.append("s1", said)
    await service.observe("s1")

    assert "Today is Tuesday, May 5, 2099." in str(texts_of(await service.context("s1")))
    assert "May 5, 2099 (today)" in notes(await service.context("s1"))
    earlier = await service.context("s1", now="2099-05-03T20:00:00Z")
    assert "Today is Monday, May 4, 2099." in str(texts_of(earlier))
    assert "May 5, 2099 (tomorrow)" in notes(earlier)

    await service.append("s1", said | {"created_at": "2099-05-06T20:00:00Z"})
    assert "May 5, 2099 (2 days ago)" in notes(await service.context("s1")), "the first after a gap moves the anchor"


async def test_the_anchor_stays_in_the_future_of_a_message_that_is_shown_while_others_have_no_date(
    service: Service,
) -> None:
    await service.configure("s1", cache_ttl=0)
    await service.append("s1", {"role": "user", "content": FACTS[0], "created_at": "2099-05-05T20:00:00Z"})
    await service.client.post("/sessions/s1/memory/observe", params={"wait_ms": 50_000})

    async def told() -> list[bool]:
        context = await service.context("s1")
        wanted = ("May 5, 2099 (today)" in notes(context), "Today is Tuesday, May 5, 2099." in str(texts_of(context)))
        return list(wanted)

    await talk(service, FACTS[1])
    assert await told() == [True, True], "the first after a gap"
    await service.client.post("/sessions/s1/memory/observe", params={"wait_ms": 50_000})
    assert await told() == [True, True], "an activation"

    await service.configure("s1", keep_last=0)
    await talk(service, FACTS[2])
    await service.client.post("/sessions/s1/memory/observe", params={"wait_ms": 50_000})
    context = await service.context("s1")
    assert "2099" not in str(texts_of(context)), "it left the tail"
    assert "(today)" in notes(context).splitlines()[-2]


async def test_the_anchor_goes_back_where_the_time_zone_does(service: Service) -> None:
    await service.configure("s1", cache_ttl=0, timezone="Pacific/Kiritimati")
    await remember(service, FACTS[0])
    assert "(today)" in notes(await service.context("s1"))
    await service.configure("s1", timezone="Etc/GMT+12")
    await talk(service, FACTS[1])
    assert "(today)" not in notes(await service.context("s1")), "it is 26 hours earlier there"


async def test_the_first_message_of_a_session_that_shares_a_memory_moves_the_anchor(service: Service) -> None:
    for key, fact in zip(("s1", "s2"), FACTS, strict=False):
        await service.client.post("/sessions/s1/memory/observe", params={"wait_ms": 50_000})
        await service.client.put(f"/sessions/{key}", json={"resource_id": "ana", "config": {"scope": "resource"}})
        await service.append(key, {"role": "user", "content": fact, "created_at": "2099-05-05T20:00:00Z"})
    context = await service.context("s2")
    assert "Today is Tuesday, May 5, 2099." in str(texts_of(context))
    assert "May 5, 2099 (today)" in notes(context)


async def test_what_has_left_the_tail_does_not_come_back_whatever_keep_last_is_now(service: Service) -> None:
    await remember(service, *FACTS[:2])
    await service.configure("s1", keep_last=40)
    await talk(service, FACTS[2])
    await service.observe("s1")

    assert shown(await service.context("s1")) == FACTS[1:]


async def test_incoming_messages_are_shown_and_not_stored(service: Service) -> None:
    await talk(service, "Hi")
    incoming = {"role": "user", "content": "And now?", "id": "m-1"}
    context = await compiled(service, {"incoming": [incoming, incoming]})
    assert shown(context) == ["Hi", "And now?", "And now?"]
    assert context["as_of_seq"] == 1
    assert len((await service.get("/sessions/s1/messages"))["items"]) == 1


async def test_an_incoming_message_that_is_stored_already_is_shown_once(service: Service) -> None:
    asked = {"role": "user", "content": "And now?", "id": "m-1"}
    answered = {"role": "assistant", "content": "Now too.", "id": "m-2"}
    await service.append("s1", asked, answered)
    then = {"role": "user", "content": "Why?", "id": "m-3"}
    for tried_again in ([asked], [asked, answered]):
        context = await compiled(service, {"incoming": [*tried_again, then]})
        assert shown(context) == ["And now?", "Now too.", "Why?"]
    await service.client.delete("/sessions/s1/messages/m-2")
    assert shown(await compiled(service, {"incoming": [answered]})) == ["And now?", "Now too."]


async def test_explain_tells_every_piece_and_what_was_decided(service: Service) -> None:
    await remember(service, *FACTS)
    context = await service.context("s1", explain=True, max_observations=2)
    assert sum(segment["tokens"] for segment in context["segments"]) == context["tokens"]["total"]
    assert [segment["section"] for segment in context["segments"]] == [
        "guide",
        "observations",
        "observations",
        "guide",
        "messages",
        "volatile",
    ]
    verdicts = {decision["id"]: decision["verdict"] for decision in context["decisions"]}
    dropped = [decision for decision in context["decisions"] if decision["verdict"] == "dropped"]
    assert [(each["stage"], each["reason"]) for each in dropped] == [("budget", "over the number of observations")]
    assert verdicts["message:3"] == "kept"
    plain = await service.context("s1", max_observations=2)
    assert alone({name: value for name, value in context.items() if name in plain}) == alone(plain)


@pytest.mark.parametrize("shape", ["anthropic", "openai", "openai-responses"])
async def test_breakpoints_can_be_left_out(service: Service, shape: str) -> None:
    await service.append("s1", {"role": "user", "content": "Hello"})
    for asked, is_marked in (({}, True), ({"breakpoints": False}, False)):
        context = await compiled(service, {"system": "Be brief."}, format=shape, explain=True, **asked)
        assert any(segment["breakpoint"] for segment in context["segments"]) is is_marked
        assert ("cache_control" in str(context) or "prompt_cache_breakpoint" in str(context)) is is_marked


async def test_what_cannot_be_compiled_is_refused_by_its_name(service: Service) -> None:
    for name, wrong in {
        "format": "xml",
        "memory_budget": "-1",
        "message_budget": "x",
        "max_reflections": "10001",
        "min_seq": "-1",
        "wait_ms": "60001",
        "now": "2026-08-01T10:00:00",
        "explain": "perhaps",
    }.items():
        assert pointers(await service.client.get(CONTEXT, params={name: wrong})) == [name]
    bodies: list[tuple[str, str]] = [
        ('{"system": 5}', "/system"),
        ('{"system": "\\ud800"}', "/system/0"),
        ('{"system": ["a", 5]}', "/system/1"),
        ('{"channel": "\\ud800"}', "/channel"),
        ('{"state": {"\\ud800": 1}}', "/state/?"),
        ('{"knowledge": [{"title": "a"}]}', "/knowledge/0/text"),
        ('{"knowledge": [{"title": "a", "text": "b", "placement": "top"}]}', "/knowledge/0/placement"),
        ('{"incoming": [{"role": "user", "content": "\\u0000"}]}', "/incoming/0/content"),
        ('{"incoming": [{"role": "robot", "content": "a"}]}', "/incoming/0/role"),
        ('{"now": "9999-12-31T23:59:59-14:00"}', "/now"),
        ('{"sytem": "a"}', "/sytem"),
        ("[]", ""),
    ]
    for content, pointer in bodies:
        answer = await service.client.post(CONTEXT, content=content, headers={"Content-Type": "application/json"})
        assert pointers(answer) == [pointer], content


# The cache


async def shared(service: Service, **parameters: Any) -> tuple[int | None, str | None]:
    cache = (await service.context("s1", **parameters))["cache"]
    return cache["shared_with_previous_tokens"], cache["break_reason"]


async def test_each_context_tells_what_it_shares_with_the_last_one_of_its_format(service: Service) -> None:
    await talk(service, "Hi", "Are you there?")
    first = await service.context("s1")
    assert await shared(service, format="openai") == (None, None)
    await talk(service, "Hello?")
    assert await shared(service) == (first["cache"]["stable_tokens"], None)
    assert await shared(service, format="openai") == (first["cache"]["stable_tokens"], None)


async def test_the_answer_tells_why_the_prefix_broke(service: Service) -> None:
    await service.configure("s1", keep_last=0)
    await talk(service, *FACTS)
    await service.context("s1")
    await service.observe("s1")
    assert await shared(service) == (0, "activation")
    tokens = (await compiled(service, {"system": "You help."}))["tokens"]
    assert await shared(service) == (0, "system")
    assert (await service.client.delete("/sessions/s1/memory/observations")).status_code == 200
    assert await shared(service) == (0, "deletion")
    assert tokens["observations"] > 0


async def test_the_past_is_no_call(service: Service) -> None:
    await talk(service, "Hi", "Are you there?")
    whole = (await service.context("s1"))["cache"]["stable_tokens"]
    assert await shared(service, as_of_seq=1) == (None, None)
    assert await shared(service) == (whole, None)


async def test_a_service_that_remembers_no_calls_says_null(start_service: StartService) -> None:
    async with start_service(context={"previous_pieces_max": 0}) as service:
        await talk(service, "Hi")
        assert [await shared(service) for _ in range(2)] == [(None, None)] * 2


async def test_who_has_the_context_is_not_sent_it_again(service: Service) -> None:
    await talk(service, "Hi")
    first = await service.client.get(CONTEXT, params={"format": "anthropic"})
    etag = first.headers["etag"]
    for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        again = await service.client.get(CONTEXT, params={"format": "anthropic"}, headers={"If-None-Match": known})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    posted = await service.client.post(
        CONTEXT, json={}, params={"format": "anthropic"}, headers={"If-None-Match": etag, "X-Request-Id": "another"}
    )
    assert posted.status_code == 304


async def test_another_context_has_another_etag(service: Service) -> None:
    await talk(service, "Hi")
    seen = {(await service.client.get(CONTEXT)).headers["etag"]}
    for parameters in ({"format": "openai"}, {"explain": True}, {"message_budget": 1}, {"format": "text"}):
        answer = await service.client.get(CONTEXT, params=parameters, headers={"If-None-Match": next(iter(seen))})
        assert answer.status_code == 200
        seen.add(answer.headers["etag"])
    volatile = await service.client.post(CONTEXT, json={"channel": "sms"})
    await talk(service, "Hello?")
    seen |= {volatile.headers["etag"], (await service.client.get(CONTEXT)).headers["etag"]}
    assert len(seen) == 7


@pytest.mark.parametrize(("explain", "body_bytes"), [(False, 65_537), (True, 100)])
async def test_a_large_body_is_read_and_told_beside_other_requests_and_what_is_explained_too(
    service: Service, *, explain: bool, body_bytes: int
) -> None:
    """memory-rules.md section 1: texts over 64 KiB are counted off the event loop."""
    contexts: ContextService = service.app.state.context
    incoming, knowledge = Watched(), Watched()
    body = ContextIn.model_construct(system=[], incoming=incoming, knowledge=knowledge)
    query = ContextQuery(explain=explain)
    await contexts.context(tenant="default", key="s1", query=query, body=body, body_bytes=body_bytes)
    assert incoming.threads | knowledge.threads
    assert threading.current_thread() not in incoming.threads | knowledge.threads


@pytest.mark.parametrize(("messages", "words", "aside"), [(20, 10, False), (20, 4_000, True), (1_100, 1, True)])
async def test_a_large_session_is_compiled_beside_other_requests(
    service: Service, *, messages: int, words: int, aside: bool
) -> None:
    for start in range(0, messages, 100):
        await talk(service, *("word " * words for _ in range(min(100, messages - start))))
    contexts: ContextService = service.app.state.context
    incoming = Watched()
    incoming.append(MessageIn(role="user", content="Hi"))
    body = ContextIn.model_construct(incoming=incoming)
    await contexts.context(tenant="default", key="s1", query=ContextQuery(message_budget=0), body=body, body_bytes=100)
    assert incoming.threads
    assert (threading.current_thread() not in incoming.threads) is aside
