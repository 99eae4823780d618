import base64
import zlib
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kit.errors import Invalid
from app.kit.paging import next_cursor, paged, read_cursor
from app.sessions.model import SEQ_MAX
from app.sessions.schemas import KEY_PATTERN
from tests.conftest import Service

PATH = "/sessions/s1/messages"
MARK = zlib.crc32(PATH.encode())


MADE = ("versions", "observations", "reflections", "runs")


def encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def cursor_of(last: str) -> str:
    return encoded(f"[{MARK},{last}]")


@given(st.integers(0, SEQ_MAX))
def test_a_cursor_is_read_back_as_the_number_it_was_made_of(last: int) -> None:
    assert read_cursor(next_cursor(last, path=PATH), int, path=PATH) == last


@given(st.from_regex(KEY_PATTERN, fullmatch=True))
def test_a_cursor_is_read_back_as_the_key_it_was_made_of(last: str) -> None:
    cursor = next_cursor(last, path=PATH)
    assert read_cursor(cursor, str, path=PATH) == last
    assert len(cursor) <= 400  # what a request may have
    assert "=" not in cursor


@given(st.integers(0, 20), st.integers(1, 5))
def test_a_list_is_read_page_by_page_to_its_end(count: int, limit: int) -> None:
    read: list[int] = []
    cursor: str | None = None
    for _ in range(max(1, -(-count // limit))):
        after = read_cursor(cursor, int, path=PATH) or 0
        page, cursor = paged(range(after + 1, count + 1)[: limit + 1], limit, int, path=PATH)
        read += page
    assert (read, cursor) == ([*range(1, count + 1)], None)


def test_without_a_cursor_a_list_is_read_from_its_start() -> None:
    assert read_cursor(None, int, path=PATH) is None


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "x",
        "!!!!",
        "é",
        "\0",
        cursor_of("nonsense"),
        encoded("12"),  # as it was before
        encoded(f"[{MARK}]"),
        encoded(f"[{MARK + 1},12]"),
        encoded('{"12": 12}'),
        cursor_of("12") + "~",
        next_cursor("a key", path=PATH),
        cursor_of("true"),
        cursor_of("1.5"),
        cursor_of("null"),
        cursor_of("[1]"),
        cursor_of("-1"),
        cursor_of(str(2**63)),
        cursor_of(str(2**64)),
        cursor_of("9" * 200),
    ],
)
def test_what_is_no_cursor_of_a_numbered_list_is_refused_by_its_name(cursor: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_cursor(cursor, int, path=PATH)
    assert [error.pointer for error in refused.value.errors] == ["cursor"]


@pytest.mark.parametrize(
    "cursor", [next_cursor(12, path=PATH), cursor_of('"a\\u0000"'), cursor_of('"\\ud800"'), cursor_of("{}")]
)
def test_what_is_no_cursor_of_a_list_by_key_is_refused(cursor: str) -> None:
    with pytest.raises(Invalid):
        read_cursor(cursor, str, path=PATH)


@given(st.text(max_size=40))
def test_any_text_is_a_cursor_or_invalid(cursor: str) -> None:
    with suppress(Invalid):
        assert type(read_cursor(cursor, int, path=PATH)) is int


@given(st.sampled_from(["/sessions", "/sessions/s2/messages", "/sessions/s1/configs", "/sessions/S1/messages"]))
def test_a_cursor_of_another_list_is_refused(other: str) -> None:
    with pytest.raises(Invalid, match="not a cursor of this list"):
        read_cursor(next_cursor(12, path=other), int, path=PATH)


async def test_no_list_goes_on_where_another_ended(service: Service) -> None:
    async with aclosing(_lists(service)) as lists:
        cursors = {path: page["next_cursor"] async for path, page in lists}
    assert [path for path, cursor in cursors.items() if cursor is None] == ["/sessions/s1/memory/reflections"]
    for path in cursors:
        for other, cursor in cursors.items():
            answer = await service.client.get(path, params={"cursor": cursor or encoded("1")})
            assert answer.status_code == (200 if path == other and cursor else 422), (path, other)
            assert path == other or answer.json()["errors"][0]["pointer"] == "cursor"


@pytest.mark.parametrize(("order", "other", "seqs"), [("asc", "desc", [1, 2]), ("desc", "asc", [3, 2])])
async def test_a_list_goes_on_in_the_order_in_which_it_began(
    service: Service, order: str, other: str, seqs: list[int]
) -> None:
    await service.append("s1", *({"role": "user", "content": "Hi"} for _ in range(3)))
    first = await service.get(PATH, order=order, limit=1)
    second = await service.get(PATH, order=order, limit=1, cursor=first["next_cursor"])
    turned = await service.client.get(PATH, params={"order": other, "cursor": first["next_cursor"]})

    assert [message["seq"] for page in (first, second) for message in page["items"]] == seqs
    assert (turned.status_code, turned.json()["errors"][0]["pointer"]) == (422, "cursor")


async def _lists(service: Service) -> AsyncGenerator[tuple[str, dict[str, Any]], None]:
    """Every list there is, and the first page of it; most have a second."""
    told = [{"role": "user", "content": "I live in Lisbon and I prefer a window seat. " * 5} for _ in range(4)]
    for key in ("s1", "s2"):
        for tokens in (50, 60):
            await service.configure(key, message_tokens=tokens, buffer_every=None, retain_tokens=0, keep_last=0)
        for said in told:
            await service.append(key, said, wait_ms=10_000)
    for name, content in (("a", b"1"), ("a", b"2"), ("b", b"1")):
        await service.client.put(f"/sessions/s1/artifacts/{name}", content=content)
    for text in ("Lives in Lisbon.", "Likes cheese."):
        await service.client.post("/resources/ana/facts", json={"text": text, "category": "profile"})
    of_s1 = ("configs", "artifacts", "artifacts/a/versions", *(f"memory/{name}" for name in MADE))
    paths = ["/sessions", "/resources/ana/facts", "/sessions/s2/messages", "/sessions/s1/messages"]
    for path in (*paths, *(f"/sessions/s1/{name}" for name in of_s1)):
        yield path, await service.get(path, limit=1)
