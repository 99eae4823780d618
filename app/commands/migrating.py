"""Migrates the database to this version's schema, for ``daybook migrate`` and at the start of ``daybook serve``."""

import asyncio

import structlog

from app.commands.securing import secure
from app.kit import migrate as schema
from app.kit.db import check_server
from app.locating import Location, database_config, located, log_to_stderr
from app.recall.preparing import check_search, prepare_vectors
from app.settings import Settings

log = structlog.get_logger("daybook")


def migrate(settings: Settings, *, secured_for: str | None = None) -> None:
    """Migrate the database to this version's schema, then secure it for the role ``secured_for``, if given.

    Raises StartError.
    """
    log_to_stderr(settings)
    with located(settings, exclusive=False, begins=True) as database:
        asyncio.run(_upgrade(settings, database))
        if secured_for is not None:
            done = asyncio.run(secure(database_config(settings, database.url), secured_for))
            log.info("secured", role=secured_for, statements=len(done))


async def prepare(settings: Settings, database: Location) -> None:
    """Prepare the database for ``serve``: migrate it, if allowed, and check the server. Raises StartError."""
    config = database_config(settings, database.url)
    if settings.migrate == "auto":
        await _upgrade(settings, database)
    else:
        await check_server(config)
        if settings.embeddings.provider is not None:
            await prepare_vectors(config, make=False)
    if config.row_level_security:
        await check_search(config)


async def _upgrade(settings: Settings, database: Location) -> None:
    config = database_config(settings, database.url)
    await check_server(config)
    await schema.upgrade(database.url)
    if settings.embeddings.provider is not None:
        await prepare_vectors(config, make=True)
