"""Measures the cost of row-level security: ``python -m benchmarks.row_level_security``.

Two services on one database, one as its owner and one as a role under row-level security, are measured in turn, so that
other load on the machine affects both. The database also holds sessions of another tenant.
"""

import asyncio
from functools import partial
from itertools import product
from operator import not_
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import asyncpg
import typer

from benchmarks.service import batches
from benchmarks.speed.filling import fill
from benchmarks.timing import Timings, save, show_compared
from tests.databases import clone, own_server
from tests.journeys.looks import until
from tests.journeys.processes import Running, process
from tests.journeys.talk import plain_talk
from tests.secured import as_role, secured

OFF, ON = "off", "on"
NAME = "daybook_bench"
LONG = 200  # messages of a client's own session
LONGER = "longer", 5_000  # the session that all read, and its messages
OTHERS = 2_000  # sessions of another tenant
SETTINGS = {
    "DAYBOOK_PROVIDER": "extractive",
    "DAYBOOK_LOG_LEVEL": "error",
    "DAYBOOK_CONTEXT__ANSWERS_BYTES_MAX": "0",
    "DAYBOOK_RECALL__INDEX_QUIET_SECONDS": "0",
    "DAYBOOK_RECALL__INDEX_LOOK_SECONDS": "0.1",
    "DAYBOOK_RECALL__INDEX_SHARE": "1",
}
SOUGHT = "07919"  # a word of one message
UNINDEXED = "SELECT (SELECT count(*) FROM messages) > (SELECT count(*) FROM message_terms)"


async def prepared(dsn: str) -> str:
    """Fill and secure a database; returns its owner's DSN."""
    url = await clone(dsn, NAME)
    connection = await asyncpg.connect(url)
    await connection.execute(
        "INSERT INTO sessions (id, tenant, key, memory_id) SELECT g, 'other', 'o' || n, g"
        " FROM (SELECT gen_random_uuid() AS g, n FROM generate_series(1, $1) AS n) AS made",
        OTHERS,
    )
    await connection.close()
    await secured(url)
    key, messages = LONGER
    await fill(url, [key], messages, observed=True, wake_tokens=6_000)
    return url


async def indexed(url: str) -> None:
    """Wait until every message is in the search index."""
    connection = await asyncpg.connect(url)
    await until(partial(connection.fetchval, UNINDEXED), not_, seconds=300)
    await connection.close()


async def asked(service: Running, phase: str, timings: Timings, *, requests: int, client: int) -> None:
    for said in plain_talk(requests):
        message = said | {"id": uuid4().hex}
        await timings.timed(phase, "append, a new session", service.append(uuid4().hex, message))
        await timings.timed(phase, "append, a long session", service.append(f"long-{phase}-{client}", message))
        await timings.timed(phase, "context of 200 messages", service.context(f"long-{phase}-{client}"))
        await timings.timed(phase, "context of 5,000 messages", service.context(LONGER[0]))
        recall = service.client.post(f"/sessions/{LONGER[0]}/recall", json={"query": SOUGHT, "kinds": ["messages"]})
        await timings.timed(phase, "recall in 5,000 messages", recall)


async def measure(dsn: str, *, rounds: int, requests: int, clients: int) -> dict[str, Any]:
    url, timings = await prepared(dsn), Timings()
    limited = {"DAYBOOK_DATABASE_URL": as_role(url), "DAYBOOK_ROW_LEVEL_SECURITY": "true"}
    async with (
        process({**SETTINGS, "DAYBOOK_DATABASE_URL": url}) as owner,
        process({**SETTINGS, **limited}) as role,
    ):
        services = {OFF: owner, ON: role}
        for phase, service in services.items():
            for client, part in product(range(clients), batches(plain_talk(LONG))):
                await service.append(f"long-{phase}-{client}", *part)
            await asked(service, phase, Timings(), requests=requests, client=clients)
        await indexed(url)
        for _, (phase, service) in product(range(rounds), services.items()):
            each = [asked(service, phase, timings, requests=requests, client=client) for client in range(clients)]
            await asyncio.gather(*each)
    return {operation: timings.compared(operation, OFF, ON) for operation in timings.operations()}


def main(
    rounds: Annotated[int, typer.Option(help="of one phase each")] = 6,
    requests: Annotated[int, typer.Option(help="of a client in a phase, of each kind")] = 25,
    clients: Annotated[int, typer.Option(help="at once")] = 2,
    json: Annotated[Path | None, typer.Option(help="where to write the figures")] = None,
) -> None:
    """Appends and contexts with row-level security and without."""
    with own_server("bench") as dsn:
        found = asyncio.run(measure(dsn, rounds=rounds, requests=requests, clients=clients))
    show_compared("Row-level security", found, OFF, ON)
    save(json, found)


if __name__ == "__main__":
    typer.run(main)
