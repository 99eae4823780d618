"""Access to the tests' database as a role under row-level security, for ``test_securing.py``, and for any other test
by ``pytest --row-level-security``."""

import contextlib

import asyncpg

from app.commands.securing import secure
from app.kit.db import DatabaseConfig

ROLE = "daybook_app"
OWNER = "postgres"


def as_role(url: str) -> str:
    return url.replace(f"{OWNER}@", f"{ROLE}@", 1)


def is_as_role(url: str) -> bool:
    return f"{ROLE}@" in url


async def secured(url: str) -> None:
    """Secure this database, so that ``ROLE`` sees only the rows of the transaction's tenant."""
    connection = await asyncpg.connect(url)
    with contextlib.suppress(asyncpg.DuplicateObjectError, asyncpg.UniqueViolationError):  # another worker's
        await connection.execute(f"CREATE ROLE {ROLE} LOGIN")
    await connection.close()
    await secure(DatabaseConfig(url=url), ROLE)
