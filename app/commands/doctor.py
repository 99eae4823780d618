"""``daybook doctor``: checks everything the service needs, and advises what to do about problems."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

import asyncpg

from app.artifacts.objects import NoFolder
from app.choosing import chosen_models, unused_models
from app.diagnostics.backlog_store import BacklogStore
from app.diagnostics.health import readiness
from app.kit.db import Database
from app.kit.errors import StartError, Unavailable
from app.kit.migrate import MIGRATE
from app.kit.rates import RateConfig, Rates
from app.llm.embedding_build import GuardedEmbedder
from app.llm.port import ModelError, ModelRequest, Provider
from app.locating import Location, NoDatabase, build_objects, located, opened
from app.memory.policy import has_stalled
from app.memory.queue_store import QueueStore
from app.recall.preparing import HAS_EXTENSION
from app.roles import build_roles
from app.settings import Settings, configured

CLOCK_SECONDS_MAX = 5.0  # between this machine's clock and the database's, which leases and gaps use
IS_READ_ONLY = "SELECT current_setting('transaction_read_only')::boolean"
LOG_VERBOSITY = "SELECT current_setting('log_error_verbosity')"
# The settings with which Postgres may lose what it has acknowledged, or its files, if it crashes.
NOT_DURABLE = """
SELECT name || ' = off' FROM unnest('{fsync,full_page_writes,synchronous_commit}'::text[]) AS n (name)
WHERE current_setting(name) = 'off' ORDER BY name
"""
CONNECTIONS_MAX = """SELECT least(
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true)::int, 0),
    (SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database()),
    (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user AND NOT rolsuper)
)"""
TROUBLED_MAX = 20  # memories listed by name
NO_START = "fix this first: the service does not start with it"
MOUNT = "mount it; if it is a new store, the service marks it when it starts"
PROBE = ModelRequest(system="Answer with the word OK.", prompt="Are you there?", max_output_tokens=64)


class Verdict(StrEnum):
    OK = "ok"
    WARNING = "warning"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one check; ``advice`` is what to do about it, "" if nothing."""

    check: str
    verdict: Verdict
    detail: str
    advice: str = ""


def diagnose(settings: Settings, *, redrive: bool) -> list[Finding]:
    """All findings. ``redrive`` retries the stalled memories. Raises StartError: the database cannot be located."""

    async def found(database: Location) -> list[Finding]:
        return [finding async for finding in examine(settings, database, redrive=redrive)]

    try:
        with located(settings, exclusive=False) as database:
            return asyncio.run(found(database))
    except NoDatabase as error:
        nothing = Finding(check="database", verdict=Verdict.WARNING, detail=str(error))
        return [nothing, *asyncio.run(_without_database(settings))]


async def examine(settings: Settings, database: Location, *, redrive: bool) -> AsyncIterator[Finding]:
    """Each finding as it is made. A check is skipped if its precondition failed an earlier one."""
    try:
        async with opened(settings, database) as pool:
            yield await _database(pool, database)
            schema = await _schema(pool, database)
            yield schema
            yield await _clock(pool)
            yield await _durability(pool)
            yield await _server_log(pool)
            if settings.pool.prepared_statements:  # else a pooler shares the server's connections out
                yield await _connections(pool, settings)
            if settings.embeddings.provider is not None:
                yield await _vectors(pool)
            if schema.verdict is not Verdict.WRONG:
                async for finding in _memories(pool, attempts_max=settings.engine.attempts_max, redrive=redrive):
                    yield finding
    except StartError as error:
        yield Finding(check="database", verdict=Verdict.WRONG, detail=str(error), advice="see DAYBOOK_DATABASE_URL")
        return
    for finding in await _without_database(settings):
        yield finding


async def _without_database(settings: Settings) -> list[Finding]:
    """The checks that need no database."""
    parts = (_objects(settings), _rates(settings), _models(settings))
    return [finding for part in parts async for finding in part]


async def _database(pool: Database, database: Location) -> Finding:
    is_read_only = await pool.fetchval(IS_READ_ONLY)
    if not is_read_only:
        return Finding(check="database", verdict=Verdict.OK, detail=database.name)
    advice = "name the primary, or unset default_transaction_read_only of the server, the database and the role"
    detail = f"{database.name} accepts no writes: it is a standby, or was made read-only"
    return Finding(check="database", verdict=Verdict.WRONG, detail=detail, advice=advice)


async def _schema(pool: Database, database: Location) -> Finding:
    try:
        found = await readiness(pool, database.name)
    except (Unavailable, asyncpg.UndefinedTableError) as error:
        detail = str(error).removesuffix(f": {MIGRATE}")
        return Finding(check="migrations", verdict=Verdict.WRONG, detail=detail, advice=MIGRATE)
    if found.migration != found.known:
        detail = f"at {found.migration}, of a newer version; this version knows {found.known}"
        advice = "upgrade this version too: it works with a newer schema only for the time of an upgrade"
        return Finding(check="migrations", verdict=Verdict.WARNING, detail=detail, advice=advice)
    return Finding(check="migrations", verdict=Verdict.OK, detail=f"at {found.migration}, which this version needs")


async def _clock(pool: Database) -> Finding:
    there = await pool.now()
    apart = abs((datetime.now(UTC) - there).total_seconds())
    if apart <= CLOCK_SECONDS_MAX:
        return Finding(check="clock", verdict=Verdict.OK, detail=f"{apart:.1f} s from the database's")
    advice = "synchronise both by NTP: dates in contexts use this clock, leases and idle times the database's"
    return Finding(check="clock", verdict=Verdict.WARNING, detail=f"{apart:.0f} s from the database's", advice=advice)


async def _durability(pool: Database) -> Finding:
    off = ", ".join(row[0] for row in await pool.fetch(NOT_DURABLE))
    if not off:
        return Finding(check="durability", verdict=Verdict.OK, detail="Postgres acknowledges what it has on its disk")
    advice = "set it to on: otherwise a crash of Postgres or its machine may lose messages that were acknowledged"
    return Finding(check="durability", verdict=Verdict.WARNING, detail=f"{off} in Postgres", advice=advice)


async def _server_log(pool: Database) -> Finding:
    verbosity = await pool.fetchval(LOG_VERBOSITY)
    check, detail = "server log", f"log_error_verbosity of Postgres is {verbosity}"
    if verbosity == "terse":
        return Finding(check=check, verdict=Verdict.OK, detail=detail)
    advice = "set log_error_verbosity = terse: otherwise it may log text of messages, which no erasure removes"
    return Finding(check=check, verdict=Verdict.WARNING, detail=detail, advice=advice)


async def _connections(pool: Database, settings: Settings) -> Finding:
    """Whether the server has as many connections as this service's processes may open."""
    available, wanted = await pool.fetchval(CONNECTIONS_MAX), settings.workers * settings.pool.max
    check, detail = "connections", f"the service opens {wanted} at most, this role and database may have {available}"
    if wanted <= available:
        return Finding(check=check, verdict=Verdict.OK, detail=detail)
    advice = (
        "lower DAYBOOK_POOL__MAX or DAYBOOK_WORKERS, or raise max_connections of Postgres: under load, requests would"
        " answer 503"
    )
    return Finding(check=check, verdict=Verdict.WARNING, detail=detail, advice=advice)


async def _vectors(pool: Database) -> Finding:
    there = await pool.fetchval(HAS_EXTENSION)
    if there:
        return Finding(check="pgvector", verdict=Verdict.OK, detail="installed")
    advice = "install pgvector on the server, then run 'daybook migrate' as the database's owner"
    return Finding(check="pgvector", verdict=Verdict.WRONG, detail="not installed in this database", advice=advice)


async def _objects(settings: Settings) -> AsyncIterator[Finding]:
    check = "object store"
    try:
        objects = build_objects(settings, begins=False)
    except NoFolder as error:
        yield Finding(check=check, verdict=Verdict.WARNING, detail=str(error), advice=MOUNT)
        return
    except StartError as error:
        yield Finding(check=check, verdict=Verdict.WRONG, detail=str(error), advice=NO_START)
        return
    if objects is None:
        return
    trouble = await objects.trouble()
    if trouble is None:
        yield Finding(check=check, verdict=Verdict.OK, detail="answers")
    elif objects.is_unmarked():
        yield Finding(check=check, verdict=Verdict.WARNING, detail=trouble, advice=MOUNT)
    else:
        advice = "see DAYBOOK_ARTIFACTS__URL and the store's own variables; only requests for artifacts fail"
        yield Finding(check=check, verdict=Verdict.WRONG, detail=trouble, advice=advice)


async def _rates(settings: Settings) -> AsyncIterator[Finding]:
    """The check of the Redis, if one is configured: while it is away, the service goes on without limits."""
    if settings.rates.redis_url is None:
        return
    check = "rate limit"
    try:
        rates = Rates(configured(RateConfig, settings.rates))
    except StartError as error:
        yield Finding(check=check, verdict=Verdict.WRONG, detail=str(error), advice=NO_START)
        return
    limited = settings.rates.per_minute > 0
    trouble = await rates.trouble() if limited else None
    await rates.close()
    if trouble is None:
        yield Finding(check=check, verdict=Verdict.OK, detail="Redis answers" if limited else "no key is limited")
    else:
        advice = "see DAYBOOK_RATES__REDIS_URL; until Redis answers, no key is limited"
        yield Finding(check=check, verdict=Verdict.WRONG, detail=f"Redis: {trouble}", advice=advice)


async def _memories(pool: Database, *, attempts_max: int, redrive: bool) -> AsyncIterator[Finding]:
    troubled = await BacklogStore(pool, attempts_max=attempts_max).troubled(TROUBLED_MAX + 1)
    for memory in troubled[:TROUBLED_MAX]:
        stalled = has_stalled(memory.attempts, attempts_max=attempts_max)
        yield Finding(
            check=f"memory of {memory.key if memory.resource_id is None else f'resource {memory.resource_id}'}",
            verdict=Verdict.WRONG if stalled else Verdict.WARNING,
            detail=f"{'stalled' if stalled else 'backing off'} after {memory.attempts}: {memory.error}",
            advice="" if redrive else "mend the cause, then run 'daybook doctor --redrive'",
        )
    if not troubled:
        yield Finding(check="memories", verdict=Verdict.OK, detail="none is stalled or backing off")
    if len(troubled) > TROUBLED_MAX:
        yield Finding(
            check="memories", verdict=Verdict.WARNING, detail=f"more than {TROUBLED_MAX} fail; the rest is not listed"
        )
    if redrive:
        count = await QueueStore(pool).redrive()
        yield Finding(check="redrive", verdict=Verdict.OK, detail=f"{count} memories will be retried now")


async def _models(settings: Settings) -> AsyncIterator[Finding]:
    try:
        chosen, roles = chosen_models(settings), build_roles(settings)
    except StartError as error:
        yield Finding(check="models", verdict=Verdict.WRONG, detail=str(error), advice=NO_START)
        return
    if Provider.EXTRACTIVE in {chosen.observer.provider, chosen.reflector.provider}:
        advice = "set ANTHROPIC_API_KEY or OPENAI_API_KEY to use a model"
        detail = "the built-in extractive memory is in use"
        yield Finding(check="model", verdict=Verdict.WARNING, detail=detail, advice=advice)
    for name in unused_models(settings):
        detail, advice = "names a model that is not used, because no provider has a key", "set the key of its provider"
        yield Finding(check=name, verdict=Verdict.WARNING, detail=detail, advice=advice)
    asked: set[str] = set()
    for model in roles.models:
        name = f"{model.provider}:{model.name}"
        if name not in asked:
            yield await _answers(model.complete(PROBE), name)
        asked.add(name)
        await model.close()
    if roles.embedder is not None:
        yield await _answers(_embedded(roles.embedder), f"embeddings by {roles.embedder.label}")
        await roles.embedder.close()


async def _embedded(embedder: GuardedEmbedder) -> None:
    """Embed a passage first, because a server that has to load its model then takes longer than a query may."""
    await embedder.passages([PROBE.prompt])
    await embedder.query(PROBE.prompt)


async def _answers(call: Awaitable[object], name: str) -> Finding:
    """Check a model by one or two small calls, which cost a few tokens."""
    try:
        await call
    except ModelError as error:
        advice = "check its key and its address" if not error.retryable else "try again; all else still works"
        return Finding(check=name, verdict=Verdict.WRONG, detail=f"{error.kind}: {error}", advice=advice)
    return Finding(check=name, verdict=Verdict.OK, detail="answers")
