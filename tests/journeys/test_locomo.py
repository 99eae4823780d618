"""Real conversations of hundreds of turns, and real agents' transcripts in their native shapes."""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Service
from tests.journeys.laws import COMPACT, CHECKS, check_all, tail_is_verbatim
from tests.journeys.looks import WAIT_MS, Json, driven, items

KEY = "s"
FEW = 8  # messages a request
TURN_BY_TURN = "conv-30"  # the shortest; the others go in batches, for speed
TRANSCRIPTS = ("openai", 6), ("anthropic", 6)  # how many of each shape
REQUEST_MAX = 100


@pytest.mark.parametrize("name", ["conv-26", "conv-30", "conv-41", "conv-42", "conv-43"])
async def test_a_long_conversation_is_remembered_whole(service: Service, shared_data: Path, name: str) -> None:
    turns = [message(turn) for turn in lines(shared_data / "locomo" / f"{name}.jsonl")]
    await service.configure(KEY, preset="compact")

    looks = await driven(
        service, KEY, batches(turns, 1 if name == TURN_BY_TURN else FEW), partial(check_all, COMPACT), formats=["neutral"]
    )

    reflections = await items(service, f"/sessions/{KEY}/memory/reflections")
    assert [stored["id"] for stored in looks[-1].stored] == [turn["id"] for turn in turns]
    assert [said(stored) for stored in looks[-1].stored] == [turn["content"] for turn in turns]
    assert max(reflection["level"] for reflection in reflections) >= 1
    assert looks[-1].memory["compression"]["ratio"] > 2
