"""Artifacts over HTTP (api.md)."""

import asyncio
from hashlib import sha256
from typing import Any

import httpx2 as httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.sessions.store import session_id
from tests.conftest import Service, StartService
from tests.test_problems import assert_problem

REPORT = "/sessions/s1/artifacts/report.csv"
TEXT = b"city,people\nLisbon,545000\nPorto,231800\n"


@pytest.fixture
async def session(service: Service) -> Service:
    """A service with the session s1."""
    await service.configure("s1")
    return service


async def put(
    service: Service, content: bytes = TEXT, path: str = REPORT, media_type: str = "text/csv"
) -> httpx.Response:
    return await service.client.put(path, content=content, headers={"Content-Type": media_type})


async def read(service: Service, path: str = REPORT, **headers: str) -> httpx.Response:
    return await service.client.get(path, headers={name.replace("_", "-"): value for name, value in headers.items()})


async def names(service: Service, **parameters: Any) -> list[str]:
    return [item["name"] for item in (await service.get("/sessions/s1/artifacts", **parameters))["items"]]


def result(call: str, output: Any) -> dict[str, Any]:
    return {"role": "tool", "content": [{"type": "tool_result", "tool_call_id": call, "output": output}]}


# Put and get


async def test_what_is_put_is_read_back_as_it_was(session: Service) -> None:
    content = bytes(range(256))
    answer = await put(session, content, media_type="image/png")
    assert answer.status_code == 201
    body = answer.json()
    assert body.pop("created_at")
    assert body == {
        "session": "s1",
        "name": "report.csv",
        "version": 1,
        "handle": "artifact://s1/report.csv?version=1",
        "media_type": "image/png",
        "size": 256,
        "sha256": sha256(content).hexdigest(),
    }
    found = await read(session)
    assert (found.status_code, found.content, found.headers["content-type"]) == (200, content, "image/png")
    assert found.headers["etag"] == f'"{body["sha256"]}"' == answer.headers["etag"]
    assert (await put(session, content, media_type="image/png")).headers["etag"] == found.headers["etag"]
    assert found.headers["artifact-handle"] == body["handle"]


async def test_a_browser_neither_guesses_its_type_nor_shows_it(session: Service) -> None:
    await put(session, b"<script>alert(1)</script>", media_type="text/html")
    headers = (await read(session)).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-disposition"] == 'attachment; filename="report.csv"'
    assert "sandbox" in headers["content-security-policy"]


async def test_each_put_of_other_bytes_is_a_version_and_none_ever_changes(session: Service) -> None:
    for number in range(1, 4):
        answer = await put(session, b"version %d" % number)
        assert (answer.status_code, answer.json()["version"]) == (201, number)
    assert (await read(session)).content == b"version 3"
    for number in range(1, 4):
        assert (await read(session, f"{REPORT}?version={number}")).content == b"version %d" % number
    assert_problem(await read(session, f"{REPORT}?version=4"), 404, "artifact-not-found")


async def test_the_same_bytes_again_are_the_same_version(session: Service) -> None:
    first = await put(session)
    again = await put(session)
    assert (again.status_code, again.json()) == (200, first.json())
    assert (await put(session, b"other")).json()["version"] == 2
    assert (await put(session)).json()["version"] == 3
    assert (await put(session, media_type="text/plain")).json()["version"] == 4


async def test_puts_at_once_each_become_a_version(session: Service) -> None:
    answers = await asyncio.gather(*(put(session, b"%d" % number) for number in range(20)))
    assert [answer.status_code for answer in answers] == [201] * 20
    assert sorted(answer.json()["version"] for answer in answers) == list(range(1, 21))
    for answer in answers:
        found = await read(session, f"{REPORT}?version={answer.json()['version']}")
        assert sha256(found.content).hexdigest() == answer.json()["sha256"]


async def test_no_bytes_are_an_artifact_too(session: Service) -> None:
    assert (await put(session, b"")).json()["size"] == 0
    assert (await read(session)).content == b""
    assert_problem(await read(session, Range="bytes=0-"), 416, "requested-range-not-satisfiable")


async def test_without_a_content_type_it_is_bytes(session: Service) -> None:
    answer = await session.client.put(REPORT, content=TEXT)
    assert answer.json()["media_type"] == "application/octet-stream"


@pytest.mark.parametrize("media_type", ["", "text", "text/", "text/html\x80", "a/b c", "a/" + "b" * 200])
async def test_what_is_no_media_type_is_refused(session: Service, media_type: str) -> None:
    answer = await session.client.put(REPORT, content=TEXT, headers=[(b"Content-Type", media_type.encode("latin-1"))])
    assert [error["pointer"] for error in assert_problem(answer, 422, "invalid")["errors"]] == ["Content-Type"]


@pytest.mark.parametrize("name", ["a b", "ä", "k" * 201, "a%0Ab"])
async def test_names_have_up_to_200_of_the_characters_of_keys(session: Service, name: str) -> None:
    assert_problem(await put(session, path=f"/sessions/s1/artifacts/{name}"), 422, "invalid")
    longest = "/sessions/s1/artifacts/" + "A-z.0_9:@~=+" + "k" * 188
    assert (await put(session, path=longest)).status_code == 201
    assert (await read(session, longest)).content == TEXT


async def test_under_a_session_never_seen_there_is_nothing(service: Service) -> None:
    path = "/sessions/never/artifacts"
    assert_problem(await put(service, path=f"{path}/a"), 404, "session-not-found")
    assert_problem(await service.client.get(path), 404, "session-not-found")
    assert_problem(await service.client.get(f"{path}/a"), 404, "session-not-found")
    assert_problem(await service.client.get(f"{path}/a/versions"), 404, "session-not-found")
    assert_problem(await service.client.get(f"{path}/message:1:0"), 404, "session-not-found")
    assert_problem(await service.client.post(f"{path}/a/grep", json={"pattern": "a"}), 404, "session-not-found")
    assert_problem(await service.client.delete(f"{path}/a"), 404, "session-not-found")


async def test_a_session_has_its_own(session: Service) -> None:
    await session.configure("s2")
    await put(session)
    assert_problem(await read(session, "/sessions/s2/artifacts/report.csv"), 404, "artifact-not-found")
    assert (await session.get("/sessions/s2/artifacts"))["items"] == []


# Limits


async def test_one_has_8_mib_at_most(session: Service) -> None:
    limit = 8 * 1024 * 1024
    assert (await put(session, b"x" * limit)).json()["size"] == limit
    assert len((await read(session)).content) == limit
    assert_problem(await put(session, b"x" * (limit + 1)), 413, "too-large")


async def test_the_limits_are_settings(start_service: StartService) -> None:
    async with start_service(artifacts={"bytes_max": 10, "versions_max": 2, "session_max": 3}) as service:
        await service.configure("s1")
        assert (
            "DAYBOOK_ARTIFACTS__BYTES_MAX"
            in assert_problem(await put(service, b"x" * 11), 413, "artifact-too-large")["detail"]
        )
        for content in (b"1", b"2"):
            assert (await put(service, content)).status_code == 201
        assert "VERSIONS_MAX" in assert_problem(await put(service, b"3"), 413, "artifacts-full")["detail"]
        assert (await put(service, b"2")).status_code == 200
        other = "/sessions/s1/artifacts/other"
        assert (await put(service, b"1", other)).status_code == 201
        assert "SESSION_MAX" in assert_problem(await put(service, b"2", other), 413, "artifacts-full")["detail"]
        await service.client.delete(REPORT)
        assert (await put(service, b"2", other)).status_code == 201
        assert (await put(service, b"1")).status_code == 201  # what was deleted does not count


# Ranges and conditions


@settings(max_examples=25)
@given(first=st.integers(0, 45), length=st.integers(0, 45))
async def test_any_range_is_the_slice_of_its_bytes(session: Service, first: int, length: int) -> None:
    await put(session)
    answer = await read(session, Range=f"bytes={first}-{first + length}")
    wanted = TEXT[first : first + length + 1]
    if wanted:
        assert (answer.status_code, answer.content) == (206, wanted)
        assert answer.headers["content-range"] == f"bytes {first}-{first + len(wanted) - 1}/{len(TEXT)}"
    else:
        assert_problem(answer, 416, "requested-range-not-satisfiable")
        assert answer.headers["content-range"] == f"bytes */{len(TEXT)}"


async def test_several_ranges_are_answered_with_the_whole(session: Service) -> None:
    await put(session)
    answer = await read(session, Range="bytes=0-1,4-5")
    assert (answer.status_code, answer.content) == (200, TEXT)


async def test_a_range_of_other_bytes_than_the_caller_has_is_the_whole(session: Service) -> None:
    etag = f'"{(await put(session)).json()["sha256"]}"'
    assert (await read(session, Range="bytes=0-3", If_Range=etag)).status_code == 206
    assert (await read(session, Range="bytes=0-3", If_Range='"other"')).content == TEXT


async def test_a_version_is_made_only_of_the_one_that_is_expected(session: Service) -> None:
    """RFC 9110 section 13.2.1: also of several at once one alone finds what it expects."""

    async def puts(name: str, expected: str) -> list[int]:
        asked = [session.client.put(REPORT, content=b"%d" % turn, headers={name: expected}) for turn in range(4)]
        answers = await asyncio.gather(*asked)
        refused = [answer for answer in answers if answer.status_code != 201]
        assert all(assert_problem(answer, 412, "precondition-failed") for answer in refused)
        return sorted(answer.status_code for answer in answers)

    assert await puts("If-Match", "*") == [412] * 4
    assert await puts("If-None-Match", "*") == [201, 412, 412, 412]
    etag = (await read(session)).headers["etag"]
    assert await puts("If-Match", f"W/{etag}") == await puts("If-None-Match", f'"other", {etag}') == [412] * 4
    await put(session, b"of another")
    assert await puts("If-Match", etag) == [412] * 4
    assert await puts("If-Match", (await read(session)).headers["etag"]) == [201, 412, 412, 412]
    assert (await read(session, f"{REPORT}/versions")).json()["items"][0]["version"] == 3


async def test_only_what_is_expected_is_deleted_or_read(session: Service) -> None:
    etag = f'"{(await put(session)).json()["sha256"]}"'
    await put(session, media_type="text/plain")
    for method, name, stale in (
        ("DELETE", "If-Match", '"other"'),
        ("DELETE", "If-None-Match", "*"),
        ("DELETE", "If-None-Match", etag),
        ("GET", "If-Match", '"other"'),
        ("GET", "If-Match", f"W/{etag}"),
    ):
        assert_problem(await session.client.request(method, REPORT, headers={name: stale}), 412, "precondition-failed")
    assert (await read(session, If_Match=etag, If_None_Match='"other"')).content == TEXT
    gone = await session.client.delete(REPORT, headers={"If-Match": etag})
    assert (gone.status_code, gone.json()["deleted"]) == (200, 2)
    assert_problem(await session.client.delete(REPORT, headers={"If-Match": "*"}), 412, "precondition-failed")
    assert (await session.client.delete(REPORT, headers={"If-None-Match": "*"})).status_code == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
async def test_under_a_session_never_seen_nothing_can_be_expected(service: Service, method: str) -> None:
    answer = await service.client.request(method, REPORT, headers={"If-Match": "*"})
    assert_problem(answer, 404, "session-not-found")


async def test_who_has_the_bytes_is_told_so(session: Service) -> None:
    etag = f'"{(await put(session)).json()["sha256"]}"'
    for known in (etag, f'"other", W/{etag}', "*"):
        answer = await read(session, If_None_Match=known)
        assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", etag)
    assert (await read(session, If_None_Match='"other"')).status_code == 200


# Lists


async def test_the_list_has_the_newest_version_of_each_by_name(session: Service) -> None:
    for name in ("b", "a", "c"):
        for content in (b"1", b"2"):
            await put(session, content, f"/sessions/s1/artifacts/{name}")
    items = (await session.get("/sessions/s1/artifacts"))["items"]
    assert [(item["name"], item["version"]) for item in items] == [("a", 2), ("b", 2), ("c", 2)]


async def test_the_versions_are_listed_newest_first(session: Service) -> None:
    for number in range(5):
        await put(session, b"%d" % number)
    first = await session.get(f"{REPORT}/versions", limit=3)
    rest = await session.get(f"{REPORT}/versions", limit=3, cursor=first["next_cursor"])
    assert [item["version"] for item in first["items"] + rest["items"]] == [5, 4, 3, 2, 1]
    assert rest["next_cursor"] is None


async def test_the_large_parts_of_messages_are_listed_behind_them(session: Service) -> None:
    await session.append("s1", result("c1", "x" * 10_000), result("c2", "y" * 10_001))
    await session.append("s1", {"role": "user", "content": ["short", "é" * 5_001, "z" * 20_000]})
    await put(session)
    everything = ["report.csv", "message:2:0", "message:3:1", "message:3:2"]
    assert await names(session) == everything
    for limit in (1, 2, 3):
        page = await session.get("/sessions/s1/artifacts", limit=limit)
        found = list(page["items"])
        while page["next_cursor"]:
            page = await session.get("/sessions/s1/artifacts", limit=limit, cursor=page["next_cursor"])
            found += page["items"]
        assert [item["name"] for item in found] == everything


@pytest.mark.parametrize("cursor", ["MQ", "IjEvYSI", "IjkyMjMzNzIwMzY4NTQ3NzU4MDgvMSI"])
async def test_a_cursor_of_another_list_is_refused(session: Service, cursor: str) -> None:
    answer = await session.client.get("/sessions/s1/artifacts", params={"cursor": cursor})
    assert_problem(answer, 422, "invalid")


# Parts of messages


@pytest.mark.parametrize("output", ["Grüße 🔴\n" * 2_000, {"rows": [{"a": 1.5, "é": None}] * 900}, ["x"] * 4_000])
async def test_a_part_of_a_message_is_an_artifact_by_its_place(session: Service, output: Any) -> None:
    await session.append("s1", {"role": "user", "content": "Go"}, result("c1", output))
    [item] = (await session.get("/sessions/s1/artifacts"))["items"]
    assert (item["name"], item["handle"]) == ("message:2:0", "artifact://s1/message:2:0?version=1")
    found = await read(session, "/sessions/s1/artifacts/message:2:0")
    assert found.headers["content-type"] == item["media_type"]
    assert (len(found.content), sha256(found.content).hexdigest()) == (item["size"], item["sha256"])
    assert (found.text if isinstance(output, str) else found.json()) == output
    piece = await read(session, "/sessions/s1/artifacts/message:2:0", Range="bytes=100-8191")
    assert piece.content == found.content[100:8192]
    [_, message] = (await session.get("/sessions/s1/messages"))["items"]
    assert message["content"][0]["output"] == output


async def test_a_part_has_one_version(session: Service) -> None:
    await session.append("s1", result("c1", "x" * 20_000))
    path = "/sessions/s1/artifacts/message:1:0"
    assert [item["version"] for item in (await session.get(f"{path}/versions"))["items"]] == [1]
    assert (await read(session, f"{path}?version=1")).status_code == 200
    assert_problem(await read(session, f"{path}?version=2"), 404, "artifact-not-found")
    assert_problem(await read(session, "/sessions/s1/artifacts/message:1:1"), 404, "artifact-not-found")
    assert_problem(await read(session, "/sessions/s1/artifacts/message:7:0"), 404, "artifact-not-found")


async def test_a_part_without_words_is_no_artifact(session: Service) -> None:
    image = {"type": "image", "url": "https://a.example/a.png"}
    await session.append("s1", {"role": "user", "content": [image]}, result("c1", None))
    for name in ("message:1:0", "message:2:0"):
        assert_problem(await read(session, f"/sessions/s1/artifacts/{name}"), 404, "artifact-not-found")


async def test_a_part_is_changed_and_deleted_with_its_message_alone(session: Service) -> None:
    await session.append("s1", result("c1", "x" * 20_000))
    path = "/sessions/s1/artifacts/message:1:0"
    for answer in (await put(session, path=path), await session.client.delete(path)):
        assert [error["pointer"] for error in assert_problem(answer, 422, "invalid")["errors"]] == ["name"]


# Grep


async def test_a_text_is_searched_by_lines(session: Service) -> None:
    await put(session)
    answer = await session.client.post(f"{REPORT}/grep", json={"pattern": "^[LP].*,\\d+$", "neighbours": 1})
    assert answer.json() == {
        "session": "s1",
        "name": "report.csv",
        "version": 1,
        "handle": "artifact://s1/report.csv?version=1",
        "matches": [
            {"line": 2, "text": "Lisbon,545000", "before": ["city,people"], "after": ["Porto,231800"]},
            {"line": 3, "text": "Porto,231800", "before": ["Lisbon,545000"], "after": []},
        ],
        "truncated": False,
    }
    await put(session, b"other")
    for version, count in ((None, 0), (1, 1), (2, 0)):
        answer = await session.client.post(f"{REPORT}/grep", json={"pattern": "Porto", "version": version})
        assert len(answer.json()["matches"]) == count


async def test_a_tool_result_is_searched_without_loading_it(session: Service) -> None:
    await session.append("s1", result("c1", "\n".join(f"line {number}" for number in range(1, 5_001))))
    answer = await session.client.post(
        "/sessions/s1/artifacts/message:1:0/grep", json={"pattern": "LINE .*99$", "limit": 2, "ignore_case": True}
    )
    assert [match["line"] for match in answer.json()["matches"]] == [99, 199]
    assert answer.json()["truncated"]


async def test_what_cannot_be_searched_is_told(session: Service) -> None:
    await put(session)
    answer = await session.client.post(f"{REPORT}/grep", json={"pattern": "(a"})
    assert [error["pointer"] for error in assert_problem(answer, 422, "invalid")["errors"]] == ["/pattern"]
    await put(session, b"\x89PNG\x00")
    assert_problem(await session.client.post(f"{REPORT}/grep", json={"pattern": "a"}), 422, "artifact-not-text")


# Delete


async def test_a_deletion_takes_every_version_and_no_number_comes_back(session: Service) -> None:
    other = "/sessions/s1/artifacts/other"
    for content in (b"1", b"2"):
        await put(session, content)
        await put(session, content, other)
    answer = await session.client.delete(REPORT)
    assert answer.json() == {"session": "s1", "name": "report.csv", "deleted": 2}
    for path in (REPORT, f"{REPORT}?version=1", f"{REPORT}?version=2", f"{REPORT}/versions"):
        assert_problem(await read(session, path), 404, "artifact-not-found")
    assert await names(session) == ["other"]
    assert [(await read(session, f"{other}?version={number}")).content for number in (1, 2)] == [b"1", b"2"]
    assert (await session.client.delete(REPORT)).json()["deleted"] == 0
    assert (await put(session, b"2")).json()["version"] == 3
    assert (await read(session)).content == b"2"
    assert [item["version"] for item in (await session.get(f"{REPORT}/versions"))["items"]] == [3]


async def test_nothing_of_a_deleted_one_stays_but_its_name_and_number_until_the_session_goes(session: Service) -> None:
    await put(session, b"secret words")
    await session.client.delete(REPORT)
    async with session.app.state.database.connection() as connection:
        [row] = await connection.fetch("SELECT * FROM artifacts")
    assert (row["content"], row["object_key"], row["size"], row["sha256"], row["media_type"]) == (
        None,
        None,
        0,
        b"",
        "",
    )
    await session.client.delete("/sessions/s1")
    async with session.app.state.database.connection() as connection:
        assert await connection.fetch("SELECT * FROM artifacts") == []


# For templates


async def test_the_newest_texts_under_names_are_found_for_a_template(session: Service) -> None:
    for name, content in (("a", b"old"), ("a", b"new"), ("b", "é".encode())):
        await put(session, content, f"/sessions/s1/artifacts/{name}")
    artifacts = session.app.state.artifacts
    assert await artifacts.texts(session_id("default", "s1"), dict.fromkeys("abc", "/system/0")) == {
        "a": "new",
        "b": "é",
    }


async def test_a_search_that_takes_too_long_is_told_so(start_service: StartService) -> None:
    async with start_service(artifacts={"grep_seconds": 1e-9, "grep_concurrency": 1}) as service:
        await service.append("s1", {"role": "user", "content": "Hello"})
        await service.client.put(REPORT, content=b"a\n")
        for _ in range(2):  # the place of one that was ended is the next one's
            answer = await service.client.post(f"{REPORT}/grep", json={"pattern": "a"})
            assert "/pattern: takes too long" in assert_problem(answer, 422, "invalid")["detail"]


async def test_a_search_shows_as_much_of_a_line_as_the_setting_says(start_service: StartService) -> None:
    async with start_service(artifacts={"grep_line_characters_max": 40}) as service:
        await service.append("s1", {"role": "user", "content": "Hello"})
        await service.client.put(REPORT, content=b"a" * 100)
        answer = await service.client.post(f"{REPORT}/grep", json={"pattern": "a"})
    assert [match["text"] for match in answer.json()["matches"]] == ["a" * 40]
