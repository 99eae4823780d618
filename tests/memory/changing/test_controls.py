"""What an operator may do to the log: each control one new version, past versions as they were, nothing comes back."""

import asyncio
import json
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import httpx2 as httpx
import pytest

from app.kit.errors import Invalid
from app.kit.tokens import text_tokens
from app.memory.changing.controls import new_text, read_items
from app.memory.log import render
from tests.conftest import Service, StartService

KEY = "s1"
MEMORY = f"/sessions/{KEY}/memory"
WAIT = {"wait_ms": 50_000}
FACTS = ("I moved to Lisbon.", "I work at a bank in Porto.", "My dog is called Rex.")
TURIN = "Date: Aug 1, 2026\n* 🔴 (10:00) [fact] User moved to Turin. #1"
AHEAD = {"message_tokens": 1_000, "buffer_every": 0.1, "retain_tokens": 0, "observation_tokens": 50_000}


async def say(service: Service, text: str) -> None:
    await service.append(KEY, {"role": "user", "content": text, "created_at": "2026-08-01T10:00:00Z"}, **WAIT)


async def remember(service: Service, *texts: str) -> list[int]:
    """One observation of each message; answers the ids of all that are live."""
    for text in texts:
        await say(service, text)
        await service.observe(KEY)
    return await ids(service, "observations")


async def notes(service: Service, kind: str, status: str = "active") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await service.get(f"{MEMORY}/{kind}", status=status))["items"]
    return found


async def ids(service: Service, kind: str, status: str = "active") -> list[int]:
    return [note["id"] for note in await notes(service, kind, status)]


async def edit(service: Service, note_id: int, text: str, kind: str = "observations") -> httpx.Response:
    return await service.client.patch(f"{MEMORY}/{kind}/{note_id}", json={"text": text})


async def delete(service: Service, what: str) -> dict[str, Any]:
    answer = await service.client.delete(f"{MEMORY}/{what}")
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


async def log(service: Service, **parameters: Any) -> str:
    text: str = (await service.get(f"{MEMORY}/log", **parameters))["text"]
    return text


async def covered(service: Service) -> list[tuple[int, int, str]]:
    coverage = (await service.memory(KEY))["coverage"]
    assert coverage["gaps"] == []
    return [(interval["from"], interval["to"], interval["by"]) for interval in coverage["intervals"]]


def problem(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["type"].removeprefix("/problems/")


@pytest.fixture
async def tables(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


async def assert_sums(tables: asyncpg.Connection) -> None:
    """The memory's counters are what its rows add up to, and each version has its row."""
    (memory,) = await tables.fetch("SELECT * FROM memories")
    active = "SELECT coalesce(sum(tokens), 0) FROM {} WHERE status = 'active'"
    assert memory["observation_tokens"] == await tables.fetchval(active.format("observations"))
    assert memory["reflection_tokens"] == await tables.fetchval(active.format("reflections"))
    chunks = await tables.fetch("SELECT * FROM observations WHERE retired_by IS DISTINCT FROM 'edited'")
    assert memory["buffered_tokens"] == sum(row["message_tokens"] for row in chunks if row["status"] == "buffered")
    derived = sum(row["message_tokens"] for row in chunks if row["status"] != "buffered")
    observable = await tables.fetchval("SELECT sum(tokens) FROM messages WHERE observe")
    assert memory["pending_tokens"] == observable - derived
    versions = await tables.fetch("SELECT version FROM memory_versions ORDER BY version")
    assert [row["version"] for row in versions] == list(range(1, memory["log_version"] + 1))


async def test_an_edit_is_the_next_version_and_the_one_before_stays_as_it_was(
    service: Service, tables: asyncpg.Connection
) -> None:
    first, *others = await remember(service, *FACTS)
    old = (await notes(service, "observations"))[0]
    before, log_before = await service.context(KEY), await log(service)

    answer = await edit(service, first, TURIN)
    edited = answer.json()
    after = await service.context(KEY)

    assert answer.status_code == 200
    assert (edited["text"], edited["status"], edited["born_version"]) == (TURIN, "active", 4)
    assert [name for name in old if edited[name] != old[name]] == [
        *("id", "text", "items", "tokens", "born_version", "created_at")
    ]
    assert edited["items"] == [
        {"text": "User moved to Turin.", "day": "Aug 1, 2026", "time": "10:00", "priority": "🔴"}
        | {"tag": "fact", "cites": [[1, 1]]}
    ]
    assert await ids(service, "observations") == [*others, edited["id"]]
    assert (before["memory_version"], after["memory_version"]) == (3, 4)
    assert before["cache"]["epoch"] != after["cache"]["epoch"]
    assert "Lisbon" in str(before["payload"]["system"])
    assert "Turin" in str(after["payload"]["system"])
    assert "Lisbon" not in str(after["payload"]["system"])
    assert await log(service, version=3) == log_before
    assert "Turin" in await log(service, version=4)
    assert (await notes(service, "observations", "retired"))[0] == old | {
        "status": "retired",
        "retired_version": 4,
        "retired_by": "edited",
    }
    assert await covered(service) == [(1, 1, f"observation:{edited['id']}")] + [
        (seq, seq, f"observation:{note}") for seq, note in enumerate(others, start=2)
    ]
    await assert_sums(tables)


async def test_within_the_epoch_that_an_edit_begins_a_context_extends_the_one_before(service: Service) -> None:
    first, *_ = await remember(service, *FACTS)
    await edit(service, first, TURIN)
    now = await service.context(KEY)
    await say(service, "I like it there.")
    later = await service.context(KEY)

    assert later["cache"]["epoch"] == now["cache"]["epoch"]
    assert later["payload"]["system"] == now["payload"]["system"]
    assert "Turin" in str(later["payload"]["system"])


async def test_a_note_is_found_where_it_was_in_the_order_of_the_log(service: Service) -> None:
    _, second, _ = await remember(service, *FACTS)
    answer = await edit(service, second, "* 🟡 User is a baker. #1 #2 #3")

    text = await log(service)

    assert answer.json()["items"] == [{"text": "User is a baker. #1 #3", "priority": "🟡", "cites": [[2, 2]]}]
    assert text.index("Lisbon") < text.index("baker") < text.index("Rex")


async def test_an_edited_line_is_read_like_one_of_the_observer(service: Service) -> None:
    (first,) = await remember(service, FACTS[0])
    await edit(service, first, "Date: 2026-08-01\n- ✅ (9:05 am) [outcome] User arrived #1\n  * -> by train\n  at noon")
    (note,) = await notes(service, "observations")

    assert note["text"] == "Date: Aug 1, 2026\n* ✅ (09:05) [outcome] User arrived #1\n  * -> by train at noon"
    assert (await log(service)).startswith("### Messages 1-1\nDate: Aug 1, 2026 (")


async def test_a_deleted_observation_leaves_the_log_and_is_not_observed_again(
    service: Service, tables: asyncpg.Connection
) -> None:
    first, second, third = await remember(service, *FACTS)
    log_before = await log(service)

    gone = await delete(service, f"observations/{second}")
    again = await delete(service, f"observations/{second}")
    memory = await service.observe(KEY)

    assert gone == {"session": KEY, "version": 4, "retired": 1}
    assert again == {"session": KEY, "version": 4, "retired": 0}
    assert await covered(service) == [
        (1, 1, f"observation:{first}"),
        (2, 2, "deleted"),
        (3, 3, f"observation:{third}"),
    ]
    assert (memory["log"]["observations"], memory["pending"]["messages"]) == (2, 0)
    assert "bank" not in await log(service)
    assert await log(service, version=3) == log_before
    assert len((await service.get(f"{MEMORY}/runs"))["items"]) == 3
    await assert_sums(tables)


async def test_a_reflection_is_made_of_what_is_left(service: Service, tables: asyncpg.Connection) -> None:
    first, second, third, fourth = await remember(service, *FACTS, "I play the cello.")
    await delete(service, f"observations/{second}")
    await edit(service, first, TURIN)
    await service.reflect(KEY)
    (made,) = await notes(service, "reflections")

    assert made["sources"] == [first + 4, third, fourth]
    assert "Turin" in made["text"]
    assert "bank" not in await log(service)
    by = f"reflection:{made['id']}"
    assert await covered(service) == [(1, 1, by), (2, 2, "deleted"), (3, 4, by)]
    await assert_sums(tables)


async def test_the_sources_of_a_deleted_reflection_stay_retired(service: Service, tables: asyncpg.Connection) -> None:
    await remember(service, *FACTS)
    await service.reflect(KEY)
    (made,) = await ids(service, "reflections")

    gone = await delete(service, f"reflections/{made}")
    await remember(service, "I play the cello.")
    await service.reflect(KEY)

    assert gone == {"session": KEY, "version": 5, "retired": 1}
    (newer,) = await notes(service, "reflections")
    assert "Lisbon" not in newer["text"]
    assert await covered(service) == [(1, 3, "deleted"), (4, 4, f"reflection:{newer['id']}")]
    assert {note["retired_by"] for note in await notes(service, "observations", "retired")} == {
        f"reflection:{made}",
        f"reflection:{newer['id']}",
    }
    await assert_sums(tables)


async def test_an_edited_reflection_keeps_its_level_its_sources_and_what_it_covers(
    service: Service, tables: asyncpg.Connection
) -> None:
    await remember(service, *FACTS)
    await service.reflect(KEY)
    (old,) = await notes(service, "reflections")

    answer = await edit(service, old["id"], TURIN, "reflections")

    edited = answer.json()
    assert answer.status_code == 200
    assert [name for name in old if edited[name] != old[name]] == [
        *("id", "text", "items", "tokens", "born_version", "created_at")
    ]
    assert (edited["text"], edited["born_version"]) == (TURIN, 5)
    assert await covered(service) == [(1, 3, f"reflection:{edited['id']}")]
    await assert_sums(tables)


@pytest.mark.parametrize("kind", ["observations", "reflections"])
async def test_all_notes_of_a_kind_are_deleted_in_one_version(
    service: Service, tables: asyncpg.Connection, kind: str
) -> None:
    await remember(service, *FACTS[:2])
    await service.reflect(KEY)
    await remember(service, FACTS[2], "I play the cello.")
    live = len(await notes(service, kind))

    assert await delete(service, kind) == {"session": KEY, "version": 6, "retired": live}
    assert await delete(service, kind) == {"session": KEY, "version": 6, "retired": 0}
    assert await notes(service, kind) == []
    assert {by.split(":")[0] for _, _, by in await covered(service)} == {
        "deleted",
        "observation" if kind == "reflections" else "reflection",
    }
    await assert_sums(tables)


@pytest.mark.parametrize("kind", ["observations", "reflections"])
async def test_where_there_is_nothing_to_delete_the_answer_is_the_same(service: Service, kind: str) -> None:
    assert (await service.client.put(f"/sessions/{KEY}", json={})).status_code == 201  # no memory yet
    assert await delete(service, kind) == {"session": KEY, "version": 0, "retired": 0}


async def test_what_was_observed_ahead_is_edited_and_stays_ahead(service: Service, tables: asyncpg.Connection) -> None:
    first, *_ = await observed_ahead(service)
    edited = (await edit(service, first, "* 🔴 [fact] User keeps bees. #1")).json()

    assert (edited["status"], edited["born_version"]) == ("buffered", None)
    assert await log(service) == ""
    assert (await covered(service))[0] == (1, edited["to_seq"], f"buffered:{edited['id']}")
    await assert_sums(tables)
    await service.observe(KEY)
    assert "keeps bees" in await log(service)
    assert (await covered(service))[0] == (1, edited["to_seq"], f"observation:{edited['id']}")
    await assert_sums(tables)


async def test_what_is_only_observed_ahead_is_not_among_all_live_notes(
    service: Service, tables: asyncpg.Connection
) -> None:
    await service.configure(KEY, **AHEAD)
    (first,) = await remember(service, FACTS[0])
    chunks = await observed_ahead(service)

    assert await delete(service, "observations") == {"session": KEY, "version": 2, "retired": 1}
    assert (await covered(service))[0] == (1, 1, "deleted")
    assert await ids(service, "observations", "retired") == [first]
    assert await ids(service, "observations", "buffered") == chunks
    await assert_sums(tables)


@pytest.mark.parametrize("place", [0, 1, -1], ids=["first", "second", "last"])
async def test_what_was_observed_ahead_and_deleted_never_becomes_live(
    service: Service, tables: asyncpg.Connection, place: int
) -> None:
    chunks = await observed_ahead(service)
    ahead = await notes(service, "observations", "buffered")
    waiting = (await service.memory(KEY))["pending"]["tokens"]

    gone = await delete(service, f"observations/{chunks[place]}")

    assert gone == {"session": KEY, "version": 1, "retired": 1}
    memory = await service.memory(KEY)
    assert memory["pending"]["tokens"] == waiting - ahead[place]["message_tokens"]
    assert memory["buffered"]["observations"] == len(chunks) - 1
    deleted = (ahead[place]["from_seq"], ahead[place]["to_seq"], "deleted")
    assert deleted in await covered(service)
    await assert_sums(tables)

    await say(service, "I play the cello.")
    memory = await service.observe(KEY)
    assert memory["cursor"]["observed_seq"] == memory["cursor"]["last_seq"]
    assert memory["pending"]["tokens"] == 0
    assert deleted in await covered(service)
    assert chunks[place] not in await ids(service, "observations")
    await assert_sums(tables)


async def test_what_was_deleted_before_it_was_live_is_not_counted_out_again_when_a_message_of_it_is_erased(
    service: Service,
) -> None:
    chunks = await observed_ahead(service)
    last = (await notes(service, "observations", "buffered"))[-1]
    await delete(service, f"observations/{chunks[-1]}")
    before = (await service.memory(KEY))["pending"]["tokens"]
    said = (await service.get(f"/sessions/{KEY}/messages"))["items"][last["from_seq"] - 1]
    assert (await service.client.delete(f"/sessions/{KEY}/messages/{said['id']}")).status_code == 200
    assert (await service.memory(KEY))["pending"]["tokens"] == before


async def observed_ahead(service: Service) -> list[int]:
    """Three chunks and more that wait for their activation; answers their ids."""
    await service.configure(KEY, **AHEAD)
    number = 0
    while len(found := await ids(service, "observations", "buffered")) < 3:
        await say(service, f"I paid invoice {number} of 120 euros to Ana for the shop in Porto. " * 3)
        number += 1
        assert number < 30
    return found


def telling(path: Path, *tasks: str) -> dict[str, Any]:
    """Settings with an observer that tells these tasks, one at each call."""
    note = f"<observations>\n{TURIN}\n</observations>"
    told = [f"<current-task>{task}</current-task>\n<suggested-response>{task}?</suggested-response>" for task in tasks]
    path.write_text(json.dumps([{"reply": f"{note}\n{task}", "times": 1} for task in told]))
    return {"observer": {"provider": "scripted", "model": str(path)}, "memory": AHEAD}


async def task(service: Service) -> tuple[str | None, str | None]:
    memory = await service.memory(KEY)
    return memory["current_task"], memory["suggested_response"]


async def test_what_was_observed_ahead_tells_the_task_though_its_text_was_edited(
    start_service: StartService, tmp_path: Path
) -> None:
    async with start_service(**telling(tmp_path / "replies.json", "Pay Ana")) as service:
        await say(service, "And so on it went, day by day. " * 20)
        (ahead,) = await ids(service, "observations", "buffered")
        await edit(service, ahead, TURIN)
        await service.observe(KEY)
        assert await task(service) == ("Pay Ana", "Pay Ana?")


@pytest.mark.parametrize("kind", ["observations", "reflections"])
async def test_the_task_stays_where_a_note_goes_that_is_not_live_yet_or_an_older_one_of_what_is_condensed(
    start_service: StartService, tmp_path: Path, kind: str
) -> None:
    async with start_service(**telling(tmp_path / "replies.json", "Book it", "Pay Ana", "Call Bo")) as service:
        for fact in FACTS[:2]:
            await remember(service, fact)
            if kind == "reflections":
                await service.reflect(KEY)
        await say(service, "And so on it went, day by day. " * 20)
        (ahead,) = await ids(service, "observations", "buffered")
        gone = ahead if kind == "observations" else (await ids(service, kind))[0]
        assert (await delete(service, f"{kind}/{gone}"))["retired"] == 1
        assert await task(service) == ("Pay Ana", "Pay Ana?")


async def test_of_edits_of_one_note_at_once_one_is_done_and_the_others_are_told(
    service: Service, tables: asyncpg.Connection
) -> None:
    first, *_ = await remember(service, *FACTS)

    answers = await asyncio.gather(*(edit(service, first, f"* User has {n} cats. #1") for n in range(6)))

    assert sorted(answer.status_code for answer in answers) == [200, *([409] * 5)]
    assert (await service.memory(KEY))["log"]["version"] == 4
    assert len(await notes(service, "observations")) == 3
    await assert_sums(tables)


async def test_controls_and_appends_at_once_are_done_one_after_the_other(
    service: Service, tables: asyncpg.Connection
) -> None:
    live = await remember(service, *FACTS, "I play the cello.", "I have a sister.")

    answers = await asyncio.gather(
        *(edit(service, note, f"* User has {note} cats.") for note in live),
        service.client.delete(f"{MEMORY}/observations/{live[0]}"),
        service.client.delete(f"{MEMORY}/observations"),
        *(say(service, f"I have {n} plans.") for n in range(3)),
        service.client.post(f"{MEMORY}/observe", params=WAIT),
        service.client.post(f"{MEMORY}/reflect", params=WAIT),
    )

    assert {answer.status_code for answer in answers if answer is not None} <= {200, 409}
    assert (await covered(service))[-1][1] == 8
    await assert_sums(tables)


async def test_a_note_that_is_live_no_more_is_told_by_what_became_of_it(service: Service) -> None:
    first, second, *_ = await remember(service, *FACTS)
    await edit(service, first, TURIN)
    await delete(service, f"observations/{second}")
    await service.reflect(KEY)
    (made,) = await ids(service, "reflections")
    condensed = max(note["id"] for note in await notes(service, "observations", "retired"))

    answers = [await edit(service, note, TURIN) for note in (first, second, condensed)]
    deletions = [await service.client.delete(f"{MEMORY}/observations/{note}") for note in (first, condensed)]

    assert {problem(answer) for answer in [*answers, *deletions]} == {(409, "not-live")}
    assert [answer.json()["detail"] for answer in answers] == [
        f"observation {first} is no longer live: it was edited in version 4",
        f"observation {second} is no longer live: it was deleted in version 5",
        f"observation {condensed} is no longer live: reflection:{made} condensed it in version 6",
    ]


@pytest.mark.parametrize("kind", ["observations", "reflections"])
async def test_what_is_not_there_is_not_edited_and_deleting_it_changes_nothing(service: Service, kind: str) -> None:
    (other,) = await remember(service, FACTS[0])
    await service.append("s2", {"role": "user", "content": "Hello."})
    unknown = (404, f"{kind[:-1]}-not-found")
    for path in (f"{MEMORY}/{kind}/{other + 10_000}", f"/sessions/s2/memory/{kind}/{other}"):
        assert problem(await service.client.patch(path, json={"text": TURIN})) == unknown
        answer = await service.client.delete(path)
        assert (answer.status_code, answer.json()["retired"]) == (200, 0)
    never = f"/sessions/never/memory/{kind}"
    assert problem(await service.client.patch(f"{never}/{other}", json={"text": TURIN})) == (404, "session-not-found")
    assert problem(await service.client.delete(f"{never}/{other}")) == (404, "session-not-found")
    assert problem(await service.client.delete(never)) == (404, "session-not-found")


LOOP = "".join(f"* User said {who} once again, and this in so many words.\n" for who in ("A", "B", "C")) * 40


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"text": None},
        {"text": 7},
        {"text": ""},
        {"text": "Date: Aug 1, 2026"},
        {"text": "* \n* 🔴 (10:00)"},
        {"text": LOOP},
        {"text": "* x" * 100_000},
        {"text": "* User lives in Tu\x00rin."},
        {"text": TURIN, "tokens": 5},
    ],
)
async def test_what_is_no_log_is_refused_and_changes_nothing(service: Service, body: dict[str, Any]) -> None:
    (first,) = await remember(service, FACTS[0])

    answer = await service.client.patch(f"{MEMORY}/observations/{first}", json=body)

    assert problem(answer) == (422, "invalid")
    assert answer.json()["errors"][0]["pointer"] in {"/text", "/tokens"}
    assert (await service.memory(KEY))["log"]["version"] == 1
    assert await ids(service, "observations") == [first]


async def test_an_id_is_a_number(service: Service) -> None:
    for wrong in ("0", "-1", "x", str(2**63)):
        answer = await service.client.patch(f"{MEMORY}/observations/{wrong}", json={"text": TURIN})
        assert problem(answer) == (422, "invalid")


async def test_a_note_may_be_as_large_as_the_log_or_as_it_was(start_service: StartService) -> None:
    lines = [f"* User owns boat number {n}, built in the year {1800 + n} and bought by {n} people." for n in range(60)]
    async with start_service(memory={"observation_tokens": 1_500}) as service:
        (first,) = await remember(service, FACTS[0])
        refused = await edit(service, first, "\n".join([*lines, *(line.replace("boat", "car") for line in lines)]))
        large = await edit(service, first, "\n".join(lines))
        await service.configure(KEY, observation_tokens=50)
        smaller = await edit(service, large.json()["id"], "\n".join(lines[:-1]))

    assert problem(refused) == (413, "too-large")
    assert "DAYBOOK_MEMORY__OBSERVATION_TOKENS" in refused.json()["detail"]
    assert refused.json()["errors"][0]["pointer"] == "/text"
    assert 750 < large.json()["tokens"] <= 1_500
    assert smaller.status_code == 200
    assert 50 < smaller.json()["tokens"] < large.json()["tokens"]


async def test_any_text_can_be_stored(service: Service) -> None:
    (first,) = await remember(service, FACTS[0])
    answer = await edit(service, first, "* 𝔘nicode and </observations> and <current-task>x</current-task>")
    assert answer.status_code == 200
    assert "and </observations> and" in answer.json()["text"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("* one\n* two", ["* one", "* two"]),
        ("🔴 one\ngoes on", ["* 🔴 one goes on"]),
        ("<observations>\n* one\n</observations>", ["* one"]),
        ("* one\n</observations>\n* two", ["* one", "* two"]),
        (
            "Date: Aug 1, 2026\n* one\nDate: Aug 2, 2026\n* two",
            ["Date: Aug 1, 2026", "* one", "Date: Aug 2, 2026", "* two"],
        ),
    ],
)
def test_every_line_of_an_edit_is_kept(text: str, lines: list[str]) -> None:
    assert render(read_items(text)).split("\n") == lines


@pytest.mark.parametrize("text", ["", "   ", "* ", "---", LOOP])
def test_a_text_without_lines_or_with_the_same_over_and_over_is_invalid(text: str) -> None:
    with pytest.raises(Invalid):
        read_items(text)


def test_citations_are_those_of_the_note_and_other_numbers_are_names() -> None:
    text = "* 🟡 Bug #4211 is fixed. #3-9 #70\n  * -> see #5"
    new = new_text(read_items(text), text, covers=((1, 2), (4, 6)))
    assert new.text == "* 🟡 Bug #4211 is fixed. #70 #4-6\n  * -> see #5"
    assert new.tokens == text_tokens(new.text)


async def found_notes(service: Service, query: str) -> list[str]:
    asked = {"query": query, "kinds": ["observations"]}
    hits = (await service.client.post(f"/sessions/{KEY}/recall", json=asked)).json()["hits"]
    return [hit["text"] for hit in hits]


async def test_words_that_an_edit_took_out_of_a_reflection_are_not_found_behind_it(service: Service) -> None:
    found = partial(found_notes, service)
    await remember(service, *FACTS, "I own a boat in Porto.")
    await service.reflect(KEY)
    (made,) = await notes(service, "reflections")
    assert [len(await found(word)) for word in ("Lisbon", "Rex", "boat")] == [1, 1, 1]
    without = "\n".join(line for line in made["text"].splitlines() if "Rex" not in line)
    edited = (await edit(service, made["id"], without, "reflections")).json()
    assert [len(await found(word)) for word in ("Lisbon", "dog", "Rex", "boat")] == [1, 0, 0, 1]
    again = (await edit(service, edited["id"], made["text"].replace("Lisbon", "Turin"), "reflections")).json()
    assert [len(await found(word)) for word in ("Lisbon", "Rex", "boat")] == [0, 1, 1]
    await service.configure(KEY, consolidate_at=2)
    await remember(service, "I keep four bees.")
    for _ in range(2):
        await service.reflect(KEY)
    assert again["id"] not in await ids(service, "reflections")
    assert [len(await found(word)) for word in ("Lisbon", "Rex", "boat", "bees")] == [0, 1, 1, 1]


async def test_what_a_deleted_reflection_condensed_is_not_found_again(service: Service) -> None:
    found = partial(found_notes, service)
    await remember(service, *FACTS)
    await service.reflect(KEY)
    await remember(service, "I keep four bees.")
    (made,) = await notes(service, "reflections")
    assert any("Rex" in text for text in await found("dog Rex"))
    await edit(service, made["id"], TURIN, "reflections")
    await delete(service, "reflections")
    assert await found("dog Rex") == []
    assert any("bees" in text for text in await found("four bees"))


@pytest.mark.parametrize("change", ["edit", "delete", "compact", "erase"])
async def test_a_memory_whose_log_was_changed_does_not_wait_for_the_next_sweep(
    start_service: StartService, change: str
) -> None:
    async with start_service(engine={"sweep_seconds": 600}) as service:
        first, *_ = await remember(service, *FACTS)
        found = (await service.get(f"/sessions/{KEY}/messages"))["items"]
        method, path, body = {
            "edit": ("PATCH", f"{MEMORY}/observations/{first}", {"text": TURIN}),
            "delete": ("DELETE", f"{MEMORY}/observations/{first}", None),
            "compact": ("POST", f"/sessions/{KEY}/compact", {"up_to_seq": 2}),
            "erase": ("DELETE", f"/sessions/{KEY}/messages/{found[0]['id']}", None),
        }[change]
        assert (await service.client.request(method, path, json=body)).status_code == 200
        await service.context(KEY, **WAIT)
        memory = await service.memory(KEY)
    assert (memory["status"], memory["next_attempt_at"]) == ("idle", None)
