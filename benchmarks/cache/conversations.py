"""Loads the real conversations beside the project (../shared/data) as messages to post, with questions about them."""

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

from app.sessions.model import Role

DATA = Path(__file__).parents[2].parent / "shared" / "data"
TOOLS_BYTES_MIN = 40_000  # of a transcript: shorter ones end before anything is condensed
# Transcripts have no times: a tool call every TOOLS_EVERY is assumed.
TOOLS_BEGIN, TOOLS_EVERY = datetime(2026, 3, 2, 9, tzinfo=UTC), timedelta(seconds=20)
ADVERSARIAL = 5  # LoCoMo's category of questions that have no answer, and so no evidence

Rows: TypeAlias = list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """``messages`` as they are posted, with seqs 1, 2, 3 ...; ``evidence`` are the seqs that answer each question."""

    name: str
    kind: str
    messages: tuple[dict[str, Any], ...]
    evidence: tuple[tuple[int, ...], ...] = ()

    @property
    def calls(self) -> Iterator[slice]:
        """The new messages at each call of the actor, which answers a user or a tool result."""
        begin = 0
        for at, message in enumerate(self.messages, start=1):
            answered = at == len(self.messages) or self.messages[at]["role"] == Role.ASSISTANT
            if message["role"] != Role.ASSISTANT and answered:
                yield slice(begin, at)
                begin = at


def chosen(*, per_kind: int | None) -> list[Conversation]:
    """The first ``per_kind`` of each kind, None: all. Raises FileNotFoundError if the data is missing."""
    kinds = (longmemeval(), locomo(), tools())
    return [one for kind in kinds for one, _ in zip(kind, range(per_kind or 10_000), strict=False)]


def longmemeval() -> Iterator[Conversation]:
    questions = question_rows(DATA, "longmemeval")
    for name, rows in longmemeval_rows(DATA):
        yield _conversation(name, "longmemeval", rows, questions)


def locomo() -> Iterator[Conversation]:
    questions = [row for row in question_rows(DATA, "locomo") if row["category"] != ADVERSARIAL]
    for name, rows in locomo_rows(DATA):
        yield _conversation(name, "locomo", rows, questions)


def longmemeval_rows(data: Path) -> Iterator[tuple[str, Rows]]:
    """Each conversation with its name, as the rows of the files."""
    with gzip.open(data / "longmemeval" / "messages.jsonl.gz") as file:
        for name, rows in groupby(map(json.loads, file), key=lambda row: str(row["conversation"])):
            yield name, list(rows)


def locomo_rows(data: Path) -> Iterator[tuple[str, Rows]]:
    for path in sorted((data / "locomo").glob("conv-*.jsonl")):
        yield path.stem, _rows(path)


def question_rows(data: Path, source: str) -> Rows:
    return _rows(data / source / "questions.jsonl")


def tools() -> Iterator[Conversation]:
    """Transcripts of agents with many calls, the longest first; only from sources with whole conversations."""
    lines = (DATA / "tools" / "conversations.jsonl").read_text(encoding="utf-8").splitlines()
    for line in sorted((line for line in lines if len(line) >= TOOLS_BYTES_MIN), key=len, reverse=True):
        row = json.loads(line)
        if row["source"] in {"tau-bench", "SWE-agent"}:
            said = [message for message in row["messages"] if message["role"] != Role.SYSTEM]
            timed = [
                {**message, "created_at": (TOOLS_BEGIN + number * TOOLS_EVERY).isoformat()}
                for number, message in enumerate(said)
            ]
            yield Conversation(name=row["conversation"], kind="tools", messages=tuple(timed))


def _conversation(name: str, kind: str, rows: Rows, questions: Rows) -> Conversation:
    seqs = {row["turn_id"]: seq for seq, row in enumerate(rows, start=1)}
    messages = [{field: row[field] for field in ("role", "content", "created_at")} for row in rows]
    asked = [row["evidence_turn_ids"] for row in questions if row["conversation"] == name]
    evidence = [_known(turns, seqs) for turns in asked]
    return Conversation(name=name, kind=kind, messages=tuple(messages), evidence=tuple(filter(None, evidence)))


def _known(turns: Sequence[str], seqs: dict[str, int]) -> tuple[int, ...]:
    return tuple(seqs[turn] for turn in turns if turn in seqs)


def _rows(path: Path) -> Rows:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
