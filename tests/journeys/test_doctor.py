"""``daybook doctor``: what it finds, what it advises, and that it mends."""

import asyncio
import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from app.commands.doctor import TROUBLED_MAX, Finding, Verdict, diagnose
from app.kit.errors import StartError
from app.locating import Location, opened
from app.settings import Settings
from tests.conftest import StartService
from tests.journeys.looks import until, until_stalled
from tests.journeys.processes import command, free_port, process, reachable_folder
from tests.journeys.talk import plain_talk
from tests.model_server import Fault, ModelServer

MISTAKES = 1

OFF = "fsync = off, full_page_writes = off"  # of the tests' server
SOUND = {
    "database": "ok",
    "migrations": "ok",
    "clock": "ok",
    "durability": "warning",
    "server log": "ok",
    "connections": "ok",
    "memories": "ok",
    "model": "warning",
}


def findings(*arguments: str, exit_code: int, **environment: str) -> dict[str, dict[str, str]]:
    ended = command("doctor", "--json", *arguments, environment=environment)
    assert ended.returncode == exit_code, ended.stderr + ended.stdout
    told = map(json.loads, ended.stdout.splitlines())
    return {finding["check"]: finding for finding in told}


def diagnosed(**settings: Any) -> dict[str, Finding]:
    """The same without a process of its own, for what depends on settings alone."""
    return {finding.check: finding for finding in diagnose(Settings(**settings), redrive=False)}


def test_a_sound_service_is_found_sound(database_url: str) -> None:
    found = findings(exit_code=0, DAYBOOK_DATABASE_URL=database_url)
    assert {check: finding["verdict"] for check, finding in found.items()} == SOUND


async def test_of_many_memories_that_fail_those_are_listed_that_failed_most_often(
    start_service: StartService, database_url: str
) -> None:
    many = TROUBLED_MAX + 2
    async with start_service(engine={"sweep_seconds": 600}, memory={"message_tokens": 10**6}) as service:
        for number in range(many):
            said = {"messages": [{"role": "user", "content": "Hello"}], "resource_id": "ana"}  # who shares no memory
            await service.client.post(f"/sessions/s{number}/messages", json=said)
        connection = await asyncpg.connect(database_url)
        await connection.execute(
            "UPDATE memories m SET due_at = now() + interval '1 hour', attempts = 1 + substr(key, 2)::int"
            " FROM sessions s WHERE s.memory_id = m.id"
        )
        await connection.close()
        found = await asyncio.to_thread(diagnosed, database_url=database_url)

    told = [check for check in found if check.startswith("memory of ")]
    assert told == [f"memory of s{number}" for number in reversed(range(2, many))]
    assert found["memories"].detail == "more than 20 fail; the rest is not listed"


async def test_statements_that_a_pooler_has_mixed_up_are_told_with_the_setting(database_url: str) -> None:
    database = Location(url=database_url, name="the tests' database")
    with pytest.raises(StartError, match=r"does not exist .*DAYBOOK_POOL__PREPARED_STATEMENTS=false"):
        async with opened(Settings(), database) as pool, pool.connection() as connection:
            await connection.execute("EXECUTE __asyncpg_stmt_1__")


def test_the_object_store_is_looked_at(database_url: str, tmp_path: Path) -> None:
    (tmp_path / "objects").mkdir()
    (tmp_path / "objects" / ".daybook").touch()
    found = diagnosed(database_url=database_url, artifacts={"url": f"file://{tmp_path}/objects"})
    assert found["object store"] == Finding(check="object store", verdict=Verdict.OK, detail="answers")


def test_an_object_store_that_is_away_is_told_with_the_reason(database_url: str) -> None:
    bucket = {"DAYBOOK_ARTIFACTS__URL": "s3://bucket/daybook", "AWS_ENDPOINT_URL": f"http://127.0.0.1:{free_port()}"}
    keys = {"AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none"}
    found = findings(exit_code=MISTAKES, DAYBOOK_DATABASE_URL=database_url, **bucket, **keys)
    assert found["object store"]["verdict"] == "wrong"
    assert "Error performing GET the URL" in found["object store"]["detail"]


def test_a_folder_that_may_be_not_mounted_is_told_and_not_taken_for_a_new_one(
    database_url: str, tmp_path: Path
) -> None:
    """Else the running service, for which it is away, would go on beneath the mount point."""
    for folder in (tmp_path, tmp_path / "objects"):
        found = diagnosed(database_url=database_url, artifacts={"url": f"file://{folder}"})
        assert found["object store"].verdict is Verdict.WARNING
    assert list(tmp_path.iterdir()) == []


def test_an_object_store_that_is_none_is_told_beside_what_is_sound(database_url: str) -> None:
    found = diagnosed(database_url=database_url, artifacts={"url": "foo://x"})
    assert found["database"].verdict is Verdict.OK
    assert found["object store"].verdict is Verdict.WRONG
    assert found["object store"].detail.startswith("DAYBOOK_ARTIFACTS__URL: ")
    assert "model" in found


def test_the_model_of_embeddings_is_asked_too(database_url: str, models: ModelServer) -> None:
    models.always = Fault.UNAUTHORIZED
    switched_on = {"DAYBOOK_DATABASE_URL": database_url, "DAYBOOK_EMBEDDINGS__PROVIDER": "openai"}
    environment = {"DAYBOOK_PROVIDER": "extractive", **models.environment(), **switched_on}
    found = findings(exit_code=MISTAKES, **environment)
    assert found["pgvector"]["verdict"] == "ok"
    assert found["embeddings by openai text-embedding-3-small"]["detail"].startswith("unauthorized")


def test_a_model_of_embeddings_that_has_to_be_loaded_first_is_no_mistake(
    database_url: str, models: ModelServer
) -> None:
    """As Ollama's: what is asked first may take as long as a passage may, and only then a query's time holds."""
    bounds = {"DAYBOOK_EMBEDDINGS__TIMEOUT_SECONDS": "60", "DAYBOOK_EMBEDDINGS__QUERY_SECONDS": "5"}
    switched_on = {"DAYBOOK_EMBEDDINGS__PROVIDER": "openai", "DAYBOOK_DATABASE_URL": database_url}
    environment = {"DAYBOOK_PROVIDER": "extractive", **switched_on, **bounds}
    found = findings(exit_code=0, **models.environment(), **environment)
    assert found["embeddings by openai text-embedding-3-small"]["verdict"] == "ok"
    assert [float(one.headers["x-stainless-read-timeout"]) for one in models.requests] == [60.0, 5.0]


def test_models_that_cannot_be_made_are_told_beside_what_is_sound(database_url: str) -> None:
    found = diagnosed(database_url=database_url, provider="scripted", model="/no/such/file")
    assert found["database"].verdict is Verdict.OK
    assert found["models"].verdict is Verdict.WRONG
    assert "/no/such/file" in found["models"].detail


def test_a_model_that_is_named_and_not_asked_is_told(database_url: str) -> None:
    found = findings(exit_code=0, DAYBOOK_DATABASE_URL=database_url, DAYBOOK_MODEL="gpt-9")
    assert found["DAYBOOK_MODEL"]["verdict"] == "warning"
    assert "not used" in found["DAYBOOK_MODEL"]["detail"]


def test_a_database_that_was_not_migrated_is_told_with_what_to_do(postgres: str) -> None:
    found = diagnosed(database_url=postgres)
    assert found["migrations"].verdict is Verdict.WRONG
    assert found["migrations"].advice == "run 'daybook migrate'"
    assert "has no tables" in found["migrations"].detail
    assert "daybook migrate" not in found["migrations"].detail
    assert "memories" not in found


def test_where_there_is_no_embedded_database_yet_none_is_made(tmp_path: Path) -> None:
    """A misspelt folder had a new cluster in it, of which 'migrate' was advised."""
    folder = tmp_path / "misspelt"
    found = findings("--data-dir", str(folder), exit_code=0)
    assert [(check, finding["verdict"]) for check, finding in found.items()] == [
        ("database", "warning"),
        ("model", "warning"),
    ]
    assert f"there is no database in {folder}" in found["database"]["detail"]
    for asked in (["keys", "list"], ["keys", "create"], ["export", "s1"]):
        ended = command(*asked, "--data-dir", str(folder), environment={})
        assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
        assert f"there is no database in {folder}" in ended.stderr
    assert not folder.exists()


def test_a_database_that_takes_no_writes_is_told(database_url: str) -> None:
    read_only = f"{database_url}&default_transaction_read_only=on"
    found = diagnosed(database_url=read_only, migrate="never")
    assert found["database"].verdict is Verdict.WRONG
    assert "accepts no writes" in found["database"].detail
    assert found["memories"].verdict is Verdict.OK


def test_a_server_that_logs_the_rows_it_refuses_is_told(database_url: str) -> None:
    found = findings(exit_code=0, DAYBOOK_DATABASE_URL=f"{database_url}&log_error_verbosity=default")
    assert found["server log"]["verdict"] == "warning"
    assert "log_error_verbosity = terse" in found["server log"]["advice"]


@pytest.mark.parametrize(("extra", "off"), [("", OFF), ("&synchronous_commit=off", f"{OFF}, synchronous_commit = off")])
def test_a_server_that_may_lose_what_it_acknowledged_is_told(database_url: str, extra: str, off: str) -> None:
    found = diagnosed(database_url=f"{database_url}{extra}")["durability"]
    assert (found.verdict, found.detail) == (Verdict.WARNING, f"{off} in Postgres")


def test_the_embedded_server_keeps_what_it_acknowledged() -> None:
    with reachable_folder() as folder:
        assert command("migrate", "--data-dir", str(folder / "data"), environment={}).returncode == 0
        found = findings("--data-dir", str(folder / "data"), exit_code=0)
    assert {check: finding["verdict"] for check, finding in found.items()} == SOUND | {"durability": "ok"}


def test_more_connections_than_the_server_has_are_told(database_url: str) -> None:
    found = diagnosed(database_url=database_url, workers=100, pool={"max": 100})["connections"]
    assert found.verdict is Verdict.WARNING
    assert found.detail.startswith("the service opens 10000 at most")
    behind_a_pooler = {"max": 100, "prepared_statements": False}
    assert "connections" not in diagnosed(database_url=database_url, workers=100, pool=behind_a_pooler)


async def test_the_connections_of_a_role_are_compared_too(database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    role = f"limited_{uuid4().hex}"
    await connection.execute(f"CREATE ROLE {role} LOGIN CONNECTION LIMIT 9 IN ROLE pg_read_all_data, pg_write_all_data")
    try:
        found = findings(exit_code=0, DAYBOOK_DATABASE_URL=database_url.replace("postgres@", f"{role}@", 1))
    finally:
        await connection.execute(f"DROP ROLE {role}")
        await connection.close()
    assert found["connections"]["detail"] == "the service opens 10 at most, this role and database may have 9"


def test_a_database_that_is_not_there_is_told(postgres: str) -> None:
    absent = postgres.replace("/postgres?", "/absent?", 1)
    assert list(diagnosed(database_url=absent)) == ["database"]


async def test_a_role_that_may_read_nothing_is_told_and_what_it_was_refused(database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    role = f"refused_{uuid4().hex}"
    await connection.execute(f"CREATE ROLE {role} LOGIN")
    environment = {"DAYBOOK_DATABASE_URL": database_url.replace("postgres@", f"{role}@", 1)}
    try:
        found = findings(exit_code=MISTAKES, **environment)
        for refused in (["keys", "list"], ["export", "s1"]):
            ended = command(*refused, environment=environment)
            assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
            assert "permission denied for table" in ended.stderr
    finally:
        await connection.execute(f"DROP ROLE {role}")
        await connection.close()
    assert found["database"]["verdict"] == "wrong"
    assert "permission denied for table" in found["database"]["detail"]


async def test_a_memory_that_sessions_share_is_told_once_by_its_resource(database_url: str) -> None:
    environment = {"DAYBOOK_DATABASE_URL": database_url, "DAYBOOK_PROVIDER": "extractive"}
    async with process(environment) as service:
        for key in ("s1", "s2"):
            shared = {"resource_id": "ana", "config": {"scope": "resource"}}
            assert (await service.client.put(f"/sessions/{key}", json=shared)).status_code == 201
    connection = await asyncpg.connect(database_url)
    failed = """UPDATE memories SET attempts = 1, due_at = now() + interval '1 day',
      last_error = '{"step": "observe", "kind": "timeout", "message": "late"}'"""
    assert await connection.execute(failed) == "UPDATE 1"
    await connection.close()

    found = findings(exit_code=0, **environment)

    told = [finding for check, finding in found.items() if check.startswith("memory of ")]
    assert [(one["check"], one["detail"]) for one in told] == [
        ("memory of resource ana", "backing off after 1: observe: timeout: late")
    ]


async def test_a_stalled_memory_is_told_and_redriven(database_url: str, models: ModelServer) -> None:
    environment = {"DAYBOOK_DATABASE_URL": database_url, "DAYBOOK_PROVIDER": "openai", **models.environment()}
    models.always = Fault.UNAUTHORIZED
    async with process(environment) as service:
        await service.append("s", *plain_talk(4))
        await service.client.post("/sessions/s/memory/observe", params={"wait_ms": 0})
        await until_stalled(service, database_url, "s")
        models.always = None
        found = findings(exit_code=MISTAKES, **environment)
        assert "stalled" in found["memory of s"]["detail"]
        findings("--redrive", exit_code=MISTAKES, **environment)
        memory = await until(lambda: service.memory("s"), lambda memory: memory["cursor"]["observed_seq"] > 0)
    assert memory["attempts"] == 0
    found = findings(exit_code=0, **environment)
    assert found["memories"]["verdict"] == "ok"
