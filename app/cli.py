"""The ``daybook`` command line. Each command imports its heavy dependencies itself."""

import gc
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app import VERSION
from app.kit.signals import leave_when_told

if TYPE_CHECKING:
    from app.settings import Settings

commands = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

keys = typer.Typer(help="Create, list and revoke API keys.", no_args_is_help=True)
commands.add_typer(keys, name="keys")


def _named(name: str | None) -> str | None:
    """Check a session key or tenant. A slash is not allowed, because it ends the tenant in a session's id."""
    from app.kit.names import KEY

    if name is not None and not re.fullmatch(KEY, name):
        raise typer.BadParameter(f"1-200 characters of A-Z a-z 0-9 . _ : @ ~ = + -, not {name!r}")
    return name


def _called(name: str) -> str:
    """Check the key of a session that may be new: stricter than `export`, which takes any stored key."""
    from app.kit.names import REFUSAL, has_dot_segment

    if has_dot_segment(name):
        raise typer.BadParameter(REFUSAL)
    _named(name)
    return name


DataDir = Annotated[Path | None, typer.Option(help="Data directory of embedded Postgres.")]
Url = Annotated[str | None, typer.Option(help="URL of a running service; default: this machine at DAYBOOK_PORT.")]
Key = Annotated[
    str | None, typer.Option(help="API key of the service.", envvar="DAYBOOK_BOOTSTRAP_KEY", show_envvar=True)
]


def _tell_version(wanted: bool) -> None:  # noqa: FBT001 - typer's way to call it
    if wanted:
        typer.echo(f"daybook {VERSION}")
        raise typer.Exit


@commands.callback()
def daybook(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Observational memory for agents, as a standalone HTTP service."""


@commands.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to bind; without keys only a loopback address.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to bind.")] = None,
    workers: Annotated[int | None, typer.Option(help="Number of worker processes.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Serve HTTP until stopped. Options override DAYBOOK_* variables."""
    with _importing():
        from app.commands import serving
        from app.settings import load_settings

    with _one_line_errors():
        serving.serve(load_settings(host=host, port=port, workers=workers, data_dir=data_dir))


@commands.command()
def migrate(
    *,
    data_dir: DataDir = None,
    row_level_security: Annotated[
        str | None,
        typer.Option(
            metavar="ROLE", help="Then enable row-level security for this database role: one tenant at a time."
        ),
    ] = None,
    distribute: Annotated[
        bool, typer.Option("--distribute", help="Refused: Citus cannot run the service (docs/scale.md).")
    ] = False,
) -> None:
    """Bring the database up to this version's schema."""
    with _one_line_errors():
        from app.commands import migrating
        from app.kit.errors import StartError
        from app.settings import load_settings

        if distribute:
            raise StartError(
                "nothing was changed: Citus refuses statements on distributed tables that every append needs; run one"
                " Daybook with a Postgres of its own per group of tenants instead (docs/scale.md)"
            )
        migrating.migrate(load_settings(data_dir=data_dir), secured_for=row_level_security)


@commands.command()
def doctor(
    *,
    redrive: Annotated[bool, typer.Option("--redrive", help="Retry every stalled memory now.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Check settings, database, migrations, clock, memories and models, with advice. Exit 1 if anything is wrong."""
    with _settings(data_dir) as settings:
        from app.commands.doctor import Verdict, diagnose

        findings = diagnose(settings, redrive=redrive)
    for found in findings:
        advice = f"\n{'':9}{found.advice}" if found.advice else ""
        line = f"{found.verdict:8} {found.check}: {found.detail}{advice}"
        typer.echo(json.dumps(asdict(found)) if as_json else line)
    raise typer.Exit(1 if Verdict.WRONG in {found.verdict for found in findings} else 0)


@keys.command()
def create(
    *,
    tenant: Annotated[str, typer.Option(callback=_named, help="Tenant that the key belongs to.")] = "default",
    scope: Annotated[
        list[str] | None, typer.Option(help="read, write (default) or admin; each includes those before it.")
    ] = None,
    name: Annotated[str, typer.Option(help="Purpose of the key, shown by `daybook keys list`.")] = "",
    expires: Annotated[
        str | None, typer.Option(metavar="WHEN", help="Expiry: 90d, 12h or 2027-01-31; default: never.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Create a key and print it. It is printed only this once: only its hash is stored."""
    with _settings(data_dir) as settings:
        from app.commands import issuing

        wanted = issuing.wanted(tenant=tenant, scopes=scope or ["write"], name=name, expires=expires)
        secret, key = issuing.create(settings, wanted)
    typer.echo(f"key {issuing.line(key)}", err=True)
    typer.echo(secret)


@keys.command(name="list")
def list_keys(
    *,
    tenant: Annotated[str | None, typer.Option(callback=_named, help="Only the keys of this tenant.")] = None,
    data_dir: DataDir = None,
) -> None:
    """List the keys, including revoked ones: id, tenant, scopes, state, name."""
    with _settings(data_dir) as settings:
        from app.commands import issuing

        found = issuing.listed(settings, tenant)
    for key in found:
        typer.echo(issuing.line(key))


@keys.command()
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the key, as `daybook keys list` shows it.")],
    *,
    tenant: Annotated[str | None, typer.Option(callback=_named, help="Revoke only a key of this tenant.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Revoke a key now. A running service refuses it within KEYS__CACHE_SECONDS."""
    with _settings(data_dir) as settings:
        from app.commands import issuing

        typer.echo(issuing.line(issuing.revoke(settings, key_id, tenant)))


@commands.command(name="export")
def export_session(
    session: Annotated[str, typer.Argument(metavar="SESSION", callback=_named, help="Key of the session.")],
    *,
    output: Annotated[Path | None, typer.Option(help="File to write; default: standard output.")] = None,
    tenant: Annotated[str, typer.Option(callback=_named, help="Tenant of the session.")] = "default",
    data_dir: DataDir = None,
) -> None:
    """Export a session and everything derived from it as JSON lines, which `daybook import` reads."""
    with _settings(data_dir) as settings:
        from app.commands import transferring

        transferring.export_session(settings, tenant=tenant, key=session, path=output)


@commands.command(name="import")
def import_session(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File that `daybook export` wrote.")],
    *,
    session: Annotated[str, typer.Option(callback=_called, help="Key of the new session; must not exist yet.")],
    tenant: Annotated[str, typer.Option(callback=_named, help="Tenant of the new session.")] = "default",
    data_dir: DataDir = None,
) -> None:
    """Import an exported session. The whole file is checked first, then all of it is imported or nothing."""
    with _settings(data_dir) as settings:
        from app.commands import transferring

        rows = transferring.import_session(settings, tenant=tenant, key=session, path=file)
    typer.echo(f"session {session}: {rows} rows", err=True)


@commands.command()
def openapi() -> None:
    """Print the OpenAPI document."""
    with _settings() as settings:
        from app.main import create_app

        document = create_app(settings).openapi()
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False).encode())


@commands.command()
def replay(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="JSONL with one message per line; may be gzipped (.jsonl.gz).")
    ],
    session: Annotated[str, typer.Option(callback=_called, help="Key of the session to post to.")],
    url: Url = None,
    key: Key = None,
    preset: Annotated[str | None, typer.Option(help="Preset to set on the session first.")] = None,
    config: Annotated[
        str | None, typer.Option(metavar="JSON", help="Config to set on the session first; overrides --preset.")
    ] = None,
    wait: Annotated[
        int,
        typer.Option(
            min=0, max=60_000, metavar="MS", help="Milliseconds to wait after each turn for the memory to become idle."
        ),
    ] = 2_000,
) -> None:
    """Post a conversation turn by turn, get the context after each turn, and report what the memory did."""
    wanted = session_config(preset=preset, config=config)
    with _one_line_errors():
        from app.replay.client import Service
        from app.replay.run import replay_file

        with Service(url or _local_url(), key=key) as service:
            replay_file(service, file, session=session, config=wanted, wait_ms=wait)


@commands.command(hidden=True)
def demo(
    url: Annotated[str | None, typer.Argument(help="URL of a running service; started if none answers.")] = None,
    key: Key = None,
    session: Annotated[str, typer.Option(callback=_called, help="Key of the session to post to.")] = "demo",
) -> None:
    """Replay the sample conversation and print the compiled context (make demo)."""
    with _one_line_errors():
        from app.replay.demo import run_demo

        run_demo(url or _local_url(), key=key, session=session)


def _local_url() -> str:
    from app.settings import load_settings

    return f"http://127.0.0.1:{load_settings().port}"


def session_config(*, preset: str | None, config: str | None) -> dict[str, Any] | None:
    """The config to put before a replay, None to keep the session's; ``config`` wins over ``preset``."""
    try:
        keys = {} if config is None else json.loads(config)
    except ValueError as error:
        raise typer.BadParameter(f"not JSON: {error}", param_hint="--config") from error
    if not isinstance(keys, dict):
        raise typer.BadParameter("not a JSON object", param_hint="--config")
    if preset is None and config is None:
        return None
    return ({} if preset is None else {"preset": preset}) | keys


@contextmanager
def _importing() -> Iterator[None]:
    """Make imports faster: without garbage collection, which then never scans the imported objects, and without rich.

    structlog imports rich, if installed, for tracebacks, which our lines do not have. Each of the two saves an eighth
    of the time until the first answer.
    """
    gc.disable()
    known = sys.modules.get("rich")
    sys.modules["rich"] = known  # type: ignore[assignment]  # None makes the import fail
    try:
        yield
    finally:
        if known is None:
            del sys.modules["rich"]
        gc.freeze()
        gc.enable()


@contextmanager
def _settings(data_dir: Path | None = None) -> Iterator["Settings"]:
    """The settings for a command, of which errors are told in one line, and logs on stderr."""
    with _one_line_errors():
        from app.locating import log_to_stderr
        from app.settings import load_settings

        log_to_stderr(settings := load_settings(data_dir=data_dir))
        yield settings


@contextmanager
def _one_line_errors() -> Iterator[None]:
    """Report errors that an operator can mend in one line, without a traceback: exit 2."""
    from app.kit.errors import StartError
    from app.replay.errors import ReplayError

    try:
        yield
    except (StartError, ReplayError) as error:
        typer.echo(f"daybook: {error}", err=True)
        raise typer.Exit(2) from error


def _open_streams() -> None:
    """Open /dev/null for stdin, stdout and stderr if they are closed, as in some daemons; child processes inherit it.

    Otherwise the first descriptor that is opened, such as a database connection, would get their numbers.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # it gets the lowest free number
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the process
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the process


def main() -> None:
    _open_streams()
    leave_when_told()
    try:
        commands()
    except OSError as error:  # of the output, as on a full disk, or of a working directory that is gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # nothing that is left in the buffer fails again
        typer.echo(f"daybook: {error}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
