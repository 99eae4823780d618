"""A branch has its parent's artifacts as they were at its moment, in bytes of its own (docs/decisions/0024)."""

import asyncio
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from tests.artifacts.test_objects import objects_in, put, rows, sweeping
from tests.conftest import Service, StartService
from tests.sessions.test_routes import said
from tests.test_problems import assert_problem

PLAN, BRANCHED = "/sessions/s1/artifacts/plan", "/sessions/s2/artifacts/plan"


@pytest.fixture(params=["in-the-database", "in-an-object-store"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    return {"url": f"file://{tmp_path}/objects"} if request.param == "in-an-object-store" else {}


async def branch(service: Service, **body: Any) -> httpx.Response:
    return await service.client.post("/sessions/s1/branch", json={"key": "s2", **body})


async def contents(service: Service, path: str) -> list[bytes]:
    """Of every version, newest first."""
    listed = (await service.get(f"{path}/versions"))["items"]
    return [(await service.client.get(path, params={"version": one["version"]})).content for one in listed]


async def begun(service: Service) -> None:
    """Two versions before the second message, and a third after it."""
    await service.client.put("/sessions/s1", json={"resource_id": "user-1"})
    await service.append("s1", said("Here is the plan."))
    for content in (b"first", b"second"):
        await put(service, content, PLAN)
    await service.append("s1", said("Here is another."))
    await put(service, b"third", PLAN)


async def test_a_branch_has_every_version_that_was_there_at_its_moment(
    start_service: StartService, kept: dict[str, Any]
) -> None:
    async with start_service(artifacts=kept) as service:
        await begun(service)
        assert (await branch(service, at_seq=1)).status_code == 201
        assert (await branch(service, key="s3")).status_code == 201
        assert await contents(service, BRANCHED) == [b"second", b"first"]
        assert await contents(service, "/sessions/s3/artifacts/plan") == [b"third", b"second", b"first"]
        assert (await service.client.post("/sessions/s3/branch", json={"key": "s4", "at_seq": 1})).status_code == 201
        assert await contents(service, "/sessions/s4/artifacts/plan") == [b"second", b"first"]


async def test_a_branch_has_nothing_of_what_was_deleted_before(
    start_service: StartService, kept: dict[str, Any]
) -> None:
    async with start_service(artifacts=kept) as service:
        await begun(service)
        await service.client.delete(PLAN)
        assert (await branch(service)).status_code == 201
        assert_problem(await service.client.get(BRANCHED), 404, "artifact-not-found")
        await put(service, b"anew", BRANCHED)
        assert await contents(service, BRANCHED) == [b"anew"]


async def test_a_branch_has_no_version_whose_object_is_lost(start_service: StartService, tmp_path: Path) -> None:
    async with start_service(artifacts={"url": f"file://{tmp_path}/objects"}) as service:
        await begun(service)
        [lost] = [path for path in objects_in(tmp_path) if path.read_bytes() == b"second"]
        lost.unlink()
        assert (await branch(service)).status_code == 201
        assert await contents(service, BRANCHED) == [b"third", b"first"]


async def test_what_is_deleted_or_put_in_one_is_not_in_the_other(
    start_service: StartService, kept: dict[str, Any], tmp_path: Path
) -> None:
    async with start_service(artifacts=kept) as service:
        await begun(service)
        await branch(service)
        await put(service, b"of the branch", BRANCHED)
        await service.client.delete(PLAN)
        assert_problem(await service.client.get(PLAN), 404, "artifact-not-found")
        assert await contents(service, BRANCHED) == [b"of the branch", b"third", b"second", b"first"]
        assert (await service.client.delete("/sessions/s1")).status_code == 200
        if kept:
            assert await sweeping(service, tmp_path, seconds_later=3_700).sweep() == 0
        assert await contents(service, BRANCHED) == [b"of the branch", b"third", b"second", b"first"]


async def test_the_erasure_of_their_resource_takes_the_bytes_of_both(
    start_service: StartService, kept: dict[str, Any], tmp_path: Path
) -> None:
    async with start_service(artifacts=kept) as service:
        await begun(service)
        await branch(service)
        assert (await service.client.delete("/resources/user-1")).json()["rows"]["artifacts"] == 6
        if kept:
            await sweeping(service, tmp_path, seconds_later=3_700).sweep()
        assert await rows(service) == []
        assert objects_in(tmp_path) == []


async def test_more_bytes_than_may_be_copied_are_refused_and_no_branch_is_made(
    start_service: StartService, kept: dict[str, Any], tmp_path: Path
) -> None:
    async with start_service(artifacts=kept, sessions={"branch_artifact_bytes_max": 11}) as service:
        await begun(service)
        if kept:
            (tmp_path / "objects").rename(tmp_path / "away")  # it is not asked for what is refused
        assert_problem(await branch(service), 413, "too-large")
        if kept:
            (tmp_path / "away").rename(tmp_path / "objects")
        assert_problem(await service.client.get("/sessions/s2"), 404, "session-not-found")
        assert (await branch(service, at_seq=1)).status_code == 201  # 5 and 6 bytes


async def test_a_branch_that_is_refused_leaves_no_copies(start_service: StartService, tmp_path: Path) -> None:
    limits = {"branch_messages_max": 2}
    async with start_service(artifacts={"url": f"file://{tmp_path}/objects"}, sessions=limits) as service:
        await begun(service)
        await branch(service)
        assert_problem(await branch(service), 409, "session-exists")
        assert_problem(await branch(service, key="s3", at_seq=99), 422, "invalid")
        await service.append("s1", said("And a third."))
        assert_problem(await branch(service, key="s3"), 413, "too-large")
        assert len(objects_in(tmp_path)) == 6


async def test_of_branches_that_are_made_at_once_under_one_key_one_leaves_copies(
    start_service: StartService, tmp_path: Path
) -> None:
    async with start_service(artifacts={"url": f"file://{tmp_path}/objects"}) as service:
        await begun(service)
        made = await asyncio.gather(*(branch(service) for _ in range(4)))
        assert sorted(answer.status_code for answer in made) == [201, 409, 409, 409]
        assert len(objects_in(tmp_path)) == 6
        assert await contents(service, BRANCHED) == [b"third", b"second", b"first"]
