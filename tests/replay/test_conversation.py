import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kit.names import MESSAGE_ID
from app.replay.conversation import Turn, read_conversation, turns_of
from app.replay.errors import ReplayError


def messages(row: Any, *, number: int = 7) -> list[dict[str, Any]]:
    return [turn.message for turn in turns_of(json.dumps(row).encode(), number=number)]


def test_a_line_of_a_data_set_becomes_a_message_with_its_turn_as_id_and_its_speaker_as_name() -> None:
    row = {
        "conversation": "conv-26",
        "session": 1,
        "turn_id": "D1:3",
        "role": "user",
        "speaker": "Caroline",
        "content": "Hey Mel!",
        "created_at": "2023-05-08T13:56:00Z",
    }

    assert messages(row) == [
        {
            "id": "D1:3",
            "name": "Caroline",
            "role": "user",
            "content": "Hey Mel!",
            "created_at": "2023-05-08T13:56:00Z",
        }
    ]


def test_a_line_in_a_providers_shape_passes_as_it_is() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    row = {"id": "m-1", "role": "assistant", "content": None, "tool_calls": [call], "name": "Ana", "unknown": [1]}

    assert messages(row) == [row]


def test_an_item_of_the_responses_api_passes_though_it_has_no_role() -> None:
    item = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "search", "arguments": "{}"}

    assert messages({"messages": [item]}) == [item]


@pytest.mark.parametrize(
    ("row", "message_id"),
    [
        ({"turn_id": "D1:3"}, "D1:3"),
        ({"turn_id": 12}, "line-7"),
        ({"turn_id": "with a space"}, "line-7"),
        ({"turn_id": "陈阳:64"}, "line-7"),
        ({"turn_id": "x" * 201}, "line-7"),
        ({"turn_id": None}, "line-7"),
        ({"turn_id": "a/.."}, "line-7"),
        ({}, "line-7"),
        ({"id": "own", "turn_id": "D1:3"}, "own"),
        ({"id": None}, "line-7"),
        ({"id": "__fake_id__", "turn_id": "D1:3"}, "D1:3"),
    ],
)
def test_every_message_has_an_id_that_is_the_same_the_next_time(row: dict[str, Any], message_id: str) -> None:
    [message] = messages({"role": "user", "content": "hi"} | row)

    assert message["id"] == message_id


@pytest.mark.parametrize(
    ("row", "name"),
    [({"speaker": "Ana"}, "Ana"), ({"speaker": "user"}, None), ({"speaker": None}, None), ({}, None)],
)
def test_a_speaker_who_is_not_just_the_role_is_the_name(row: dict[str, Any], name: str | None) -> None:
    [message] = messages({"role": "user", "content": "hi"} | row)

    assert message.get("name") == name


def test_a_whole_conversation_on_one_line_is_its_messages() -> None:
    row = {"conversation": "x", "format": "openai", "messages": [{"role": "user"}, {"role": "assistant"}]}

    assert messages(row) == [{"id": "line-7.1", "role": "user"}, {"id": "line-7.2", "role": "assistant"}]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{bad", ":3: not JSON, at character 2: unexpected character"),
        (b"\xff{}", "not JSON"),
        (b"[]", "not a JSON object"),
        (b'{"content": "hi"}', 'with a "role"'),
        (b'{"role": 1}', 'with a "role"'),
        (b'{"messages": {}}', "messages is not a list"),
        (b'{"messages": ["hi"]}', 'with a "role"'),
    ],
)
def test_what_is_not_a_message_is_refused_with_its_line(line: bytes, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_bytes(b'{"role": "user"}\n\n' + line)

    with pytest.raises(ReplayError) as refused:
        read_conversation(path)

    assert str(refused.value).startswith(f"{path}:3: ")
    assert reason in str(refused.value)


def test_a_file_reads_the_same_plain_and_gzipped(tmp_path: Path) -> None:
    content = '{"role": "user", "content": "café"}\n\n{"role": "assistant", "content": "日記"}'.encode()
    (tmp_path / "talk.jsonl").write_bytes(content)
    (tmp_path / "talk.jsonl.gz").write_bytes(gzip.compress(content))

    turns = read_conversation(tmp_path / "talk.jsonl")

    assert turns == read_conversation(tmp_path / "talk.jsonl.gz")
    assert [(turn.line, turn.message["content"]) for turn in turns] == [(1, "café"), (3, "日記")]


def test_a_file_that_cannot_be_read_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_bytes(b"\n")
    (tmp_path / "plain.gz").write_bytes(b"{}")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b'{"role": "user"}')[:-9])
    damaged = bytearray(gzip.compress(b'{"role": "user", "content": "hi"}\n' * 500))
    damaged[30] ^= 0xFF
    (tmp_path / "damaged.gz").write_bytes(damaged)
    reasons = {
        "damaged.gz": "damaged",
        "missing.jsonl": "No such file",
        "empty.jsonl": "no messages",
        "plain.gz": "Not a gzipped file",
        "cut.gz": "ends early",
    }
    for name, reason in reasons.items():
        with pytest.raises(ReplayError, match=reason) as refused:
            read_conversation(tmp_path / name)
        assert "\n" not in str(refused.value)


@given(st.binary(max_size=200), st.integers(1, 10**6))
def test_any_line_is_turns_or_a_refusal(line: bytes, number: int) -> None:
    try:
        turns = list(turns_of(line, number=number))
    except ReplayError:
        return
    assert all(turn.line == number for turn in turns)


@given(st.dictionaries(st.text(), st.integers(-(2**63), 2**63 - 1) | st.text()), st.integers(1, 10**6))
def test_a_message_loses_nothing_but_the_data_sets_bookkeeping(row: dict[str, Any], number: int) -> None:
    row = {name: value for name, value in row.items() if name != "messages"} | {"role": "user"}

    [turn] = [Turn(line=number, message=message) for message in messages(row, number=number)]

    kept = {name: value for name, value in row.items() if name not in {"conversation", "session", "turn_id", "speaker"}}
    assert kept.items() <= turn.message.items()
    assert "id" in row or re.fullmatch(MESSAGE_ID, turn.message["id"])
