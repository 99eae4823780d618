"""Loads LoCoMo and LongMemEval from ../shared/data, as messages to post and questions with their evidence."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from benchmarks.cache.conversations import ADVERSARIAL, DATA, locomo_rows, longmemeval_rows, question_rows

DEV_OF_FIVE = 2  # of every five conversations, so many are for development, to which parameters may be fitted
ROLES = frozenset({"user", "assistant"})  # the speakers of LongMemEval, which has no names


class Source(StrEnum):
    LOCOMO = "locomo"
    LONGMEMEVAL = "longmemeval"


class Split(StrEnum):
    DEV = "dev"
    TEST = "test"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """``evidence`` are the seqs, at least one, of the messages with the answer, and ``chats`` their chats.

    It is asked at ``now``. An adversarial question has no answer: its evidence is about somebody else.
    """

    text: str
    answer: str
    category: str
    evidence: tuple[int, ...]
    chats: frozenset[str]
    now: str
    is_adversarial: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """``messages`` as they are posted, with seqs 1, 2, 3 ...; ``chats``: the chat that each belongs to."""

    source: Source
    name: str
    split: Split
    messages: tuple[dict[str, Any], ...]
    chats: tuple[str, ...]
    questions: tuple[Question, ...]


def talks(source: Source, *, limit: int | None = None, data: Path = DATA) -> list[Talk]:
    """The first ``limit`` talks of a source; None: all, 0: none, for which the data may be missing.

    Raises FileNotFoundError if needed data is missing.
    """
    if limit == 0:
        return []
    asked = [row for row in question_rows(data, source) if not row.get("abstention")]
    groups = locomo_rows(data) if source is Source.LOCOMO else longmemeval_rows(data)
    chosen = islice(groups, limit)
    return [talk(source, name, rows, asked, number) for number, (name, rows) in enumerate(chosen)]


def talk(
    source: Source, name: str, rows: Sequence[dict[str, Any]], asked: Sequence[dict[str, Any]], number: int
) -> Talk:
    """A talk from the files' rows; ``number`` is its place among those of its source."""
    seqs = {row["turn_id"]: seq for seq, row in enumerate(rows, start=1)}
    chats = tuple(str(row.get("session")) for row in rows)
    questions = [_question(row, seqs, chats, rows[-1]["created_at"]) for row in asked if row["conversation"] == name]
    return Talk(
        source=source,
        name=name,
        split=Split.DEV if number % 5 < DEV_OF_FIVE else Split.TEST,
        messages=tuple(map(_message, rows)),
        chats=chats,
        questions=tuple(question for question in questions if question.evidence),
    )


def asking(talk: Talk, count: int) -> Talk:
    """The talk with at most ``count`` of its answerable questions, spread evenly."""
    return replace(talk, questions=_spread(_answered(talk), count))


def asking_each_category(talk: Talk, count: int) -> Talk:
    """The same, but about equally many of each category; if one has too few, there are more of the others."""
    by_category: dict[str, list[Question]] = {}
    for question in _answered(talk):
        by_category.setdefault(question.category, []).append(question)
    groups = sorted(by_category.values(), key=len)
    kept: list[Question] = []
    for at, group in enumerate(groups):
        kept += _spread(group, (count - len(kept)) // (len(groups) - at))
    return replace(talk, questions=tuple(kept))


def _answered(talk: Talk) -> list[Question]:
    return [question for question in talk.questions if not question.is_adversarial]


def _spread(questions: Sequence[Question], count: int) -> tuple[Question, ...]:
    kept = min(count, len(questions))
    return tuple(questions[at * len(questions) // kept] for at in range(kept))


def sittings(talk: Talk) -> Iterator[Sequence[int]]:
    """The seqs of each chat, in order."""
    seqs = range(1, len(talk.messages) + 1)
    for _, chat in groupby(seqs, key=lambda seq: talk.chats[seq - 1]):
        yield list(chat)


def _question(row: dict[str, Any], seqs: dict[str, int], chats: Sequence[str], ended: str) -> Question:
    evidence = tuple(seqs[turn] for turn in row["evidence_turn_ids"] if turn in seqs)
    named = row.get("evidence_session_ids") or [chats[seq - 1] for seq in evidence]
    return Question(
        text=row["question"],
        answer=str(row["answer"]),
        category=str(row.get("category_name") or row["category"]),
        evidence=evidence,
        chats=frozenset(map(str, named)),
        now=row.get("question_date") or ended,
        is_adversarial=row["category"] == ADVERSARIAL,
    )


def _message(row: dict[str, Any]) -> dict[str, Any]:
    named = {} if row["speaker"] in ROLES else {"name": row["speaker"]}
    return {field: row[field] for field in ("role", "content", "created_at")} | named
