"""Computes the figures of each part for docs/eval.json, and the tables of docs/eval.md."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import mean

from benchmarks.document import markdown_table
from benchmarks.quality.answering import Verdict
from benchmarks.quality.facts import Known, Way
from benchmarks.quality.measuring import BUDGETS, METHODS, Measured
from benchmarks.quality.retrieval import TOPS, Ranks, Searched, share
from benchmarks.quality.talks import Source, Split

Table = tuple[Sequence[str], Sequence[Sequence[str]]]  # headings, rows
ALL = "all that have an answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Recall at each top: the shares of questions with any or all of their evidence, and the mean share; 0 to 1."""

    source: str
    questions_of: str
    questions: int
    any_message: dict[int, float]
    mean_messages: dict[int, float]
    any_chat: dict[int, float]
    all_chats: dict[int, float]


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
    evidence_by_category: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Answers to the questions of a category; the accuracy of a whole source is the mean of its categories'."""

    source: str
    method: str
    category: str
    questions: int
    accuracy: float
    input_tokens: int
    cached_input_tokens: int
    output_tokens: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """One way of showing facts, over the talks of a split; shares are means, 0 to 1.

    ``facts`` is the mean number per talk; ``facts``, ``grounded`` and ``doubled`` (another says the same) count all
    facts, whatever the way.
    """

    source: Source
    split: Split
    way: Way
    talks: int
    questions: int
    tokens: float
    evidence: float
    answer: float
    facts: float
    grounded: float
    doubled: float


def found(searched: Sequence[Searched]) -> list[Found]:
    """The figures of each source, its splits, and its categories, including the adversarial one."""
    figures: list[Found] = []
    for source in Source:
        some = [one for one in searched if one.source is source]
        ranks = [rank for one in some for rank in one.ranks]
        figures += _found(source, ALL, [rank for rank in ranks if not rank.is_adversarial])
        for split in Split:
            of_split = [rank for one in some if one.split is split for rank in one.ranks if not rank.is_adversarial]
            figures += _found(source, f"{split} conversations", of_split)
        for category in sorted({rank.category for rank in ranks}):
            figures += _found(source, category, [rank for rank in ranks if rank.category == category])
    return figures


def _found(source: Source, questions_of: str, ranks: Sequence[Ranks]) -> Iterator[Found]:
    """The figures of these questions; nothing if there are none."""
    if ranks:
        yield Found(
            source=source.value,
            questions_of=questions_of,
            questions=len(ranks),
            any_message={top: mean(share(rank.messages, top) > 0 for rank in ranks) for top in TOPS},
            mean_messages={top: mean(share(rank.messages, top) for rank in ranks) for top in TOPS},
            any_chat={top: mean(share(rank.chats, top) > 0 for rank in ranks) for top in TOPS},
            all_chats={top: mean(share(rank.chats, top) == 1 for rank in ranks) for top in TOPS},
        )


def figures(measured: Sequence[Measured]) -> list[Figures]:
    """The figures in the order of sources, splits, budgets and methods; only of what was measured."""
    made = []
    for source, split, budget, method in product(Source, Split, BUDGETS, METHODS):
        some = [one for one in measured if _key(one) == (source, split, budget, method) and one.held]
        if some:
            made.append(_figures(some))
    return made


def _key(one: Measured) -> tuple[Source, Split, int, str]:
    return one.source, one.split, one.budget, one.method


def _figures(some: Sequence[Measured]) -> Figures:
    held = [share for one in some for share in one.held]
    categories = [category for one in some for category in one.categories]
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
        evidence_by_category={
            category: mean(one.evidence for one, of in zip(held, categories, strict=True) if of == category)
            for category in sorted(set(categories))
        },
    )


def noted(known: Sequence[Known]) -> list[Noted]:
    """The figures in the order of sources, splits and ways; only of what was measured."""
    made = []
    for source, split in product(Source, Split):
        some = [one for one in known if (one.source, one.split) == (source, split)]
        made += [_noted(source, split, way, some) for way in Way if some]
    return made


def _noted(source: Source, split: Split, way: Way, some: Sequence[Known]) -> Noted:
    held = [share for one in some for share in one.held[way]]
    return Noted(
        source=source,
        split=split,
        way=way,
        talks=len(some),
        questions=len(held),
        tokens=mean(one.tokens[way] for one in some),
        evidence=mean(share.evidence for share in held),
        answer=mean(share.answer for share in held),
        facts=mean(len(one.grounded) for one in some),
        grounded=mean([fact for one in some for fact in one.grounded] or [True]),
        doubled=mean([fact for one in some for fact in one.doubled] or [False]),
    )


def judged(verdicts: Sequence[Verdict]) -> list[Judged]:
    """The figures of each source and method by category, then as a whole."""
    made = []
    for source, method in product(Source, METHODS):
        some = [one for one in verdicts if (one.source, one.method) == (source, method)]
        categories = sorted({one.category for one in some})
        each = [_judged(category, [one for one in some if one.category == category]) for category in categories]
        made += each
        if each:
            made.append(_judged(ALL, some, accuracy=mean(one.accuracy for one in each)))
    return made


def _judged(category: str, some: Sequence[Verdict], *, accuracy: float | None = None) -> Judged:
    costs = [one.cost_usd for one in some if one.cost_usd is not None]
    return Judged(
        source=some[0].source.value,
        method=some[0].method,
        category=category,
        questions=len(some),
        accuracy=mean(one.is_right for one in some) if accuracy is None else accuracy,
        input_tokens=sum(one.input_tokens for one in some),
        cached_input_tokens=sum(one.cached_input_tokens for one in some),
        output_tokens=sum(one.output_tokens for one in some),
        cost_usd=sum(costs) if len(costs) == len(some) else None,
    )


def found_table(figures: Iterable[Found]) -> Table:
    tops = "/".join(map(str, TOPS))
    headings = ("source", "questions", "number", f"any turn {tops}", f"mean turns {tops}", f"any session {tops}")
    rows = [
        (
            one.source,
            one.questions_of,
            f"{one.questions}",
            *map(_by_top, (one.any_message, one.mean_messages, one.any_chat, one.all_chats)),
        )
        for one in figures
    ]
    return (*headings, f"all sessions {tops}"), rows


def held_table(figures: Iterable[Figures]) -> Table:
    headings = ("source", "split", "budget", "method", "tokens", "evidence", "answer words", "compression", "grounded")
    rows = [
        (
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
        for one in figures
    ]
    return headings, rows


def noted_table(figures: Iterable[Noted]) -> Table:
    headings = ("source", "split", "what is told", "tokens", "evidence", "answer words", "facts", "grounded", "doubled")
    rows = [
        (
            one.source.value,
            one.split.value,
            one.way.value,
            f"{one.tokens:,.0f}",
            f"{one.evidence:.3f}",
            f"{one.answer:.3f}",
            *((f"{one.facts:,.0f}", f"{one.grounded:.1%}", f"{one.doubled:.1%}") if one.way is Way.FACTS else "---"),
        )
        for one in figures
    ]
    return headings, rows


def judged_table(figures: Iterable[Judged]) -> Table:
    headings = ("source", "method", "category", "questions", "accuracy", "input", "of it cached", "output", "cost")
    rows = [
        (
            one.source,
            one.method,
            one.category,
            f"{one.questions}",
            f"{one.accuracy:.3f}",
            f"{one.input_tokens:,}",
            f"{one.cached_input_tokens:,}",
            f"{one.output_tokens:,}",
            "-" if one.cost_usd is None else f"${one.cost_usd:.2f}",
        )
        for one in figures
    ]
    return headings, rows


def _by_top(shares: dict[int, float]) -> str:
    return " / ".join(f"{shares[top]:.3f}" for top in TOPS)


def section(title: str, run: str, table: Table) -> list[str]:
    """The lines of a section of the document: title, date of the run, table."""
    headings, rows = table
    return ["", f"### {title.capitalize()}", "", run, "", *markdown_table(headings, rows)]
