"""schemathesis holds the running service against its OpenAPI document: no 5xx, no undocumented status or shape.

A part of it in the suite; all phases at length with LONG=1 (`make schemathesis`).
"""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from tests.conftest import Service, StartService

KEY = "a key of sixteen or more"
CONFIG = Path(__file__).with_name("schemathesis.toml")
LONG = "LONG" in os.environ
ALL = ("--phases", "examples,coverage,fuzzing,stateful")
PART = ("--phases", "examples,fuzzing", "--max-examples", "1", "--no-shrink")
AUTHORIZED = ("--header", f"Authorization: Bearer {KEY}")
# Without a key an answer cannot tell whether the request was one of the schema's.
REFUSED = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"

at_length = pytest.mark.skipif(not LONG, reason="LONG=1 (make schemathesis)")


async def schemathesis(service: Service, folder: Path, *options: str, config: Path | None = CONFIG) -> str:
    """What it tells in the end. The document is read from a file, as it is behind the key."""
    document = folder / "openapi.json"
    document.write_text(json.dumps(service.app.openapi()))
    configured = () if config is None else ("--config-file", config)
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("schemathesis"),
        *configured,
        "run",
        document,
        "--url",
        service.url,
        *options,
        "--no-color",
        "--continue-on-failure",
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    told, _ = await process.communicate()
    text = told.decode()
    assert process.returncode == 0, text
    return text


async def remembered(service: Service) -> None:
    """The session that is asked about: with a message, an observation of it, an artifact and a value."""
    said = {"messages": [{"id": "m-1", "role": "user", "content": "I moved to Lisbon in May 2026."}]}
    for method, path, body in (
        ("PUT", "/sessions/s1", {"resource_id": "user-42", "config": {"preset": "compact"}}),
        ("POST", "/sessions/s1/messages", said),
        ("POST", "/sessions/s1/memory/observe?wait_ms=20000", None),
        ("PUT", "/sessions/s1/artifacts/report.csv", {}),
        ("PATCH", "/sessions/s1/state", {"city": "Lisbon"}),
    ):
        answer = await service.client.request(method, path, json=body)
        assert answer.is_success, answer.text


async def test_the_service_keeps_to_its_document(start_service: StartService, tmp_path: Path) -> None:
    async with start_service(bootstrap_key=KEY) as service:
        service.client.headers["Authorization"] = f"Bearer {KEY}"
        await remembered(service)

        told = await schemathesis(service, tmp_path, *AUTHORIZED, *((*ALL, "-n", "60") if LONG else PART))

    assert "Tested: " in told


@at_length
async def test_the_service_keeps_to_its_document_for_any_key(start_service: StartService, tmp_path: Path) -> None:
    async with start_service(bootstrap_key=KEY) as service:
        patience = ("--request-timeout", "70", "--max-response-time", "70")
        # A stream has no end; an artifact is bytes, under whatever type they were put.
        without = ("--exclude-operation-id", "streamEvents", "--exclude-operation-id", "getArtifact")
        checks = ("--checks", "all", "--exclude-checks", "positive_data_acceptance,negative_data_rejection")

        told = await schemathesis(service, tmp_path, *AUTHORIZED, *checks, *patience, *without, "-n", "30", config=None)

    assert "Tested: " in told


@at_length
async def test_the_service_keeps_to_its_document_without_a_key(start_service: StartService, tmp_path: Path) -> None:
    async with start_service(bootstrap_key=KEY) as service:
        told = await schemathesis(service, tmp_path, *ALL, "--checks", REFUSED)

    assert "Tested: " in told
