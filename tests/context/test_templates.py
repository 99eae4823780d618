"""Templates in the system prompt: their values, what they do to the cached prefix, and what is refused."""

import json
from typing import Any

import httpx2 as httpx
import pytest

from app.context.model import LIMITS
from app.context.stages.template import all_too_large, no_value
from app.kit.invalid import ERRORS_MAX, too_many_errors
from tests.conftest import Service
from tests.test_problems import assert_problem

CONTEXT = "/sessions/s1/context"
STATE = "/sessions/s1/state"
ALL = "{plan} {user:profile.city} {app:brand} {temp:page} {artifact.notes.md} {gone?}{gone|nothing}"


@pytest.fixture
async def stocked(service: Service) -> Service:
    """A service with session s1 of resource ana, a value in each scope, and an artifact."""
    await service.client.put("/sessions/s1", json={"resource_id": "ana"})
    await service.append("s1", {"role": "user", "content": "Hi"})
    values = {"plan": "pro", "user:profile": {"city": "Lisbon", "a": 1}, "app:brand": "Acme {plan}"}
    assert (await service.client.patch(STATE, json=values)).status_code == 200
    put = await service.client.put("/sessions/s1/artifacts/notes.md", content=b"Be kind.")
    assert put.status_code == 201
    return service


async def ask(service: Service, system: Any, *, key: str = "s1", **body: Any) -> httpx.Response:
    return await service.client.post(f"/sessions/{key}/context", json={"system": system, **body})


async def prompt(service: Service, system: Any, *, key: str = "s1", **body: Any) -> list[str]:
    answer = await ask(service, system, key=key, **body)
    assert answer.status_code == 200, answer.text
    return [block["text"] for block in answer.json()["payload"]["system"]]


def missing(answer: httpx.Response) -> list[tuple[str, str]]:
    assert_problem(answer, 422, "invalid")
    return flaws(answer)


def flaws(answer: httpx.Response) -> list[tuple[str, str]]:
    return [(error["pointer"], error["detail"]) for error in answer.json()["errors"]]


async def test_a_system_prompt_takes_values_of_every_scope_in_one_pass(stocked: Service) -> None:
    assert await prompt(stocked, ALL, state={"temp:page": "billing"}) == [
        "pro Lisbon Acme {plan} billing Be kind. nothing"
    ]


async def test_each_text_of_a_list_is_a_template(stocked: Service) -> None:
    assert await prompt(stocked, ["You serve {app:brand}.", "", "{gone?}", "Plan: {plan}."]) == [
        "You serve Acme {plan}.",
        "Plan: pro.",
    ]


async def test_values_are_inserted_as_json_key_for_key_as_they_were_stored(stocked: Service) -> None:
    value = {"b": 1, "a": [1.5, None, {"é": "{plan}"}]}
    await stocked.client.put(f"{STATE}/thing", json=value)
    [text] = await prompt(stocked, "{thing} {temp:thing}", state={"temp:thing": value})
    compact = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert text == f"{compact} {compact}"


async def test_json_and_code_in_a_prompt_survive(stocked: Service) -> None:
    text = 'Answer as {"a":{"b":{}}}, never { plan } nor ${1} }} {{plan}}'
    assert await prompt(stocked, text) == [text.replace("{{plan}}", "{plan}")]


async def test_a_value_is_the_session_s_own_or_its_owner_s(stocked: Service) -> None:
    await stocked.client.put("/sessions/s2", json={"resource_id": "ana"})
    await stocked.client.put("/sessions/s3", json={"resource_id": "ben"})
    text = "{plan|none} {user:profile.city|none} {app:brand}"
    assert await prompt(stocked, text, key="s2") == ["none Lisbon Acme {plan}"]
    assert await prompt(stocked, text, key="s3") == ["none none Acme {plan}"]


async def test_a_session_never_seen_has_the_values_of_its_tenant(stocked: Service) -> None:
    assert await prompt(stocked, "{app:brand} {user:profile.city?}{plan|none}", key="new") == ["Acme {plan} none"]
    assert missing(await ask(stocked, "{plan}", key="new")) == [("/system/0", no_value("plan"))]
    assert (await stocked.client.get("/sessions/new")).status_code == 404


async def test_who_has_braces_in_the_prompt_is_told_how_to_write_them(stocked: Service) -> None:
    ((_, told),) = missing(await ask(stocked, "Answer as {city}: degrees."))
    assert told == "'city' has no value: write {city?} if it is optional, {{city}} if it is literal text"
    assert await prompt(stocked, "Answer as {{city}}{city?}: degrees.") == ["Answer as {city}: degrees."]


async def test_every_name_without_a_value_is_told_with_its_text(stocked: Service) -> None:
    answer = await ask(stocked, ["{plan} {a} {user:profile.street}", "", "{temp:page} {artifact.gone} {a}"])
    assert missing(answer) == [
        ("/system/0", no_value("a")),
        ("/system/0", no_value("user:profile.street")),
        ("/system/2", no_value("temp:page")),
        ("/system/2", no_value("artifact.gone")),
        ("/system/2", no_value("a")),
    ]


async def test_of_names_without_a_value_so_many_are_told(stocked: Service) -> None:
    few, many = ["".join(f"{{gone{number}}}" for number in range(count)) for count in (ERRORS_MAX, ERRORS_MAX + 1)]
    assert len(missing(await ask(stocked, few))) == ERRORS_MAX
    assert missing(await ask(stocked, many)) == [("/system", too_many_errors(ERRORS_MAX + 1))]


async def test_texts_grow_together_to_a_limit_however_large_each_may_be(stocked: Service) -> None:
    """A thousand texts of one value of a megabyte were a context of a gigabyte."""
    answer = await ask(stocked, ["{temp:long}"] * 1_000, state={"temp:long": "x" * LIMITS.template_characters_max})
    told = assert_problem(answer, 413, "too-large")
    assert told["errors"] == [{"pointer": "/system/8", "detail": all_too_large(LIMITS)}]


async def test_knowledge_and_messages_are_no_templates(stocked: Service) -> None:
    answer = await ask(
        stocked,
        [],
        knowledge=[{"title": "{plan}", "text": "{gone}"}],
        incoming=[{"role": "user", "content": "{plan} {gone}"}],
    )
    payload = answer.json()["payload"]
    assert payload["system"][0]["text"] == "## {plan}\n\n{gone}"
    texts = [part["text"] for message in payload["messages"] for part in message["content"]]
    assert texts[:2] == ["Hi", "{plan} {gone}"]


async def test_an_artifact_is_told_as_it_is_now(stocked: Service) -> None:
    for text in ("Be kind.", "Be brief."):
        await stocked.client.put("/sessions/s1/artifacts/notes.md", content=text.encode())
        assert await prompt(stocked, "{artifact.notes.md}") == [text]


async def test_an_artifact_that_was_deleted_has_no_value(stocked: Service) -> None:
    assert (await stocked.client.delete("/sessions/s1/artifacts/notes.md")).status_code == 200
    assert missing(await ask(stocked, "{artifact.notes.md}")) == [("/system/0", no_value("artifact.notes.md"))]


async def test_an_artifact_that_is_not_a_text_or_too_large_a_one_is_refused(stocked: Service) -> None:
    for name, content, status in [("image", b"\xff\x00", 422), ("long", b"x" * (64 * 1024 + 1), 413)]:
        await stocked.client.put(f"/sessions/s1/artifacts/{name}", content=content)
        answer = await ask(stocked, ["{artifact.notes.md}", f"{{artifact.{name}}}", f"{{artifact.{name}?}}"])
        assert answer.status_code == status, answer.text
        assert name in answer.json()["detail"]
        assert flaws(answer) == [("/system/1", answer.json()["detail"])]


async def test_a_prompt_that_its_values_would_make_too_large_is_refused(stocked: Service) -> None:
    await stocked.client.put(f"{STATE}/long", json="x" * 60_000)
    problem = assert_problem(await ask(stocked, "{long}" * 20), 413, "too-large")
    assert [error["pointer"] for error in problem["errors"]] == ["/system/0"]


# The values of one request


async def test_the_values_of_a_request_are_shown_behind_the_messages(stocked: Service) -> None:
    answer = await ask(stocked, [], state={"temp:page": "billing", "temp:cart": {"n": 2}})
    texts = [part["text"] for message in answer.json()["payload"]["messages"] for part in message["content"]]
    assert 'State temp:page = "billing"\nState temp:cart = {"n":2}' in texts[-1]
    assert "plan" not in texts[-1]
    assert await stocked.get(STATE) == {
        "plan": "pro",
        "user:profile": {"city": "Lisbon", "a": 1},
        "app:brand": "Acme {plan}",
    }


@pytest.mark.parametrize("name", ["page", "user:page", "app:page", "temp:", "temp:1", "temp:a-b", "", "x/y"])
async def test_only_values_of_the_request_come_with_it(service: Service, name: str) -> None:
    answer = await ask(service, [], state={"temp:fine": 1, name: 1})
    assert [pointer for pointer, _ in missing(answer)] == ["/state/" + name.replace("/", "~1")]


@pytest.mark.parametrize("value", ["NaN", '"\\u0000"', '"\\ud800"', "[" * 65 + "]" * 65])
async def test_a_value_of_a_request_that_is_no_json_is_refused_by_its_place(service: Service, value: str) -> None:
    content = f'{{"state": {{"temp:x": {value}}}}}'
    answer = await service.client.post(CONTEXT, content=content, headers={"Content-Type": "application/json"})
    assert [pointer.startswith("/state/temp:x") for pointer, _ in missing(answer)] == [True]


async def test_a_request_has_as_many_values_as_the_limit(service: Service) -> None:
    values = {f"temp:x{number}": number for number in range(101)}
    assert [pointer for pointer, _ in missing(await ask(service, [], state=values))] == ["/state"]
    del values["temp:x0"]
    assert (await ask(service, [], state=values)).status_code == 200


# The cached prefix


async def breaks(service: Service, system: str, **body: Any) -> str | None:
    reason: str | None = (await ask(service, system, **body)).json()["cache"]["break_reason"]
    return reason


async def test_a_change_of_a_value_in_the_prompt_breaks_the_prefix_and_says_so(stocked: Service) -> None:
    assert await breaks(stocked, "{plan} {temp:page}", state={"temp:page": 1}) is None
    assert await breaks(stocked, "{plan} {temp:page}", state={"temp:page": 1}) is None
    await stocked.client.put(f"{STATE}/plan", json="free")
    assert await breaks(stocked, "{plan} {temp:page}", state={"temp:page": 1}) == "state"
    assert await breaks(stocked, "{plan} {temp:page}", state={"temp:page": 2}) == "state"
    assert await breaks(stocked, "{plan}!", state={"temp:page": 2}) == "system"


async def test_values_that_are_only_shown_do_not_break_the_prefix(stocked: Service) -> None:
    await ask(stocked, "{plan}", state={"temp:page": 1})
    await stocked.client.put(f"{STATE}/other", json=1)
    assert await breaks(stocked, "{plan}", state={"temp:page": 2}) is None


async def test_a_past_context_has_the_values_of_today(stocked: Service) -> None:
    answer = await stocked.client.post(CONTEXT, json={"system": "{plan}"}, params={"as_of_seq": 1})
    assert [block["text"] for block in answer.json()["payload"]["system"]] == ["pro"]
