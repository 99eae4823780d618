"""Transcripts of real agents, kept beside the project, never in it (see their README)."""

import json
import os
from itertools import pairwise
from pathlib import Path

import pytest

from app.context.compile import compile_context
from app.context.model import Format
from app.sessions.counting import message_tokens
from app.sessions.model import Message
from app.sessions.wire import normalise
from tests.context.building import START, ask, snapshot
from tests.context.shapes import CHECKS

TRANSCRIPTS = Path(__file__).parents[3] / "shared/data/tools/conversations.jsonl"

pytestmark = pytest.mark.skipif(not TRANSCRIPTS.exists(), reason="no transcripts in ../shared/data/tools")


def logs() -> list[tuple[Message, ...]]:
    conversations = map(json.loads, TRANSCRIPTS.read_text(encoding="utf-8").splitlines())
    return [tuple(map(_message, range(1, 10_000), each["messages"])) for each in conversations]


def _message(seq: int, raw: object) -> Message:
    read = normalise(raw)
    tokens = message_tokens(read.parts)
    return Message(
        seq=seq,
        id=f"m-{seq}",
        kind=read.kind,
        role=read.role,
        parts=read.parts,
        tokens=tokens,
        created_at=START,
        name=read.name,
    )


@pytest.mark.parametrize("shape", list(CHECKS))
def test_every_transcript_is_valid_for_every_provider_at_its_end(shape: Format) -> None:
    for log in logs():
        for budget in (0, 2_000):
            taken = snapshot(log, observed_seq=len(log))
            CHECKS[shape](compile_context(taken, ask(shape, message_budget=budget)).payload)


@pytest.mark.parametrize("shape", list(Format))
def test_the_prefix_holds_in_every_transcript_while_the_tail_moves(shape: Format) -> None:
    for log in logs() if os.environ.get("LONG") else logs()[::3]:
        grown = [
            compile_context(snapshot(log[:count]), ask(shape, message_budget=8_000))
            for count in range(1, len(log) + 1)[:60]
        ]
        for before, after in pairwise(grown):
            if before.cache.epoch == after.cache.epoch:
                assert after.units[: len(before.units)] == before.units
