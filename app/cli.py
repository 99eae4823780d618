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
from typing import Annotated, Any

import typer

from app import VERSION
from app.kit.signals import leave_when_told

commands = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

keys = typer.Typer(help="Keys of callers: make one, list them, end one.", no_args_is_help=True)
commands.add_typer(keys, name="keys")

NAME = re.compile(r"[A-Za-z0-9._:@~=+-]{1,200}")  # of a session or a tenant: api.md, first section


def _named(name: str | None) -> str | None:
    """Check a session key or tenant. A slash is not allowed, because it ends the tenant in a session's id."""
    if name is not None and not NAME.fullmatch(name):
        raise typer.BadParameter(f"1-200 characters of A-Z a-z 0-9 . _ : @ ~ = + -, not {name!r}")
    return name


def _called(name: str) -> str:
    """Check the key of a session that may be new: stricter than `export`, which takes any stored key."""
    from app.kit.names import COMPLAINT, has_a_step

    if has_a_step(name):
        raise typer.BadParameter(COMPLAINT)
    _named(name)
    return name


DataDir = Annotated[Path | None, typer.Option(help="Folder of the embedded database.")]
Url = Annotated[str | None, typer.Option(help="A running service; else that of DAYBOOK_PORT on this machine.")]
Key = Annotated[str | None, typer.Option(help="Its API key.", envvar="DAYBOOK_BOOTSTRAP_KEY", show_envvar=True)]


def _tell_version(wanted: bool) -> None:  # noqa: FBT001 - typer's way to call it
    if wanted:
        typer.echo(f"daybook {VERSION}")
        raise typer.Exit


@commands.callback()
def daybook(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Observational memory for agents, as a standalone HTTP service."""


@commands.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to bind; without keys only loopback.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to bind.")] = None,
    workers: Annotated[int | None, typer.Option(help="Number of processes.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Serve HTTP until stopped. Options win over DAYBOOK_* variables."""
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
        str | None, typer.Option(metavar="ROLE", help="Then let this role see one tenant at a time.")
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
                "nothing was done: on distributed tables Citus refuses what every append needs, so this Daybook cannot"
                " run there; one Daybook with a Postgres of its own per group of tenants can (docs/scale.md)"
            )
        migrating.migrate(load_settings(data_dir=data_dir), secured_for=row_level_security)


@commands.command()
def doctor(
    *,
    redrive: Annotated[bool, typer.Option("--redrive", help="Try every stalled memory again at once.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Look at settings, database, migrations, clock, memories and models, and say what to do. Exit 1: it is wrong."""
    with _one_line_errors():
        from app.commands.doctor import Verdict, diagnose
        from app.locating import log_to_stderr
        from app.settings import load_settings

        log_to_stderr(settings := load_settings(data_dir=data_dir))
        findings = diagnose(settings, redrive=redrive)
    for found in findings:
        advice = f"\n{'':9}{found.advice}" if found.advice else ""
        line = f"{found.verdict:8} {found.check}: {found.detail}{advice}"
        typer.echo(json.dumps(asdict(found)) if as_json else line)
    raise typer.Exit(1 if Verdict.WRONG in {found.verdict for found in findings} else 0)


@keys.command()
def create(
    *,
    tenant: Annotated[str, typer.Option(callback=_named, help="Whose sessions it opens.")] = "default",
    scope: Annotated[
        list[str] | None, typer.Option(help="read, write (default) or admin; each includes the former.")
    ] = None,
    name: Annotated[str, typer.Option(help="What it is for, as the list shows it.")] = "",
    expires: Annotated[str | None, typer.Option(metavar="WHEN", help="90d, 12h, or 2027-01-31; else never.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Make a key and print it, which is done only once: it is stored hashed."""
    with _one_line_errors():
        from app.commands import issuing
        from app.settings import load_settings

        wanted = issuing.wanted(tenant=tenant, scopes=scope or ["write"], name=name, expires=expires)
        secret, key = issuing.create(load_settings(data_dir=data_dir), wanted)
    typer.echo(f"key {issuing.line(key)}", err=True)
    typer.echo(secret)


@keys.command(name="list")
def list_keys(
    *,
    tenant: Annotated[str | None, typer.Option(callback=_named, help="Only the keys of this tenant.")] = None,
    data_dir: DataDir = None,
) -> None:
    """The keys there are, revoked ones too: id, tenant, scopes, state, name."""
    with _one_line_errors():
        from app.commands import issuing
        from app.settings import load_settings

        found = issuing.listed(load_settings(data_dir=data_dir), tenant)
    for key in found:
        typer.echo(issuing.line(key))


@keys.command()
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="As the list shows it.")],
    *,
    tenant: Annotated[str | None, typer.Option(callback=_named, help="Only if it is a key of this tenant.")] = None,
    data_dir: DataDir = None,
) -> None:
    """End a key at once; a running service refuses it within KEYS__CACHE_SECONDS."""
    with _one_line_errors():
        from app.commands import issuing
        from app.settings import load_settings

        typer.echo(issuing.line(issuing.revoke(load_settings(data_dir=data_dir), key_id, tenant)))


@commands.command(name="export")
def export_session(
    session: Annotated[str, typer.Argument(metavar="SESSION", callback=_named, help="Its key.")],
    *,
    output: Annotated[Path | None, typer.Option(help="The file; else standard output.")] = None,
    tenant: Annotated[str, typer.Option(callback=_named, help="Whose session it is.")] = "default",
    data_dir: DataDir = None,
) -> None:
    """Write a session with all that was made of it as JSON lines, which `daybook import` makes a session of."""
    with _one_line_errors():
        from app.commands import transferring
        from app.locating import log_to_stderr
        from app.settings import load_settings

        log_to_stderr(settings := load_settings(data_dir=data_dir))
        transferring.export_session(settings, tenant=tenant, key=session, path=output)


@commands.command(name="import")
def import_session(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `daybook export` wrote.")],
    *,
    session: Annotated[str, typer.Option(callback=_called, help="The key it gets, which must be free.")],
    tenant: Annotated[str, typer.Option(callback=_named, help="Whose session it becomes.")] = "default",
    data_dir: DataDir = None,
) -> None:
    """Make a session of an export: the file is checked whole, and then all of it is imported or nothing."""
    with _one_line_errors():
        from app.commands import transferring
        from app.locating import log_to_stderr
        from app.settings import load_settings

        log_to_stderr(settings := load_settings(data_dir=data_dir))
        rows = transferring.import_session(settings, tenant=tenant, key=session, path=file)
    typer.echo(f"session {session}: {rows} rows", err=True)


@commands.command()
def openapi() -> None:
    """Print the OpenAPI document."""
    with _one_line_errors():
        from app.main import create_app
        from app.settings import load_settings

        document = create_app(load_settings()).openapi()
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


@commands.command()
def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSONL, one message a line; .jsonl.gz too.")],
    session: Annotated[str, typer.Option(callback=_called, help="Key of the session to post to.")],
    url: Url = None,
    key: Key = None,
    preset: Annotated[str | None, typer.Option(help="Configure the session with this preset first.")] = None,
    config: Annotated[str | None, typer.Option(metavar="JSON", help="Configure the session so first.")] = None,
    wait: Annotated[
        int, typer.Option(min=0, max=60_000, metavar="MS", help="Let the memory catch up after each turn.")
    ] = 2_000,
) -> None:
    """Post a conversation turn by turn, ask for the context after each, and tell what the memory made of it."""
    wanted = session_config(preset=preset, config=config)
    with _one_line_errors():
        from app.replay.client import Service
        from app.replay.run import replay_file

        with Service(url or _local_url(), key=key) as service:
            replay_file(service, file, session=session, config=wanted, wait_ms=wait)


@commands.command(hidden=True)
def demo(
    url: Annotated[str | None, typer.Argument(help="A running service; one is started where none answers.")] = None,
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
def _one_line_errors() -> Iterator[None]:
    """Report errors that an operator can mend in one line, without a traceback: exit 2."""
    from app.kit.errors import StartError
    from app.replay.errors import ReplayError
    from app.settings import SettingsError

    try:
        yield
    except (StartError, SettingsError, ReplayError) as error:
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
    commands()


if __name__ == "__main__":
    main()
