"""Postgres through one asyncpg pool: connections for single statements, transactions for the rest."""

import asyncio
import socket
from collections.abc import AsyncIterator, Hashable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

import asyncpg

from app.kit.driver import PooledConnection, leave_as_it_is, prepare
from app.kit.errors import StartError, first_line
from app.kit.queueing import Queues

Tx: TypeAlias = Any  # an asyncpg connection (the library is untyped); a statement alone on it is its own transaction
Row: TypeAlias = Any  # an asyncpg.Record

# The tenant whose rows are visible under row-level security (app/commands/securing.py): in a request the caller's, in
# background work every tenant's. No tenant can have this name.
EVERY_TENANT = "*"
TENANT_SETTING = "daybook.tenant"
_tenant: ContextVar[str] = ContextVar("daybook_tenant", default=EVERY_TENANT)

VERSION_MIN = 14
# What the server's settings have to be, and how to mend others: in another encoding characters are refused or cut, at
# another level of isolation a statement that waited for a lock does not see what was committed meanwhile.
NEEDED = {
    "server_encoding": ("UTF8", "create the database with ENCODING 'UTF8' TEMPLATE template0"),
    "default_transaction_isolation": ("read committed", "set it for the role or the database: ALTER ROLE ... SET ..."),
}
SETTINGS = "SELECT name, current_setting(name) FROM unnest($1::text[]) AS n (name)"
REFUSED_SECONDS = 0.1  # until a connection is asked for again if the server has no further one
STATEMENTS_KEPT = 100  # prepared statements cached per connection: the driver's own default

# What the driver raises when the server cannot be reached or gives up for now, whatever the statement.
AWAY = (
    asyncpg.PostgresConnectionError,
    asyncpg.InvalidAuthorizationSpecificationError,  # the password was changed, the role may not log in
    asyncpg.InvalidCatalogNameError,  # the database is not there: dropped, renamed, being restored
    asyncpg.UndefinedTableError,  # its tables are not: not migrated yet, being restored
    asyncpg.InvalidCachedStatementError,  # a newer version changed its tables: raised once, within a transaction
    asyncpg.ReadOnlySQLTransactionError,  # a standby, or a server that an operator or a full disk made read-only
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.TransactionTimeoutError,
    asyncpg.ObjectNotInPrerequisiteStateError,  # it refuses connections; an operator's lock and the role's lock_timeout
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.PostgresSystemError,  # its disk
    asyncpg.TransactionRollbackError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # a connection that the server has just closed, used before the driver saw it
    OSError,
    TimeoutError,
)


# Raised when a pooler sends the statements of several clients over one connection to the server.
LOST_STATEMENT = (asyncpg.InvalidSQLStatementNameError, asyncpg.DuplicatePreparedStatementError)
UNUSABLE = "cannot use the database of DAYBOOK_DATABASE_URL"
POOLED = " (behind a pooler in transaction mode set DAYBOOK_POOL__PREPARED_STATEMENTS=false)"
ESCAPED = " (write @ / ? # [ in passwords as %40 %2F %3F %23 %5B)"


def one_line(error: BaseException) -> str:
    """An error's first line for the operator, with the setting that mends it if known."""
    if isinstance(error, LOST_STATEMENT):
        return first_line(error) + POOLED
    return first_line(error) + (ESCAPED if isinstance(error, socket.gaierror) else "")


def is_away(error: BaseException) -> bool:
    """Whether the same statement may succeed later. One with a refused argument, also an InterfaceError, never does."""
    return isinstance(error, AWAY) and not isinstance(error, ValueError)


UNSECURED = """
SELECT min(relname::text) FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
  AND relname <> 'alembic_version' AND NOT row_security_active(oid)
"""

NOW = "/* now */ SELECT clock_timestamp()"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseConfig:
    """``url`` is any ``postgresql://`` DSN. Pool sizes count connections of this process.

    Without ``prepared_statements`` no statement has a name on the server: a pooler in transaction mode gives each
    transaction any free connection, on which another client's statements have the same names.

    With ``row_level_security`` each statement runs in a transaction that sets the tenant.
    """

    url: str
    pool_min: int = 2
    pool_max: int = 10
    connect_seconds: float = 10.0
    statement_seconds: float = 30.0
    prepared_statements: bool = True
    row_level_security: bool = False


def plain_dsn(url: str) -> str:
    """A DSN as asyncpg takes it, without SQLAlchemy's driver suffix."""
    scheme, _, rest = url.partition("://")
    return f"{scheme.partition('+')[0]}://{rest}"


@asynccontextmanager
async def connected(url: str, *, seconds: float = 60.0) -> AsyncIterator[asyncpg.Connection]:
    """One connection outside the pool; caches no statements, because a pooler may stand between.

    ``seconds``: for connecting. The driver's errors pass.
    """
    connection = await asyncpg.connect(plain_dsn(url), timeout=seconds, statement_cache_size=0)
    try:
        yield connection
    finally:
        await connection.close()


@contextmanager
def acting_for(tenant: str) -> Iterator[None]:
    """Within the block, transactions see the rows of this tenant."""
    before = _tenant.set(tenant)
    try:
        yield
    finally:
        _tenant.reset(before)


class Database:
    """The connection pool. ``open`` raises StartError, with one clear line, when the server cannot be used."""

    def __init__(self, config: DatabaseConfig) -> None:
        self._config = config
        self._pool: Any = None
        self._wanting = 0  # tasks that have a connection, or wait for one
        self._queues = Queues(places=config.pool_max, seconds=config.connect_seconds)

    async def open(self) -> None:
        await check_server(self._config)
        with _one_line_errors():
            self._pool = await asyncpg.create_pool(
                plain_dsn(self._config.url),
                min_size=self._config.pool_min,
                max_size=self._config.pool_max,
                timeout=self._config.connect_seconds,
                command_timeout=self._config.statement_seconds,
                server_settings={"timezone": "UTC"},
                statement_cache_size=STATEMENTS_KEPT if self._config.prepared_statements else 0,
                init=prepare,
                reset=leave_as_it_is,
                connection_class=PooledConnection,
            )

    async def close(self) -> None:
        """Close the connections; after ``connect_seconds`` they are terminated, because the server may hang."""
        if self._pool is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._config.connect_seconds):
                    await self._pool.close()

    @property
    def is_guarded(self) -> bool:
        """Whether Postgres itself keeps tenants apart."""
        return self._config.row_level_security

    def connection(self, *, of: Hashable = None) -> AbstractAsyncContextManager[Tx]:
        """A connection whose statements commit one by one; under row-level security, at its end. ``of``: see ``tx``."""
        if self._config.row_level_security:
            return self.tx(of=of)
        return self._acquired() if of is None else self._acquired_for(of)

    async def fetch(self, statement: str, *arguments: Any) -> list[Row]:
        """Run a statement on a connection of its own, as asyncpg's method of this name; likewise the next three."""
        async with self.connection() as connection:
            rows: list[Row] = await connection.fetch(statement, *arguments)
        return rows

    async def fetchrow(self, statement: str, *arguments: Any) -> Row:
        async with self.connection() as connection:
            return await connection.fetchrow(statement, *arguments)

    async def fetchval(self, statement: str, *arguments: Any) -> Any:
        async with self.connection() as connection:
            return await connection.fetchval(statement, *arguments)

    async def execute(self, statement: str, *arguments: Any) -> None:
        async with self.connection() as connection:
            await connection.execute(statement, *arguments)

    @asynccontextmanager
    async def _acquired_for(self, of: Hashable) -> AsyncIterator[Tx]:
        async with self._queues.turn(of), self._acquired() as connection:
            yield connection

    @asynccontextmanager
    async def _acquired(self) -> AsyncIterator[Tx]:
        # If a connection is free there is no wait, and a timeout would cost a task.
        timeout = None if self._wanting < self._config.pool_max else self._config.connect_seconds
        self._wanting += 1
        try:
            try:
                connection = await self._pool.acquire(timeout=timeout)
            except asyncpg.TooManyConnectionsError:
                connection = await self._given_back()
            try:
                yield connection
            except asyncpg.ReadOnlySQLTransactionError:
                # The connection is to a standby, or was made while the server was read-only; a new one may be writable.
                await self._pool.expire_connections()
                raise
            finally:
                await self._pool.release(connection, timeout=self._config.connect_seconds)
        finally:
            self._wanting -= 1

    async def _given_back(self) -> Any:
        """The next free connection of the pool, to which the server grants no further one."""
        async with asyncio.timeout(self._config.connect_seconds):
            while True:
                await asyncio.sleep(REFUSED_SECONDS)
                with suppress(asyncpg.TooManyConnectionsError):
                    return await self._pool.acquire()

    def pool_state(self) -> dict[str, int]:
        """Counts of connections; ``waiting`` counts the tasks that wait for one."""
        size, in_use = self._pool.get_size(), self._pool.get_size() - self._pool.get_idle_size()
        waiting = max(0, self._wanting - in_use)
        return {"size": size, "in_use": in_use, "waiting": waiting, "max": self._config.pool_max}

    @asynccontextmanager
    async def tx(self, *, of: Hashable = None, **options: Any) -> AsyncIterator[Tx]:
        """A transaction: commits at the end of the block, rolls back on an error. Never await the network in it.

        ``of`` is the session whose row a request will lock: requests for one session queue for each other without
        holding a connection (``Queues``). ``options`` are those of asyncpg's ``transaction``.
        """
        acquired = self._acquired() if of is None else self._acquired_for(of)
        async with acquired as connection, connection.transaction(**options):
            if self._config.row_level_security:
                await connection.execute(_naming(_tenant.get()))
            yield connection

    def snapshot(self) -> AbstractAsyncContextManager[Tx]:
        """A read-only transaction with one snapshot (repeatable read)."""
        return self.tx(isolation="repeatable_read", readonly=True)

    async def now(self) -> datetime:
        """The server's time, which is the same for all processes."""
        found: datetime = await self.fetchval(NOW)
        return found


def _naming(tenant: str) -> str:
    """The statement that sets the tenant until the transaction ends."""
    quoted = tenant.replace("'", "''")
    return f"SET LOCAL {TENANT_SETTING} = '{quoted}'"


@contextmanager
def _one_line_errors() -> Iterator[None]:
    try:
        yield
    except asyncpg.UndefinedObjectError as error:  # of the URL's parameters, those that the driver lacks are settings
        raise StartError(f"{UNUSABLE}: {first_line(error)}: remove it from the URL") from error
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise StartError(f"{UNUSABLE}: {one_line(error)}") from error
    except ValueError as error:  # its text quotes what was parsed as the port: the start of a password with a slash
        raise StartError(f"{UNUSABLE}: not a URL{ESCAPED}") from error


async def check_server(config: DatabaseConfig) -> None:
    """Connect once. Raises StartError: not a DSN, not reachable, refused, or older than Postgres 14."""
    with _one_line_errors():
        async with connected(config.url, seconds=config.connect_seconds) as connection:
            version = connection.get_server_version().major
            settings = await connection.fetch(SETTINGS, list(NEEDED))
            unsecured = await connection.fetchval(UNSECURED) if config.row_level_security else None
    if version < VERSION_MIN:
        raise StartError(f"the database is PostgreSQL {version}; Daybook needs {VERSION_MIN} or later")
    for name, value in settings:
        needed, advice = NEEDED[name]
        if value != needed:
            raise StartError(f"{name} of the database is '{value}'; Daybook needs '{needed}': {advice}")
    if unsecured is not None:
        raise StartError(
            f"DAYBOOK_ROW_LEVEL_SECURITY: for the user of DAYBOOK_DATABASE_URL it does not apply to {unsecured}:"
            " use a role that owns nothing and for which the owner ran `daybook migrate --row-level-security ROLE`"
        )
