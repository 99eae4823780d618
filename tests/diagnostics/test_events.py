"""What a listener is told of a memory (api.md, ``memory/events``)."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import cycle, pairwise
from typing import Any

import asyncpg
import httpx2 as httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.diagnostics.events import Event, Place, changes, events, read_place
from app.kit.errors import Invalid
from tests.conftest import Service, StartService
from tests.journeys import looks

EVENTS = "/sessions/s1/memory/events"
NOBODY = "http://127.0.0.1:9"  # the port of a service that nobody runs
BEGINNING = str(Place(seq=0, version=0, observation=0, run=0))
COUNTS = ("pending_tokens", "observation_tokens", "reflection_tokens")
Heard = tuple[str, str, dict[str, Any]]


async def say(service: Service, text: str) -> None:
    await service.append("s1", {"role": "user", "content": text})


@asynccontextmanager
async def listening(
    service: Service, last_event_id: str | None = None, *, key: str = "s1"
) -> AsyncIterator[AsyncIterator[Heard]]:
    """The stream, opened; what it says comes as name, id and data."""
    headers = {} if last_event_id is None else {"Last-Event-ID": last_event_id}
    async with service.client.stream("GET", f"/sessions/{key}/memory/events", headers=headers) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield _heard(answer)


async def _heard(answer: httpx.Response) -> AsyncIterator[Heard]:
    fields: dict[str, str] = {}
    async for line in answer.aiter_lines():
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "event" in fields:
            yield fields["event"], fields["id"], json.loads(fields["data"])
            fields = {}


async def until(stream: AsyncIterator[Heard], name: str) -> list[Heard]:
    """All that is told up to the first event of this name."""
    found = []
    async with asyncio.timeout(30):
        async for heard in stream:
            found.append(heard)
            if heard[0] == name:
                return found
    raise AssertionError(f"the stream ended before it told of {name}")


async def test_a_listener_hears_of_messages_and_of_each_version(service: Service) -> None:
    await say(service, "I moved to Lisbon.")
    async with listening(service) as stream:
        await say(service, "I work at a bank in Porto.")
        _, _, appended = (await until(stream, "appended"))[-1]
        assert (appended["from_seq"], appended["to_seq"]) == (2, 2)
        assert appended["tokens"] > 0
        await service.observe("s1")
        heard = await until(stream, "activated")
        assert {"from_seq", "at"} & heard[-1][2].keys() == {"at"}
        assert heard[-1][2]["version"] == 1
        assert heard[-1][2]["pending_tokens"] == 0
        assert heard[-1][2]["observation_tokens"] > 0
        await service.reflect("s1")
        assert (await until(stream, "reflected"))[-1][2]["version"] == 2
        await service.client.delete("/sessions/s1/memory/reflections")
        assert (await until(stream, "deleted"))[-1][2]["version"] == 3


async def test_a_listener_that_comes_back_goes_on_after_the_last_it_heard(service: Service) -> None:
    await say(service, "I moved to Lisbon.")
    async with listening(service) as stream:
        await say(service, "I work at a bank in Porto.")
        last = (await until(stream, "appended"))[-1][1]
    await say(service, "My dog is called Rex.")
    await service.observe("s1")
    async with listening(service, last) as stream:
        told = [(name, data.get("from_seq")) for name, _, data in await until(stream, "activated")]
    assert told == [("appended", 3), ("activated", None)]


async def test_a_listener_that_was_cut_off_before_the_first_event_misses_none(service: Service) -> None:
    """The stream begins with an id alone, which sets a client's last event id and is no event to it."""
    await say(service, "I moved to Lisbon.")
    async with service.client.stream("GET", EVENTS) as answer, asyncio.timeout(30):
        lines = answer.aiter_lines()
        name, _, last = (await anext(lines)).partition(": ")
        assert (name, await anext(lines)) == ("id", "")
    await say(service, "My dog is called Rex.")
    async with listening(service, last) as stream:
        [(name, _, data)] = await until(stream, "appended")
    assert (name, data["from_seq"]) == ("appended", 2)


async def test_a_listener_that_can_send_no_header_comes_back_with_a_parameter(service: Service) -> None:
    await say(service, "I moved to Lisbon.")
    async with listening(service) as stream:
        await say(service, "I work at a bank in Porto.")
        last = (await until(stream, "appended"))[-1][1]
    await say(service, "My dog is called Rex.")
    async with service.client.stream("GET", EVENTS, params={"lastEventId": last}) as answer:
        [(name, _, data)] = await until(_heard(answer), "appended")
    assert (name, data["from_seq"]) == ("appended", 3)
    assert (await service.client.get(EVENTS, params={"lastEventId": "nonsense"})).status_code == 422


async def test_a_listener_of_a_session_that_was_deleted_hears_all_of_the_next_one_of_its_key(service: Service) -> None:
    await say(service, "I moved to Lisbon.")
    async with listening(service) as stream:
        await say(service, "I work at a bank in Porto.")
        last = (await until(stream, "appended"))[-1][1]
    await service.client.delete("/sessions/s1")
    await say(service, "My dog is called Rex.")
    async with listening(service, last) as stream:
        _, _, appended = (await until(stream, "appended"))[-1]
    assert (appended["from_seq"], appended["to_seq"]) == (1, 1)


async def test_a_listener_misses_nothing_of_a_key_used_anew_that_has_more_messages_than_it_heard_of(
    service: Service,
) -> None:
    await say(service, "I moved to Lisbon.")
    async with listening(service, BEGINNING) as stream:
        _, last, _ = (await until(stream, "appended"))[-1]
    await service.client.delete("/sessions/s1")
    await service.append("s1", *({"role": "user", "content": f"Ticket {number}"} for number in range(3)))
    async with listening(service, last) as stream:
        _, last, appended = (await until(stream, "appended"))[-1]
    assert (appended["from_seq"], appended["to_seq"]) == (1, 3)
    await say(service, "My dog is called Rex.")
    async with listening(service, last) as stream:
        _, _, appended = (await until(stream, "appended"))[-1]
    assert (appended["from_seq"], appended["to_seq"]) == (4, 4)


async def test_a_listener_that_begins_at_the_beginning_hears_the_whole_history(service: Service) -> None:
    await service.configure("s1", preset="compact", message_tokens=200, buffer_every=0.2, retain_tokens=20)
    for number in range(12):
        await service.append(
            "s1",
            {"role": "user", "content": f"Plan {number}: I bought {number + 3} tickets to Porto for May {number + 1}."},
            wait_ms=50_000,
        )
    async with listening(service, BEGINNING) as stream:
        told = [name for name, _, _ in await until(stream, "activated")]
    assert told.index("buffered") < told.index("activated")


async def test_the_versions_of_a_history_are_told_in_their_order_and_no_fact_where_none_was_noted(
    service: Service,
) -> None:
    for text in ("I moved to Lisbon.", "I work at a bank in Porto.", "My dog is called Rex."):
        await say(service, text)
        await service.observe("s1")
    async with listening(service, BEGINNING) as stream:
        told = [heard for _ in range(3) for heard in await until(stream, "activated")]
    assert [data["version"] for name, _, data in told if name == "activated"] == [1, 2, 3]
    assert {name for name, _, _ in told} <= {"appended", "due", "activated"}


async def test_a_listener_from_before_an_older_backup_was_restored_hears_all_that_is_there(service: Service) -> None:
    """Where it stands is beyond every number of the database, whose sequences were set back too."""
    await service.configure("s1", preset="compact", message_tokens=200, buffer_every=0.2, retain_tokens=20)
    for number in range(12):
        said = f"Plan {number}: I bought {number + 3} tickets to Porto for May {number + 1}."
        await service.append("s1", {"role": "user", "content": said}, wait_ms=50_000)
    lost = Place(seq=99, version=99, observation=10**9, run=10**9)
    async with listening(service, str(lost)) as stream:
        told = [name for name, _, _ in await until(stream, "activated")]
    assert told.index("buffered") < told.index("activated")


async def test_what_was_noted_of_a_session_for_its_resource_is_told(service: Service) -> None:
    said = {"messages": [{"role": "user", "content": "I live in Lisbon. I prefer tea."}], "resource_id": "ana"}
    await service.client.post("/sessions/s1/messages", json=said)
    async with listening(service) as stream:
        await service.client.post("/sessions/s1/end")
        _, _, noted = (await until(stream, "fact_noted"))[-1]
    assert (noted["facts"], noted["from_seq"], noted["to_seq"]) == (2, 1, 1)


async def test_a_failed_call_is_told(start_service: StartService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", NOBODY)
    async with start_service(provider="openai", model="none") as service:
        await say(service, "I moved to Lisbon.")
        async with listening(service) as stream:
            await service.client.post("/sessions/s1/memory/observe")
            _, _, failed = (await until(stream, "failed"))[-1]
    assert (failed["kind"], failed["outcome"]) == ("observe", "failed")
    assert failed.keys() == {"at", "id", "kind", "outcome", "error", *COUNTS}


async def test_a_memory_that_falls_due_is_told_and_moves_no_listener(
    start_service: StartService, database_url: str
) -> None:
    async with start_service(engine={"sweep_seconds": 600}, memory={"message_tokens": 10**6}) as service:
        await say(service, "I moved to Lisbon.")
        async with listening(service, BEGINNING) as stream:
            [(_, last, _)] = await until(stream, "appended")
            connection = await asyncpg.connect(database_url)
            await connection.execute("UPDATE memories SET due_at = now()")
            await connection.close()
            [(_, place, due)] = await until(stream, "due")
    assert place == last
    assert due["pending_tokens"] > 0


def test_a_memory_is_told_to_be_due_once_until_it_was_not_for_a_while() -> None:
    place = Place(seq=0, version=0, observation=0, run=0)
    rows: list[dict[str, Any]] = [{"due": due, "now": NOW, "pending_tokens": 9} for due in (True, True, False, True)]
    assert len(list(changes(place, rows[0], None))) == 1
    assert [len(list(changes(place, now, before))) for before, now in pairwise(rows)] == [0, 0, 1]


async def test_what_is_wrong_is_answered_before_the_stream_begins(start_service: StartService) -> None:
    async with start_service(events={"streams_max": 1}) as service:
        assert (await service.client.get(EVENTS)).status_code == 404
        await say(service, "Hi")
        for wrong in ("x", "1.2.3", "1.2.3.-4", "1.2.3.4.5.6.7", "9" * 90, f"{2**63}.0.0.0"):
            answer = await service.client.get(EVENTS, headers={"Last-Event-ID": wrong})
            assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "Last-Event-ID")
        async with listening(service) as stream:
            await say(service, "Hello")
            await until(stream, "appended")
            answer = await service.client.get(EVENTS)
            assert (answer.status_code, answer.json()["type"]) == (503, "/problems/too-many-streams")
            assert "Retry-After" in answer.headers


async def test_of_streams_asked_for_at_once_no_more_are_opened_than_may_be(start_service: StartService) -> None:
    async with start_service(events={"streams_max": 2}) as service:
        await say(service, "Hi")

        async def opened() -> httpx.Response:
            return await service.client.send(service.client.build_request("GET", EVENTS), stream=True)

        async def status() -> int:
            answer = await opened()
            await answer.aclose()
            return answer.status_code

        answers = await asyncio.gather(*(opened() for _ in range(9)))
        assert sorted(answer.status_code for answer in answers) == [200] * 2 + [503] * 7
        await asyncio.gather(*(answer.aclose() for answer in answers))
        await looks.until(status, lambda found: found == 200)  # what was closed may be opened again


@pytest.mark.parametrize(
    "place",
    [
        Place(seq=0, version=0, observation=0, run=0),
        Place(seq=4, version=3, observation=2, run=1, expired=5, life=1_767_225_600_000_000),
    ],
)
def test_a_place_survives_being_an_event_id(place: Place) -> None:
    assert read_place(str(place)) == place


def test_an_event_id_with_fewer_numbers_as_there_were_before_is_still_one() -> None:
    assert read_place("4.3.2.1") == Place(seq=4, version=3, observation=2, run=1)
    assert read_place("4.3.2.1.5") == Place(seq=4, version=3, observation=2, run=1, expired=5)


@dataclass(frozen=True, kw_only=True)
class Rows:
    """All that a memory's work left, in the order of its numbers; ``limit`` of each kind are told by one look."""

    last_seq: int
    expired_seq: int
    buffered: list[datetime]
    versions: list[datetime]
    runs: list[tuple[datetime, bool]]
    limit: int = 3

    def after(self, place: Place) -> dict[str, Any]:
        """As the store's ``events`` reads them."""
        versions = [{"at": str(at), "cause": "observed"} for at in self.versions]
        return {
            "last_seq": self.last_seq,
            "first_seq": place.seq + 1,
            "appended": self.last_seq > place.seq,
            "appended_tokens": 9,
            "appended_at": NOW,
            "now": NOW,
            "expired_seq": self.expired_seq,
            **dict.fromkeys(COUNTS, 0),
            "buffered": self._next([{"at": str(at)} for at in self.buffered], "id", place.observation),
            "versions": self._next(versions, "version", place.version),
            "runs": self._next([_run(at, noted=noted) for at, noted in self.runs], "id", place.run),
        }

    def _next(self, rows: list[dict[str, Any]], number: str, heard: int) -> list[dict[str, Any]]:
        numbered = [row | {number: place} for place, row in enumerate(rows, start=1)]
        return [row for row in numbered if row[number] > heard][: self.limit]

    def heard(self, cuts: Iterator[int]) -> list[Event]:
        """What a listener hears who is cut off after so many events, and comes back after the last of them."""
        place, told = Place(seq=0, version=0, observation=0, run=0), []
        while found := events(place, self.after(place)):
            told += found[: next(cuts)]
            place = read_place(str(told[-1].place))
        return told


def _run(at: datetime, *, noted: bool) -> dict[str, Any]:
    own = {"kind": "note_facts", "outcome": "recorded" if noted else "failed", "error": None}
    return own | {"at": str(at), "from_seq": 1, "to_seq": 2, "facts": 1}


NOW = datetime(2026, 8, 1, 10, 0, tzinfo=UTC)
TIMES = st.integers(-5, 5).map(lambda seconds: NOW + timedelta(seconds=seconds))
ROWS = st.builds(
    Rows,
    last_seq=st.integers(0, 3),
    expired_seq=st.integers(0, 3),
    buffered=st.lists(TIMES, max_size=6),
    versions=st.lists(TIMES, max_size=6),
    runs=st.lists(st.tuples(TIMES, st.booleans()), max_size=8),
)


@given(rows=ROWS, cuts=st.lists(st.integers(1, 4), min_size=1, max_size=8))
def test_each_event_has_its_own_id_and_none_is_lost_or_told_twice_wherever_the_stream_is_cut(
    rows: Rows, cuts: list[int]
) -> None:
    heard = rows.heard(cycle(cuts))
    assert len({str(event.place) for event in heard}) == len(heard)
    told = Counter(event.name for event in heard)
    assert told["activated"] == len(rows.versions)
    assert told["buffered"] == len(rows.buffered)
    assert (told["appended"], told["expired"]) == (rows.last_seq > 0, rows.expired_seq > 0)
    assert (told["fact_noted"], told["failed"]) == tuple(
        sum(noted is wanted for _, noted in rows.runs) for wanted in (True, False)
    )


def test_events_are_told_in_the_order_of_their_times_whatever_they_are() -> None:
    before, after = NOW - timedelta(seconds=1), NOW + timedelta(seconds=1)
    rows = Rows(last_seq=1, expired_seq=0, buffered=[before], versions=[after], runs=[(before, True), (after, False)])
    place = Place(seq=0, version=0, observation=0, run=0)
    heard = events(place, rows.after(place))
    assert [event.name for event in heard] == ["buffered", "fact_noted", "appended", "activated", "failed"]


def test_what_is_no_event_id_is_refused() -> None:
    with pytest.raises(Invalid):
        read_place("²3.1.1.1")
