"""``daybook export`` and ``daybook import``: write a session to a file, and read one, with a progress bar."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from app.kit.db import Database
from app.kit.errors import DomainError
from app.kit.migrate import current_revision, lacking
from app.locating import build_objects, located, opened
from app.settings import Settings, configured
from app.transfer.errors import TransferError
from app.transfer.exporting import ExportConfig, Exporting
from app.transfer.importing import Importing


def export_session(settings: Settings, *, tenant: str, key: str, path: Path | None) -> None:
    """Write a session to a file (None: stdout). Raises TransferError, and leaves no partial file.

    A path that exists and is no regular file, such as a pipe or a device, is written into.
    """
    export = partial(_export, settings, tenant, key)
    try:
        if path is None:
            with open(sys.stdout.fileno(), "wb", closefd=False) as file:
                asyncio.run(export(file))
            return
        target = Path(os.path.realpath(path))  # so that a link is not replaced by the file
        if target.exists() and not target.is_file():
            with target.open("wb") as file:
                asyncio.run(export(file))
        else:
            _replace(target, export)
    except OSError as error:
        raise TransferError(f"{path or 'standard output'}: {error.strerror}") from error


def _replace(target: Path, export: Callable[[BinaryIO], Coroutine[Any, Any, None]]) -> None:
    part = target.with_name(f"{target.name}.part")
    try:
        with part.open("wb") as file:
            asyncio.run(export(file))
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def import_session(settings: Settings, *, tenant: str, key: str, path: Path) -> int:
    """Import a session from a file; returns the rows. Raises TransferError: nothing was imported."""
    return asyncio.run(_import(settings, tenant, key, path))


async def _export(settings: Settings, tenant: str, key: str, file: BinaryIO) -> None:
    async with _opened(settings) as database:
        objects = build_objects(settings, begins=False)
        exporting = Exporting(database=database, objects=objects, config=configured(ExportConfig, settings.export))
        with _progress() as progress:
            task = progress.add_task(f"exporting {key}", total=None)
            async for line in exporting.session(tenant, key):
                file.write(line)
                progress.advance(task)


async def _import(settings: Settings, tenant: str, key: str, path: Path) -> int:
    async with _opened(settings) as database:
        importing = Importing(database=database, objects=build_objects(settings))
        total = await importing.check(path)
        with _progress() as progress:
            task = progress.add_task(f"importing {key}", total=total)
            await importing.session(path, tenant=tenant, key=key, progress=lambda rows: progress.advance(task, rows))
    return total


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[Database]:
    with located(settings, exclusive=False) as location:
        async with opened(settings, location) as database:
            await _check_schema(database)
            try:
                yield database
            except DomainError as error:
                raise TransferError(error.detail) from error


async def _check_schema(database: Database) -> None:
    async with database.connection() as connection:
        if wrong := lacking(await current_revision(connection)):
            raise TransferError(wrong)


def _progress() -> Progress:
    console = Console(stderr=True)
    return Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), console=console)
