"""What entered a context and what left it (api.md, ``context/diff``)."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from app.context.diff import Span
from app.context.diff import diff as difference
from tests.conftest import Service
from tests.context.turns import FACTS, KEY, observe, say

DIFF = f"/sessions/{KEY}/context/diff"
TAILS = st.tuples(st.integers(1, 20), st.integers(0, 20))


async def diff(service: Service, since: int | None = None, until: int | None = None) -> dict[str, Any]:
    given = {"from_version": since, "to_version": until}
    return await service.get(DIFF, **{name: version for name, version in given.items() if version is not None})


async def live(service: Service, kind: str) -> list[int]:
    items = (await service.get(f"/sessions/{KEY}/memory/{kind}", status="active"))["items"]
    return [item["id"] for item in items]


def told(changes: list[dict[str, Any]]) -> list[tuple[str, int, int, str]]:
    return [(change["kind"], change["id"], change["version"], change["why"]) for change in changes]


async def test_a_difference_names_what_entered_and_left_and_why(service: Service) -> None:
    await service.configure(KEY, keep_last=1)
    for fact in FACTS[:2]:
        await say(service, fact)
        await observe(service)
    one, two = await live(service, "observations")
    first = await diff(service, 0, 1)
    assert told(first["entered"]) == [("observation", one, 1, "observed")]
    assert (first["left"], first["messages"]) == ([], {"entered": [{"from": 1, "to": 1}], "left": []})
    second = await diff(service)
    assert (second["from_version"], second["to_version"]) == (1, 2)
    assert told(second["entered"]) == [("observation", two, 2, "observed")]
    assert second["messages"] == {"entered": [{"from": 2, "to": 2}], "left": [{"from": 1, "to": 1}]}

    await service.reflect(KEY)
    [note] = await live(service, "reflections")
    third = await diff(service)
    assert told(third["entered"]) == [("reflection", note, 3, "reflected")]
    assert told(third["left"]) == [
        ("observation", one, 3, f"reflection:{note}"),
        ("observation", two, 3, f"reflection:{note}"),
    ]
    assert third["messages"] == {"entered": [], "left": []}
    text = (await service.get(f"/sessions/{KEY}/memory/reflections"))["items"][0]["text"]
    assert (third["entered"][0]["text"], third["entered"][0]["from_seq"], third["entered"][0]["to_seq"]) == (text, 1, 2)

    whole = await diff(service, 0, 3)
    assert told(whole["entered"]) == [("reflection", note, 3, "reflected")]
    assert (whole["left"], whole["messages"]) == ([], {"entered": [{"from": 2, "to": 2}], "left": []})
    assert await diff(service, 3, 3) == whole | {"from_version": 3, "entered": [], "messages": third["messages"]}


async def test_an_edit_and_a_deletion_are_differences(service: Service) -> None:
    await say(service, FACTS[0])
    await observe(service)
    [old] = await live(service, "observations")
    edit = {"text": "* 🔴 [fact] User moved to Turin. #1"}
    new = (await service.client.patch(f"/sessions/{KEY}/memory/observations/{old}", json=edit)).json()["id"]
    edited = await diff(service)
    assert told(edited["entered"]) == [("observation", new, 2, "edited")]
    assert told(edited["left"]) == [("observation", old, 2, "edited")]
    await service.client.delete(f"/sessions/{KEY}/memory/observations")
    assert told((await diff(service))["left"]) == [("observation", new, 3, "deleted")]
    assert (await diff(service, 0))["entered"] == []


async def test_a_difference_with_what_never_was_is_refused(service: Service) -> None:
    async def refused(**parameters: int) -> tuple[int, str]:
        answer = await service.client.get(DIFF, params=parameters)
        return answer.status_code, answer.json()["type"].removeprefix("/problems/")

    assert await refused() == (404, "session-not-found")
    await say(service, FACTS[0])
    assert (await diff(service))["entered"] == []
    await observe(service)
    assert await refused(to_version=2) == (404, "version-not-found")
    assert await refused(from_version=2) == (404, "version-not-found")
    assert await refused(from_version=1, to_version=0) == (422, "invalid")
    assert await refused(from_version=-1) == (422, "invalid")


@given(TAILS, TAILS)
def test_what_left_and_entered_makes_one_tail_of_the_other(before: tuple[int, int], after: tuple[int, int]) -> None:
    since, until = (set(range(start, start + length)) for start, length in (before, after))
    found = difference(
        Span(
            newest=2,
            since=1,
            until=2,
            tail_since=(before[0], sum(before) - 1),
            tail_until=(after[0], sum(after) - 1),
        ),
        changes=(),
    )
    left, entered = (
        {seq for first, last in ranges for seq in range(first, last + 1)}
        for ranges in (found.messages_left, found.messages_entered)
    )
    assert (left, entered) == (since - until, until - since)
