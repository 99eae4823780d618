"""What a caller may add to a context, as the settings say."""

from typing import Any

import pytest

from tests.conftest import StartService
from tests.test_problems import assert_problem

LIMITS: dict[str, Any] = {
    "context": {"temp_values_max": 2, "knowledge_max": 2, "incoming_max": 2, "system_characters_max": 50},
    "state": {"template_characters_max": 20},
    "artifacts": {"inserted_bytes_max": 10},
}
VALUE = {"temp:a": "x" * 18}


def knowledge(*texts: str) -> dict[str, Any]:
    return {"knowledge": [{"title": "Hours", "text": text} for text in texts]}


def incoming(count: int) -> dict[str, Any]:
    return {"incoming": [{"role": "user", "content": "Hi"}] * count}


def values(count: int) -> dict[str, Any]:
    return {"state": {f"temp:x{number}": 1 for number in range(count)}}


@pytest.mark.parametrize(
    ("fits", "over", "status", "pointer", "setting"),
    [
        (values(2), values(3), 422, "/state", "2 values (DAYBOOK_CONTEXT__TEMP_VALUES_MAX)"),
        (knowledge(*"ab"), knowledge(*"abc"), 422, "/knowledge", "2 entries (DAYBOOK_CONTEXT__KNOWLEDGE_MAX)"),
        (incoming(2), incoming(3), 422, "/incoming", "2 messages (DAYBOOK_CONTEXT__INCOMING_MAX)"),
        (
            knowledge("x" * 20),
            knowledge("x", "x" * 21),
            413,
            "/knowledge/1/text",
            "20 characters (DAYBOOK_STATE__TEMPLATE_CHARACTERS_MAX)",
        ),
        (
            {"system": ["x", "x" * 20]},
            {"system": ["x", "x" * 21]},
            413,
            "/system/1",
            "20 characters (DAYBOOK_STATE__TEMPLATE_CHARACTERS_MAX)",
        ),
        (
            {"system": "{temp:a}yz", "state": VALUE},
            {"system": "{temp:a}xyz", "state": VALUE},
            413,
            "/system/0",
            "20 characters (DAYBOOK_STATE__TEMPLATE_CHARACTERS_MAX)",
        ),
        (
            {"system": ["{temp:a}"] * 2, "state": VALUE},
            {"system": ["{temp:a}"] * 3, "state": VALUE},
            413,
            "/system/2",
            "50 characters (DAYBOOK_CONTEXT__SYSTEM_CHARACTERS_MAX)",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and value.startswith("/") else "",
)
async def test_what_is_over_a_limit_is_refused_by_its_setting(
    start_service: StartService,
    fits: dict[str, Any],
    over: dict[str, Any],
    status: int,
    pointer: str,
    setting: str,
) -> None:
    async with start_service(**LIMITS) as service:
        assert (await service.client.post("/sessions/s1/context", json=fits)).status_code == 200
        answer = await service.client.post("/sessions/s1/context", json=over)
    [error] = assert_problem(answer, status, "invalid" if status == 422 else "too-large")["errors"]
    assert error["pointer"] == pointer
    assert error["detail"].endswith(f"may have at most {setting}")


async def test_a_larger_artifact_is_not_inserted(start_service: StartService) -> None:
    async with start_service(**LIMITS) as service:
        await service.configure("s1")
        for name, size, status in (("short", 10, 200), ("long", 11, 413)):
            await service.client.put(f"/sessions/s1/artifacts/{name}", content=b"x" * size)
            answer = await service.client.post("/sessions/s1/context", json={"system": f"{{artifact.{name}}}"})
            assert answer.status_code == status
    told = assert_problem(answer, 413, "artifact-too-large")["detail"]
    assert told.endswith("at most 10 (DAYBOOK_ARTIFACTS__INSERTED_BYTES_MAX)")


async def test_more_than_was_once_fixed_may_be_allowed(start_service: StartService) -> None:
    async with start_service(context={"incoming_max": 150, "knowledge_max": 150}) as service:
        body = incoming(150) | knowledge(*["x"] * 150)
        assert (await service.client.post("/sessions/s1/context", json=body)).status_code == 200
