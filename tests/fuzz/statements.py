"""Watches every statement before and after its execution: the points at which a process can die.

A statement is named by its leading comment, the ends of a transaction ``begin`` and ``commit``.
"""

import ast
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from app.kit.db import Database, Tx

NAME = re.compile(r"/\* (\w+) \*/")
WRITE = re.compile(r"\b(INSERT INTO|MERGE INTO|DELETE FROM|TRUNCATE|(?<!FOR )(?<!KEY )(?<!DO )UPDATE \w+)\b")
UNNAMED = "unnamed"


class Watch(Protocol):
    """Called around each statement. Raises, or ends the process, to end the connection there."""

    def before(self, name: str) -> None: ...

    def after(self, name: str) -> None: ...


class Cut(ConnectionResetError):
    """The connection ended between two statements."""


class Watched:
    """An asyncpg connection whose statements are watched."""

    def __init__(self, connection: Tx, watch: Watch) -> None:
        self._connection = connection
        self._watch = watch

    async def execute(self, query: str, *arguments: Any) -> Any:
        return await self._seen("execute", query, *arguments)

    async def executemany(self, query: str, rows: Sequence[Any]) -> Any:
        return await self._seen("executemany", query, rows)

    async def fetch(self, query: str, *arguments: Any) -> Any:
        return await self._seen("fetch", query, *arguments)

    async def fetchmany(self, query: str, rows: Sequence[Any]) -> Any:
        return await self._seen("fetchmany", query, rows)

    async def fetchrow(self, query: str, *arguments: Any) -> Any:
        return await self._seen("fetchrow", query, *arguments)

    async def fetchval(self, query: str, *arguments: Any) -> Any:
        return await self._seen("fetchval", query, *arguments)

    @asynccontextmanager
    async def transaction(self, **options: Any) -> AsyncIterator[None]:
        self._watch.before("begin")
        async with self._connection.transaction(**options):
            self._watch.after("begin")
            yield
            self._watch.before("commit")
        self._watch.after("commit")

    async def _seen(self, method: str, query: str, *arguments: Any) -> Any:
        found = NAME.match(query)
        name = found[1] if found else UNNAMED
        self._watch.before(name)
        answer = await getattr(self._connection, method)(query, *arguments)
        self._watch.after(name)
        return answer


class WatchedDatabase(Database):
    """``database`` under a watch; one pool may serve many of these, as if each were a process of its own."""

    def __init__(self, database: Database, watch: Watch) -> None:
        self._database = database
        self._config = database._config
        self._queues = database._queues
        self._watch = watch

    async def open(self) -> None:
        await self._database.open()

    async def close(self) -> None:
        await self._database.close()

    @asynccontextmanager
    async def _acquired(self) -> AsyncIterator[Tx]:
        self._watch.before("connect")
        async with self._database.connection() as connection:
            try:
                yield Watched(connection, self._watch)
            except Cut:
                connection.terminate()
                raise


def writes(folder: Path) -> list[str]:
    """The names of all writing statements in the code of ``folder``. Raises ValueError for one without a name."""
    return [_name(text, file) for file in sorted(folder.rglob("*.py")) for text in _texts(file) if WRITE.search(text)]


def _name(statement: str, file: Path) -> str:
    found = NAME.match(statement)
    if found is None:
        raise ValueError(f"{file.name} has a statement that does not begin with its name, /* so */: {statement[:80]}")
    return found[1]


def _texts(file: Path) -> Iterator[str]:
    """The string literals of a file without docstrings; of an f-string the constant parts."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    known = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            pieces = [piece for piece in node.values if isinstance(piece, ast.Constant)]
            known |= {id(piece) for piece in pieces}
            yield "".join(str(piece.value) for piece in pieces)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in known:
            yield node.value
