"""What is said of a template before it is used, as values and over HTTP."""

import tracemalloc
from typing import Any

import pytest

from app.state.linting import Code, Lint, Severity, lint
from app.state.templates import Scope
from tests.conftest import Service, StartService
from tests.test_problems import assert_problem

VALUES = {"plan": "pro", "user:profile": {"city": "Lisbon"}}


def codes(found: Lint, code: Code) -> list[tuple[Severity, int, int]]:
    return [(finding.severity, finding.text, finding.position) for finding in found.findings if finding.code is code]


def linted_texts(texts: list[str], values: dict[str, Any] | None) -> Lint:
    return lint(texts, values, {}, findings_max=100)


def test_a_text_without_names_and_stray_braces_has_no_findings() -> None:
    found = linted_texts(['Answer as {"a": {"b": 1}} or {{plan}}.', "Be brief."], {})
    assert (found.findings, found.volatile_from) == ((), None)
    assert set(found.names) == set(Scope)
    assert not any(found.names.values())


def test_the_names_are_told_by_scope_once_each_and_sorted() -> None:
    found = linted_texts(["{b} {a} {user:profile.city}", "{a?} {temp:page} {artifact.notes.md} {app:x|y}"], None)
    assert found.names == {
        Scope.SESSION: ["a", "b"],
        Scope.USER: ["user:profile"],
        Scope.APP: ["app:x"],
        Scope.TEMP: ["temp:page"],
        Scope.ARTIFACT: ["artifact.notes.md"],
    }


def test_a_name_without_a_value_is_an_error_only_where_it_is_required() -> None:
    found = linted_texts(["{plan} {gone}", "{user:profile.street} {gone?} {gone|none} {temp:page}"], VALUES)
    assert codes(found, Code.UNKNOWN_NAME) == [
        (Severity.ERROR, 0, 7),
        (Severity.ERROR, 1, 0),
        (Severity.INFO, 1, 22),
        (Severity.INFO, 1, 30),
    ]


def test_many_texts_take_no_more_memory_than_the_largest() -> None:
    """Of 8 MB that take all that a request may have, 650 MB were held at once."""
    peaks = []
    for count in (1, 8):
        tracemalloc.start()
        found = linted_texts(["{a}{" * 10_000] * count, None)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert (len(found.findings), found.omitted) == (100, 20_000 * count - 100)
    assert peaks[1] < 2 * peaks[0]


def test_without_a_state_no_name_is_unknown() -> None:
    assert codes(linted_texts(["{gone}"], None), Code.UNKNOWN_NAME) == []


def test_a_brace_without_a_pair_is_told_by_its_position() -> None:
    assert codes(linted_texts(["fine {x}", "{{ x } {"], None), Code.UNBALANCED_BRACE) == [
        (Severity.WARNING, 1, 0),
        (Severity.WARNING, 1, 5),
        (Severity.WARNING, 1, 7),
    ]


def test_each_value_in_the_cached_prefix_is_warned_of_and_the_first_is_where_it_becomes_volatile() -> None:
    found = linted_texts(["Be brief.", "You help {user:name}, on {temp:page}."], None)
    assert codes(found, Code.CACHED_VALUE) == [(Severity.WARNING, 1, 9), (Severity.WARNING, 1, 25)]
    assert found.volatile_from == (1, 9)
    stored, sent = [finding.message for finding in found.findings]
    assert ("is stored" in stored, "with each request" in sent) == (True, True)


def test_findings_come_in_the_order_of_the_text() -> None:
    found = linted_texts(["} {a} } {b}", "{"], {})
    places = [(finding.text, finding.position) for finding in found.findings]
    assert places == sorted(places)


async def test_of_many_findings_the_first_are_told_and_the_others_counted(start_service: StartService) -> None:
    async with start_service(state={"lint_findings_max": 3}) as service:
        found = await linted(service, {"template": "} " * 100_000})
    assert [finding["position"] for finding in found["findings"]] == [0, 2, 4]
    assert found["omitted"] == 100_000 - 3


async def linted(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    answer = await service.client.post("/templates/lint", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_a_template_is_linted_against_the_state_of_a_session(service: Service) -> None:
    await service.append("s1", {"role": "user", "content": "Hi"})
    await service.client.patch("/sessions/s1/state", json={"plan": "pro", "app:brand": "Acme"})
    found = await linted(service, {"template": "{plan} of {app:brand}, {user:name}", "session": "s1"})
    assert found["names"] == {
        "session": ["plan"],
        "user": ["user:name"],
        "app": ["app:brand"],
        "temp": [],
        "artifact": [],
    }
    assert found["volatile_from"] == {"text": 0, "position": 0}
    [unknown] = [finding for finding in found["findings"] if finding["code"] == "unknown-name"]
    assert (unknown["severity"], unknown["position"]) == ("error", 23)
    assert "user:name" in unknown["message"]


async def test_an_artifact_that_is_not_there_is_told_as_a_context_would_refuse_it(service: Service) -> None:
    await service.append("s1", {"role": "user", "content": "Hi"})
    await service.client.put("/sessions/s1/artifacts/notes.md", content=b"Ana")
    template = "{artifact.notes.md} {artifact.gone.md?} {artifact.gone.md}"
    found = await linted(service, {"template": template, "session": "s1"})
    unknown = [each for each in found["findings"] if each["code"] == "unknown-name"]
    assert [(each["severity"], each["position"]) for each in unknown] == [("info", 20), ("error", 40)]
    refused = await service.client.post("/sessions/s1/context", json={"system": template})
    assert unknown[1]["message"] in assert_problem(refused, 422, "invalid")["detail"]


@pytest.mark.parametrize(
    ("content", "template"),
    [
        (b"x" * 70_000, "{artifact.x}"),
        (b"\xff\xfe\0", "{artifact.x}"),
        (b"a\0b", "{artifact.x|none}"),
        (b"x" * 70_000, "{artifact.x?}"),
    ],
)
async def test_an_artifact_that_a_context_does_not_insert_is_an_error(
    service: Service, content: bytes, template: str
) -> None:
    await service.append("s1", {"role": "user", "content": "Hi"})
    await service.client.put("/sessions/s1/artifacts/x", content=content)
    found = await linted(service, {"template": f"See {template}", "session": "s1"})
    [refused] = [finding for finding in found["findings"] if finding["code"] == "refused-artifact"]
    assert (refused["severity"], refused["position"]) == ("error", 4)
    answer = await service.client.post("/sessions/s1/context", json={"system": f"See {template}"})
    assert answer.status_code in {413, 422}
    assert refused["message"] == answer.json()["detail"]


@pytest.mark.parametrize(
    "body", [{"template": "a }"}, {"template": ["a }"]}, {"system": "a }"}, {"system": ["a }"], "session": None}]
)
async def test_a_template_is_taken_as_a_text_or_as_the_system_of_a_context(
    service: Service, body: dict[str, Any]
) -> None:
    found = await linted(service, body)
    assert [(finding["code"], finding["text"], finding["position"]) for finding in found["findings"]] == [
        ("unbalanced-brace", 0, 2)
    ]


async def test_a_session_never_seen_has_no_state_to_lint_against(service: Service) -> None:
    answer = await service.client.post("/templates/lint", json={"template": "{x}", "session": "never"})
    assert_problem(answer, 404, "session-not-found")


@pytest.mark.parametrize("body", [{}, {"session": "s1"}, {"template": []}, {"template": None, "system": []}])
async def test_nothing_to_look_at_is_refused(service: Service, body: Any) -> None:
    problem = assert_problem(await service.client.post("/templates/lint", json=body), 422, "invalid")
    assert [error["pointer"] for error in problem["errors"]] == ["/template"]


@pytest.mark.parametrize("body", [{"template": 5}, {"templates": "x"}, {"template": "x", "session": "a b"}, []])
async def test_what_is_not_a_template_is_refused(service: Service, body: Any) -> None:
    assert_problem(await service.client.post("/templates/lint", json=body), 422, "invalid")


async def test_a_template_that_a_context_would_refuse_for_its_size_is_refused(start_service: StartService) -> None:
    async with start_service(state={"template_characters_max": 10}) as service:
        await linted(service, {"template": "x" * 10})
        for body, pointer in (({"template": "x" * 11}, "/template/0"), ({"system": ["x", "x" * 11]}, "/system/1")):
            answer = await service.client.post("/templates/lint", json=body)
            [error] = assert_problem(answer, 413, "too-large")["errors"]
            assert error["pointer"] == pointer
            assert error["detail"].endswith("10 characters (DAYBOOK_STATE__TEMPLATE_CHARACTERS_MAX)")
