"""The published document: that it is what the code says, valid, complete, and true of a running service."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import ValidationError as SchemaError
from openapi_spec_validator import OpenAPIV31SpecValidator, validate

from app.kit.direct import JSON
from app.kit.errors import Invalid
from app.kit.openapi import operations
from app.main import create_app
from app.memory.rules import MemoryConfig
from app.memory.service import read_config
from app.settings import Settings
from tests.conftest import Service
from tests.contract import Contract

PUBLISHED = Path(__file__).parents[1] / "openapi" / "openapi.json"
DOCUMENT: dict[str, Any] = create_app(Settings(provider="extractive")).openapi()
CONTRACT = Contract(DOCUMENT)
OPERATIONS = {operation["operationId"]: (method, path, operation) for method, path, operation in operations(DOCUMENT)}
WITH_BODY = sorted(name for name, (_, _, operation) in OPERATIONS.items() if "requestBody" in operation)
CHANGES = sorted(name for name, (method, _, _) in OPERATIONS.items() if method in {"PATCH", "DELETE"})
CONTROLS = [name for name in CHANGES if "/memory/" in OPERATIONS[name][1]]
ONCE = {"branchSession"}  # a key is taken once
REPEATABLE = [name for name in WITH_BODY if name not in {*CHANGES, *ONCE}]
STREAMS = {"streamEvents"}  # have no end
OF_A_FACT = ("getFact", "editFact", "deleteFact")  # whose number is drawn
READS = sorted(
    name for name, (method, _, _) in OPERATIONS.items() if method == "GET" and name not in {*STREAMS, *OF_A_FACT}
)

# A generated client's methods: short, and of few verbs.
VERBS = (
    "append|branch|compact|compile|delete|diff|edit|end|export|get|grep|lint|list|observe|patch|put|recall|redrive|reflect"
    "|replace|stream"
)
PROBLEM = "application/problem+json"
REF = "#/components/schemas/"
by_operation = pytest.mark.parametrize("name", sorted(OPERATIONS))


def answers(operation: dict[str, Any]) -> dict[str, Any]:
    """The answers of an operation, by status; not its problems."""
    contents = {status: answer.get("content", {}) for status, answer in operation["responses"].items()}
    return {
        status: content
        for status, found in contents.items()
        for media_type, content in found.items()
        if media_type != PROBLEM
    }


def requests(name: str) -> dict[str, Any]:
    (body,) = OPERATIONS[name][2]["requestBody"]["content"].values()
    return {label: example["value"] for label, example in body["examples"].items()}


def path_of(name: str, key: str = "s1") -> str:
    path = OPERATIONS[name][1].replace("{key}", key).replace("{message_id}", "m-2").replace("{resource_id}", "nobody")
    return path.replace("/state/{name}", "/state/city").replace("{name}", "report.csv")


def test_the_published_document_is_that_of_the_code() -> None:
    assert json.loads(PUBLISHED.read_text()) == DOCUMENT, "run `make openapi`; a change needs a decision record"


def test_the_document_is_valid_by_the_openapi_specification() -> None:
    assert DOCUMENT["openapi"].startswith("3.1.")
    validate(DOCUMENT, cls=OpenAPIV31SpecValidator)


def test_operations_have_ids_of_their_own() -> None:
    assert len(OPERATIONS) == len(list(operations(DOCUMENT)))


@by_operation
def test_an_operation_is_called_by_a_verb_and_what_it_is_about(name: str) -> None:
    assert re.fullmatch(rf"({VERBS})([A-Z][a-z]+)+", name)


@by_operation
def test_an_operation_says_what_it_does_and_where_it_belongs(name: str) -> None:
    operation = OPERATIONS[name][2]
    assert operation["summary"]
    assert operation["description"].endswith(".")
    assert set(operation["tags"]) <= {tag["name"] for tag in DOCUMENT["tags"]}
    assert len(operation["tags"]) == 1


@by_operation
def test_every_answer_has_an_example_that_is_of_its_schema(name: str) -> None:
    found = answers(OPERATIONS[name][2])
    assert found
    for content in found.values():
        CONTRACT.validate(content["schema"], content["example"])


@pytest.mark.parametrize("name", WITH_BODY)
def test_every_request_body_has_examples_that_are_of_its_schema(name: str) -> None:
    (content,) = OPERATIONS[name][2]["requestBody"]["content"].values()
    assert requests(name)
    for body in requests(name).values():
        CONTRACT.validate(content["schema"], body)


@pytest.mark.parametrize("name", WITH_BODY)
def test_a_request_body_is_of_a_type_that_a_generated_client_can_send(name: str) -> None:
    """A range of types such as ``*/*`` is sent as it stands, and kept with the bytes."""
    assert not any("*" in media_type for media_type in OPERATIONS[name][2]["requestBody"]["content"])


def test_an_answer_says_of_its_figures_that_they_are_there() -> None:
    """Of an answer's fields only what may be missing is optional: a typed client asks about each."""
    schemas = DOCUMENT["components"]["schemas"]
    optional = {
        name
        for name, schema in schemas.items()
        if name.endswith("Out") and schema.get("properties", {}).keys() - schema.get("required", [])
    }
    assert optional == {"ContextOut", "ErrorOut"}  # what is explained; the session of an error that has one


@by_operation
def test_problems_are_documented_as_problems(name: str) -> None:
    problems = {status: found for status, found in OPERATIONS[name][2]["responses"].items() if int(status) >= 400}
    schemas = [found["content"][PROBLEM]["schema"] for found in problems.values()]
    assert all(schema == {"$ref": "#/components/schemas/Problem"} for schema in schemas)


@by_operation
def test_an_answer_that_has_to_be_asked_for_in_a_header_can_be(name: str) -> None:
    operation = OPERATIONS[name][2]
    asked = {one["name"] for one in operation.get("parameters", []) if one["in"] == "header"}
    wanted = {"206": {"range", "if-range"}, "304": {"if-none-match"}, "412": {"if-match"}, "416": {"range"}}
    for status in operation["responses"]:
        assert wanted.get(status, set()) <= asked


@by_operation
def test_an_answer_says_what_it_tells_in_headers(name: str) -> None:
    operation = OPERATIONS[name][2]
    for status, wanted in {
        "206": {"Content-Range", "ETag", "Artifact-Handle"},
        "304": {"ETag"},
        "401": {"WWW-Authenticate"},
        "415": {"Accept-Encoding"},
        "416": {"Content-Range"},
        "429": {"Retry-After", "RateLimit", "RateLimit-Policy", "Key-Scope"},
        "503": {"Retry-After"},
    }.items():
        assert wanted <= set(operation["responses"].get(status, {"headers": wanted})["headers"]), status
    for status, answer in operation["responses"].items():
        if int(status) < 400 and "security" in operation:
            assert {"RateLimit", "RateLimit-Policy", "Key-Scope"} <= set(answer["headers"])


@pytest.mark.parametrize("name", WITH_BODY)
def test_every_operation_with_a_body_says_that_it_may_be_too_large(name: str) -> None:
    assert "413" in OPERATIONS[name][2]["responses"]


# What a key of a config may be, and what it may not. The document cannot tell the names of the time zones.
CONFIG_KEYS = sorted({*MemoryConfig.model_fields, "misspelt"} - {"timezone"})
CONFIG_VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 0.5, 1, 2, 1_000, 1_001, 10_000, 10_001, 10_000_000, 10_000_001, 31_536_000, 31_536_001),
    *("", "x", "a" * 100_000, "a" * 100_001, "compact", "resource", "rewrite"),
    *([], {}, {"days": 1}, {"days": -1}, {"days": 36_501}, {"keep": "nothing"}, {"keep": "x"}, {"a": 1}),
)


@pytest.mark.parametrize("name", ["SessionIn", "ResourceIn"])
@pytest.mark.parametrize("key", CONFIG_KEYS)
def test_the_document_takes_of_a_config_what_the_service_takes(name: str, key: str) -> None:
    schema = DOCUMENT["components"]["schemas"][name]
    configs = [{key: value} for value in CONFIG_VALUES]
    taken = [config for config in configs if is_of(schema, {"config": config})]
    assert taken == [config for config in configs if is_read(config)]


def is_of(schema: dict[str, Any], value: Any) -> bool:
    try:
        CONTRACT.validate(schema, value)
    except SchemaError:
        return False
    return True


def is_read(config: dict[str, Any]) -> bool:
    try:
        read_config(config)
    except Invalid:
        return False
    return True


async def test_every_example_of_a_request_is_accepted_twice_and_answered_like_its_example(service: Service) -> None:
    await service.configure("s0")
    for name in sorted(REPEATABLE, key=lambda name: name == "grepArtifact"):  # which needs what was put
        method, _, operation = OPERATIONS[name]
        for number, body in enumerate(requests(name).values()):
            for _ in range(2):
                sent = {"json" if JSON in operation["requestBody"]["content"] else "content": body}
                answer = await service.client.request(method, path_of(name, f"s{number}"), **sent)
                assert answer.status_code in {200, 201}, name
                if number == 0:
                    assert_alike(answer.json(), answers(operation)[str(answer.status_code)]["example"], name)


@pytest.mark.parametrize("name", sorted({*REPEATABLE, *ONCE}))
async def test_a_null_of_a_field_that_may_be_left_out_is_as_if_it_were(service: Service, name: str) -> None:
    method, _, operation = OPERATIONS[name]
    assert (await service.client.put(path_of("putSession"), json={"resource_id": "user-42"})).status_code == 201
    await service.append("s1", *requests("appendMessages")["neutral"]["messages"])
    await service.client.put(path_of("putArtifact"), content=requests("putArtifact")["csv"])
    (content,) = operation["requestBody"]["content"].values()
    schema = DOCUMENT["components"]["schemas"].get(content["schema"].get("$ref", "").removeprefix(REF), {})
    optional = dict.fromkeys(set(schema.get("properties", ())) - set(schema.get("required", ())))
    body = next(iter(requests(name).values()))
    sent = "json" if JSON in operation["requestBody"]["content"] else "content"
    answer = await service.client.request(method, path_of(name), **{sent: optional | body if optional else body})
    assert answer.status_code in {200, 201}, answer.text


@pytest.fixture
async def remembered(service: Service) -> Service:
    """A service with a session that has state, a reflection of an observation, a live one, and an artifact."""
    appended = requests("appendMessages")
    created = requests("putSession")["compact"] | {"resource_id": "user-42"}
    assert (await service.client.put("/sessions/s1", json=created)).status_code == 201
    assert (await service.client.patch("/sessions/s1/state", json=requests("patchState")["set"])).status_code == 200
    for example, steps in (("neutral", ("observe", "reflect")), ("tools", ("observe",))):
        await service.append("s1", *appended[example]["messages"])
        for step in steps:
            answer = await service.client.post(f"/sessions/s1/memory/{step}", params={"wait_ms": 50_000})
            assert answer.status_code == 200
    answer = await service.client.put(path_of("putArtifact"), content=requests("putArtifact")["csv"])
    assert answer.status_code == 201
    answer = await service.client.put(path_of("getResource"), json=requests("putResource")["said"])
    assert answer.status_code == 201
    answer = await service.client.post(path_of("appendFact"), json=requests("appendFact")["preference"])
    assert answer.status_code == 201
    return service


async def test_an_example_of_a_read_has_the_fields_that_the_service_answers(remembered: Service) -> None:
    for name in READS:
        answer = await remembered.client.get(path_of(name))
        example = answers(OPERATIONS[name][2])["200"]["example"]
        assert_alike(answer.text if isinstance(example, str) else answer.json(), example, name)


async def test_an_example_of_what_is_done_with_a_fact_is_answered_alike(remembered: Service) -> None:
    [fact] = (await remembered.get(path_of("listFacts")))["items"]
    for name in OF_A_FACT:
        method, _, operation = OPERATIONS[name]
        for body in requests(name).values() if name in WITH_BODY else [{}]:
            path = path_of(name).replace("{fact_id}", str(fact["id"]))
            answer = await remembered.client.request(method, path, json=body)
            assert_alike(answer.json(), answers(operation)["200"]["example"], name)
    emptied = await remembered.client.delete(path_of("deleteFacts"))
    assert_alike(emptied.json(), answers(OPERATIONS["deleteFacts"][2])["200"]["example"], "deleteFacts")


@pytest.mark.parametrize("name", CONTROLS)
async def test_an_example_of_a_control_is_accepted_and_answered_alike(remembered: Service, name: str) -> None:
    method, _, operation = OPERATIONS[name]
    notes = await remembered.get(path_of(name).removesuffix("/{note_id}"), status="active")
    note = notes["items"][0]
    body = next(iter(requests(name).values())) if name in WITH_BODY else {}
    cited_here = {field: re.sub(r"#\d+", f"#{note['from_seq']}", text) for field, text in body.items()}
    path = path_of(name).replace("{note_id}", str(note["id"]))
    answer = await remembered.client.request(method, path, json=cited_here)
    assert answer.status_code == 200
    assert_alike(answer.json(), answers(operation)["200"]["example"], name)


@pytest.mark.parametrize("name", sorted(ONCE))
async def test_an_example_of_what_is_done_once_is_accepted_once_and_answered_alike(
    remembered: Service, name: str
) -> None:
    method, _, operation = OPERATIONS[name]
    for body in requests(name).values():
        answers_of = [await remembered.client.request(method, path_of(name), json=body) for _ in range(2)]
        assert [answer.status_code for answer in answers_of] == [201, 409]
        assert_alike(answers_of[0].json(), answers(operation)["201"]["example"], name)


async def test_an_example_of_a_deletion_is_answered_alike(remembered: Service) -> None:
    answer = await remembered.client.delete(path_of("deleteArtifact"))
    assert answer.json() == answers(OPERATIONS["deleteArtifact"][2])["200"]["example"]
    for name in ("deleteResource", "deleteSession"):
        answer = await remembered.client.delete(path_of(name))
        assert_alike(answer.json(), answers(OPERATIONS[name][2])["200"]["example"], name)


def assert_alike(answer: Any, example: Any, where: str) -> None:
    """The same fields, all the way down; of lists the first items are compared, and a null may be anything."""
    match answer, example:
        case dict(), dict():
            assert set(answer) == set(example), where
            for field, value in answer.items():
                assert_alike(value, example[field], f"{where}/{field}")
        case [first, *_], [other, *_]:
            assert_alike(first, other, f"{where}/0")
        case (None, _) | (_, None) | ([], list()) | (list(), []):
            pass
        case _:
            assert type(answer) is type(example) or {type(answer), type(example)} == {int, float}, where
