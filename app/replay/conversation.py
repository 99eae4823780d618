"""Reads a conversation file as the messages to post."""

import gzip
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from app.kit.names import MESSAGE_ID, has_dot_segment
from app.replay.errors import ReplayError
from app.sessions.schemas import PLACEHOLDER_IDS

# Fields of data sets that are about a message, and no part of it.
BOOKKEEPING = frozenset({"conversation", "session", "turn_id", "speaker"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message as ``POST /sessions/{key}/messages`` takes it, and the line of the file it came from."""

    line: int
    message: dict[str, Any]


def read_conversation(path: Path) -> list[Turn]:
    """The turns of a JSONL file (UTF-8, also ``.gz``), in its order; blank lines are skipped.

    A line is a message (``turns_of`` tells the fields) or a whole conversation, ``{"messages": [...]}``. Raises
    ReplayError as ``file:line: what is wrong``.
    """
    turns: list[Turn] = []
    for number, line in enumerate(_lines(path), start=1):
        try:
            turns += turns_of(line, number=number)
        except ReplayError as error:
            raise ReplayError(f"{path}:{number}: {error}") from error
    if not turns:
        raise ReplayError(f"{path}: no messages")
    return turns


def turns_of(line: bytes, *, number: int) -> Iterator[Turn]:
    """The messages of one line.

    A message keeps its fields as they are, provider shapes included. ``turn_id`` becomes its id and ``speaker`` its
    name, unless it has them; a message without an id gets one from its line number, so that replaying a file twice
    stores it once.
    """
    if not line.strip():
        return
    row = _object(line)
    if "messages" not in row:
        yield Turn(line=number, message=_message(row, default_id=f"line-{number}"))
        return
    if not isinstance(row["messages"], list):
        raise ReplayError("messages is not a list")
    for index, message in enumerate(row["messages"], start=1):
        yield Turn(line=number, message=_message(message, default_id=f"line-{number}.{index}"))


def _message(row: Any, *, default_id: str) -> dict[str, Any]:
    if not isinstance(row, dict) or not any(isinstance(row.get(field), str) for field in ("role", "type")):
        raise ReplayError('a message is an object with a "role", or an item of the Responses API with a "type"')
    turn_id = row.get("turn_id")
    names = {"id": turn_id if _is_an_id(turn_id) else default_id}
    if row.get("speaker") not in (None, row.get("role")):
        names["name"] = row["speaker"]
    left_out = BOOKKEEPING | {"id"} if row.get("id") in (None, *PLACEHOLDER_IDS) else BOOKKEEPING
    return names | {field: value for field, value in row.items() if field not in left_out}


def _is_an_id(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(MESSAGE_ID, value) is not None and not has_dot_segment(value)


def _object(line: bytes) -> dict[str, Any]:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ReplayError(f"not JSON, at character {error.pos + 1}: {error.msg}") from error
    if not isinstance(row, dict):
        raise ReplayError("not a JSON object")
    return row


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield from file
    except EOFError as error:
        raise ReplayError(f"{path}: the gzip stream ends early") from error
    except zlib.error as error:
        raise ReplayError(f"{path}: the gzip stream is damaged: {error}") from error
    except OSError as error:
        raise ReplayError(f"{path}: {error.strerror or error}") from error
