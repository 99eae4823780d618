import itertools
from datetime import datetime
from importlib.resources import as_file, files
from typing import Any

import pytest

from app.replay.conversation import read_conversation
from app.replay.demo import run_demo
from tests.replay.stub_service import running_stub


@pytest.fixture(name="sample", scope="module")
def _sample() -> list[dict[str, Any]]:
    with as_file(files("app").joinpath("samples/support.jsonl")) as path:
        return [turn.message for turn in read_conversation(path)]


def test_the_sample_is_a_long_conversation_over_days_with_tools(sample: list[dict[str, Any]]) -> None:
    days = {datetime.fromisoformat(message["created_at"]).date() for message in sample}

    assert len(sample) > 150
    assert len(days) >= 5
    assert {message["role"] for message in sample} == {"user", "assistant", "tool"}


def test_the_sample_has_one_id_per_message_and_its_times_only_go_forward(sample: list[dict[str, Any]]) -> None:
    times = [datetime.fromisoformat(message["created_at"]) for message in sample]

    assert len({message["id"] for message in sample}) == len(sample)
    assert all(earlier < later for earlier, later in itertools.pairwise(times))


def test_every_call_of_the_sample_is_answered_before_anyone_speaks_again(sample: list[dict[str, Any]]) -> None:
    open_calls: list[str] = []
    for message in sample:
        if message["role"] == "tool":
            open_calls.remove(message["tool_call_id"])
        else:
            assert open_calls == [], message["id"]
            open_calls = [call["id"] for call in message.get("tool_calls", ())]
    assert open_calls == []


def test_the_demo_replays_the_sample_into_the_service_that_answers_and_prints_the_context(
    sample: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    with running_stub() as stub:
        run_demo(stub.url, key=None, session="demo")

    assert list(stub.stored.values()) == sample
    assert stub.config == {"preset": "compact", "timezone": "Europe/Lisbon"}
    assert capsys.readouterr().out.endswith("the context\n")
