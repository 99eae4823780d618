"""What is around the code: locks, Makefile, image and compose file. Nothing here builds an image or needs a network."""

import asyncio
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from app.settings import Settings
from tests.conftest import Service
from tests.journeys.processes import free_port

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKS = {
    "requirements-build.lock": PROJECT["dependency-groups"]["build"],
    "requirements.lock": PROJECT["project"]["dependencies"],
    "requirements-dev.lock": PROJECT["project"]["dependencies"] + PROJECT["dependency-groups"]["dev"],
    "requirements-bench.lock": PROJECT["dependency-groups"]["bench"],
}


def pins(lock: str) -> dict[str, str]:
    """Package to version; a package with several (by environment markers) keeps the first."""
    found = re.findall(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^\s;\\]+)", (ROOT / lock).read_text(), re.MULTILINE)
    return {canonicalize_name(name): version for name, version in reversed(found)}


def dockerfile(instruction: str) -> list[str]:
    """The arguments of each such instruction, continuation lines joined."""
    text = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text())
    return [line.partition(" ")[2] for line in text.splitlines() if line.startswith(f"{instruction} ")]


def image_environment() -> dict[str, str]:
    return dict(pair.split("=", 1) for line in dockerfile("ENV") for pair in shlex.split(line))


@pytest.fixture(name="compose", scope="module")
def _compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return document


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_pins_every_dependency_of_the_project_within_its_bounds(lock: str) -> None:
    locked = pins(lock)
    for requirement in map(Requirement, LOCKS[lock]):
        assert requirement.specifier.contains(locked[canonicalize_name(requirement.name)]), requirement


@pytest.mark.parametrize("lock", LOCKS)
def test_every_pin_carries_hashes_and_no_lock_names_a_host(lock: str) -> None:
    text = (ROOT / lock).read_text()

    assert all("--hash=sha256:" in block for block in re.split(r"^(?=\w)", text, flags=re.MULTILINE)[1:])
    assert "://" not in text
    assert "index" not in re.sub(r"^ *#.*", "", text, flags=re.MULTILINE)


def test_the_tests_run_on_the_versions_that_are_served() -> None:
    assert pins("requirements.lock").items() <= pins("requirements-dev.lock").items()


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["run"], ".venv/bin/daybook serve"),
        (["run", "PORT=9000"], ".venv/bin/daybook serve --port 9000"),
        (["test"], ".venv/bin/python -m pytest -n auto --dist worksteal"),
        (["check"], ".venv/bin/lint-imports"),
        (["bench", "ARGS=--no-write"], ".venv/bin/python -m benchmarks.speed --no-write"),
        (["bench-cache", "ARGS=--all"], ".venv/bin/python -m benchmarks.cache --all"),
        (["eval", "ARGS=--no-write"], ".venv/bin/python -m benchmarks.quality --no-write"),
    ],
)
def test_make_ends_in_the_command_of_the_one_venv(arguments: list[str], command: str) -> None:
    from_outer_make = {"PORT", "ARGS", "AGAIN", "MAKEFLAGS", "MAKEOVERRIDES", "MAKELEVEL", "MFLAGS"}
    environment = {name: value for name, value in os.environ.items() if name not in from_outer_make}

    told = subprocess.run(
        ["make", "--dry-run", *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )

    assert re.search(rf"(^|\s){re.escape(command)}\s*$", told.stdout, re.MULTILINE), told.stdout


@pytest.mark.parametrize("script", ["exit 1", None], ids=["too old", "absent"])
def test_make_sets_nothing_up_with_an_interpreter_that_cannot_be_used(tmp_path: Path, script: str | None) -> None:
    """The environment of an old one stayed, and was taken for that of the newer one named next."""
    for name in ("Makefile", "requirements-build.lock"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    python = tmp_path / "python"
    if script is not None:
        python.write_text(f"#!/bin/sh\n{script}\n")
        python.chmod(0o755)

    told = subprocess.run(
        ["make", f"PYTHON={python}", ".venv/build.stamp"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert told.returncode == 2
    assert told.stderr.startswith("Daybook needs Python 3.11 or later; name one with PYTHON=\n")
    assert not (tmp_path / ".venv").exists()


def test_ci_can_be_started() -> None:
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_the_console_script_names_a_function() -> None:
    from app import cli

    assert PROJECT["project"]["scripts"]["daybook"] == "app.cli:main"
    assert callable(cli.main)


def test_the_compose_file_is_valid_by_the_compose_specification(compose: dict[str, Any]) -> None:
    schema = files("check_jsonschema").joinpath("builtin_schemas/vendor/compose-spec.json").read_text()

    jsonschema.validate(compose, json.loads(schema))


def test_the_compose_file_asks_for_a_key_and_has_no_default_for_it(compose: dict[str, Any]) -> None:
    key = compose["services"]["daybook"]["environment"]["DAYBOOK_BOOTSTRAP_KEY"]

    assert key.startswith("${DAYBOOK_BOOTSTRAP_KEY:?")


def test_the_service_waits_for_the_database_it_is_pointed_at(compose: dict[str, Any]) -> None:
    service, database = compose["services"]["daybook"], compose["services"]["postgres"]
    url = urlsplit(service["environment"]["DAYBOOK_DATABASE_URL"])
    given = database["environment"]

    assert service["depends_on"] == {url.hostname: {"condition": "service_healthy"}}
    assert database["healthcheck"]["test"][1].startswith("pg_isready")
    assert (url.username, url.password, url.path) == (
        given["POSTGRES_USER"],
        given["POSTGRES_PASSWORD"],
        f"/{given['POSTGRES_DB']}",
    )


def test_the_service_has_the_time_to_end_that_it_takes(compose: dict[str, Any]) -> None:
    """For the open requests, and then for a running step."""
    given = compose["services"]["daybook"]["stop_grace_period"]

    assert float(given.removesuffix("s")) > 2 * (Settings().engine.grace_seconds + 1)


def test_every_named_volume_is_declared_and_used(compose: dict[str, Any]) -> None:
    used = {volume.split(":")[0] for service in compose["services"].values() for volume in service.get("volumes", ())}

    assert used == set(compose["volumes"])


def test_image_and_compose_file_agree_on_one_port(compose: dict[str, Any]) -> None:
    port = image_environment()["DAYBOOK_PORT"]

    assert dockerfile("EXPOSE") == [port]
    assert [published.split(":")[-1] for published in compose["services"]["daybook"]["ports"]] == [port]


def test_image_and_compose_file_name_only_settings_there_are(compose: dict[str, Any]) -> None:
    names = {*image_environment(), *compose["services"]["daybook"]["environment"]}
    settings = {name.removeprefix("DAYBOOK_").lower() for name in names if name.startswith("DAYBOOK_")}

    assert settings <= set(Settings.model_fields)


def test_the_image_copies_what_exists_and_its_context_lets_it_in() -> None:
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {
        source for line in dockerfile("COPY") if not line.startswith("--from") for source in shlex.split(line)[:-1]
    }

    assert copied == allowed
    assert [source for source in sorted(copied) if not (ROOT / source).exists()] == []


def test_the_image_can_be_built_with_extras_that_there_are() -> None:
    """The service in it asked for an extra by a command that the image does not have: its environment has no pip."""
    documented = re.findall(r"--build-arg EXTRAS=([a-z,-]+)", (ROOT / "docs/operations.md").read_text())

    assert dockerfile("ARG") == ["EXTRAS="]
    assert any(line.endswith('-e ".[$EXTRAS]"') for line in dockerfile("RUN"))
    assert documented
    assert set(",".join(documented).split(",")) <= PROJECT["project"]["optional-dependencies"].keys()


def test_the_image_does_not_run_as_root() -> None:
    assert dockerfile("USER") == ["daybook"]


async def test_the_image_is_healthy_where_the_service_is_ready_on_whatever_port(service: Service) -> None:
    _, check = dockerfile("HEALTHCHECK")[0].split(" CMD ")
    port = service.url.rpartition(":")[2]
    for asked, expected in ((port, 0), (str(free_port()), 1)):
        # Docker hands its client's proxy on to containers.
        proxy = {"http_proxy": f"http://127.0.0.1:{free_port()}", "no_proxy": ""}
        environment = os.environ | proxy | {"DAYBOOK_PORT": asked}
        ended = await asyncio.create_subprocess_exec(
            sys.executable, *json.loads(check)[1:], env=environment, stderr=asyncio.subprocess.DEVNULL
        )
        assert await ended.wait() == expected
