"""The object store for bytes outside the database, by its URL (a folder, S3, GCS, Azure), through obstore.

Credentials and endpoints come from the providers' own variables. The library is an extra, ``daybook[objects]``. It is
called in threads: its own asyncio calls abort the interpreter when it ends soon after one (obstore 0.12). The store has
threads of its own: otherwise a call that hangs would hold up all work in threads, such as appends and searches.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit
from uuid import UUID, uuid4

import structlog

from app.kit.errors import StartError, Unavailable, first_line
from app.kit.patterns import lazy_pattern

if TYPE_CHECKING:
    from obstore.store import ObjectStore

log = structlog.get_logger("daybook.artifacts")

# Options that override the providers' variables. http:// is allowed, as an endpoint beside the service often has it.
REMOTE: dict[str, Any] = {
    "client_options": {
        "timeout": timedelta(seconds=30),
        "connect_timeout": timedelta(seconds=5),
        "allow_http": True,
    },
    "retry_config": {"max_retries": 2, "retry_timeout": timedelta(seconds=30)},
}
SCHEMES = ("file", "s3", "gs", "az")
PLACE_SECONDS = 30.0  # that a call waits for a place among those that run at once
CLEAR_SECONDS = 10.0  # that a deletion waits for the store; the sweep does the rest
CONCURRENCY = 16
BUSY = "too many calls to the object store are running (DAYBOOK_ARTIFACTS__STORE_CONCURRENCY)"
MARK = ".daybook"
# The error codes of a missing bucket, whatever was asked for in it. Google's are those of S3.
NO_BUCKET = lazy_pattern("NoSuchBucket|ContainerNotFound")
# The temporary file of a put in a folder, before it is renamed to its key. After a killed put it stays, and the library
# neither lists nor deletes it.
TORN = lazy_pattern(r"[0-9a-f-]{36}/[0-9a-f]{32}#\d+")
URL = lazy_pattern(r"[^\s\"]+://[^\s\"]*")  # errors may spell it otherwise than it was given: foo:// for Foo://


class Stored(NamedTuple):
    """An object in the store; its key begins with the session's id."""

    session: UUID
    key: str
    written_at: datetime


class ObjectCut(Unavailable):
    """An object ends before its artifact does: what is left of it is not the artifact."""


class NoFolder(StartError):
    """The store's folder is not there: it is not mounted, or new."""


class Objects:
    """One object per version that is put: none is shared, so that deleting one never affects another."""

    def __init__(self, store: "ObjectStore", *, concurrency: int, mark: Path | None) -> None:
        """``concurrency``: calls at once. ``mark``: a file in the store's folder, without which calls are refused."""
        self._store = store
        self._mark = mark
        self._places = asyncio.Semaphore(concurrency)
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix="daybook-objects")

    async def write(self, session: UUID, content: bytes) -> str:
        """Keep the bytes under a new key. Raises Unavailable."""
        key = _new_key(session)
        try:
            await self._asked(lambda: self._store.put(key, content))
        except FileNotFoundError as error:  # there is no place for it
            raise _away(error) from error
        return key

    async def copy(self, key: str, session: UUID) -> str | None:
        """Copy the object for another session; answers the new key, None if there is no object. Raises Unavailable."""
        copy = _new_key(session)
        try:
            await self._asked(lambda: self._store.copy(key, copy))
        except FileNotFoundError:
            return None
        return copy

    async def read(self, key: str, start: int, end: int) -> bytes | None:
        """The bytes from ``start`` up to ``end``; None if there is no object under this key.

        Raises Unavailable, and ObjectCut if the object ends before.
        """
        if start == end:  # no store accepts an empty range
            return b""
        try:
            found = bytes(await self._asked(lambda: self._store.get_range(key, start=start, end=end)))
        except FileNotFoundError:
            return None
        if len(found) != end - start:
            error = OSError(f"object {key} was cut: of {end - start} bytes {len(found)} are there")
            raise ObjectCut(_away(error).detail) from error
        return found

    async def delete(self, keys: Sequence[str]) -> None:
        """Delete the objects under ``keys`` that are there. Raises Unavailable."""
        with suppress(FileNotFoundError):
            await self._asked(lambda: self._store.delete(list(keys)))

    async def clear(self, keys: Sequence[str]) -> None:
        """Delete objects that no row has; what cannot be deleted now is left to the sweep."""
        try:
            async with asyncio.timeout(CLEAR_SECONDS):
                await self.delete(keys)
        except (TimeoutError, Unavailable):
            log.warning("objects_left", count=len(keys))

    def is_unmarked(self) -> bool:
        """Whether it is a folder that is not mounted, or that no service has begun to use."""
        return self._mark is not None and not self._mark.exists()

    async def trouble(self) -> str | None:
        """Why the store cannot be reached, for an operator; None if it can."""
        try:
            await anext(self.batches(), None)
        except Unavailable as error:
            return _told(error.__cause__ or error)
        return None

    async def batches(self) -> AsyncIterator[list[Stored]]:
        """Every object with a key of ours, in batches. Raises Unavailable."""
        listing = await self._asked(lambda: iter(self._store.list()))
        while (batch := await self._asked(lambda: next(listing, None))) is not None:
            yield [stored for found in batch if (stored := _stored(found)) is not None]

    async def clear_torn(self, before: datetime) -> int:
        """Delete the files that killed puts left in a folder before then. Answers how many. Raises Unavailable."""
        if self._mark is None:
            return 0
        folder = self._mark.parent
        cleared: int = await self._asked(lambda: _cleared_of_torn(folder, before))
        return cleared

    async def _asked(self, call: Callable[[], Any]) -> Any:
        try:
            async with asyncio.timeout(PLACE_SECONDS):
                await self._places.acquire()
        except TimeoutError as error:
            raise Unavailable(BUSY) from error
        loop = asyncio.get_running_loop()
        running = self._threads.submit(self._here, call)
        # The call keeps its place until the thread is free, which may be long after its caller has given up.
        running.add_done_callback(lambda _: loop.is_closed() or loop.call_soon_threadsafe(self._places.release))
        with _translated():
            return await asyncio.wrap_future(running)

    def _here(self, call: Callable[[], Any]) -> Any:
        if self.is_unmarked():
            raise OSError(f"the folder is missing or another one: it has no {MARK}")
        return call()


def open_objects(url: str, *, concurrency: int = CONCURRENCY, begins: bool = True) -> Objects:
    """The object store at a URL (``file:///srv/daybook``, ``s3://bucket/prefix``, ``gs://``, ``az://``).

    A folder that is empty or not there may be one that is not mounted: only if this ``begins``, it is taken for a new
    one and made; a missing one raises NoFolder otherwise. Raises StartError if the library is not there, or this is no
    URL of a store.
    """
    try:
        from obstore.exceptions import BaseError
        from obstore.store import from_url
    except ImportError as error:
        raise StartError("DAYBOOK_ARTIFACTS__URL needs an extra: pip install 'daybook[objects]'") from error
    if urlsplit(url).scheme not in SCHEMES:  # the library knows others, of which some keep nothing
        raise StartError(f"DAYBOOK_ARTIFACTS__URL: not a URL of {', '.join(f'{scheme}://' for scheme in SCHEMES)}")
    folder = _folder(url)
    if folder is not None and not begins and not folder.exists():
        raise NoFolder("DAYBOOK_ARTIFACTS__URL: the folder does not exist")
    options = {"mkdir": True} if url.startswith("file:") else REMOTE
    try:
        store = from_url(url, **options)
        mark = None if folder is None else _marked(folder, is_new=begins)
        return Objects(store, concurrency=concurrency, mark=mark)
    except (BaseError, ValueError, OSError) as error:
        raise StartError(f"DAYBOOK_ARTIFACTS__URL: {_told(error, url)}") from error


@contextmanager
def _translated() -> Iterator[None]:
    from obstore.exceptions import BaseError

    try:
        yield
    except (BaseError, OSError) as error:
        if isinstance(error, FileNotFoundError) and not NO_BUCKET.search(str(error)):
            raise
        raise _away(error) from error


def _away(error: Exception) -> Unavailable:
    log.warning("object_store_away", error=type(error).__name__, reason=_told(error))
    return Unavailable("the object store cannot be reached")


def _told(error: BaseException, url: str = "the URL") -> str:
    """What an error says, without the URL, which may have a password."""
    return URL.sub("the URL", first_line(error).replace(url, "the URL"))


def _folder(url: str) -> Path | None:
    parts = urlsplit(url)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def _marked(folder: Path, *, is_new: bool) -> Path:
    """The mark of a folder, which is made if it is missing in one that is new or has something in it.

    Without it, if the mount goes away, new objects would be put beneath it, and old ones would not be found.
    """
    mark = folder / MARK
    if not mark.exists() and (is_new or any(folder.iterdir())):
        mark.touch()
    return mark


def _cleared_of_torn(folder: Path, before: datetime) -> int:
    cleared = 0
    for path in folder.glob("*/*#*"):
        with suppress(FileNotFoundError):  # the put has ended, or another process was faster
            if TORN.fullmatch(str(path.relative_to(folder))) and path.stat().st_mtime <= before.timestamp():
                path.unlink()
                cleared += 1
    return cleared


def _new_key(session: UUID) -> str:
    return f"{session}/{uuid4().hex}"


def _stored(found: Any) -> Stored | None:
    session, _, name = found["path"].rpartition("/")
    try:
        return Stored(UUID(session), found["path"], found["last_modified"]) if name else None
    except ValueError:
        return None
