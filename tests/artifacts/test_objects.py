"""Artifacts whose bytes lie in an object store: here a folder."""

import asyncio
import contextlib
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from app.artifacts.objects import MARK, open_objects
from app.artifacts.store import ArtifactStore
from app.artifacts.sweeping import SweepConfig, Sweeping
from app.kit.errors import StartError, Unavailable
from app.sessions.store import session_id
from tests.conftest import Service, StartService
from tests.connections import listening
from tests.journeys.processes import PROJECT, process

REPORT = "/sessions/s1/artifacts/report.csv"
TEXT = b"city,people\nLisbon,545000\n"
SESSION = session_id("default", "s1")
SOON_SECONDS = 10.0  # a call of a store that hangs takes longer


def started(
    start_service: StartService, folder: Path, **artifacts: Any
) -> contextlib.AbstractAsyncContextManager[Service]:
    return start_service(artifacts={"url": f"file://{folder}/objects", **artifacts})


def objects_in(folder: Path) -> list[Path]:
    return [path for path in (folder / "objects").rglob("*") if path.is_file() and path.name != MARK]


async def put(service: Service, content: bytes = TEXT, path: str = REPORT) -> int:
    return (await service.client.put(path, content=content)).status_code


async def rows(service: Service) -> list[Any]:
    async with service.app.state.database.connection() as connection:
        found: list[Any] = await connection.fetch("SELECT * FROM artifacts ORDER BY name, version")
        return found


async def test_the_bytes_are_in_the_store_and_not_in_the_database(start_service: StartService, tmp_path: Path) -> None:
    async with started(start_service, tmp_path) as service:
        await service.configure("s1")
        assert await put(service) == 201
        [row] = await rows(service)
        [stored] = objects_in(tmp_path)
        assert row["content"] is None
        assert str(stored).endswith(row["object_key"])
        assert stored.read_bytes() == TEXT == (await service.client.get(REPORT)).content
        answer = await service.client.post(f"{REPORT}/grep", json={"pattern": "Lisbon"})
        assert [match["line"] for match in answer.json()["matches"]] == [2]
        assert await service.app.state.artifacts.texts(SESSION, {"report.csv": "/system/0"}) == {
            "report.csv": TEXT.decode()
        }
        assert (await put(service, b""), (await service.client.get(REPORT)).content) == (201, b"")


async def test_a_range_is_the_slice_of_its_bytes(start_service: StartService, tmp_path: Path) -> None:
    async with started(start_service, tmp_path) as service:
        await service.configure("s1")
        await put(service)
        for first, last in ((0, 0), (0, 100), (5, 9), (len(TEXT) - 1, len(TEXT))):
            answer = await service.client.get(REPORT, headers={"Range": f"bytes={first}-{last}"})
            assert (answer.status_code, answer.content) == (206, TEXT[first : last + 1])


async def test_what_is_not_kept_leaves_no_object(start_service: StartService, tmp_path: Path) -> None:
    async with started(start_service, tmp_path, versions_max=1) as service:
        assert await put(service) == 404
        await service.configure("s1")
        assert [await put(service), await put(service), await put(service, b"other")] == [201, 200, 413]
        assert len(objects_in(tmp_path)) == 1


async def test_a_put_that_was_refused_leaves_no_object(start_service: StartService, tmp_path: Path) -> None:
    async with started(start_service, tmp_path) as service:
        await service.configure("s1")
        assert await put(service) == 201
        for name, expected in (("If-None-Match", "*"), ("If-Match", '"other"')):
            answer = await service.client.put(REPORT, content=b"other", headers={name: expected})
            assert answer.status_code == 412
        assert len(objects_in(tmp_path)) == 1


async def test_a_deletion_takes_the_objects_too(start_service: StartService, tmp_path: Path) -> None:
    async with started(start_service, tmp_path) as service:
        await service.configure("s1")
        for content in (b"1", b"2", b""):
            await put(service, content)
        assert len(objects_in(tmp_path)) == 3
        await service.client.delete(REPORT)
        assert objects_in(tmp_path) == []


@pytest.mark.parametrize("path", ["/sessions/s1", "/resources/ana"])
async def test_the_deletion_of_a_session_takes_its_objects_and_no_other(
    start_service: StartService, tmp_path: Path, path: str
) -> None:
    async with started(start_service, tmp_path) as service:
        for key, resource in (("s1", "ana"), ("s2", "bob")):
            await service.client.put(f"/sessions/{key}", json={"resource_id": resource})
            for content in (b"1", b"2"):
                await service.client.put(f"/sessions/{key}/artifacts/report.csv", content=content)
        assert len(objects_in(tmp_path)) == 4
        assert (await service.client.delete(path)).status_code == 200
        assert {stored.read_bytes() for stored in objects_in(tmp_path)} == {b"1", b"2"}
        left = await rows(service)
        assert sorted(str(stored) for stored in objects_in(tmp_path)) == sorted(
            str(tmp_path / "objects" / row["object_key"]) for row in left
        )


async def test_a_session_is_deleted_while_its_objects_cannot_be_and_those_are_left_to_the_sweep(
    start_service: StartService, tmp_path: Path
) -> None:
    async with started(start_service, tmp_path) as service:
        await service.configure("s1")
        await put(service)
        (tmp_path / "objects").rename(tmp_path / "away")
        answer = await service.client.delete("/sessions/s1")
        (tmp_path / "away").rename(tmp_path / "objects")
        assert (answer.status_code, await rows(service)) == (200, [])
        assert len(objects_in(tmp_path)) == 1
        assert await sweeping(service, tmp_path, seconds_later=3_700).sweep() == 1
        assert objects_in(tmp_path) == []


async def test_the_same_bytes_under_two_names_are_deleted_apart(start_service: StartService, tmp_path: Path) -> None:
    async with started(start_service, tmp_path) as service:
        await service.configure("s1")
        other = "/sessions/s1/artifacts/copy"
        await asyncio.gather(put(service), put(service, path=other))
        await service.client.delete(REPORT)
        assert (await service.client.get(other)).content == TEXT


async def test_what_was_kept_before_in_the_database_is_still_read(start_service: StartService, tmp_path: Path) -> None:
    async with start_service() as service:
        await service.configure("s1")
        await put(service, b"in the database")
    async with started(start_service, tmp_path) as service:
        await put(service)
        assert (await service.client.get(f"{REPORT}?version=1")).content == b"in the database"
    async with start_service() as service:
        answer = await service.client.get(REPORT)
        assert (answer.status_code, answer.json()["type"]) == (503, "/problems/unavailable")
        assert answer.headers["retry-after"] == "1"
        assert "DAYBOOK_ARTIFACTS__URL" in answer.json()["detail"]


@pytest.mark.parametrize("path", [REPORT, "/sessions/s1"])
async def test_what_was_kept_before_in_the_database_goes_with_what_is_in_the_store(
    start_service: StartService, tmp_path: Path, path: str
) -> None:
    async with start_service() as service:
        await service.configure("s1")
        await put(service, b"in the database")
    async with started(start_service, tmp_path) as service:
        await put(service)
        assert (await service.client.delete(path)).status_code == 200
        assert objects_in(tmp_path) == []
        assert (await service.client.get(REPORT)).status_code == 404


async def test_bytes_that_are_gone_from_the_store_are_not_found(start_service: StartService, tmp_path: Path) -> None:
    async with started(start_service, tmp_path) as service:
        await service.configure("s1")
        await put(service)
        objects_in(tmp_path)[0].unlink()
        answer = await service.client.get(REPORT)
        assert (answer.status_code, answer.json()["type"]) == (404, "/problems/artifact-not-found")
        texts = await service.app.state.artifacts.texts(SESSION, {"report.csv": "/system/0"})
        assert texts == {"report.csv": ""}


async def test_a_call_leaves_its_place_to_the_next(tmp_path: Path) -> None:
    objects = open_objects(f"file://{tmp_path}", concurrency=1)
    keys = [await objects.write(SESSION, content) for content in (b"a", b"b")]
    assert [await objects.read(key, 0, 1) for key in keys] == [b"a", b"b"]


async def test_of_an_object_that_was_cut_nothing_is_answered(start_service: StartService, tmp_path: Path) -> None:
    async with started(start_service, tmp_path) as service:
        await service.configure("s1")
        await put(service)
        [kept] = objects_in(tmp_path)
        kept.write_bytes(TEXT[:-1])
        whole = await service.client.get(REPORT)
        inside = await service.client.get(REPORT, headers={"Range": "bytes=1-3"})
    assert (whole.status_code, whole.json()["type"]) == (503, "/problems/unavailable")
    assert (inside.status_code, inside.content) == (206, TEXT[1:4])


async def test_a_folder_that_is_not_mounted_is_away_and_what_is_in_it_comes_back(
    start_service: StartService, tmp_path: Path
) -> None:
    """Its mount point is an empty folder then: nothing is put there, nothing is told to be gone, no branch lacks it."""
    async with started(start_service, tmp_path) as service:
        await service.append("s1", {"role": "user", "content": "Look at the report."})
        await put(service)
        (tmp_path / "objects").rename(tmp_path / "away")
        (tmp_path / "objects").mkdir()
        told = [
            await service.client.get(REPORT),
            await service.client.put(REPORT, content=TEXT),
            await service.client.post("/sessions/s1/branch", json={"key": "s2"}),
        ]
        assert objects_in(tmp_path) == []
        (tmp_path / "objects").rmdir()
        (tmp_path / "away").rename(tmp_path / "objects")
        assert (await service.client.get(REPORT)).content == TEXT
        assert len(await rows(service)) == 1
    assert [answer.status_code for answer in told] == [503] * 3


async def test_a_folder_that_has_something_in_it_is_in_use_though_it_has_no_mark_yet(tmp_path: Path) -> None:
    """As that of an older version, from which a session is exported."""
    url = f"file://{tmp_path}"
    key = await open_objects(url).write(SESSION, TEXT)
    (tmp_path / MARK).unlink()
    assert await open_objects(url, begins=False).read(key, 0, len(TEXT)) == TEXT


BUCKET = "s3://bucket/daybook"


def bucket_at(port: int) -> dict[str, str]:
    """The variables of a store that is asked there."""
    return {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "none",
        "AWS_SECRET_ACCESS_KEY": "none",
    }


@contextlib.asynccontextmanager
async def bucket(monkeypatch: pytest.MonkeyPatch, status: str, body: str = "") -> AsyncIterator[list[bytes]]:
    """A store that answers so to whatever it is asked, and the heads of what that was."""
    asked: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write((head + body).encode())

    async with listening(answer) as port:
        for name, value in bucket_at(port).items():
            monkeypatch.setenv(name, value)
        yield asked


async def test_a_bucket_beside_the_service_is_asked_by_http(
    start_service: StartService, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bucket(monkeypatch, "403 Forbidden") as asked, start_service(artifacts={"url": BUCKET}) as service:
        await service.configure("s1")
        assert (await service.client.put(REPORT, content=TEXT)).status_code == 503
    assert asked[0].startswith(b"PUT /bucket/daybook/")


@pytest.mark.parametrize(("code", "away"), [("NoSuchBucket", True), ("ContainerNotFound", True), ("NoSuchKey", False)])
async def test_a_bucket_that_is_not_there_is_away_and_no_object_is_gone(
    start_service: StartService, monkeypatch: pytest.MonkeyPatch, code: str, *, away: bool
) -> None:
    async with bucket(monkeypatch, "404 Not Found", code):
        async with start_service(artifacts={"url": BUCKET}) as service:
            await service.configure("s1")
            assert "object store" in (await service.client.put(REPORT, content=TEXT)).json()["detail"]
        objects = open_objects(BUCKET)
        with pytest.raises(Unavailable) if away else contextlib.nullcontext():
            assert await objects.read("key", 0, 1) is None
        with pytest.raises(Unavailable) if away else contextlib.nullcontext():
            assert await objects.copy("key", SESSION) is None


async def test_a_store_that_hangs_holds_up_nothing_but_artifacts(database_url: str) -> None:
    """More calls of it than the interpreter has threads for all that is done beside the event loop."""
    long = {"role": "user", "content": "The heron stood in the rain. " * 4_000}
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        environment = {
            **bucket_at(deaf.getsockname()[1]),
            "DAYBOOK_DATABASE_URL": database_url,
            "DAYBOOK_MIGRATE": "never",
            "DAYBOOK_ARTIFACTS__URL": BUCKET,
        }
        async with process(environment) as service:
            await service.append("s1", long)
            puts = [asyncio.create_task(service.client.put(f"{REPORT}-{number}", content=TEXT)) for number in range(40)]
            call, _ = await asyncio.to_thread(deaf.accept)
            await asyncio.wait_for(service.append("s1", long), SOON_SECONDS)
            found = service.client.post("/sessions/s1/recall", json={"query": "heron"})
            assert (await asyncio.wait_for(found, SOON_SECONDS)).json()["hits"]
            assert not any(put.done() for put in puts)
            call.close()
            await service.kill()
            await asyncio.gather(*puts, return_exceptions=True)


async def test_a_store_that_cannot_be_reached_is_unavailable(
    start_service: StartService, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        for name, value in bucket_at(closed.getsockname()[1]).items():
            monkeypatch.setenv(name, value)
        async with start_service(artifacts={"url": BUCKET}) as service:
            await service.configure("s1")
            answer = await service.client.put(REPORT, content=TEXT)
            assert (answer.status_code, answer.json()["type"]) == (503, "/problems/unavailable")
            assert answer.headers["retry-after"] == "1"
            assert await rows(service) == []


@pytest.mark.parametrize(
    "url",
    [
        "nowhere",
        "ftp://host/x",
        "ftp://daybook:opensesame@host",
        "FTP://daybook:opensesame@host",
        "file://relative",
        "file:///proc/none/x",
        "http://daybook:opensesame@host/x",
        "https://host/x",
        "memory:///x",
    ],
)
def test_what_is_no_url_of_a_store_stops_the_start_with_one_line(url: str) -> None:
    with pytest.raises(StartError, match="DAYBOOK_ARTIFACTS__URL") as raised:
        open_objects(url)
    assert "\n" not in str(raised.value)
    assert "opensesame" not in str(raised.value)


# The sweep


class Later:
    """A clock that is ahead."""

    def __init__(self, seconds: float) -> None:
        self._ahead = timedelta(seconds=seconds)

    async def now(self) -> datetime:
        return datetime.now(UTC) + self._ahead


def sweeping(service: Service, folder: Path, *, seconds_later: float) -> Sweeping:
    return Sweeping(
        objects=open_objects(f"file://{folder}/objects"),
        store=ArtifactStore(service.app.state.database),
        now=Later(seconds_later).now,
        config=SweepConfig(),
    )


async def test_objects_that_no_artifact_has_are_deleted_once_they_are_old(
    start_service: StartService, tmp_path: Path
) -> None:
    async with started(start_service, tmp_path) as service:
        await service.configure("s1")
        await put(service)
        [kept] = objects_in(tmp_path)
        orphan = await open_objects(f"file://{tmp_path}/objects").write(SESSION, b"of a put that died")
        foreign = tmp_path / "objects" / "not-ours.txt"
        foreign.write_text("somebody else's")
        assert await sweeping(service, tmp_path, seconds_later=3_500).sweep() == 0
        assert await sweeping(service, tmp_path, seconds_later=3_700).sweep() == 1
        assert set(objects_in(tmp_path)) == {kept, foreign}
        assert not (tmp_path / "objects" / orphan).exists()


# Killed by the system with half of the bytes written, as by kill -9.
KILLED = """
import asyncio, resource, signal, sys
from uuid import UUID
from app.artifacts.objects import open_objects
objects = open_objects(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000))
asyncio.run(objects.write(UUID(sys.argv[2]), b"secret" * 1_000))
"""


async def test_what_a_put_that_was_killed_had_written_goes_with_the_sweep(
    start_service: StartService, tmp_path: Path
) -> None:
    async with started(start_service, tmp_path) as service:
        await service.configure("s1")
        await put(service)
        [kept] = objects_in(tmp_path)
        foreign = tmp_path / "objects" / "not-ours" / "a#1"
        foreign.parent.mkdir()
        foreign.write_text("somebody else's")
        arguments = (sys.executable, "-c", KILLED, f"file://{tmp_path}/objects", str(SESSION))
        died = await asyncio.to_thread(subprocess.run, arguments, cwd=PROJECT, check=False)
        assert died.returncode == -signal.SIGXFSZ
        [torn] = set(objects_in(tmp_path)) - {kept, foreign}
        assert b"secret" in torn.read_bytes()
        assert await sweeping(service, tmp_path, seconds_later=3_500).sweep() == 0
        assert torn.exists()
        assert await sweeping(service, tmp_path, seconds_later=3_700).sweep() == 1
        assert set(objects_in(tmp_path)) == {kept, foreign}


async def test_the_objects_of_an_erased_session_go_with_the_sweep(
    start_service: StartService, tmp_path: Path, database_url: str
) -> None:
    async with started(start_service, tmp_path, sweep_seconds=1, orphan_seconds=1) as service:
        await service.configure("s1")
        await put(service)
        connection = await asyncpg.connect(database_url)
        await connection.execute("DELETE FROM artifacts")
        await connection.close()
        async with asyncio.timeout(20):
            while objects_in(tmp_path):  # noqa: ASYNC110 - a folder tells of no change
                await asyncio.sleep(0.05)
