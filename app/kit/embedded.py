"""The embedded PostgreSQL: started, adopted and stopped by the processes that use it.

Any number of processes may share the server of one data folder; the last one to leave stops it. A process that is
killed counts as gone at once, but leaves the server running: the next start adopts it. Source: embedded-postgres.md.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakSet

from app.kit.postgres_binaries import find_binaries
from app.kit.postgres_cluster import Cluster, Postmaster, running_server
from app.kit.postgres_folder import DataFolder, EmbeddedError, cluster_major

if sys.platform != "win32":  # the embedded server is for POSIX; the module still imports everywhere
    import fcntl

POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedConfig:
    """``binaries`` is a folder with initdb, pg_ctl and postgres; None: ``find_binaries`` looks for them.

    ``fsync`` off is for tests: a crash of the machine may lose the data. With ``exclusive`` the folder is this
    service's own: no second exclusive start succeeds while it runs; others may join as guests.
    """

    data_dir: Path
    binaries: Path | None = None
    fsync: bool = True
    start_seconds: float = 120
    exclusive: bool = False


class FolderLock:
    """An flock on a file of the folder. The kernel frees it when its process ends, however that happens."""

    def __init__(self, folder: DataFolder, name: str) -> None:
        self.path = folder.path / name
        self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        _open_locks.add(self)
        if folder.account is not None:  # so that the same user may later start the service itself
            os.fchown(self._descriptor, folder.account.uid, folder.account.gid)

    def own(self) -> bool:
        """Take the lock exclusively; False if another process holds it. A shared lock of ours is lost either way."""
        return self._take(fcntl.LOCK_EX)

    def share(self) -> bool:
        return self._take(fcntl.LOCK_SH)

    def _take(self, mode: int) -> bool:
        try:
            fcntl.flock(self._descriptor, mode | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def sign(self) -> None:
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, str(os.getpid()).encode(), 0)

    def signature(self) -> str:
        """The pid of the process that signed last; valid while that process holds the lock."""
        return os.pread(self._descriptor, 20, 0).decode() or "unknown"

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1


# A forked child shares its parent's flocks, and would keep them held after the parent dies: it closes its copies.
_open_locks: WeakSet[FolderLock] = WeakSet()


def _drop_copies() -> None:
    for lock in list(_open_locks):
        lock.close()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_drop_copies)


@contextmanager
def transition(folder: DataFolder, *, seconds: float) -> Iterator[None]:
    """Hold the folder's start lock: one process at a time enters, leaves, starts or stops."""
    lock = FolderLock(folder, "start.lock")
    deadline = time.monotonic() + seconds
    try:
        while not lock.own():
            if time.monotonic() > deadline:
                raise EmbeddedError(f"another process kept {lock.path} locked for {seconds:g} s: is it stuck?")
            time.sleep(POLL_SECONDS)
        yield
    finally:
        lock.close()


class Tenancy:
    """The locks that a process holds while it uses the folder's server. Entered and left under the start lock only."""

    def __init__(self, folder: DataFolder, *, exclusive: bool) -> None:
        self._use = FolderLock(folder, "use.lock")
        self._owner = FolderLock(folder, "owner.lock")
        if exclusive and not self._owner.own():
            pid = self._owner.signature()
            self.close()
            raise EmbeddedError(
                f"another service (pid {pid}) already owns the data folder {folder.path}:"
                " stop that one, or set DAYBOOK_DATA_DIR to another folder"
            )
        if exclusive:
            self._owner.sign()
        self._use.share()  # never refused: it is owned only under the start lock, which this process holds

    def is_last(self) -> bool:
        """Whether no other process uses the server. The shared lock is lost either way, so close the tenancy next."""
        return self._use.own()

    def close(self) -> None:
        self._use.close()
        self._owner.close()


class EmbeddedPostgres:
    """This process's use of the server of one data folder. Blocking: call it from a thread."""

    def __init__(self, config: EmbeddedConfig) -> None:
        self._config = config
        self._tenancy: Tenancy | None = None
        self._cluster: Cluster | None = None
        self._server: Postmaster | None = None
        self._pid = 0

    @property
    def dsn(self) -> str:
        """The DSN for asyncpg; SQLAlchemy needs its driver's suffix. Raises EmbeddedError before the start."""
        if self._server is None:
            raise EmbeddedError("the embedded server is not started")
        return self._server.dsn

    @property
    def description(self) -> str:
        if self._cluster is None:
            return f"embedded PostgreSQL in {self._config.data_dir}, not started"
        binaries, durable = self._cluster.binaries, "" if self._config.fsync else ", fsync off"
        return f"embedded PostgreSQL {binaries.version} ({binaries.source}) in {self._cluster.path}{durable}"

    def start(self) -> None:
        """Start or adopt the folder's server; creates the folder and the cluster if missing. Idempotent.

        Raises EmbeddedError: one line, with what to do.
        """
        if sys.platform == "win32":
            raise EmbeddedError("there is no embedded PostgreSQL on Windows: set DAYBOOK_DATABASE_URL to a server")
        with self._one_line_errors():
            folder = DataFolder.prepare(self._config.data_dir)
            with transition(folder, seconds=self._config.start_seconds):
                if self._tenancy is None:
                    self._enter(folder)

    def stop(self) -> None:
        """Leave the server, and stop it if no other process uses it. A forked child does nothing."""
        cluster = self._cluster
        if cluster is None or self._pid != os.getpid():
            return
        with self._one_line_errors(), transition(cluster.folder, seconds=self._config.start_seconds):
            self._leave()

    def keep_up(self) -> bool:
        """Start the server again if it is gone, for example killed by the system for lack of memory.

        Answers whether it was gone. Raises EmbeddedError if it does not start, or comes back under another DSN.
        """
        cluster, before = self._cluster, self._server
        if cluster is None or before is None:
            return False
        with self._one_line_errors():
            if running_server(cluster.path) is not None:
                return False
            with transition(cluster.folder, seconds=self._config.start_seconds):
                self._server = cluster.serve()
        if self._server.dsn != before.dsn:
            raise EmbeddedError("the embedded server came back on another socket: restart the service")
        return True

    def _enter(self, folder: DataFolder) -> None:
        self._tenancy, self._pid = Tenancy(folder, exclusive=self._config.exclusive), os.getpid()
        try:
            self._cluster = self._find_cluster(folder)
            self._server = self._cluster.serve()
        except BaseException:  # Ctrl-C too: a server started here must not be left running
            self._leave()
            raise

    def _find_cluster(self, folder: DataFolder) -> Cluster:
        config, existing = self._config, folder.cluster
        major = cluster_major(existing) if existing else None
        binaries = find_binaries(folder, setting=config.binaries, major=major)
        return Cluster(folder=folder, binaries=binaries, fsync=config.fsync, start_seconds=config.start_seconds)

    def _leave(self) -> None:
        tenancy, cluster = self._tenancy, self._cluster
        self._tenancy = self._cluster = self._server = None
        if tenancy is None:
            return
        try:
            if tenancy.is_last() and cluster is not None:
                cluster.stop()
        finally:
            tenancy.close()

    @contextmanager
    def _one_line_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise EmbeddedError(
                f"the data folder {self._config.data_dir} cannot be used ({error}): set DAYBOOK_DATA_DIR to another"
            ) from error
