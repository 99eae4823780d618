"""Bytes outside the database: an object store by its URL (a folder, S3, GCS, Azure), through obstore.

Credentials and endpoints come from the providers' own variables. The library is an extra, ``daybook[objects]``. It is
called in threads: its own asyncio calls abort the interpreter when it ends soon after one (obstore 0.12).
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID, uuid4

from app.kit.errors import StartError, Unavailable, first_line

if TYPE_CHECKING:
    from obstore.store import ObjectStore

REMOTE: dict[str, Any] = {
    "client_options": {"timeout": timedelta(seconds=30), "connect_timeout": timedelta(seconds=5)},
    "retry_config": {"max_retries": 2, "retry_timeout": timedelta(seconds=30)},
}
URL = re.compile(r"[^\s\"]+://[^\s\"]*")  # the library may tell it otherwise than it was given: foo:// for Foo://


class Stored(NamedTuple):
    """An object that is there; its key begins with the session's id."""

    session: UUID
    key: str
    written_at: datetime


class Objects:
    """One object per version that is put: none is shared, so the deletion of one is never that of another."""

    def __init__(self, store: "ObjectStore") -> None:
        self._store = store

    async def write(self, session: UUID, content: bytes) -> str:
        """Keep the bytes under a new key. Raises Unavailable."""
        key = _new_key(session)
        await _asked(lambda: self._store.put(key, content))
        return key

    async def copy(self, key: str, session: UUID) -> str | None:
        """Keep the same bytes for another session; None where there are none under this key. Raises Unavailable."""
        copy = _new_key(session)
        try:
            await _asked(lambda: self._store.copy(key, copy))
        except FileNotFoundError:
            return None
        return copy

    async def read(self, key: str, start: int, end: int) -> bytes | None:
        """The bytes from ``start`` up to ``end``; None where there are none under this key. Raises Unavailable."""
        if start == end:  # which no store takes for a range
            return b""
        try:
            return bytes(await _asked(lambda: self._store.get_range(key, start=start, end=end)))
        except FileNotFoundError:
            return None

    async def delete(self, keys: Sequence[str]) -> None:
        """Delete what is there of ``keys``. Raises Unavailable."""
        with suppress(FileNotFoundError):
            await _asked(lambda: self._store.delete(list(keys)))

    async def batches(self) -> AsyncIterator[list[Stored]]:
        """Every object of ours, some at a time. Raises Unavailable."""
        listing = await _asked(lambda: iter(self._store.list()))
        while (batch := await _asked(lambda: next(listing, None))) is not None:
            yield [stored for found in batch if (stored := _stored(found)) is not None]


def open_objects(url: str) -> Objects:
    """The object store at a URL (``file:///srv/daybook``, ``s3://bucket/prefix``, ``gs://``, ``az://``).

    Raises StartError: the library is not there, or this is no URL of a store.
    """
    try:
        from obstore.exceptions import BaseError
        from obstore.store import from_url
    except ImportError as error:
        raise StartError("DAYBOOK_ARTIFACTS__URL needs an extra: pip install 'daybook[objects]'") from error
    options = {"mkdir": True} if url.startswith("file:") else REMOTE
    try:
        return Objects(from_url(url, **options))
    except (BaseError, ValueError, OSError) as error:
        told = URL.sub("the URL", first_line(error).replace(url, "the URL"))  # which may have a password
        raise StartError(f"DAYBOOK_ARTIFACTS__URL: {told}") from error


async def _asked(call: Callable[[], Any]) -> Any:
    with _translated():
        return await asyncio.to_thread(call)


@contextmanager
def _translated() -> Iterator[None]:
    from obstore.exceptions import BaseError

    try:
        yield
    except FileNotFoundError:
        raise
    except (BaseError, OSError) as error:
        raise Unavailable("the object store cannot be reached") from error


def _new_key(session: UUID) -> str:
    return f"{session}/{uuid4().hex}"


def _stored(found: Any) -> Stored | None:
    session, _, name = found["path"].rpartition("/")
    try:
        return Stored(UUID(session), found["path"], found["last_modified"]) if name else None
    except ValueError:
        return None
