"""Imports an exported session under a key: the file is checked whole first, then stored in one transaction."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import groupby
from json import JSONDecodeError
from pathlib import Path
from typing import Any, TypeAlias

import asyncpg
import structlog

from app.artifacts.objects import Objects
from app.facts import forgetting_store
from app.facts.rereading import overrides_from_json
from app.kit.db import Database, Tx
from app.kit.errors import first_line
from app.kit.json import loads
from app.memory.changing.own_memory_store import begin_anew
from app.sessions.errors import SessionExists
from app.sessions.store import session_id
from app.transfer import store
from app.transfer.checking import SESSIONS, checked
from app.transfer.errors import TransferError
from app.transfer.lines import ARTIFACTS, CORRECTIONS, END, MEMORIES, NUMBERED, TABLES, Place, content_of, moved

ROWS_AT_ONCE = 100  # of an artifact, which may have megabytes, one
BYTES_AT_ONCE = 4 * 1024 * 1024  # of their lines: a batch ends with the one that reaches it
REFUSED = (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError)  # by Postgres, of a row
Row: TypeAlias = tuple[int, dict[str, Any]]
"""The number of a row's line, and its columns."""

log = structlog.get_logger("daybook.transfer")


class Importing:
    """``objects``: where the bytes of artifacts are put; None: into the database."""

    def __init__(self, *, database: Database, objects: Objects | None) -> None:
        self._database = database
        self._objects = objects

    async def check(self, path: Path) -> int:
        """Check the whole file; answers how many rows. Raises TransferError if it is no whole export of one session."""
        async with self._database.connection() as connection:
            columns = {table: await store.columns(connection, table) for table in TABLES}
        return checked(read(path), columns)

    async def session(self, path: Path, *, tenant: str, key: str, progress: Callable[[int], None]) -> None:
        """Store the session of a checked file; ``progress`` is called with the number of rows of each batch.

        Raises SessionExists, and TransferError for rows that cannot be stored.
        """
        place = Place(tenant=tenant, key=key, id=session_id(tenant, key))
        try:
            async with self._database.tx() as tx:
                await store.end(tx, place.id, await self._put(tx, path, place, progress))
        except REFUSED as error:
            raise TransferError(f"{path}: a row cannot be stored: {first_line(error)}") from error

    async def _put(self, tx: Tx, path: Path, place: Place, progress: Callable[[int], None]) -> dict[str, int]:
        """Insert every row; answers the highest ids, by table. A session that shared a memory gets its own."""
        highest: dict[str, int] = {}
        tables = set()
        corrections: list[dict[str, Any]] = []
        for table, batch in _batches(_rows(path)):
            tables.add(table)
            rows = [moved(table, row, place) for _, row in batch]
            if table == CORRECTIONS:
                corrections += [row for _, row in batch]
            elif table == ARTIFACTS:
                await self._put_artifacts(tx, rows, place)
            else:
                await _put_rows(tx, table, rows, [number for number, _ in batch])
            if table in NUMBERED:
                highest[table] = max(highest.get(table, 0), *(row["id"] for row in rows))
            progress(len(rows))
        if MEMORIES not in tables:
            await begin_anew(tx, place.id)
        overrides = overrides_from_json(corrections, place.id, place.key)
        await forgetting_store.import_overrides(tx, place.id, place.key, overrides)
        return highest

    async def _put_artifacts(self, tx: Tx, rows: Iterable[Mapping[str, Any]], place: Place) -> None:
        """Store versions. One without bytes is stored as deleted, so that its handle never means another.

        The objects of an import that fails have no row, and so are swept.
        """
        for row in rows:
            content = content_of(row)
            if content is None:
                if row.get("deleted_at") is None:
                    log.warning("artifact_without_bytes", artifact=row["name"], version=row["version"])
                await store.put_deleted_artifact(tx, row)
            elif self._objects is None:
                await store.put_artifact(tx, row, content=content, object_key=None)
            else:
                key = await self._objects.write(place.id, content)
                await store.put_artifact(tx, row, content=None, object_key=key)


async def _put_rows(tx: Tx, table: str, rows: Sequence[Mapping[str, Any]], numbers: Sequence[int]) -> None:
    """Insert them at once. Raises SessionExists, and TransferError naming the line of the first refused row."""
    try:
        async with tx.transaction():
            await store.put(tx, table, rows)
    except REFUSED as refused:
        if table == SESSIONS and isinstance(refused, asyncpg.UniqueViolationError):
            raise SessionExists(f"session '{rows[0]['key']}' exists already; nothing was imported") from refused
        for number, row in zip(numbers, rows, strict=True):
            try:
                await store.put(tx, table, [row])
            except REFUSED as error:
                raise TransferError(f"line {number}: the row cannot be stored: {first_line(error)}") from error
        raise


def read(path: Path) -> Iterator[tuple[int, Any]]:
    """Each parsed line with its number. Raises TransferError, also if the lines are not those that were exported."""
    digest = sha256()
    for number, (value, text) in enumerate(_lines(path), start=1):
        if isinstance(value, dict) and value.get("type") == END:
            _check_digest(value, digest.hexdigest(), number)
        digest.update(text)
        yield number, value


def _check_digest(end: Mapping[str, Any], found: str, number: int) -> None:
    """Raises TransferError for another digest. Older exports have none, nor has a file changed on purpose."""
    if end.get("sha256", found) != found:
        raise TransferError(
            f"line {number}: the lines before it differ from the export; to import them anyway, remove its 'sha256'"
        )


def _lines(path: Path) -> Iterator[tuple[Any, bytes]]:
    """Each parsed line, and its bytes. Raises TransferError."""
    try:
        with path.open("rb") as file:
            if not file.seekable():
                raise TransferError(f"{path}: must be a file, because it is read twice")
            for number, text in enumerate(file, start=1):
                yield _value(text, number), text
    except OSError as error:
        raise TransferError(f"{path}: {error.strerror}") from error


def _value(text: bytes, number: int) -> Any:
    try:
        return loads(text)
    except JSONDecodeError as error:  # "line 1", it would say, of the text it was given
        raise TransferError(f"line {number}: not JSON, at character {error.pos + 1}: {error.msg}") from error


def _rows(path: Path) -> Iterator[tuple[str, Row, int]]:
    numbered = enumerate(_lines(path), start=1)
    return (
        (value["type"], (number, value["data"]), len(text))
        for number, (value, text) in numbered
        if value["type"] in TABLES
    )


def _batches(rows: Iterable[tuple[str, Row, int]]) -> Iterator[tuple[str, list[Row]]]:
    for table, of_table in groupby(rows, key=lambda row: row[0]):
        batch: list[Row] = []
        size = 0
        for _, row, row_bytes in of_table:
            batch.append(row)
            size += row_bytes
            if len(batch) == (1 if table == ARTIFACTS else ROWS_AT_ONCE) or size >= BYTES_AT_ONCE:
                yield table, batch
                batch, size = [], 0
        if batch:
            yield table, batch
