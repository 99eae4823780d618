"""Vectors beside words: what they find, and that nothing else changes when they are late, wrong, erased or down."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from structlog.testing import capture_logs

from app.kit.db import Database, DatabaseConfig
from app.kit.errors import StartError
from app.llm.embedding import EmbeddingConfig, EmbeddingProvider, Use
from app.llm.embedding_build import GuardedEmbedder, build_embedder
from app.llm.guard import Guard, GuardConfig
from app.llm.port import ModelError
from app.recall.fusion import Near
from app.recall.metrics import VectorMetrics
from app.recall.model import Search, Searched, Span
from app.recall.preparing import prepare_vectors
from app.recall.vector_search import VectorSearch, newest
from app.recall.vector_store import VectorStore
from app.recall.vectorizing import VectorConfig, Vectorizing
from app.redaction.model import OFF
from app.sessions.model import SEQ_MAX
from app.sessions.store import session_id
from tests.conftest import Service, StartService
from tests.journeys.looks import until
from tests.memory.test_fencing import Crowded
from tests.memory.test_sharing import share
from tests.model_replies import PromptKind
from tests.model_server import Fault, ModelServer, Said

Json = dict[str, Any]
SESSION = session_id("default", "s")
SOON: Json = {"index_quiet_seconds": 0, "index_look_seconds": 0.05, "index_share": 1.0}
ON: Json = {
    "provider": "openai",
    "model": "m",
    "look_seconds": 0.05,
    "share": 1.0,
    "query_seconds": 30.0,
    "open_seconds": 3_600,
}
TALK = ("Ana sold her car yesterday", "The doctor was late", "We had soup", "It rained all day", "Bob reads novels")
ROWS = "SELECT seq, model, vector FROM message_vectors WHERE session_id = $1 ORDER BY model, seq"


def switched_on(start_service: StartService, **settings: Any) -> Any:
    embeddings = ON | settings.pop("embeddings", {})
    return start_service(provider="extractive", recall=SOON, embeddings=embeddings, **settings)


@pytest.fixture
async def finding(models: ModelServer, start_service: StartService) -> AsyncIterator[Service]:  # noqa: ARG001 - the SDK is led to it
    """The service with embeddings of the scripted provider."""
    async with switched_on(start_service) as service:
        yield service


async def tell(service: Service, *texts: str, key: str = "s", **body: Any) -> None:
    messages = [{"id": f"m-{n}", "role": "user", "content": text} for n, text in enumerate(texts, start=1)]
    answer = await service.client.post(f"/sessions/{key}/messages", json={"messages": messages} | body)
    assert answer.status_code == 201, answer.text


async def found(service: Service, query: str, path: str = "sessions/s", **asked: Any) -> list[str]:
    body = {"query": query, "kinds": ["messages"], "limit": 100} | asked
    answer = await service.client.post(f"/{path}/recall", json=body)
    assert answer.status_code == 200, answer.text
    return [hit["text"] for hit in answer.json()["hits"]]


async def rows(service: Service, session: UUID = SESSION) -> list[Any]:
    database: Database = service.app.state.database
    async with database.connection() as connection:
        return list(await connection.fetch(ROWS, session))


async def embedded(service: Service, number: int, session: UUID = SESSION) -> None:
    """Wait for so many rows."""

    async def count() -> int:
        return len(await rows(service, session))

    await until(count, number.__eq__, seconds=60)


async def test_a_message_is_found_that_shares_no_word_with_the_query(finding: Service) -> None:
    await tell(finding, *TALK)
    await embedded(finding, len(TALK))
    assert (await found(finding, "automobile"))[0] == TALK[0]
    assert (await found(finding, "surgeon physician"))[0] == TALK[1]


async def test_where_the_database_has_the_extension_no_more_words_find_what_they_find(finding: Service) -> None:
    await tell(finding, *TALK)
    await embedded(finding, len(TALK))
    before = await found(finding, "novels")
    database: Database = finding.app.state.database
    async with database.connection() as connection:
        await connection.execute("DROP EXTENSION vector CASCADE")
        try:
            told = await found(finding, "novels")
            context = await finding.client.get("/sessions/s/context", params={"query": "novels"})
        finally:
            await connection.execute("CREATE EXTENSION vector")
    assert told
    assert set(told) <= set(before)
    assert context.status_code == 200
    assert await found(finding, "novels") == before


async def test_what_words_find_is_still_found_before_it_has_a_vector(
    models: ModelServer, start_service: StartService
) -> None:
    models.fail_next(Fault.SERVER_ERROR, times=1_000, kind=PromptKind.EMBEDDER)
    async with switched_on(start_service) as service:
        await tell(service, *TALK)
        assert await found(service, "novels") == [TALK[4], TALK[3], TALK[2]]
        assert await rows(service) == []


async def test_a_model_that_is_down_leaves_words_and_is_not_asked_for_a_while(
    finding: Service, models: ModelServer
) -> None:
    await tell(finding, *TALK)
    await embedded(finding, len(TALK))
    models.always = Fault.SERVER_ERROR
    for _ in range(6):
        assert (await found(finding, "automobile novels"))[0] == TALK[4]
    asked = len(models.requests)
    assert await found(finding, "automobile") == []
    assert len(models.requests) == asked

    metrics = (await finding.client.get("/metrics")).text
    assert 'daybook_provider_circuit_open{provider="embeddings"} 1.0' in metrics
    assert 'daybook_vector_searches_total{outcome="circuit_open"} 2.0' in metrics
    assert "daybook_vectors_written_total 5.0" in metrics


async def test_a_model_that_hangs_keeps_a_context_waiting_no_longer_than_is_set(
    models: ModelServer, start_service: StartService
) -> None:
    async with switched_on(start_service, embeddings={"query_seconds": 0.05}) as service:
        await tell(service, *TALK)
        models.always = Fault.HANG
        context = await service.context("s", query="novels")
        assert TALK[4] in str(context["payload"])


async def test_a_context_recalls_by_vectors_too(finding: Service) -> None:
    await finding.configure("s", message_budget=40, keep_last=1)
    await tell(finding, *TALK, *(f"Nothing of note happened on day {n}, and so on and on" for n in range(6)))
    await embedded(finding, len(TALK) + 6)
    context = await finding.context("s", query="automobile")
    assert TALK[0] in str(context["payload"])


async def test_nobody_finds_what_was_said_to_others(finding: Service) -> None:
    for key, resource in (("s", "ana"), ("t", "bob")):
        await tell(finding, TALK[0], f"{resource}'s soup", key=key, resource_id=resource)
        await embedded(finding, 2, session_id("default", key))
    assert await found(finding, "automobile") == [TALK[0], "ana's soup"]
    assert await found(finding, "automobile", "resources/bob") == [TALK[0], "bob's soup"]
    assert await found(finding, "automobile", "resources/carl") == []


async def test_a_span_of_time_and_the_sessions_of_a_resource_bound_what_is_found(finding: Service) -> None:
    for number, key in enumerate(("s", "t"), start=1):
        message = {"role": "user", "content": f"car {key}", "created_at": f"2026-0{number}-01T10:00:00Z"}
        body = {"messages": [message], "resource_id": "ana"}
        assert (await finding.client.post(f"/sessions/{key}/messages", json=body)).status_code == 201
        await embedded(finding, 1, session_id("default", key))
    assert sorted(await found(finding, "automobile", "resources/ana")) == ["car s", "car t"]
    assert await found(finding, "automobile", "resources/ana", since="2026-01-15T00:00:00Z") == ["car t"]
    assert await found(finding, "automobile", "resources/ana", until="2026-01-15T00:00:00Z") == ["car s"]
    assert await found(finding, "automobile", "resources/ana", session="s") == ["car s"]


async def test_an_erased_message_has_no_vector_from_that_moment_on(finding: Service) -> None:
    await tell(finding, *TALK)
    await embedded(finding, len(TALK))
    await finding.client.delete("/sessions/s/messages/m-1")
    assert [row["seq"] for row in await rows(finding) if row["vector"] is None] == [1]
    assert TALK[0] not in await found(finding, "automobile")


async def test_a_deleted_session_leaves_no_vector_and_its_branch_has_its_own(finding: Service) -> None:
    await tell(finding, *TALK)
    await embedded(finding, len(TALK))
    assert (await finding.client.post("/sessions/s/branch", json={"key": "b"})).status_code == 201
    await embedded(finding, len(TALK), session_id("default", "b"))
    receipt = (await finding.client.delete("/sessions/s")).json()
    assert receipt["rows"]["message_vectors"] == len(TALK)
    assert await rows(finding) == []
    assert (await found(finding, "automobile", "sessions/b"))[0] == TALK[0]


async def test_in_a_shared_memory_the_vectors_of_what_is_erased_go_and_those_of_the_others_stay(
    finding: Service,
) -> None:
    await share(finding, "s", "t")
    sessions = {key: session_id("default", key) for key in ("s", "t")}
    for key, session in sessions.items():
        await tell(finding, *TALK[:2], key=key)
        await embedded(finding, 2, session)
    await finding.client.delete("/sessions/s/messages/m-1")
    erased = {key: [row["vector"] is None for row in await rows(finding, of)] for key, of in sessions.items()}
    deleted = (await finding.client.delete("/sessions/s")).json()["rows"]
    left = {key: len(await rows(finding, session)) for key, session in sessions.items()}
    whole = (await finding.client.delete("/resources/ana")).json()["rows"]
    assert erased == {"s": [True, False], "t": [False, False]}
    assert (deleted["message_vectors"], left, whole["message_vectors"]) == (2, {"s": 0, "t": 2}, 2)


@pytest.mark.usefixtures("models")
async def test_vectors_are_deleted_where_embeddings_are_switched_off_again(start_service: StartService) -> None:
    async with switched_on(start_service) as service:
        await tell(service, *TALK)
        await embedded(service, len(TALK))
    async with start_service(provider="extractive") as service:
        await service.client.delete("/sessions/s/messages/m-1")
        assert [row["seq"] for row in await rows(service) if row["vector"] is None] == [1]
        assert (await service.client.delete("/sessions/s")).json()["rows"]["message_vectors"] == len(TALK)


async def test_a_replaced_message_is_found_by_what_it_says_now(finding: Service) -> None:
    await tell(finding, *TALK)
    await embedded(finding, len(TALK))
    answer = await finding.client.put("/sessions/s/messages/m-1", json={"role": "user", "content": "A cat came"})
    assert answer.status_code == 200, answer.text
    await embedded(finding, len(TALK))
    assert (await found(finding, "feline"))[0] == "A cat came"


async def test_what_is_redacted_is_not_sent(models: ModelServer, start_service: StartService) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    async with switched_on(start_service) as service:
        await tell(service, f"My token is {secret}, keep it")
        await embedded(service, 1)
    assert any(secret in text for asked in models.asked(PromptKind.EMBEDDER) for text in asked.texts)
    models.requests.clear()
    again = {"model": "another"}
    async with switched_on(start_service, redaction={"tenants": "*"}, embeddings=again) as service:
        await embedded(service, 1)
        await found(service, f"what is {secret}?")
    assert models.requests
    assert not any(secret in text for asked in models.asked(PromptKind.EMBEDDER) for text in asked.texts)


async def test_a_query_that_the_hook_could_not_look_at_is_searched_by_words_and_not_sent(
    models: ModelServer, start_service: StartService
) -> None:
    hook = {"tenants": "*", "hook": "tests.redaction.hooks:failing_later"}
    async with switched_on(start_service, redaction=hook) as service:
        await tell(service, *TALK)
        await embedded(service, len(TALK))
        models.requests.clear()
        assert (await found(service, "the codename of the soup"))[0] == "We had soup"
        metrics = (await service.client.get("/metrics")).text
    assert 'daybook_vector_searches_total{outcome="redaction_failed"} 1.0' in metrics
    assert models.asked(PromptKind.EMBEDDER) == []


async def test_a_message_that_says_nothing_has_a_row_and_no_vector(finding: Service, models: ModelServer) -> None:
    boundary = {"role": "system", "kind": "boundary"}
    await finding.append("s", {"role": "user", "content": "My car"}, boundary, {"role": "user", "content": "A cat"})
    await embedded(finding, 3)
    assert [row["vector"] is None for row in await rows(finding)] == [False, True, False]
    assert [asked.texts for asked in models.asked(PromptKind.EMBEDDER)] != []


Start = Callable[..., Vectorizing]


@pytest.fixture
async def told(models: ModelServer, service: Service) -> Service:  # noqa: ARG001 - the SDK is led to it
    """A service that makes no vectors, with a talk that it has indexed."""
    await tell(service, *TALK)
    await service.app.state.recall._indexer.index(SESSION)
    return service


@pytest.fixture
async def vectorizing(told: Service) -> AsyncIterator[Start]:
    """Makes vectors in the database of ``told``, by any model."""
    started: list[GuardedEmbedder] = []

    def start(model: str = "m", guard: Guard | None = None, **config: Any) -> Vectorizing:
        chosen = EmbeddingConfig(provider=EmbeddingProvider.OPENAI, model=model)
        embedder = GuardedEmbedder(build_embedder(chosen), guard or Guard(GuardConfig(failures_max=100)), chosen)
        started.append(embedder)
        return Vectorizing(
            store=VectorStore(told.app.state.database, embedder.label),
            embedder=embedder,
            config=VectorConfig(**config),
            redaction=OFF,
            metrics=VectorMetrics(),
        )

    yield start
    for embedder in started:
        await embedder.close()


async def test_another_model_begins_anew_goes_on_after_a_restart_and_then_takes_the_place_of_the_first(
    told: Service,
    vectorizing: Start,
) -> None:
    assert await vectorizing("first").embed(SESSION) is False
    assert await vectorizing("second", batch_messages=2).embed(SESSION) is True
    assert [(row["model"], row["seq"]) for row in await rows(told)] == [
        *(("openai first", seq) for seq in range(1, 6)),
        *(("openai second", seq) for seq in (1, 2)),
    ]

    assert await vectorizing("second", batch_messages=3).embed(SESSION) is False
    assert [(row["model"], row["seq"]) for row in await rows(told)] == [("openai second", n) for n in range(1, 6)]


async def test_what_is_erased_or_replaced_while_a_call_waits_for_its_place_is_not_sent(
    told: Service, vectorizing: Start, models: ModelServer
) -> None:
    guard = Crowded()
    worker = vectorizing(guard=guard)
    await guard.places.acquire()
    waiting = asyncio.create_task(worker.embed(SESSION))
    await guard.asked.wait()
    await told.client.delete("/sessions/s/messages/m-1")
    await told.client.put("/sessions/s/messages/m-2", json={"role": "user", "content": "A cat came"})
    guard.places.release()
    assert await waiting is True
    assert models.asked(PromptKind.EMBEDDER) == []

    await told.app.state.recall._indexer.index(SESSION)
    assert await worker.embed(SESSION) is False
    sent = [text for asked in models.asked(PromptKind.EMBEDDER) for text in asked.texts]
    assert sorted(sent) == sorted([*TALK[2:], "A cat came"])


async def test_a_query_is_compared_with_the_vectors_of_its_own_model_alone(told: Service, vectorizing: Start) -> None:
    database = told.app.state.database
    await vectorizing("first").embed(SESSION)
    await vectorizing("second", batch_messages=2).embed(SESSION)
    searched = {SESSION: 0}
    for model, seqs in (("first", {1, 2, 3, 4, 5}), ("second", {1, 2}), ("third", set())):
        near = await VectorStore(database, f"openai {model}").near(searched, Span(), (1.0,) + (0.0,) * 255)
        assert {seq for _, seq in near} == seqs


async def test_vectors_of_another_size_under_the_same_name_are_left_out(told: Service, vectorizing: Start) -> None:
    database = told.app.state.database
    await vectorizing().embed(SESSION)
    assert await VectorStore(database, "openai m").near({SESSION: 0}, Span(), (1.0, 0.0)) == {}


async def test_processes_that_embed_at_once_write_every_message_once(told: Service, vectorizing: Start) -> None:
    several = [vectorizing(batch_messages=2) for _ in range(3)]
    while any(await asyncio.gather(*(one.embed(SESSION) for one in several))):
        pass
    assert [row["seq"] for row in await rows(told)] == [1, 2, 3, 4, 5]


async def test_a_text_that_the_model_refuses_keeps_nothing_back(
    told: Service, vectorizing: Start, models: ModelServer
) -> None:
    models.refused = "soup"
    await vectorizing().embed(SESSION)
    assert [row["seq"] for row in await rows(told) if row["vector"] is None] == [3]


NAN = Said(status=500, body={"error": {"message": "failed to encode response: json: unsupported value: NaN"}})


@pytest.mark.parametrize("said", [NAN, Said(body={"data": [{"index": 0, "embedding": None}]})], ids=["Ollama", "null"])
async def test_a_text_that_the_server_fails_at_keeps_nothing_back(
    told: Service, vectorizing: Start, models: ModelServer, said: Said
) -> None:
    models.said_to = lambda asked: said if asked.has("soup") else None
    assert await vectorizing().embed(SESSION) is False
    assert [row["vector"] is None for row in await rows(told)] == [False, False, True, False, False]


async def test_a_server_that_hiccups_at_a_text_has_another_try(
    told: Service, vectorizing: Start, models: ModelServer
) -> None:
    models.fail_next(NAN)
    assert await vectorizing(batch_messages=1).embed(SESSION) is True
    assert [row["vector"] is None for row in await rows(told)] == [False]


async def test_a_server_that_fails_at_every_text_is_asked_again_later(
    told: Service, vectorizing: Start, models: ModelServer
) -> None:
    models.always = NAN
    with pytest.raises(ModelError, match="unsupported value"):
        await vectorizing().embed(SESSION)
    assert await rows(told) == []


async def test_numbers_too_small_for_the_database_are_none(
    told: Service, vectorizing: Start, models: ModelServer
) -> None:
    models.embedder = lambda _text: [1.0, 1e-60, 1e-39, -1e-300]
    assert await vectorizing().embed(SESSION) is False
    assert [row["vector"] for row in await rows(told)] == [[1.0, 0.0, 0.0, 0.0]] * len(TALK)
    near = await VectorStore(told.app.state.database, "openai m").near({SESSION: 0}, Span(), (1.0, 1e-60, 0.0, 0.0))
    assert len(near) == len(TALK)


async def test_what_a_provider_says_of_a_query_is_not_logged(told: Service) -> None:
    embedder = GuardedEmbedder(Quoting(), Guard(GuardConfig()), EmbeddingConfig(provider=EmbeddingProvider.OPENAI))
    search = VectorSearch(
        store=VectorStore(told.app.state.database, "m"),
        embedder=embedder,
        redaction=OFF,
        metrics=VectorMetrics(),
        config=VectorConfig(),
    )
    session = Searched(id=SESSION, tenant="default", key="s", memory_id=SESSION, resource_id=None, last_seq=5)
    with capture_logs() as lines:
        assert await search.ranking([session], Search(query="a secret", limit=1), named=None) == Near()
    assert [(line["event"], line["kind"]) for line in lines] == [("searched_without_vectors", "bad_request")]
    assert "secret" not in str(lines)


class Quoting:
    """A provider that says in its error what it was sent, as servers do that check a body by its schema."""

    provider = EmbeddingProvider.OPENAI
    name = "m"

    async def embed(self, texts: Sequence[str], _use: Use, *, timeout_seconds: float) -> list[Sequence[float]]:
        raise ModelError("bad_request", f"no {texts[0]} in {timeout_seconds} s", retryable=False)

    async def close(self) -> None:
        """Nothing is held."""


async def test_a_model_that_refuses_everything_is_asked_again_later(
    told: Service, vectorizing: Start, models: ModelServer
) -> None:
    models.always = Fault.NOT_FOUND
    with pytest.raises(ModelError, match="404"):
        await vectorizing().embed(SESSION)
    assert await rows(told) == []


async def test_what_was_read_before_a_message_was_replaced_is_not_written(told: Service) -> None:
    store = VectorStore(told.app.state.database, "openai m")
    read = await store.unembedded(SESSION, 10)
    assert read is not None
    await told.client.put("/sessions/s/messages/m-3", json={"role": "user", "content": "Other"})
    await told.app.state.recall._indexer.index(SESSION)
    assert await store.add(SESSION, read, [(1.0,)] * 5) == 0
    assert await rows(told) == []


async def test_vectors_that_an_earlier_message_s_replacement_deleted_meanwhile_leave_no_gap(
    told: Service, vectorizing: Start
) -> None:
    store = VectorStore(told.app.state.database, "openai m")
    await vectorizing(batch_messages=3).embed(SESSION)
    read = await store.unembedded(SESSION, 10)
    assert read is not None
    await told.client.put("/sessions/s/messages/m-2", json={"role": "user", "content": "Other"})
    await told.app.state.recall._indexer.index(SESSION)
    assert await store.add(SESSION, read, [(1.0,)] * 2) == 0
    await vectorizing().embed(SESSION)
    assert [row["seq"] for row in await rows(told)] == [1, 2, 3, 4, 5]


async def test_a_sweep_finds_what_was_left_wherever_it_begins(vectorizing: Start) -> None:
    left = vectorizing(sweep_sessions=1)
    while not left._asked:
        await left.sweep()
    assert list(left._asked) == [SESSION]


async def test_what_lacks_vectors_is_told_of_all_sessions_and_not_of_the_end_of_a_round(vectorizing: Start) -> None:
    left = vectorizing()
    left._swept = UUID(int=2**128 - 1)  # it begins anywhere
    await left.sweep()
    assert left.backlog().messages is None
    while left.backlog().messages is None:
        await left.sweep()
    assert left.backlog().messages == len(TALK)


def test_the_newest_messages_are_searched_of_the_sessions_in_their_order() -> None:
    def session(number: int, last_seq: int) -> Searched:
        id_ = UUID(int=number)
        return Searched(id=id_, tenant="t", key=str(number), memory_id=id_, resource_id=None, last_seq=last_seq)

    sessions = [session(1, 30), session(2, 100), session(3, 5)]
    assert newest(sessions, 50, before_seq=SEQ_MAX) == {UUID(int=1): 0, UUID(int=2): 80}
    assert newest(sessions, 1_000, before_seq=SEQ_MAX) == {UUID(int=1): 0, UUID(int=2): 0, UUID(int=3): 0}


def test_of_a_session_whose_past_is_searched_the_newest_are_those_before_that() -> None:
    session = Searched(id=SESSION, tenant="t", key="s", memory_id=SESSION, resource_id=None, last_seq=100)
    assert newest([session], 50, before_seq=61) == {SESSION: 10}


async def test_what_is_of_the_time_that_a_query_names_comes_before_what_is_more_like_it(finding: Service) -> None:
    may, june = ("2026-05-12T10:00:00Z", "2026-06-12T10:00:00Z")
    told = [
        ("Ana sold her car", june),
        ("We had soup", may),
        ("Bob reads novels", may),
        ("The automobile is new", june),
    ]
    messages = [{"role": "user", "content": text, "created_at": at} for text, at in told]
    await finding.client.post("/sessions/s/messages", json={"messages": messages})
    await embedded(finding, len(told))
    asked = {"now": "2026-11-26T10:00:00Z"}
    assert await found(finding, "What happened last May?", **asked) == ["Bob reads novels", "We had soup"]
    first, second, *others = await found(finding, "any surgeon last May?", **asked)
    assert {first, second} == {"Bob reads novels", "We had soup"}
    assert len(others) == 2


async def test_the_extension_is_made_where_embeddings_are_switched_on(postgres: str) -> None:
    url = postgres.replace("/postgres?", "/daybook_no_vectors?", 1)
    async with AsyncExitStack() as stack:
        database = Database(DatabaseConfig(url=postgres, pool_min=1, pool_max=1))
        await database.open()
        stack.push_async_callback(database.close)
        async with database.connection() as connection:
            await connection.execute("DROP DATABASE IF EXISTS daybook_no_vectors WITH (FORCE)")
            await connection.execute("CREATE DATABASE daybook_no_vectors")
        prepare = partial(prepare_vectors, DatabaseConfig(url=url))
        with pytest.raises(StartError, match="daybook migrate"):
            await prepare(make=False)
        await asyncio.gather(*(prepare(make=True) for _ in range(3)))
        await prepare(make=False)
