"""The data folder of an embedded PostgreSQL: the user that runs the server, and whether that user can enter it."""

import hashlib
import os
import shutil
import stat
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from app.kit.errors import StartError

if sys.platform != "win32":  # the embedded server is for POSIX; this module still imports everywhere
    import pwd

SYSTEM_DATA_DIR = Path("/var/lib/daybook")
# pg_ctl and initdb hand paths to a shell between double quotes, which these characters would break.
UNQUOTABLE = frozenset('"$`\\\r\n')


class EmbeddedError(StartError):
    """The embedded server cannot serve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A user of the operating system other than our own."""

    name: str
    uid: int
    gid: int


def server_account(cluster: Path | None = None) -> Account | None:
    """The user that runs the server; None is this process's own user.

    PostgreSQL refuses to run as root, so for root it is the owner of an existing ``cluster``, else ``postgres``, else
    ``nobody``.
    """
    if sys.platform == "win32" or os.geteuid() != 0:
        return None
    if cluster is not None and (owner := cluster.stat()).st_uid != 0:
        return Account(name=_user_name(owner.st_uid), uid=owner.st_uid, gid=owner.st_gid)
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            entry = pwd.getpwnam(name)
            return Account(name=name, uid=entry.pw_uid, gid=entry.pw_gid)
    raise EmbeddedError("PostgreSQL does not run as root, and no user postgres or nobody exists: create one")


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def blocked_at(path: Path, account: Account) -> Path | None:
    """The first existing folder on the resolved ``path`` that ``account`` may not enter; None if it may enter all."""
    for folder in (*reversed(path.parents), path):
        if folder.exists() and not _may_enter(folder.stat(), account):
            return folder
    return None


def _may_enter(status: os.stat_result, account: Account) -> bool:
    if status.st_uid == account.uid:
        return bool(status.st_mode & stat.S_IXUSR)
    if status.st_gid == account.gid:
        return bool(status.st_mode & stat.S_IXGRP)
    return bool(status.st_mode & stat.S_IXOTH)


def default_data_dir(project_dir: Path) -> Path:
    """``.daybook`` below ``project_dir``, unless the server's user cannot enter that.

    A clone of root's below a private home is such a case; its data is then in a folder of its own in /var/lib/daybook.
    """
    asked = project_dir.resolve() / ".daybook"
    account = server_account()
    if account is None or blocked_at(asked.parent, account) is None:
        return asked
    return SYSTEM_DATA_DIR / hashlib.sha256(os.fsencode(asked)).hexdigest()[:12]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFolder:
    """A data folder that exists and that the server's user (``account``, None is our own) can enter.

    It holds ``pgdata-<major>`` (the cluster), ``run`` (the socket), ``log``, the lock files and, if the server's user
    cannot reach the installed ones, ``binaries-*``.
    """

    path: Path
    account: Account | None

    @classmethod
    def prepare(cls, path: Path) -> Self:
        """Make the folder and its missing parents. Existing parents are never changed."""
        path = path.resolve()
        if UNQUOTABLE & set(str(path)):
            raise EmbeddedError(f"the data folder {str(path)!r} has a quote, $, ` or \\ in its name: choose another")
        account = server_account(newest_cluster(path))
        if account is None:
            path.mkdir(parents=True, exist_ok=True)
        else:
            _open_to(account, path)
        return cls(path=path, account=account)

    @property
    def cluster(self) -> Path | None:
        """The cluster in this folder, None before the first start. Raises EmbeddedError if another user owns it."""
        cluster = newest_cluster(self.path)
        uid = self.account.uid if self.account else os.geteuid()
        if cluster is not None and (owner := cluster.stat().st_uid) != uid:
            name = self.account.name if self.account else _user_name(uid)
            raise EmbeddedError(
                f"{cluster} belongs to {_user_name(owner)}, but the server would run as {name}:"
                f" start the service as {_user_name(owner)}, or chown -R {name} that folder"
            )
        return cluster

    def own(self, path: Path) -> Path:
        """Give ``path`` to the server's user."""
        if self.account is not None:
            os.chown(path, self.account.uid, self.account.gid, follow_symlinks=False)
        return path

    def private(self, name: str) -> Path:
        """The subfolder ``name``, made if missing, accessible to the server's user alone."""
        path = self.path / name
        path.mkdir(mode=0o700, exist_ok=True)
        return self.own(path)

    def remove(self, pattern: str, *, but: Path | None = None) -> None:
        for path in self.path.glob(pattern):
            if but is None or not but.is_relative_to(path):
                shutil.rmtree(path, ignore_errors=True)

    def require_space(self, mib: int) -> None:
        free = shutil.disk_usage(self.path).free >> 20
        if free < mib:
            raise EmbeddedError(
                f"only {free} MiB are free at {self.path}, PostgreSQL needs {mib}:"
                " free some, or set DAYBOOK_DATA_DIR to a folder on another disk"
            )


def newest_cluster(path: Path) -> Path | None:
    return max(path.glob("pgdata-[0-9]*"), key=cluster_major, default=None)


def cluster_major(cluster: Path) -> int:
    """18 for ``pgdata-18``; 0 for a folder that only looks like a cluster."""
    number = cluster.name.removeprefix("pgdata-")
    return int(number) if number.isdecimal() else 0


def _open_to(account: Account, path: Path) -> None:
    """Let ``account`` enter ``path`` if it is new or empty. Raises EmbeddedError if it, or a parent, forbids that."""
    blocker = blocked_at(path.parent, account)
    if blocker is None:
        for folder in reversed([folder for folder in (path, *path.parents) if not folder.exists()]):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o755)  # whatever the umask
        blocker = blocked_at(path, account)
        if blocker == path and not any(path.iterdir()):
            path.chmod(0o711)
            blocker = None
    if blocker is not None:
        raise EmbeddedError(
            f"the user {account.name}, as whom PostgreSQL runs because it refuses root, cannot enter {blocker} on the"
            f" way to the data folder {path}: set DAYBOOK_DATA_DIR to a folder it can reach, such as {SYSTEM_DATA_DIR}"
        )
