"""``make eval``: posts real conversations to a service, measures it by questions about them, and writes docs/eval.*."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar, assert_never

import orjson
import typer
from anyio.from_thread import start_blocking_portal
from pydantic import TypeAdapter

from app.llm.build import MID_MODELS, build_model, default_provider
from app.llm.embedding import EmbeddingProvider
from app.llm.port import LlmConfig, Model, ModelReply, ModelRequest, Provider
from benchmarks.cache.conversations import DATA
from benchmarks.document import write_figures
from benchmarks.quality import report
from benchmarks.quality.answering import BUDGET, USUAL, Asked, Verdict, answered, asked, judged, patiently
from benchmarks.quality.facts import Known, known
from benchmarks.quality.ledger import Ledger
from benchmarks.quality.measuring import BUDGETS, LOG, METHODS, RECALL, Measured, baselines, recall_tokens, remembered
from benchmarks.quality.picture import draw
from benchmarks.quality.report import (
    Figures,
    Found,
    Judged,
    Noted,
    Table,
    found_table,
    held_table,
    judged_table,
    noted_table,
)
from benchmarks.quality.retrieval import Searched, Vectorized, searched
from benchmarks.quality.talks import Source, Split, Talk, asking, asking_each_category, talks
from benchmarks.service import running_service
from benchmarks.terminal import progress_bar, show, table

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "eval.md"
SO_FAR = ROOT / "build" / "eval.jsonl"
LANES = 2
HAYSTACKS = 20  # each takes 40 seconds of a core
S = TypeVar("S")
T = TypeVar("T")


class Part(StrEnum):
    RETRIEVAL = "retrieval"
    VECTORS = "vectors"  # retrieval with the embeddings that are named
    CONTEXT = "context"
    FACTS = "facts"
    ANSWERS = "answers"  # calls a model, so it needs a key


def main(  # noqa: PLR0913, PLR0917 - the options of a command
    part: Annotated[list[Part] | None, typer.Option(help="default: all, answers only where a key is set")] = None,
    locomo: Annotated[int | None, typer.Option(help="conversations of LoCoMo; default: all")] = None,
    longmemeval: Annotated[int | None, typer.Option(help="haystacks that are searched; default: all")] = None,
    haystacks: Annotated[int, typer.Option(help="haystacks that a memory is made of")] = HAYSTACKS,
    split: Annotated[Split | None, typer.Option(help="conversations of this split alone")] = None,
    questions: Annotated[
        int,
        typer.Option(
            help="of each conversation about its context, spread evenly over all; for answers, over the categories"
        ),
    ] = 40,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help=f"how the contexts of answers are made: of {', '.join(METHODS)}; default: {', '.join(USUAL)}"
        ),
    ] = None,
    model: Annotated[str | None, typer.Option(help="the provider's that answers; default: a mid-sized one")] = None,
    timeout: Annotated[float, typer.Option(help="seconds of a call of that model")] = LlmConfig().timeout_seconds,
    observer: Annotated[Provider, typer.Option(help="who makes the memory of part answers")] = Provider.EXTRACTIVE,
    embeddings: Annotated[EmbeddingProvider | None, typer.Option(help="who makes the vectors of part vectors")] = None,
    lanes: Annotated[int, typer.Option(help="conversations at once, and calls of the model that answers")] = LANES,
    data: Annotated[Path, typer.Option(help="where the conversations are")] = DATA,
    so_far: Annotated[Path, typer.Option(help="where a run keeps what it has, for --resume")] = SO_FAR,
    resume: Annotated[bool, typer.Option(help="go on with a run that was broken off")] = False,  # noqa: FBT002 - typer's
    write: Annotated[bool, typer.Option(help="write docs/eval.*")] = True,  # noqa: FBT002 - typer's
) -> None:
    """How much of what is asked later is found, stands in a compiled context, and is answered from it."""
    provider = default_provider(os.environ)
    parts = runnable(part, provider, embeddings)
    if unknown := set(method or USUAL) - set(METHODS):
        raise typer.BadParameter(f"no method: {', '.join(sorted(unknown))}; there are {', '.join(METHODS)}")
    if not data.is_dir():
        raise typer.BadParameter(f"the conversations are not here: {data.parent.name}/{data.name}")
    ledger = Ledger(so_far, resume=resume)
    earlier: dict[str, Any] = orjson.loads(found) if (found := _read(DOCUMENT.with_suffix(".json"))) else {}
    remembering = [talk for talk in _told(data, locomo, haystacks, split) if talk.questions]
    chosen = [asking(talk, questions) for talk in remembering]
    told = _told(data, locomo, longmemeval, split)
    for one in parts:
        match one:
            case Part.RETRIEVAL:
                made: Sequence[Any] = report.found(retrieval(told, ledger, lanes=lanes))
            case Part.VECTORS:
                made = report.found(retrieval(told, ledger, lanes=lanes, embeddings=embeddings))
            case Part.CONTEXT:
                made = report.figures(context(chosen, ledger, lanes=lanes))
            case Part.FACTS:
                made = report.noted(facts(chosen, ledger, lanes=lanes))
            case Part.ANSWERS:
                of_each = [asking_each_category(talk, questions) for talk in remembering]
                answering = build_model(provider, model or MID_MODELS[provider], LlmConfig(timeout_seconds=timeout))
                verdicts = answers(of_each, ledger, answering, methods=method or USUAL, observer=observer, lanes=lanes)
                made = report.judged(verdicts)
            case _:
                assert_never(one)
        earlier[one] = {"run": f"Run of {datetime.now(UTC):%-d %B %Y}.", "figures": made}
    figures = orjson.loads(orjson.dumps(earlier, option=orjson.OPT_NON_STR_KEYS))
    _show({one: figures[one] for one in parts})
    if write:
        _write(figures)


def _told(data: Path, locomo: int | None, longmemeval: int | None, split: Split | None) -> list[Talk]:
    limits = {Source.LOCOMO: locomo, Source.LONGMEMEVAL: longmemeval}
    found = [talk for source, limit in limits.items() for talk in talks(source, limit=limit, data=data)]
    return [talk for talk in found if split in {None, talk.split}]


def runnable(asked: list[Part] | None, provider: Provider, embeddings: EmbeddingProvider | None) -> list[Part]:
    """The requested parts, else all that can run; prints why others cannot. Raises BadParameter."""
    wanting = {}
    if provider is Provider.EXTRACTIVE:
        wanting[Part.ANSWERS] = "part answers wants a model: set ANTHROPIC_API_KEY or OPENAI_API_KEY"
    if embeddings is None:
        wanting[Part.VECTORS] = "part vectors wants --embeddings"
    missing = [wanting[one] for one in asked or Part if one in wanting]
    if asked and missing:
        raise typer.BadParameter("; ".join(missing))
    for reason in missing:
        typer.echo(f"left out: {reason}", err=True)
    return asked or [one for one in Part if one not in wanting]


def retrieval(
    told: Sequence[Talk], ledger: Ledger, *, lanes: int, embeddings: EmbeddingProvider | None = None
) -> list[Searched]:
    """Search for every question about every talk, by words alone, or by the vectors of ``embeddings`` too."""
    shape = TypeAdapter(Searched)
    chosen = [talk for talk in told if talk.questions]
    part = Part.RETRIEVAL if embeddings is None else Part.VECTORS
    with running_service(_settings(enabled=False) | _embedding(embeddings)) as http:
        vectorized = None if embeddings is None else Vectorized(http)

        def search(talk: Talk) -> Searched:
            return ledger.once(f"{part}/{talk.name}", shape, partial(searched, http, talk, vectorized))

        return list(_each(search, chosen, part, lanes=lanes))


def _embedding(provider: EmbeddingProvider | None) -> dict[str, str]:
    """Settings that make vectors as soon as possible, and wait for a query's vector as long as it takes."""
    if provider is None:
        return {}
    return {
        "DAYBOOK_EMBEDDINGS__PROVIDER": provider.value,
        "DAYBOOK_EMBEDDINGS__SHARE": "1",
        "DAYBOOK_EMBEDDINGS__QUERY_SECONDS": "60",
        "DAYBOOK_RECALL__INDEX_SHARE": "0.5",
        "DAYBOOK_RECALL__INDEX_QUIET_SECONDS": "0",
    }


def context(chosen: Sequence[Talk], ledger: Ledger, *, lanes: int) -> list[Measured]:
    """Measure the contexts of every talk by every method at every budget."""
    shape = TypeAdapter(Measured)
    measured = [one for talk in chosen for one in baselines(talk)]
    for budget in BUDGETS:
        with running_service(_settings(recall=recall_tokens(budget))) as http:

            def remember(method: str, talk: Talk, *, http: Any = http, budget: int = budget) -> Measured:
                key = f"context/{talk.name}/{method}/{budget}/{len(talk.questions)}"
                return ledger.once(key, shape, partial(remembered, http, talk, method, budget))

            for method in (LOG, RECALL):
                measured += _each(partial(remember, method), chosen, f"{method} at {budget:,}", lanes=lanes)
    return measured


def facts(chosen: Sequence[Talk], ledger: Ledger, *, lanes: int) -> list[Known]:
    """The facts noted of every talk after each of its chats has ended."""
    shape = TypeAdapter(Known)
    with running_service(_settings()) as http:

        def note(talk: Talk) -> Known:
            key = f"{Part.FACTS}/{talk.name}/{len(talk.questions)}"
            return ledger.once(key, shape, partial(known, http, talk))

        return list(_each(note, chosen, Part.FACTS, lanes=lanes))


def answers(
    chosen: Sequence[Talk], ledger: Ledger, model: Model, *, methods: Sequence[str], observer: Provider, lanes: int
) -> list[Verdict]:
    """Answer and judge the questions of every talk by every method, with a memory by ``observer``. Closes the model."""
    questions: list[Asked] = []
    with running_service(_settings(recall=recall_tokens(BUDGET), provider=observer)) as http:
        for method in methods:
            read = partial(asked, http, method=method, ledger=ledger)
            questions += [one for some in _each(read, chosen, method, lanes=lanes) for one in some]
    with start_blocking_portal() as portal:

        def ask(request: ModelRequest) -> ModelReply:
            return portal.call(patiently, model, request)

        answer, judge = partial(answered, ask=ask, ledger=ledger), partial(judged, ask=ask, ledger=ledger)
        given = list(_each(answer, questions, "answers", lanes=lanes))
        found = list(
            _each(lambda pair: judge(*pair), list(zip(questions, given, strict=True)), "verdicts", lanes=lanes)
        )
        portal.call(model.close)
    return found


def _settings(*, enabled: bool = True, recall: int = 1, provider: Provider = Provider.EXTRACTIVE) -> dict[str, str]:
    return {
        "DAYBOOK_PROVIDER": provider.value,
        "DAYBOOK_MEMORY__ENABLED": str(enabled).lower(),
        "DAYBOOK_RECALL__TOKENS": str(recall),
    }


def _each(work: Callable[[S], T], chosen: Sequence[S], description: str, *, lanes: int) -> Iterator[T]:
    """The results in order. A run that ends early does not wait for work that has begun: a model may take minutes."""
    pool = ThreadPoolExecutor(lanes)
    try:
        with progress_bar() as progress:
            yield from progress.track(pool.map(work, chosen), total=len(chosen), description=description)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _tables(known: dict[str, Any]) -> Iterator[tuple[Part, str, Table]]:
    shapes: dict[Part, tuple[TypeAdapter[Any], Callable[[Iterable[Any]], Table]]] = {
        Part.RETRIEVAL: (TypeAdapter(list[Found]), found_table),
        Part.VECTORS: (TypeAdapter(list[Found]), found_table),
        Part.CONTEXT: (TypeAdapter(list[Figures]), held_table),
        Part.FACTS: (TypeAdapter(list[Noted]), noted_table),
        Part.ANSWERS: (TypeAdapter(list[Judged]), judged_table),
    }
    for part, (shape, told) in shapes.items():
        if part in known:
            yield part, known[part]["run"], told(shape.validate_python(known[part]["figures"]))


def _show(known: dict[str, Any]) -> None:
    show((table(f"{part}: {run}", *shown) for part, run, shown in _tables(known)), file_width=160)


def _write(known: dict[str, Any]) -> None:
    if Part.CONTEXT in known:
        draw(TypeAdapter(list[Figures]).validate_python(known[Part.CONTEXT]["figures"]), DOCUMENT.with_suffix(".svg"))
    text = "\n".join([*(line for each in _tables(known) for line in report.section(*each)), "", ""])
    write_figures(DOCUMENT, text, known)


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


if __name__ == "__main__":
    typer.run(main)
