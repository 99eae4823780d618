"""Creates, starts, adopts and stops one cluster of the embedded PostgreSQL. Source: embedded-postgres.md."""

import os
import re
import signal
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import psutil

from app.kit.postgres_binaries import Binaries, run_as
from app.kit.postgres_folder import DataFolder, EmbeddedError, blocked_at

PORT = 5432  # part of the socket's file name; there is no TCP
SOCKET = f".s.PGSQL.{PORT}"
SOCKET_BYTES_MAX = 103  # sockaddr_un: 107 on Linux, 103 on macOS
SHORT_PREFIX = "daybook-"
INIT_SPACE_MIB, START_SPACE_MIB = 256, 64
STOP_SECONDS = 60
POLL_SECONDS = 0.02
BUILTIN_LOCALES_SINCE = 17
# The first locale that the system has is used. With LC_CTYPE C, pg_trgm drops all text that is not ASCII.
CHARACTER_TYPES = ("C.UTF-8", "en_US.UTF-8", "C")


@dataclass(frozen=True, slots=True, kw_only=True)
class Postmaster:
    """A server, as described by its ``postmaster.pid``."""

    pid: int
    socket_folder: Path
    ready: bool

    @property
    def dsn(self) -> str:
        return f"postgresql://postgres@/postgres?host={quote(str(self.socket_folder), safe='')}&port={PORT}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A data folder's cluster and the programs that serve it. Every method needs the start lock."""

    folder: DataFolder
    binaries: Binaries
    fsync: bool
    start_seconds: float

    @property
    def path(self) -> Path:
        return self.folder.path / f"pgdata-{self.binaries.major}"

    def serve(self) -> Postmaster:
        """A server that is ready: the running one, else a new one."""
        return self._adopt() or self._start()

    def stop(self) -> None:
        """Stop the server if one runs or is starting. If STOP_SECONDS are not enough, the next start has to recover.

        If this is interrupted, as by a second Ctrl-C, the server goes on stopping.
        """
        server = self._begun()
        if server is None:
            return
        with suppress(ProcessLookupError):
            os.kill(server.pid, signal.SIGINT)  # as pg_ctl does in a moment
        self._control("stop", "-m", "fast", "-t", str(STOP_SECONDS))
        if running_server(self.path) is not None:
            self._control("stop", "-m", "immediate", "-t", str(STOP_SECONDS))
        if running_server(self.path) is not None:
            raise EmbeddedError(f"the PostgreSQL server with pid {server.pid} does not stop: kill it")
        remove_short_folder(server.socket_folder)

    def _begun(self) -> Postmaster | None:
        """The running server, None if there is none. One whose start was interrupted has no pid file for a moment."""
        deadline = time.monotonic() + self.start_seconds
        while (server := running_server(self.path)) is None and self._is_being_started():
            if time.monotonic() > deadline:
                break
            time.sleep(POLL_SECONDS)
        return server

    def _is_being_started(self) -> bool:
        """Whether a process has the arguments of pg_ctl, its shell or a server of this cluster."""
        told = (" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"]))
        return any(f"-D {self.path} " in f"{line} ".replace('"', "") for line in told)

    def _adopt(self) -> Postmaster | None:
        """The running server, once it is ready; None if there is none, or it has gone down meanwhile."""
        deadline = time.monotonic() + self.start_seconds
        while (server := running_server(self.path)) and not server.ready:
            if time.monotonic() > deadline:
                raise EmbeddedError(
                    f"the PostgreSQL server with pid {server.pid} neither came up nor went within"
                    f" {self.start_seconds:g} s: see {self._log_folder}, or kill it"
                )
            time.sleep(POLL_SECONDS)
        return server

    @property
    def _log_folder(self) -> Path:
        return self.folder.private("log")

    def _start(self) -> Postmaster:
        self._sweep()
        if not self.path.exists():
            self._create()
        self.folder.require_space(START_SPACE_MIB)
        self._write_conf()
        began = datetime.now(UTC).isoformat(sep=" ", timespec="milliseconds")
        log = self._log_folder / "start.log"
        log.unlink(missing_ok=True)
        self._control("start", "-t", f"{self.start_seconds:.0f}", "-l", str(log))
        server = running_server(self.path)
        if server is None or not server.ready:
            reason = last_fatal(self._log_folder, since=began) or f"not ready within {self.start_seconds:g} s"
            raise EmbeddedError(f"PostgreSQL {self.binaries.version} did not start ({reason}): see {log.parent}")
        return server

    def _sweep(self) -> None:
        """Remove what killed starts and dead servers left. No server runs, so lock files with a pid are stale."""
        pid_file = self.path / "postmaster.pid"
        with suppress(FileNotFoundError):
            remove_short_folder(parse_pid_file(pid_file).socket_folder)
        pid_file.unlink(missing_ok=True)
        remove_socket(self.folder.private("run"))
        self.folder.remove("pgdata-tmp-*")
        self.folder.remove("binaries-*", but=self.binaries.folder)

    def _create(self) -> None:
        """Make the cluster in a temporary folder and rename that, so that a kill leaves all or nothing."""
        self.folder.require_space(INIT_SPACE_MIB)
        staging = self.folder.own(Path(tempfile.mkdtemp(prefix="pgdata-tmp-", dir=self.folder.path)))
        for character_type in CHARACTER_TYPES:
            done, said = self._initdb(staging, character_type)
            if done:
                staging.rename(self.path)
                return
            if "locale" not in said:
                break
        self.folder.remove(staging.name)
        raise EmbeddedError(f"initdb could not make {self.path}: {' '.join(said.split())}")

    def _initdb(self, staging: Path, character_type: str) -> tuple[bool, str]:
        options = f"-U postgres -A trust -E UTF8 --lc-collate=C --lc-ctype={character_type}".split()
        if self.binaries.major >= BUILTIN_LOCALES_SINCE:
            options += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        if not self.fsync:
            options.append("--no-sync")
        initdb = self.binaries.folder / "initdb"
        return run_as(self.folder.account, initdb, "-D", staging, *options, seconds=self.start_seconds)

    def _control(self, action: str, *options: str) -> None:
        """Run pg_ctl. Ask ``running_server`` whether it succeeded."""
        pg_ctl = self.binaries.folder / "pg_ctl"
        hung = max(self.start_seconds, STOP_SECONDS) + 10  # pg_ctl minds its own limit, -t
        run_as(self.folder.account, pg_ctl, action, "-D", self.path, "-w", "-s", *options, seconds=hung)

    def _socket_folder(self) -> Path:
        """``run`` in the data folder, or a short one below the system's temporary folder if that is too long."""
        run = self.folder.private("run")
        if fits_socket(run):
            return run
        account = self.folder.account
        for base in (Path(tempfile.gettempdir()).resolve(), Path("/tmp")):  # noqa: S108 - mkdtemp makes it ours alone
            if fits_socket(base / f"{SHORT_PREFIX}12345678") and not (account and blocked_at(base, account)):
                return self.folder.own(Path(tempfile.mkdtemp(prefix=SHORT_PREFIX, dir=base)))
        raise EmbeddedError(f"{run} is too long for a socket and so is TMPDIR: choose a shorter data folder")

    def _write_conf(self) -> None:
        """Replace the file: the server's user owns the folder, so root must not write through a link placed there."""
        text = server_conf(socket_folder=self._socket_folder(), log_folder=self._log_folder, fsync=self.fsync)
        path = self.path / "postgresql.conf"
        path.unlink(missing_ok=True)
        with path.open("x", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        self.folder.own(path)


def running_server(cluster: Path) -> Postmaster | None:
    """The live server of ``cluster``. A pid file alone proves nothing: another process may have its pid by now."""
    try:
        server = parse_pid_file(cluster / "postmaster.pid")
        arguments = psutil.Process(server.pid).cmdline()
    except (FileNotFoundError, psutil.Error):
        return None
    return server if ("-D", str(cluster)) in pairwise(arguments) else None


def parse_pid_file(path: Path) -> Postmaster:
    """Lines: pid, data folder, start time, port, socket folder, address, shared memory, status. Any may be missing."""
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    lines = [line.strip() for line in text.splitlines()] + [""] * 8
    pid = int(lines[0]) if lines[0].isdecimal() else 0
    return Postmaster(pid=pid, socket_folder=Path(lines[4]), ready=lines[7] == "ready")


def fits_socket(folder: Path) -> bool:
    """Whether a socket's path in ``folder`` is short enough. Clients read a comma as a list of hosts."""
    return len(os.fsencode(folder / SOCKET)) <= SOCKET_BYTES_MAX and "," not in str(folder)


def remove_socket(folder: Path) -> None:
    for name in (SOCKET, f"{SOCKET}.lock"):
        (folder / name).unlink(missing_ok=True)


def remove_short_folder(folder: Path) -> None:
    """Remove a folder that ``_socket_folder`` made below the temporary one."""
    if folder.name.startswith(SHORT_PREFIX):
        remove_socket(folder)
        with suppress(OSError):
            folder.rmdir()


def last_fatal(log_folder: Path, *, since: str) -> str | None:
    """The text of the last fatal line that a server logged since ``since``, a time in the format of the logs."""
    logs = sorted(log_folder.iterdir(), key=lambda path: path.stat().st_mtime)[-2:]
    lines = [line for log in logs for line in log.read_text(errors="replace").splitlines() if line >= since]
    fatal = re.findall(r"(?:FATAL|PANIC): +(.+)", "\n".join(lines))
    return fatal[-1] if fatal else None


def server_conf(*, socket_folder: Path, log_folder: Path, fsync: bool) -> str:
    """The text of ``postgresql.conf``: no TCP, a week of logs, no statement values in the logs."""
    durable = "on" if fsync else "off"
    settings = {
        "listen_addresses": "",
        "unix_socket_directories": f'"{socket_folder}"',
        "unix_socket_permissions": "0700",
        "port": str(PORT),
        "max_connections": "100",
        "shared_buffers": "128MB",
        "jit": "off",
        "fsync": durable,
        "full_page_writes": durable,
        "timezone": "UTC",
        "lc_messages": "C",
        "default_text_search_config": "pg_catalog.english",
        "logging_collector": "on",
        "log_directory": str(log_folder),
        "log_filename": "postgres-%a.log",
        "log_truncate_on_rotation": "on",
        "log_rotation_age": "1d",
        "log_rotation_size": "0",
        "log_timezone": "UTC",
        "log_error_verbosity": "terse",
        "log_min_error_statement": "panic",
    }
    quoted = {name: value.replace("'", "''") for name, value in settings.items()}
    lines = [f"{name} = '{value}'" for name, value in quoted.items()]
    return "\n".join(["# Written at each start; use ALTER SYSTEM for settings of your own.", *lines, ""])
