"""How often a key may ask, over HTTP, and the same counted by several processes in a Redis."""

import asyncio
import re
import shutil
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from app.commands.doctor import Finding, Verdict, diagnose
from app.commands.issuing import create, wanted
from app.kit.errors import StartError
from app.kit.headers import RawHeaders
from app.kit.rates import REDIS_SECONDS, RateConfig, Rates, TooManyRequests
from app.settings import Settings
from tests.conftest import StartService
from tests.journeys.processes import free_port
from tests.keys.conftest import bearer
from tests.test_problems import assert_problem

PASSWORD = "opensesame"


async def test_a_key_is_told_what_is_left_and_refused_when_nothing_is(
    start_service: StartService, database_url: str
) -> None:
    hasty, asked_for = "a-key-of-sixteen-or-more", wanted(tenant="acme", scopes=["read"], name="", expires=None)
    other, _ = await asyncio.to_thread(create, Settings(database_url=database_url), asked_for)
    async with start_service(rates={"per_minute": 3}, bootstrap_key=hasty) as service:
        for left, path in ((2, "/sessions"), (1, "/sessions/never"), (0, "/metrics")):
            answer = await service.client.get(path, headers=bearer(hasty))
            assert answer.headers["ratelimit-policy"] == '"key";q=3;w=60'
            assert re.fullmatch(rf'"key";r={left};t=\d+', answer.headers["ratelimit"])
        refused = await service.client.get("/sessions", headers=bearer(hasty))
        assert_problem(refused, 429, "too-many-requests")
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert refused.headers["ratelimit-policy"] == '"key";q=3;w=60'
        assert refused.headers["ratelimit"] == f'"key";r=0;t={refused.headers["retry-after"]}'
        assert (await service.client.get("/sessions", headers=bearer(other))).status_code == 200
        assert (await service.client.get("/healthz", headers=bearer(hasty))).status_code == 200
        assert (await service.client.get("/readyz", headers=bearer(hasty))).status_code == 200


@pytest.mark.parametrize(("settings", "headers"), [({}, {}), ({"bootstrap_key": "x" * 16}, bearer("x" * 16))])
async def test_local_mode_and_a_limit_of_none_count_nothing(
    start_service: StartService, settings: dict[str, str], headers: dict[str, str]
) -> None:
    rates = {"per_minute": 0 if settings else 1}
    async with start_service(rates=rates, **settings) as service:
        for _ in range(3):
            answer = await service.client.get("/sessions", headers=headers)
            assert answer.status_code == 200
            assert "ratelimit" not in answer.headers


async def test_of_requests_at_once_no_more_pass_than_may() -> None:
    rates = Rates(RateConfig(per_minute=5))
    answers = await asyncio.gather(*(rates.spend("k", []) for _ in range(20)), return_exceptions=True)
    assert sum(isinstance(answer, TooManyRequests) for answer in answers) == 15


@pytest.fixture
def redis_url(tmp_path: Path) -> Iterator[str]:
    """A Redis of this test's own, which asks for a password."""
    found = shutil.which("redis-server")
    if found is None:
        pytest.skip("no Redis here; Debian has it as the package redis-server")
    port = free_port()
    options = ("--port", str(port), "--save", "", "--dir", str(tmp_path), "--bind", "127.0.0.1")
    server = subprocess.Popen([found, *options, "--requirepass", PASSWORD], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        next(line for line in server.stdout if "Ready to accept connections" in line)
        yield f"redis://:{PASSWORD}@127.0.0.1:{port}/0"
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()


@pytest.fixture
async def replicas(redis_url: str) -> AsyncIterator[tuple[Rates, Rates]]:
    config = RateConfig(per_minute=10, redis_url=redis_url)
    both = Rates(config), Rates(config)
    yield both
    for rates in both:
        await rates.close()


async def test_replicas_count_together_in_a_redis(replicas: tuple[Rates, Rates]) -> None:
    answers = await asyncio.gather(
        *(rates.spend("k", []) for _ in range(10) for rates in replicas), return_exceptions=True
    )
    assert sum(isinstance(answer, TooManyRequests) for answer in answers) == 10


async def test_while_the_redis_is_away_nobody_is_refused() -> None:
    rates = Rates(RateConfig(per_minute=1, redis_url=f"redis://127.0.0.1:{free_port()}/0"))
    told: RawHeaders = []
    for _ in range(3):
        await rates.spend("k", told)
    assert told == []
    await rates.close()


async def test_nor_is_one_held_up_where_the_url_names_no_host() -> None:
    """The library makes another client for it, which tried again for 5 s at each request."""
    rates = Rates(RateConfig(per_minute=1_000, redis_url="redis://"))
    async with asyncio.timeout(4 * REDIS_SECONDS):  # whether there is a Redis at localhost or not
        await rates.spend("k", [])
    await rates.close()


@pytest.mark.parametrize(
    "url", ["http://nowhere", "redis://daybook:opensesame@host:port", "rediz://daybook:opensesame@host"]
)
def test_what_is_no_redis_is_one_clear_line_without_its_password(url: str) -> None:
    with pytest.raises(StartError, match=r"^DAYBOOK_RATES__REDIS_URL: ") as refused:
        Rates(RateConfig(per_minute=1, redis_url=url))
    assert "\n" not in str(refused.value)
    assert "opensesame" not in str(refused.value)


def of_the_doctor(folder: Path, url: str, **rates: int) -> Finding:
    """What it finds of this Redis; there is no database in the folder, and it looks at the rest."""
    settings = Settings(data_dir=folder / "none", rates={"redis_url": url, **rates})
    return next(found for found in diagnose(settings, redrive=False) if found.check == "rate limit")


def test_the_doctor_asks_the_redis_as_a_request_would(redis_url: str, tmp_path: Path) -> None:
    """It said ok of one that counted nothing: a wrong password, a database that is not there."""
    assert of_the_doctor(tmp_path, redis_url).verdict is Verdict.OK
    for right, wrong, told in ((PASSWORD, "opensesam", "username-password"), ("/0", "/99", "DB index")):
        found = of_the_doctor(tmp_path, redis_url.replace(right, wrong))
        assert found.verdict is Verdict.WRONG
        assert told in found.detail
        assert "opensesam" not in f"{found}"


def test_the_doctor_tells_of_a_redis_that_is_away_or_hangs_or_is_none(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        ports = (free_port(), hanging.getsockname()[1])
        begun = time.monotonic()
        found = [of_the_doctor(tmp_path, f"redis://:{PASSWORD}@127.0.0.1:{port}/0") for port in ports]
        assert time.monotonic() - begun < 30 * REDIS_SECONDS
    found.append(of_the_doctor(tmp_path, f"rediz://:{PASSWORD}@127.0.0.1"))
    assert {one.verdict for one in found} == {Verdict.WRONG}
    assert PASSWORD not in f"{found}"
    assert ["connecting to" in found[0].detail, "Timeout" in found[1].detail] == [True, True]


def test_the_doctor_asks_no_redis_where_nothing_is_limited(tmp_path: Path) -> None:
    """It said that one was wrong which nobody asks."""
    found = of_the_doctor(tmp_path, f"redis://127.0.0.1:{free_port()}/0", per_minute=0)
    assert found.verdict is Verdict.OK
    unreadable = of_the_doctor(tmp_path, "rediz://127.0.0.1", per_minute=0)  # with which the service does not start
    assert unreadable.verdict is Verdict.WRONG
