"""Fixtures: a real Postgres per test run, a database per worker (``databases.py``), and the service over real HTTP.

The tables are emptied before each test that uses them.
"""

import asyncio
import contextlib
import gc
import os
import shutil
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2 as httpx
import pytest
import uvicorn
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from app.commands.serving import GARBAGE_EVERY
from app.kit.connection import ConnectionConfig, connection_options
from app.locating import Location
from app.main import create_app
from app.settings import PREFIX, Settings, configured
from tests.contract import Contract
from tests.databases import RUN, Emptying, clone, compile_once, run_folder, run_server
from tests.model_server import ModelServer
from tests.pooler import is_pooled, pooled
from tests.secured import as_role, is_as_role, secured

# Before any test imports them, so that pytest explains their assertions.
pytest.register_assert_rewrite("tests.fuzz.laws", "tests.fuzz.world", "tests.journeys.laws", "tests.journeys.looks")

hypothesis_settings.register_profile(
    "daybook", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
hypothesis_settings.load_profile("daybook")

SHARED = Path(__file__).parents[1].parent / "shared" / "data"
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # without certificate authorities, which take 30 ms to load
LEAVING_SECONDS = 0.05


def pytest_addoption(parser: pytest.Parser) -> None:
    help_text = "between the database and the services under test stands PgBouncer in transaction mode"
    parser.addoption("--pooler", action="store_true", help=help_text)
    help_text = "the services under test are a role that Postgres shows the rows of one tenant"
    parser.addoption("--row-level-security", action="store_true", help=help_text)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than the number of processors, because many tests wait, for a lease to end or a process to start."""
    return (os.cpu_count() or 1) + 1


def pytest_configure(config: pytest.Config) -> None:
    """Name the run; xdist's workers inherit the name of their controller."""
    run = os.environ.setdefault(RUN, uuid4().hex)
    if hasattr(config.option, "testrunuid"):
        config.option.testrunuid = run
    compile_once()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without garbage collection, which took a third of the time, and keep the collected objects out of it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(GARBAGE_EVERY)
        gc.enable()


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        shutil.rmtree(run_folder(), ignore_errors=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """DSN of the run's server."""
    with run_server() as dsn:
        yield dsn


@pytest.fixture(scope="session")
async def worker_url(postgres: str, request: pytest.FixtureRequest) -> str:
    url = await clone(postgres, f"daybook_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}")
    if request.config.getoption("--row-level-security"):
        await secured(url)
    return url


@pytest.fixture(scope="session")
async def emptying(worker_url: str) -> AsyncIterator[Emptying]:
    emptying = Emptying(worker_url)
    yield emptying
    await emptying.close()


@pytest.fixture
async def database_url(worker_url: str, emptying: Emptying) -> str:
    """DSN of an empty, migrated database."""
    await emptying()
    return worker_url


class QuietServer(uvicorn.Server):
    """A server in the tests' process: it leaves signals to pytest, and ends at once if nobody is connected.

    uvicorn polls ten times a second whether it is to end, and then waits a tenth of a second for its clients.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._told_to_end = asyncio.Event()

    def end(self) -> None:
        self._told_to_end.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def main_loop(self) -> None:
        await self.on_tick(0)  # it sets the default headers of answers
        await self._told_to_end.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._alone(), LEAVING_SECONDS)
        if self.server_state.connections or self.server_state.tasks:
            await super().shutdown(sockets)
            return
        for server in self.servers:
            server.close()
        await self.lifespan.shutdown()

    async def _alone(self) -> None:
        """Wait until nobody is connected: a closed connection is noticed in the next rounds of the event loop."""
        while self.server_state.connections:  # noqa: ASYNC110 - uvicorn offers no event
            await asyncio.sleep(0.001)


class Service:
    """A running service and a client to it."""

    def __init__(self, url: str, client: httpx.AsyncClient, app: Any) -> None:
        self.url = url
        self.client = client
        self.app = app

    async def append(self, key: str, *messages: dict[str, Any], **parameters: Any) -> dict[str, Any]:
        answer = await self.client.post(
            f"/sessions/{key}/messages", json={"messages": list(messages)}, params=parameters
        )
        assert answer.status_code in {200, 201}, answer.text
        body: dict[str, Any] = answer.json()
        return body

    async def get(self, path: str, **parameters: Any) -> dict[str, Any]:
        answer = await self.client.get(path, params=parameters)
        assert answer.status_code == 200, answer.text
        body: dict[str, Any] = answer.json()
        return body

    async def observe(self, key: str) -> dict[str, Any]:
        """Have all pending messages observed, and wait for it; returns the memory after it."""
        return await self._step(key, "observe")

    async def reflect(self, key: str) -> dict[str, Any]:
        """Have the log condensed, and wait for it; returns the memory after it."""
        return await self._step(key, "reflect")

    async def _step(self, key: str, step: str) -> dict[str, Any]:
        answer = await self.client.post(f"/sessions/{key}/memory/{step}", params={"wait_ms": 50_000})
        assert answer.status_code == 200, answer.text
        memory: dict[str, Any] = answer.json()["memory"]
        return memory

    async def memory(self, key: str) -> dict[str, Any]:
        return await self.get(f"/sessions/{key}/memory")

    async def context(self, key: str, **parameters: Any) -> dict[str, Any]:
        return await self.get(f"/sessions/{key}/context", **parameters)

    async def configure(self, key: str, **config: Any) -> None:
        answer = await self.client.put(f"/sessions/{key}", json={"config": config})
        assert answer.status_code in {200, 201}, answer.text


@cache
def _contract() -> Contract:
    return Contract(create_app(Settings(provider="extractive")).openapi())


@asynccontextmanager
async def running_service(database_url: str, **settings: Any) -> AsyncIterator[Service]:
    """The whole service on a free port of this process, with these settings."""
    values: dict[str, Any] = {"http": {"access_log": False}, "engine": {"sweep_seconds": 0.1}} | settings
    if is_pooled(database_url):
        values["pool"] = {"prepared_statements": False} | values.get("pool", {})
    if is_as_role(database_url):
        values["row_level_security"] = True
    chosen = Settings(**values)
    app = create_app(chosen, Location(url=database_url, name="the tests' database"))
    # With IPPROTO_TCP, because asyncio sets TCP_NODELAY only then; Nagle's delay costs some 40 ms a request.
    listening = socket.socket(proto=socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    server = QuietServer(
        uvicorn.Config(
            app,
            log_config=None,
            timeout_graceful_shutdown=5,
            **connection_options(configured(ConnectionConfig, chosen.http)),
        )
    )
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        hooks = {"response": [_contract().check]}  # fails every test with an undocumented answer
        async with httpx.AsyncClient(base_url=url, timeout=60, event_hooks=hooks, verify=NO_TLS) as client:
            while not server.started and not serving.done():  # noqa: ASYNC110 - uvicorn offers no event
                await asyncio.sleep(0.01)
            yield Service(url, client, app)
    finally:
        server.end()
        await serving
        listening.close()


@pytest.fixture(scope="session")
def pooled_url(worker_url: str) -> Iterator[str]:
    """DSN of the worker's database behind PgBouncer in transaction mode."""
    with pooled(worker_url) as url:
        yield url


@pytest.fixture
def service_url(database_url: str, request: pytest.FixtureRequest) -> str:
    """DSN for the services under test."""
    url = str(request.getfixturevalue("pooled_url")) if request.config.getoption("--pooler") else database_url
    return as_role(url) if request.config.getoption("--row-level-security") else url


@pytest.fixture
def prepared_statements(service_url: str) -> None:
    """For tests of prepared statements: skips them behind the pooler, where none is prepared."""
    if is_pooled(service_url):
        pytest.skip("no statement is prepared behind a pooler")


@pytest.fixture
async def service(service_url: str) -> AsyncIterator[Service]:
    """The service with its defaults and the extractive memory."""
    async with running_service(service_url) as running:
        yield running


StartService = Callable[..., contextlib.AbstractAsyncContextManager[Service]]


@pytest.fixture
def start_service(service_url: str) -> StartService:
    """Start a service with the test's own settings: ``async with start_service(memory={...}) as service``."""

    def start(**settings: Any) -> contextlib.AbstractAsyncContextManager[Service]:
        return running_service(service_url, **settings)

    return start


@pytest.fixture
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the settings of whoever runs the tests from the environment."""
    for name in os.environ:
        if name.upper().startswith(PREFIX):
            monkeypatch.delenv(name)


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """The scripted model provider, with the variables of both SDKs set to it."""
    with ModelServer() as server:
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.fixture
def shared_data() -> Path:
    """The real conversations beside the project."""
    if not SHARED.is_dir():
        pytest.skip("the conversations of ../shared/data are not here")
    return SHARED
