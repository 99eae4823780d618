"""The soak's own parts: when it does what, how its callers try again, and the laws it judges by."""

import asyncio
import random
from collections.abc import Iterator, Sequence

import pytest

from benchmarks.soak.callers import Turn, message_ids
from benchmarks.soak.exchange import Exchange, Wrong
from benchmarks.soak.laws import Kept, Latency, growth_laws, growths, kept_laws, latency, recoveries, recovery_laws
from benchmarks.soak.schedule import Incident, schedule
from benchmarks.soak.watching import Sample
from benchmarks.speed.targets import request
from tests.benchmarks.test_speed import answered, answering
from tests.connections import listening

WHEN = schedule(20)


@pytest.mark.parametrize("minutes", [1, 3, 20])
def test_every_incident_has_a_quiet_window_before_it_and_one_after_it(minutes: float) -> None:
    when = schedule(minutes)
    assert [incident for _, incident in when.incidents] == [*Incident]
    times = [at for at, _ in when.incidents]
    ends = [at + when.recovery + when.window for at in times]
    assert times[0] > when.window
    assert all(end <= following + 1e-6 for end, following in zip(ends, [*times[1:], when.settled], strict=True))
    assert when.settled < when.steady
    assert when.capacity + when.steady == pytest.approx(minutes * 60)


# The callers


def served(*answers: bytes) -> Iterator[bytes]:
    yield from answers


async def test_what_is_refused_for_now_is_asked_again_until_it_is_answered() -> None:
    heard: list[bytes] = []
    answers = served(answered("503 Service Unavailable"), answered("429 Too Many Requests"), answered("200 OK", b"[1]"))
    async with answering(lambda: next(answers), heard) as port:
        exchange = Exchange(port, random.Random(1))  # noqa: S311 - a wait, no secret
        assert await exchange.ask(request("GET", "/")) == [1]
        exchange.close()
    assert exchange.retries == 2
    assert len(set(heard)) == 1


async def test_a_connection_that_ends_is_made_anew_and_the_same_is_sent_again() -> None:
    heard: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answered("201 Created", b"{}") if len(heard) > 1 else b"HTTP/1.1 200")

    async with listening(talk) as port:
        exchange = Exchange(port, random.Random(1))  # noqa: S311 - a wait, no secret
        assert await exchange.ask(request("GET", "/")) == {}
        exchange.close()
    assert heard[0] == heard[1]


async def test_what_is_refused_for_good_is_wrong() -> None:
    async with answering(lambda: answered("409 Conflict", b"taken"), []) as port:
        exchange = Exchange(port, random.Random(1))  # noqa: S311 - a wait, no secret
        with pytest.raises(Wrong, match="409: taken"):
            await exchange.ask(request("GET", "/"))
        exchange.close()


# The laws


def kept(ids: Sequence[str], *, seqs: Sequence[int] | None = None, gaps: int = 0, settled: bool = True) -> Kept:
    return Kept(ids=ids, seqs=seqs or range(1, len(ids) + 1), gaps=gaps, settled=settled)


@pytest.mark.parametrize(
    ("found", "broken"),
    [
        (kept(["m-1", "m-2"]), None),
        (kept(["m-1", "m-2", "m-3"]), None),  # stored, and the answer was lost
        (kept(["m-1"]), "lost"),
        (kept(["m-1", "m-2", "m-2"]), "twice"),
        (kept(["m-1", "m-2"], seqs=[1, 3]), "seqs"),
        (kept(["m-1", "m-2"], gaps=1), "coverage"),
        (kept(["m-1", "m-2"], settled=False), "idle"),
    ],
)
def test_a_session_that_is_not_as_it_was_told_breaks_a_law(found: Kept, broken: str | None) -> None:
    laws = kept_laws({"s1": 2, "s2": 1}, {"s1": found, "s2": kept(["m-1"])}, message_ids)
    assert [law.name for law in laws if not law.holds] == [law for law in (broken and law_of(broken),) if law]


def law_of(word: str) -> str:
    [name] = [law.name for law in kept_laws({}, {}, message_ids) if word in law.name]
    return name


def turns(milliseconds: float, first: float, end: float) -> list[Turn]:
    """Ten a second."""
    return [Turn(first + number / 10, milliseconds) for number in range(int((end - first) * 10))]


def test_a_latency_that_does_not_come_back_breaks_a_law() -> None:
    slow_at, _ = WHEN.incidents[0]
    stuck_at, _ = WHEN.incidents[1]
    heard = [
        *turns(10, 0, slow_at),
        *turns(500, slow_at, slow_at + 7),
        *turns(10, slow_at + 7, stuck_at),
        *turns(20, stuck_at, WHEN.steady),
    ]
    recovered = recoveries(heard, WHEN)
    assert [one.seconds for one in recovered[:2]] == [7, 0]  # twice as long is not slow, but not as before
    assert [(one.before, one.after) for one in recovered[:2]] == [
        (Latency(p50_ms=10, p99_ms=10), Latency(p50_ms=10, p99_ms=10)),
        (Latency(p50_ms=10, p99_ms=10), Latency(p50_ms=20, p99_ms=20)),
    ]
    assert [law.holds for law in recovery_laws(recovered)] == [True, False, True, True, True]


def test_one_stall_in_a_window_is_not_its_latency_and_many_are() -> None:
    still = [turn for at in range(0, 40, 5) for turn in turns(10, at, at + 4)]
    stalls = [turn for at in range(4, 40, 5) for turn in turns(500, at, at + 1)]
    assert latency([*still, *stalls[:10]], 0, 40) == Latency(p50_ms=10, p99_ms=10)
    assert latency([*still, *stalls], 0, 40) == Latency(p50_ms=10, p99_ms=500)


def test_a_window_with_too_few_turns_says_nothing() -> None:
    with pytest.raises(ValueError, match="too short"):
        latency(turns(10, 0, 1), 0, 10)
    with pytest.raises(ValueError, match="too short"):
        growths([sample(0)])


def sample(at: float, *, rss_mb: float = 200, threads: int = 20, files: int = 60, connections: int = 12) -> Sample:
    rss_bytes = int(rss_mb * 2**20)
    return Sample(at=at, rss_bytes=rss_bytes, threads=threads, files=files, connections=connections, due=0)


def test_what_grows_steadily_breaks_a_law_and_what_only_jumps_does_not() -> None:
    jumping = [sample(at, rss_mb=200 + at % 7, connections=12 + (at == 100)) for at in range(300)]
    growing = [sample(at, rss_mb=200 + at / 20, threads=20 + at // 90) for at in range(300)]
    assert [law.holds for law in growth_laws(growths(jumping))] == [True, True, True, True]
    assert [law.holds for law in growth_laws(growths(growing))] == [False, False, True, True]
