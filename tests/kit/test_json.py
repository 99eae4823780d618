"""JSON by orjson: what is kept of it takes no more room than its bytes do."""

from typing import Any

import psutil

from app.kit.json import canonical, canonical_each, storable

MANY = 50_000
MEBIBYTE = 1024 * 1024


def test_of_what_is_kept_the_heap_has_no_more_than_it_is() -> None:
    process = psutil.Process()
    before = process.memory_info().rss

    kept = [canonical([number, {"type": "text", "text": "a"}]) for number in range(MANY)]

    assert process.memory_info().rss - before < 50 * MEBIBYTE  # of 2 MB, and objects
    assert kept[7] == b'[7,{"text":"a","type":"text"}]'


def test_each_of_many_values_is_written_as_it_is_alone() -> None:
    values: list[Any] = [[1, {"b": ",\n,", "a": "\n"}], "line\n", {"b": [], "a": {}}, None, []]
    assert canonical_each(values) == tuple(map(canonical, values))
    assert canonical_each([]) == ()


def test_what_postgres_cannot_store_is_left_out_of_a_text() -> None:
    assert storable("a\x00b\ud800c\U0001f642\udc00") == "abc\U0001f642"
