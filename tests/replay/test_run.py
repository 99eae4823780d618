import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.responses import JSONResponse, PlainTextResponse

from app.replay.client import Service
from app.replay.conversation import Turn
from app.replay.errors import ReplayError
from app.replay.run import Outcome, figures, replay, replay_file
from tests.replay.stub_service import StubService, running_stub

TURNS = [Turn(line=n, message={"id": f"m-{n}", "role": "user", "content": "hi"}) for n in (1, 2, 4)]


@pytest.fixture(name="stub")
def _stub() -> Iterator[StubService]:
    with running_stub() as stub:
        yield stub


def run(stub: StubService, *, wait_ms: int = 0) -> tuple[Outcome, list[int]]:
    seen: list[int] = []
    with Service(stub.url) as service:
        outcome = replay(
            service, TURNS, session="a:b", wait_ms=wait_ms, on_context=lambda it: seen.append(it["tokens"]["total"])
        )
    return outcome, seen


def test_the_context_is_asked_for_after_every_turn(stub: StubService) -> None:
    outcome, seen = run(stub)

    turn = ["POST /sessions/a:b/messages", "GET /sessions/a:b/context"]
    last = ["GET /sessions/a:b/context?min_seq=3", "GET /sessions/a:b/memory"]
    assert stub.asked == turn * 3 + last
    assert seen == [10, 20, 30]
    assert list(stub.stored.values()) == [turn.message for turn in TURNS]
    assert (outcome.turns, outcome.replayed) == (3, 0)


def test_the_memory_is_waited_for_where_that_is_wished(stub: StubService) -> None:
    run(stub, wait_ms=250)

    turn = ["POST /sessions/a:b/messages?wait_ms=250", "GET /sessions/a:b/context"]
    last = ["GET /sessions/a:b/context?min_seq=3&wait_ms=250", "GET /sessions/a:b/memory"]
    assert stub.asked == turn * 3 + last


def test_what_was_stored_before_is_counted_and_not_stored_again(stub: StubService) -> None:
    run(stub)

    outcome, _ = run(stub)

    assert len(stub.stored) == 3
    assert outcome.replayed == 3
    assert dict(figures(outcome))["turns"] == "3 (3 stored before)"


def test_the_table_tells_what_the_memory_made_of_it(stub: StubService) -> None:
    outcome, _ = run(stub)

    assert figures(outcome) == [
        ("turns", "3"),
        ("source tokens", "1,320"),
        ("context tokens now", "30"),
        ("log tokens", "120"),
        ("compression", "11.0x"),
        ("observations", "3"),
        ("reflections", "1"),
        ("gaps", "none"),
    ]


def test_the_table_names_gaps_and_leaves_out_a_ratio_there_is_not(stub: StubService) -> None:
    stub.gaps = [{"from": 3, "to": 5}, {"from": 9, "to": 9}]
    outcome, _ = run(stub)
    outcome.memory["compression"]["ratio"] = None

    rows = dict(figures(outcome))

    assert (rows["gaps"], rows["compression"]) == ("3-5, 9-9", "-")


def test_a_file_is_replayed_with_its_config_and_shown(
    stub: StubService, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text('{"role": "user", "content": "hi"}\n{"role": "assistant", "content": "hello"}\n')

    with Service(stub.url, key="secret") as service:
        replay_file(service, path, session="s1", config={"preset": "compact"}, wait_ms=0)

    assert stub.asked[0] == "PUT /sessions/s1"
    assert stub.config == {"preset": "compact"}
    assert set(stub.keys) == {"Bearer secret"}
    shown = capsys.readouterr()
    assert "compression" in shown.out
    assert "talk.jsonl" in shown.err


def test_a_refusal_is_told_in_one_line_with_the_line_of_the_file(stub: StubService, tmp_path: Path) -> None:
    problem = {
        "title": "The request is not valid",
        "detail": "/messages/0/role: unknown role",
        "errors": [{"pointer": "/messages/0/role", "detail": "unknown role"}],
    }
    stub.refusals["line-2"] = JSONResponse(problem, status_code=422, media_type="application/problem+json")
    path = tmp_path / "talk.jsonl"
    path.write_text('{"role": "user"}\n{"role": "nobody"}\n')

    with Service(stub.url) as service, pytest.raises(ReplayError) as refused:
        replay_file(service, path, session="s1", config=None, wait_ms=0)

    assert str(refused.value) == (
        f"{path}:2: POST /sessions/s1/messages: 422 The request is not valid; /messages/0/role: unknown role"
    )
    assert list(stub.stored) == ["line-1"]


def test_who_gives_no_key_is_told_by_which_option_one_is_given(stub: StubService, tmp_path: Path) -> None:
    """The line named a header alone, which nobody can set on the command line."""
    path = tmp_path / "talk.jsonl"
    path.write_text('{"id": "m-1", "role": "user", "content": "hi"}')
    problem = {"title": "No valid key was given"}
    stub.refusals["m-1"] = JSONResponse(problem, status_code=401, media_type="application/problem+json")

    with Service(stub.url) as service, pytest.raises(ReplayError, match="401 No valid key was given") as refused:
        replay_file(service, path, session="s1", config=None, wait_ms=0)

    assert str(refused.value).endswith(" (--key, or DAYBOOK_BOOTSTRAP_KEY)")


def test_an_answer_of_something_else_is_told_apart(stub: StubService) -> None:
    stub.refusals["m-1"] = PlainTextResponse("<html>", status_code=502)

    with pytest.raises(ReplayError, match="502 is not an answer of Daybook"):
        run(stub)


def test_a_service_that_does_not_answer_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with Service(f"http://127.0.0.1:{port}") as service:
        assert not service.is_ready()
        with pytest.raises(ReplayError, match=f"no answer from http://127.0.0.1:{port}: "):
            service.memory("s1")


@pytest.mark.parametrize("url", ["http://ana:opensesame@127.0.0.1:{port}", "http://ana:opensesame@127.0.0.1:port"])
def test_the_password_of_a_url_is_not_told(url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(ReplayError, match=r"//ana:\*\*\*@") as raised, Service(url.format(port=port)) as service:
        service.memory("s1")
    assert "opensesame" not in str(raised.value)


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://x", "http://[", ""])
def test_a_url_that_is_none_is_one_line(url: str) -> None:
    with pytest.raises(ReplayError), Service(url) as service:
        service.memory("s1")


@pytest.mark.parametrize("key", ["schl\u00fcssel", "opensesame\n", "open\nsesame", " opensesame", "opensesame\x7f"])
def test_a_key_that_no_header_can_carry_is_one_line_without_it(stub: StubService, key: str) -> None:
    with (
        pytest.raises(ReplayError, match=r"^no header can carry the key: ASCII") as raised,
        Service(stub.url, key=key) as service,
    ):
        service.memory("s1")
    assert "sesame" not in str(raised.value)


def test_a_key_of_any_kind_stays_one_segment_of_the_path(stub: StubService) -> None:
    with Service(stub.url) as service, pytest.raises(ReplayError, match="404"):
        service.memory("a/../b?c")

    assert stub.asked == []


def busy(status_code: int, retry_after: str) -> JSONResponse:
    return JSONResponse({"title": "Busy"}, status_code=status_code, headers={"Retry-After": retry_after})


def test_a_service_that_is_busy_is_asked_again_when_it_says(stub: StubService) -> None:
    stub.busy = [busy(429, "7"), busy(503, "0")]
    waited: list[float] = []
    with Service(stub.url, wait=waited.append) as service:
        outcome = replay(service, TURNS, session="s", wait_ms=0, on_context=lambda _: None)
    assert waited == [7, 1]
    assert (outcome.turns, len(stub.stored)) == (3, 3)


@pytest.mark.parametrize(
    ("said", "waits"),
    [
        pytest.param(["86400"], [], id="for a day"),
        pytest.param(["200", "200"], [200], id="for too long together"),
        pytest.param(["soon"], [], id="in no number"),
        pytest.param(["9" * 30], [], id="in too many digits"),
    ],
)
def test_a_busy_service_is_not_waited_for_longer_than_a_while(
    stub: StubService, said: list[str], waits: list[float]
) -> None:
    stub.busy = [busy(429, seconds) for seconds in said]
    waited: list[float] = []
    with Service(stub.url, wait=waited.append) as service, pytest.raises(ReplayError, match="429 Busy"):
        replay(service, TURNS, session="s", wait_ms=0, on_context=lambda _: None)
    assert waited == waits
