"""The figures as one table for the terminal and the document, and as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from statistics import mean
from typing import Any

from benchmarks.quality.measuring import BUDGETS, METHODS, Measured
from benchmarks.quality.talks import Source, Split

HEADINGS = ("source", "split", "budget", "method", "tokens", "evidence", "answer words", "compression", "grounded")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One method at one budget over the talks of a split; shares are means over questions, 0 to 1."""

    source: Source
    split: Split
    budget: int
    method: str
    talks: int
    questions: int
    tokens: float
    evidence: float
    answer: float
    compression: float | None
    grounded: float | None


def figures(measured: Sequence[Measured]) -> list[Figures]:
    """In the order of sources, splits, budgets and methods; only of what was measured."""
    found = []
    for source, split, budget, method in product(Source, Split, BUDGETS, METHODS):
        some = [one for one in measured if _key(one) == (source, split, budget, method) and one.held]
        if some:
            found.append(_figures(some))
    return found


def by_category(measured: Sequence[Measured]) -> list[dict[str, Any]]:
    """Evidence by category of question, over both splits."""
    shares: dict[tuple[str, int, str, str], list[float]] = {}
    for one in measured:
        for question, held in zip(one.talk.questions, one.held, strict=True):
            key = (one.talk.source.value, one.budget, one.method, question.category)
            shares.setdefault(key, []).append(held.evidence)
    names = ("source", "budget", "method", "category")
    return [
        dict(zip(names, key, strict=True)) | {"questions": len(found), "evidence": mean(found)}
        for key, found in sorted(shares.items())
    ]


def rows(found: Sequence[Figures]) -> Iterator[tuple[str, ...]]:
    """As HEADINGS name them."""
    for one in found:
        yield (
            one.source.value,
            one.split.value,
            f"{one.budget:,}",
            one.method,
            f"{one.tokens:,.0f}",
            f"{one.evidence:.3f}",
            f"{one.answer:.3f}",
            "-" if one.compression is None else f"{one.compression:.1f} : 1",
            "-" if one.grounded is None else f"{one.grounded:.1%}",
        )


def as_json(measured: Sequence[Measured]) -> dict[str, Any]:
    return {"figures": list(map(asdict, figures(measured))), "by_category": by_category(measured)}


def _key(one: Measured) -> tuple[Source, Split, int, str]:
    return one.talk.source, one.talk.split, one.budget, one.method


def _figures(some: Sequence[Measured]) -> Figures:
    held = [share for one in some for share in one.held]
    ratios = [one.compression for one in some if one.compression is not None]
    lines = [line for one in some for line in one.grounded]
    source, split, budget, method = _key(some[0])
    return Figures(
        source=source,
        split=split,
        budget=budget,
        method=method,
        talks=len(some),
        questions=len(held),
        tokens=mean(one.tokens for one in some),
        evidence=mean(share.evidence for share in held),
        answer=mean(share.answer for share in held),
        compression=mean(ratios) if ratios else None,
        grounded=mean(lines) if lines else None,
    )
