"""Measures how much of the evidence of LoCoMo's questions an extractive log retains.

An evidence turn counts as covered if a line that cites it has at least half of its content words. Run it by hand:
``python -m tests.memory.extractive.measure``; the data is beside the project and is never copied into it.
"""

import json
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from app.kit.tokens import text_tokens
from app.memory.extractive.observer import observations
from app.memory.extractive.reflector import reflections
from app.memory.log import render
from app.memory.model import UTC, Item, ObserverInput, ReflectorInput
from app.memory.parsing import parse
from app.sessions.model import Message, Role
from tests.memory.extractive.conversations import said

LOCOMO = Path(__file__).parents[4] / "shared" / "data" / "locomo"
SPAN_TOKENS, EARLIER_TOKENS = 1_000, 1_000
BUDGETS = (8_000, 4_000, 2_000)
ADVERSARIAL = 5
_STOP = frozenset(
    """a an the and or but if so to of in on at for with from by is am are was were be been being i you he she it we
    they me him her us them my your his its our their this that these those do does did have has had not no yes what
    which
    who when where why how there here as just really very too can
    could will would should may might must""".split()  # noqa: SIM905 - as a list unreadable
)


def conversation(path: Path) -> tuple[list[Message], dict[str, int]]:
    """The messages of a file, and the seq of each of its turns."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    messages = [
        said(
            row["content"],
            seq=seq,
            role=Role(row["role"]),
            name=row["speaker"],
            at=datetime.fromisoformat(row["created_at"]),
        )
        for seq, row in enumerate(rows, start=1)
    ]
    return messages, {row["turn_id"]: seq for seq, row in enumerate(rows, start=1)}


def questions(name: str) -> list[dict[str, Any]]:
    rows = map(json.loads, (LOCOMO / "questions.jsonl").read_text(encoding="utf-8").splitlines())
    return [row for row in rows if row["conversation"] == name and row["category"] != ADVERSARIAL]


def spans(messages: Sequence[Message]) -> Iterator[tuple[Message, ...]]:
    span: list[Message] = []
    for message in messages:
        span.append(message)
        if sum(it.tokens for it in span) >= SPAN_TOKENS:
            yield tuple(span)
            span = []
    if span:
        yield tuple(span)


def observed(messages: Sequence[Message]) -> list[Item]:
    """The log of a conversation observed span by span, nothing reflected."""
    log: list[Item] = []
    for span in spans(messages):
        log += parse(observations(ObserverInput(messages=span, earlier=_newest(log)))).items
    return log


def squeezed(log: Sequence[Item], tokens: int) -> list[Item]:
    """The log condensed to below ``tokens`` in one step."""
    source = ReflectorInput(
        items=tuple(log),
        source_tokens=round(text_tokens(render(log)) / 0.8),
        target_tokens=tokens,
        now=datetime.now(UTC),
    )
    return list(parse(reflections(source)).items)


def coverage(log: Sequence[Item], messages: Sequence[Message], evidence: Sequence[Sequence[int]]) -> float:
    """The mean over questions of the share of evidence messages (seqs) that are covered."""
    lines = defaultdict(list)
    for item in log:
        for cite in item.cites:
            for seq in range(cite.first, cite.last + 1):
                lines[seq].append(_content(item.text))
    words = {message.seq: _content(message.parts[0]["text"]) for message in messages}
    covered = {seq for seq in words if any(2 * len(words[seq] & line) >= len(words[seq]) for line in lines[seq])}
    shares = [sum(seq in covered for seq in seqs) / len(seqs) for seqs in evidence if seqs]
    return sum(shares) / len(shares)


def evidence_of(name: str, seqs: dict[str, int]) -> list[list[int]]:
    return [[seqs[turn] for turn in row["evidence_turn_ids"] if turn in seqs] for row in questions(name)]


def _newest(log: Sequence[Item]) -> tuple[Item, ...]:
    left, kept = EARLIER_TOKENS, []
    for item in reversed(log):
        left -= text_tokens(item.text)
        if left < 0:
            break
        kept.append(item)
    return tuple(reversed(kept))


def _content(text: str) -> set[str]:
    return {word for word in re.findall(r"[a-z0-9']+", text.lower()) if word not in _STOP and len(word) > 1}


def main() -> None:
    table = Table("conversation", "source", "log", "ratio", "covered", *(f"at {tokens}" for tokens in BUDGETS), "ms/1k")
    for path in sorted(LOCOMO.glob("conv-*.jsonl")):
        messages, seqs = conversation(path)
        evidence = evidence_of(path.stem, seqs)
        started = time.perf_counter()
        log = observed(messages)
        elapsed = time.perf_counter() - started
        source, size = sum(it.tokens for it in messages), text_tokens(render(log))
        at = [coverage(squeezed(log, tokens), messages, evidence) for tokens in BUDGETS]
        shares = [f"{share:.3f}" for share in (coverage(log, messages, evidence), *at)]
        milliseconds = f"{elapsed / source * 1e6:.1f}"
        table.add_row(path.stem, str(source), str(size), f"{source / size:.2f}", *shares, milliseconds)
    Console().print(table)


if __name__ == "__main__":
    main()
