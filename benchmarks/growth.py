"""Compares the latency of appends, contexts and the sweep in a full database with that in an empty one.

``make bench-growth``: N messages in N/100 sessions, beside a database with only the sessions that are requested. Rounds
of both alternate in one run, so that other load on the machine affects both: the ratios count, not the milliseconds.
The figures go into docs/benchmarks/growth.*.
"""

import asyncio
import multiprocessing
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from statistics import median
from typing import Annotated, Any, TypeAlias

import asyncpg
import typer

from app.kit.migrate import upgrade
from app.memory.queue_store import DUE
from app.sessions.store import session_id
from benchmarks.document import markdown_table, write_figures
from benchmarks.speed.filling import TENANT
from benchmarks.speed.filling import fill as fill_sessions
from benchmarks.speed.load import Load, Plan, run
from benchmarks.speed.report import machine
from benchmarks.speed.surroundings import Server, daybook, postgres
from benchmarks.speed.targets import Daybook
from benchmarks.timing import show

DOCUMENT = Path(__file__).parents[1] / "docs" / "benchmarks" / "growth.md"
EACH = 100  # messages of a session
ASKED = 100  # sessions that are appended to and read, in either database; in the full one spread over all of it
SESSIONS_OF_ONE_FILL = 10_000
LOOKS = 50
TABLES = ("messages", "message_terms", "sessions", "memories")
OPERATIONS = ("append", "context")

SIZES = """
SELECT relname, pg_table_size(oid) AS rows, pg_indexes_size(oid) AS indexes, greatest(reltuples, 0)::bigint AS number
FROM pg_class WHERE relname = ANY($1::text[]) ORDER BY relname
"""


# As recall's indexer would leave it; otherwise it would work meanwhile, in the process that is measured.
TERMS = """
INSERT INTO message_terms (session_id, seq, segment, length, length_before, role, created_at, terms)
SELECT session_id, seq, 0, tokens, tokens_before, role, created_at, to_tsvector('simple', parts->0->>'text')
FROM messages WHERE session_id = ANY($1::uuid[])
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """Milliseconds of the median request, as medians over the rounds; ``ratio``: the median of each round's ratio."""

    operation: str
    empty_p50_ms: float
    full_p50_ms: float
    ratio: float


def main(
    messages: Annotated[int, typer.Option(help="in the full database")] = 10_000_000,
    rounds: Annotated[int, typer.Option(help="of each database, in turn")] = 9,
    seconds: Annotated[float, typer.Option(help="of one load")] = 2.0,
    figures: Annotated[bool, typer.Option("--write/--no-write", help="docs/benchmarks/growth.*")] = True,  # noqa: FBT002 - typer's
) -> None:
    """Appends, contexts and the sweep in a full database beside those in an empty one."""
    found = asyncio.run(measure(messages, rounds=rounds, seconds=seconds))
    for title, columns, rows in tables(found):
        show(title, columns, rows)
    if figures:
        write(found, DOCUMENT)


Table: TypeAlias = tuple[str, list[str], list[list[Any]]]


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The tables, each as title, headings and rows."""
    title = f"{found['messages']:,} messages"
    yield title, ["operation", "empty p50 ms", "full p50 ms", "ratio"], [[*one.values()] for one in found["latency"]]
    yield "Sizes", ["table", "rows", "row bytes", "index bytes"], [[*one.values()] for one in found["sizes"]]
    yield "One look for what is due", [*found["sweep"]], [[*found["sweep"].values()]]


def write(found: dict[str, Any], document: Path) -> None:
    """Write the figures into the document, and as JSON."""
    lines = ["", *markdown_table(("machine", ""), list(found["machine"].items()))]
    for title, columns, rows in tables(found):
        lines += ["", f"### {title}", "", *markdown_table(columns, [[_cell(value) for value in row] for row in rows])]
    write_figures(document, "\n".join(lines) + "\n\n", found)


def _cell(value: Any) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


async def measure(messages: int, *, rounds: int, seconds: float) -> dict[str, Any]:
    async with postgres() as database:
        empty, full = await database.database("daybook_empty"), await database.database("daybook_full")
        for dsn in (empty, full):
            await upgrade(dsn)
        sizes = (ASKED, max(ASKED, messages // EACH))
        for dsn, sessions in zip((empty, full), sizes, strict=True):
            await _fill(dsn, _keys(sessions))
        asked = [_keys(sessions)[:: sessions // ASKED][:ASKED] for sessions in sizes]
        with ExitStack() as servers:
            served = [servers.enter_context(daybook(dsn)) for dsn in (empty, full)]
            latency = await _compare(list(zip(served, asked, strict=True)), rounds=rounds, seconds=seconds)
        return {
            "machine": machine(database.version),
            "messages": messages,
            "rounds": rounds,
            "latency": [asdict(ratio) for ratio in latency],
            "sweep": {"empty_ms": await _look(empty), "full_ms": await _look(full)},
            "sizes": await _sizes(full),
        }


def _keys(sessions: int) -> list[str]:
    return [f"s{number}" for number in range(sessions)]


async def _fill(dsn: str, keys: list[str]) -> None:
    for start in range(0, len(keys), SESSIONS_OF_ONE_FILL):
        some = keys[start : start + SESSIONS_OF_ONE_FILL]
        await fill_sessions(dsn, some, EACH, observed=True, wake_tokens=30_000)
        connection = await asyncpg.connect(dsn)
        await connection.execute(TERMS, [session_id(TENANT, key) for key in some])
        await connection.execute("VACUUM ANALYZE message_terms")
        await connection.close()


async def _compare(asked: list[tuple[Server, list[str]]], *, rounds: int, seconds: float) -> list[Ratio]:
    """Measure both services in turn. ``asked``: the services with their sessions, the empty one first."""
    loop = asyncio.get_running_loop()
    found: dict[str, list[list[float]]] = defaultdict(list)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as sender:
        for number, operation in product(range(rounds + 1), OPERATIONS):
            plans = [_plan(server, keys, operation, seconds) for server, keys in asked]
            loads = [await loop.run_in_executor(sender, run, plan) for plan in plans]
            if number:  # the first is the warm-up
                found[operation].append([_p50(load) for load in loads])
    return [_ratio(operation, pairs) for operation, pairs in found.items()]


def _plan(server: Server, keys: list[str], operation: str, seconds: float) -> Plan:
    target = Daybook(port=server.port, pids=[server.pid], dsn="")
    requests = [target.append(key, 1, 1) if operation == "append" else target.context(key) for key in keys]
    return Plan(port=server.port, requests=requests, connections=1, seconds=seconds)


def _p50(load: Load) -> float:
    if load.failed or not load.latencies:
        raise RuntimeError(f"{load.failed} requests failed")
    return median(load.latencies)


def _ratio(operation: str, pairs: list[list[float]]) -> Ratio:
    return Ratio(
        operation=operation,
        empty_p50_ms=median(empty for empty, _ in pairs),
        full_p50_ms=median(full for _, full in pairs),
        ratio=median(full / empty for empty, full in pairs),
    )


async def _look(dsn: str) -> float:
    """The median milliseconds of the query for due memories when none is due."""
    connection = await asyncpg.connect(dsn)
    taken = []
    for _ in range(LOOKS):
        started = time.perf_counter()
        await connection.fetch(DUE, 1_000, 50)
        taken.append((time.perf_counter() - started) * 1000)
    await connection.close()
    return median(taken)


async def _sizes(dsn: str) -> list[dict[str, Any]]:
    """Bytes per row of each table, on its pages and in its indexes."""
    connection = await asyncpg.connect(dsn)
    await connection.execute("ANALYZE")
    rows = await connection.fetch(SIZES, list(TABLES))
    await connection.close()
    return [
        {
            "table": row["relname"],
            "rows": row["number"],
            "row_bytes": row["rows"] / max(1, row["number"]),
            "index_bytes": row["indexes"] / max(1, row["number"]),
        }
        for row in rows
    ]


if __name__ == "__main__":
    typer.run(main)
