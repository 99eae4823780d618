"""The state over HTTP (api.md, Sessions, state)."""

import asyncio
import json
from typing import Any

import httpx2 as httpx
import pytest

from tests.conftest import Service, StartService
from tests.test_problems import assert_problem, pointers

STATE = "/sessions/s1/state"
JSON = {"Content-Type": "application/json"}


@pytest.fixture
async def seen(service: Service) -> Service:
    """A service that has session s1, of resource ana."""
    await of_resource(service, "s1", "ana")
    return service


async def of_resource(service: Service, key: str, resource_id: str | None) -> None:
    answer = await service.client.put(f"/sessions/{key}", json={"resource_id": resource_id})
    assert answer.status_code == 201


async def patch(service: Service, values: dict[str, Any], *, key: str = "s1") -> httpx.Response:
    answer = await service.client.patch(f"/sessions/{key}/state", json=values)
    assert answer.status_code == 200, answer.text
    return answer


async def put(service: Service, name: str, value: Any, **headers: str) -> httpx.Response:
    # A value of None is no body to the client.
    return await service.client.put(f"{STATE}/{name}", content=json.dumps(value), headers=JSON | headers)


# Reading and writing


async def test_a_session_begins_without_state(seen: Service) -> None:
    assert await seen.get(STATE) == {}
    assert_problem(await seen.client.get(f"{STATE}/x"), 404, "state-not-found")


async def test_patch_sets_and_deletes_by_name_and_answers_the_whole(seen: Service) -> None:
    assert (await patch(seen, {"a": 1, "b": 2, "user:c": 3})).json() == {"a": 1, "b": 2, "user:c": 3}
    assert (await patch(seen, {"a": {"x": 1}, "b": None, "never": None, "app:d": []})).json() == {
        "a": {"x": 1},
        "user:c": 3,
        "app:d": [],
    }
    assert (await patch(seen, {})).json() == await seen.get(STATE)


async def test_values_are_told_in_the_order_of_their_names_however_they_came(seen: Service) -> None:
    for name in ("b", "a", "app:c", "Z"):
        assert (await seen.client.put(f"/sessions/s1/state/{name}", json=1)).is_success
    assert [*(await seen.get("/sessions/s1/state"))] == ["app:c", "Z", "a", "b"]


async def test_a_patch_replaces_a_value_and_does_not_merge_into_it(seen: Service) -> None:
    await patch(seen, {"a": {"x": 1, "y": None}})
    assert (await patch(seen, {"a": {"y": 2}})).json() == {"a": {"y": 2}}


async def test_put_makes_one_value_then_replaces_it(seen: Service) -> None:
    assert [(await put(seen, "a", value)).status_code for value in (1, 2)] == [201, 200]
    assert await seen.get(STATE) == {"a": 2}


@pytest.mark.parametrize(
    "value", [None, True, 0, -1.5, "", "text", "\u2028é日本🔴", [], {}, [None], {"b": 1, "a": [{"": None}]}, 2**64 - 1]
)
async def test_a_value_comes_back_as_it_was_key_for_key(seen: Service, value: Any) -> None:
    answer = await put(seen, "a", value)
    assert answer.status_code == 201
    read = await seen.client.get(f"{STATE}/a")
    assert answer.text == read.text == json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert await seen.get(STATE) == {"a": value}


async def test_delete_takes_one_value_away_and_answers_the_same_where_there_is_none(seen: Service) -> None:
    await patch(seen, {"a": 1, "b": 2})
    for _ in range(2):
        answer = await seen.client.delete(f"{STATE}/a")
        assert (answer.status_code, answer.json()) == (200, {"b": 2})
    assert_problem(await seen.client.get(f"{STATE}/a"), 404, "state-not-found")


async def test_a_session_never_seen_has_no_state_and_gets_none(service: Service) -> None:
    for method, path, body in [
        ("GET", "state", None),
        ("GET", "state/x", None),
        ("GET", "state/app:x", None),
        ("PATCH", "state", {"x": 1}),
        ("PUT", "state/x", 1),
        ("DELETE", "state/x", None),
    ]:
        answer = await service.client.request(method, f"/sessions/never/{path}", json=body)
        assert_problem(answer, 404, "session-not-found")
    assert (await service.client.get("/sessions/never")).status_code == 404


# Scopes


async def test_each_prefix_is_seen_by_those_who_share_its_owner(service: Service) -> None:
    for key, resource_id in {"s1": "ana", "s2": "ana", "s3": "ben", "s4": None}.items():
        await of_resource(service, key, resource_id)
    await patch(service, {"x": 1, "user:x": 2, "app:x": 3})
    assert [await service.get(f"/sessions/{key}/state") for key in ("s1", "s2", "s3", "s4")] == [
        {"x": 1, "user:x": 2, "app:x": 3},
        {"user:x": 2, "app:x": 3},
        {"app:x": 3},
        {"app:x": 3},
    ]


async def test_owners_of_one_name_do_not_share_what_is_not_theirs(service: Service) -> None:
    """A session and a resource may be called alike, also like nothing at all."""
    await of_resource(service, "s1", "s1")
    await of_resource(service, "s2", "s2")
    await patch(service, {"x": 1})
    assert await service.get("/sessions/s2/state") == {}
    assert (await patch(service, {"user:x": 2})).json() == {"x": 1, "user:x": 2}
    await patch(service, {"x": 3, "user:x": 4}, key="s2")
    await patch(service, {"x": None})
    assert await service.get(STATE) == {"user:x": 2}
    assert await service.get("/sessions/s2/state") == {"x": 3, "user:x": 4}


async def test_a_branch_and_a_deletion_of_a_session_pass_by_the_resource_that_is_called_alike(service: Service) -> None:
    for key, resource_id in (("ana", "ana"), ("s2", "ana"), ("s3", "ben")):
        await of_resource(service, key, resource_id)
    await service.append("ana", {"role": "user", "content": "Hello"})
    await patch(service, {"x": 1, "user:x": 2}, key="ana")
    assert (await service.client.post("/sessions/ana/branch", json={"key": "ben"})).status_code == 201
    assert await service.get("/sessions/s3/state") == {}
    assert (await service.client.delete("/sessions/ana")).status_code == 200
    assert await service.get("/sessions/s2/state") == {"user:x": 2}


async def test_a_deletion_of_a_resource_passes_by_the_session_that_is_called_alike(service: Service) -> None:
    for key, resource_id in (("s1", "ana"), ("ana", "ben")):
        await of_resource(service, key, resource_id)
        await patch(service, {"x": 1, "user:x": 2}, key=key)
    assert (await service.client.delete("/resources/ana")).status_code == 200
    assert await service.get("/sessions/ana/state") == {"x": 1, "user:x": 2}


async def test_a_value_of_the_user_needs_a_resource(service: Service) -> None:
    await of_resource(service, "s1", None)
    for method, path, body in [
        ("PATCH", STATE, {"x": 1, "user:x": 1}),
        ("PUT", f"{STATE}/user:x", 1),
        ("DELETE", f"{STATE}/user:x", None),
    ]:
        problem = assert_problem(await service.client.request(method, path, json=body), 409, "no-resource")
        assert "a resource_id can be set until its first message" in problem["detail"]
    assert_problem(await service.client.get(f"{STATE}/user:x"), 404, "state-not-found")
    assert await service.get(STATE) == {}


# What is refused


@pytest.mark.parametrize(
    "name", ["", "1x", "a-b", "a.b", "ä", "x" * 101, "user:", "user:1", "admin:x", "user:app:x", "a b", "a/b", "x\n"]
)
async def test_a_name_that_no_template_could_hold_is_refused(seen: Service, name: str) -> None:
    pointer = "/" + name.replace("~", "~0").replace("/", "~1")
    assert pointers(await seen.client.patch(STATE, json={"a": 1, name: 1})) == [pointer]
    assert await seen.get(STATE) == {}


@pytest.mark.parametrize("name", ["x" * 100, "_", "X9_", "user:" + "x" * 100, "app:_1"])
async def test_a_name_of_letters_digits_and_underscores_is_taken(seen: Service, name: str) -> None:
    assert (await put(seen, name, 1)).status_code == 201
    assert await seen.get(STATE) == {name: 1}


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
@pytest.mark.parametrize("name", ["1x", "a-b", "x" * 101, "admin:x", "temp:x"])
async def test_a_path_with_no_name_of_a_stored_value_is_refused(seen: Service, method: str, name: str) -> None:
    assert pointers(await seen.client.request(method, f"{STATE}/{name}", content="1", headers=JSON)) == ["name"]


async def test_a_value_of_one_request_is_not_stored(seen: Service) -> None:
    answer = await seen.client.patch(STATE, json={"temp:page": "billing"})
    assert pointers(answer) == ["/temp:page"]
    assert "context" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("content", "pointer"),
    [
        ('{"a": "\\u0000"}', "/a"),
        ('{"a": "\\ud800"}', "/a"),
        ('{"\\ud800": 1}', "/?"),
        ('{"a": {"b": ["\\u0000"]}}', "/a/b/0"),
        ('{"a": NaN}', "/a"),
        (f'{{"a": {2**64}}}', "/a"),
        ('{"a": ' + "[" * 65 + "]" * 65 + "}", "/a" + "/0" * 64),
        ("[]", ""),
        ("null", ""),
    ],
)
async def test_a_value_that_cannot_be_stored_is_refused_by_its_place(seen: Service, content: str, pointer: str) -> None:
    assert pointers(await seen.client.patch(STATE, content=content, headers=JSON)) == [pointer]
    assert await seen.get(STATE) == {}


async def test_a_value_sent_as_something_else_than_json_is_told_how_to(seen: Service) -> None:
    for answer in (await seen.client.put(f"{STATE}/a", content=b"5"), await seen.client.patch(STATE, content=b"{}")):
        assert "Content-Type: application/json" in assert_problem(answer, 422, "invalid")["detail"]


# Limits


async def test_a_value_may_be_as_large_as_the_limit(start_service: StartService) -> None:
    async with start_service(state={"value_bytes_max": 10}) as service:
        await of_resource(service, "s1", None)
        assert (await put(service, "a", "é234567")).status_code == 201  # 8 bytes of text and two quotes
        for answer in (await put(service, "a", "é2345678"), await service.client.patch(STATE, json={"a": "é2345678"})):
            problem = assert_problem(answer, 413, "state-too-large")
            assert "DAYBOOK_STATE__VALUE_BYTES_MAX" in problem["detail"]
        assert [error["pointer"] for error in problem["errors"]] == ["/a"]
        assert await service.get(STATE) == {"a": "é234567"}


async def test_an_owner_may_have_as_many_values_as_the_limit(start_service: StartService) -> None:
    async with start_service(state={"entries_max": 2}) as service:
        await of_resource(service, "s1", "ana")
        await patch(service, {"a": 1, "b": 1, "user:a": 1, "user:b": 1, "app:a": 1})
        for answer in (
            await put(service, "c", 1),
            await put(service, "user:c", 1),
            await service.client.patch(STATE, json={"app:b": 1, "app:c": 1}),
        ):
            assert "DAYBOOK_STATE__ENTRIES_MAX" in assert_problem(answer, 413, "state-too-large")["detail"]
        nothing = {f"x{number}": None for number in range(6)}  # for each of three owners two
        assert (await service.client.patch(STATE, json=nothing)).status_code == 200
        answer = await service.client.patch(STATE, json=nothing | {"x6": None})
        assert_problem(answer, 413, "state-too-large")
        assert (await patch(service, {"a": None, "c": 1, "app:b": 2})).json() == {
            "b": 1,
            "c": 1,
            "user:a": 1,
            "user:b": 1,
            "app:a": 1,
            "app:b": 2,
        }


async def test_an_owner_s_values_may_be_as_large_as_the_limit_together(start_service: StartService) -> None:
    async with start_service(state={"scope_bytes_max": 10}) as service:
        await of_resource(service, "s1", None)
        await patch(service, {"a": "123", "b": "123"})
        answer = await service.client.patch(STATE, json={"a": "1234"})
        assert "DAYBOOK_STATE__SCOPE_BYTES_MAX" in assert_problem(answer, 413, "state-too-large")["detail"]
        assert (await patch(service, {"a": "1234", "b": "12"})).json() == {"a": "1234", "b": "12"}


async def test_what_is_over_a_limit_that_was_lowered_can_shrink(start_service: StartService) -> None:
    async with start_service() as service:
        await of_resource(service, "s1", None)
        await patch(service, {"a": "12345", "b": "12345", "c": "12345"})
    async with start_service(state={"entries_max": 1, "scope_bytes_max": 8}) as service:
        assert (await put(service, "a", "1234")).status_code == 200
        assert (await service.client.delete(f"{STATE}/b")).status_code == 200
        assert_problem(await put(service, "d", 1), 413, "state-too-large")


# Optimistic concurrency


async def test_an_etag_changes_with_the_value_and_with_nothing_else(seen: Service) -> None:
    first = await put(seen, "a", 1)
    whole = (await seen.client.get(STATE)).headers["etag"]
    assert (await seen.client.get(f"{STATE}/a")).headers["etag"] == first.headers["etag"]
    await put(seen, "b", 1)
    assert (await seen.client.get(f"{STATE}/a")).headers["etag"] == first.headers["etag"]
    assert (await seen.client.get(STATE)).headers["etag"] != whole
    assert (await put(seen, "a", 2)).headers["etag"] != first.headers["etag"]


@pytest.mark.parametrize("path", [STATE, f"{STATE}/a"])
async def test_who_has_it_is_answered_304_until_it_is_another(seen: Service, path: str) -> None:
    await put(seen, "a", 1)
    tag = (await seen.client.get(path)).headers["etag"]
    known = {"If-None-Match": f'"x", {tag}'}
    same = await seen.client.get(path, headers=known)
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
    await put(seen, "a", 2)
    assert (await seen.client.get(path, headers=known)).status_code == 200


async def test_what_was_deleted_and_set_again_is_not_what_it_was(seen: Service) -> None:
    first = await put(seen, "a", 1)
    await seen.client.delete(f"{STATE}/a")
    again = await put(seen, "a", 2)
    assert again.headers["etag"] != first.headers["etag"]
    assert_problem(await put(seen, "a", 3, **{"If-Match": first.headers["etag"]}), 412, "precondition-failed")


async def test_a_change_is_made_only_to_the_state_that_is_expected(seen: Service) -> None:
    tag = (await put(seen, "a", 1)).headers["etag"]
    whole = (await seen.client.get(STATE)).headers["etag"]
    await patch(seen, {"a": 2, "app:b": 1})
    for method, path, body, stale in [
        ("PUT", f"{STATE}/a", 3, tag),
        ("DELETE", f"{STATE}/a", None, tag),
        ("PATCH", STATE, {"c": 3}, whole),
        ("PUT", f"{STATE}/a", 3, f"W/{tag}"),
        ("PUT", f"{STATE}/never", 3, "*"),
        ("PUT", f"{STATE}/never", 3, tag),
        ("PUT", f"{STATE}/a", 3, "nonsense"),
    ]:
        answer = await seen.client.request(method, path, json=body, headers={"If-Match": stale})
        assert_problem(answer, 412, "precondition-failed")
    for method, path, body in (("DELETE", f"{STATE}/a", None), ("PATCH", STATE, {"c": 3})):
        answer = await seen.client.request(method, path, json=body, headers={"If-None-Match": "*"})
        assert_problem(answer, 412, "precondition-failed")
    for path, stale in ((STATE, whole), (f"{STATE}/a", tag)):
        answer = await seen.client.get(path, headers={"If-Match": stale})
        assert_problem(answer, 412, "precondition-failed")
    assert await seen.get(STATE) == {"a": 2, "app:b": 1}


async def test_a_value_is_set_only_where_there_is_none_or_another(seen: Service) -> None:
    firsts = await asyncio.gather(*(put(seen, "a", turn, **{"If-None-Match": "*"}) for turn in range(4)))
    assert sorted(answer.status_code for answer in firsts) == [201, 412, 412, 412]
    tag = next(answer.headers["etag"] for answer in firsts if answer.status_code == 201)
    for known in ("*", tag, f"W/{tag}", f'"other", {tag}'):
        assert_problem(await put(seen, "a", 5, **{"If-None-Match": known}), 412, "precondition-failed")
    assert (await put(seen, "a", 6, **{"If-None-Match": '"other"'})).status_code == 200


async def test_a_change_of_what_is_expected_goes_through(seen: Service) -> None:
    tag = (await put(seen, "a", 1)).headers["etag"]
    answer = await put(seen, "a", 2, **{"If-Match": f'"other", {tag}'})
    assert answer.status_code == 200
    assert (await put(seen, "a", 3, **{"If-Match": "*"})).status_code == 200
    whole = (await seen.client.get(STATE)).headers["etag"]
    patched = await seen.client.patch(STATE, json={"a": 4}, headers={"If-Match": whole})
    assert (patched.status_code, patched.json()) == (200, {"a": 4})
    again = await seen.client.patch(STATE, json={}, headers={"If-Match": patched.headers["etag"]})
    assert again.headers["etag"] == patched.headers["etag"]
    tag = (await seen.client.get(f"{STATE}/a")).headers["etag"]
    gone = await seen.client.delete(f"{STATE}/a", headers={"If-Match": tag})
    assert (gone.status_code, gone.json()) == (200, {})


async def test_of_those_who_expect_the_same_state_one_changes_it(seen: Service) -> None:
    tag = (await put(seen, "a", 0)).headers["etag"]
    whole = (await seen.client.get(STATE)).headers["etag"]
    one = await asyncio.gather(*(put(seen, "a", turn, **{"If-Match": tag}) for turn in range(1, 6)))
    assert sorted(answer.status_code for answer in one) == [200, 412, 412, 412, 412]
    await put(seen, "a", 0)
    whole = (await seen.client.get(STATE)).headers["etag"]
    every = await asyncio.gather(
        *(
            seen.client.patch(STATE, json={name: 1}, headers={"If-Match": whole})
            for name in ("a", "b", "user:c", "app:d", "e")
        )
    )
    assert sorted(answer.status_code for answer in every) == [200, 412, 412, 412, 412]


async def test_writers_at_once_never_pass_a_limit_nor_wait_for_each_other_for_ever(
    start_service: StartService,
) -> None:
    async with start_service(state={"entries_max": 3}) as service:
        keys = ("s1", "s2")
        for key in keys:
            await of_resource(service, key, "ana")
        answers = await asyncio.gather(
            *(
                service.client.patch(f"/sessions/{key}/state", json={f"app:x{turn}": 1, f"user:x{turn}": 1})
                for turn in range(5)
                for key in keys
            )
        )
        assert {answer.status_code for answer in answers} == {200, 413}
        assert len(await service.get(STATE)) == 6


async def test_a_branch_has_the_sessions_values_of_now_and_changes_its_own(seen: Service) -> None:
    await seen.append("s1", {"role": "user", "content": "Hello"})
    await patch(seen, {"page": "billing", "nothing": None, "user:name": "Ana"})
    await put(seen, "empty", None)
    assert (await seen.client.post("/sessions/s1/branch", json={"key": "s2"})).status_code == 201
    values = {"page": "billing", "empty": None, "user:name": "Ana"}
    assert await seen.get("/sessions/s2/state") == await seen.get(STATE) == values
    await patch(seen, {"page": "orders"})
    await seen.client.delete("/sessions/s2/state/empty")
    assert await seen.get("/sessions/s2/state") == {"page": "billing", "user:name": "Ana"}
    assert (await seen.client.delete("/sessions/s1")).status_code == 200
    assert await seen.get("/sessions/s2/state") == {"page": "billing", "user:name": "Ana"}
