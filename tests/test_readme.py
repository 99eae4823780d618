"""The README's commands are run as printed, and its tables compared with the code they tell of."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.context.model import Format
from app.llm.build import MID_MODELS, SMALL_MODELS
from app.llm.port import Provider
from app.main import create_app
from app.memory.rules import PRESETS, MemoryConfig
from app.settings import Settings, setting_names
from tests.journeys.processes import free_port
from tests.model_replies import Asked
from tests.model_server import ModelServer

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PRINTED = "http://127.0.0.1:8000"
START_SECONDS_MAX = 180.0
MOVING = {"epoch", "seconds"}  # they tell of today


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    language: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """The service as ``daybook serve`` runs it; ``log`` is what it wrote at its start."""

    url: str
    log: Path

    def ask(self, path: str) -> Any:
        return httpx2.get(self.url + path).raise_for_status().json()

    def here(self, text: str) -> str:
        """A command as printed, but for the port."""
        return text.replace(PRINTED, self.url)


def fences(section: str) -> list[Fence]:
    """The fenced blocks below a heading, up to the next one; a heading within a block is none."""
    found: list[Fence] = []
    title = ""
    for block in re.finditer(r"^```(\w+)\n(.*?)^```$|^#+ ([^\n]*)$", README, re.MULTILINE | re.DOTALL):
        language, text, heading = block.groups()
        title = heading or title
        if language and title == section:
            found.append(Fence(language=language, text=text))
    return found


def table(head: str) -> list[list[str]]:
    """The cells of the rows of the table with this header line."""
    lines = README[README.index(head) :].partition("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.fixture(name="running", scope="module")
def _running(worker_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    port, log = free_port(), tmp_path_factory.mktemp("service") / "log"
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("DAYBOOK_", "ANTHROPIC_", "OPENAI_")) and not name.lower().endswith("_proxy")
    } | {"DAYBOOK_DATABASE_URL": worker_url}
    command = [sys.executable, "-m", "app.cli", "serve", "--port", str(port)]
    with ExitStack() as ending:
        file = ending.enter_context(log.open("wb"))
        process = ending.enter_context(subprocess.Popen(command, cwd=ROOT, env=environment, stderr=file))
        ending.callback(process.terminate)
        url = f"http://127.0.0.1:{port}"
        until = time.monotonic() + START_SECONDS_MAX
        while not ready(url):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.05)  # between two looks at another process
        yield Running(url=url, log=log)


def ready(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/readyz").is_success
    except httpx2.TransportError:
        return False


@pytest.fixture
def service(running: Running, database_url: str) -> Running:
    """The running service, with its tables emptied."""
    assert database_url
    return running


def shell(command: str) -> str:
    """What the command prints."""
    if shutil.which("curl") is None:
        pytest.skip("curl is not on this machine")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", command], env=os.environ | {"PATH": path}, capture_output=True, text=True, check=True
    )
    return done.stdout


def settled(value: Any) -> Any:
    """JSON without what tells of today."""
    if isinstance(value, dict):
        return {key: settled(inner) for key, inner in value.items() if key not in MOVING}
    return [settled(inner) for inner in value] if isinstance(value, list) else value


def test_the_three_requests_work_as_printed(service: Running) -> None:
    blocks = fences("Three requests")
    pairs = list(zip(blocks[::2], blocks[1::2], strict=True))

    assert [(command.language, output.language) for command, output in pairs] == [("sh", "json")] * 3
    for command, output in pairs:
        assert settled(json.loads(shell(service.here(command.text)))) == settled(json.loads(output.text))


def test_the_tour_with_curl_ends_in_the_context_that_is_printed(service: Running) -> None:
    *commands, printed = fences("With curl")

    shown = [shell(service.here(command.text)) for command in commands]

    assert shown[-1] == printed.text
    assert json.loads(shown[-2])["memory"]["coverage"]["intervals"][-1]["by"].startswith("observation:")


def test_the_agent_loop_in_python_runs_and_its_turns_are_remembered(service: Running, tmp_path: Path) -> None:
    script = tmp_path / "agent.py"
    script.write_text(service.here(fences("In Python")[0].text))

    def answer(asked: Asked) -> str:
        return "You are Ana." if "I am Ana." in str(asked) else "?"

    with ModelServer(other=answer) as model:
        environment = os.environ | model.environment()
        talk = "Hello, I am Ana.\nWho am I?\n\n"
        done = subprocess.run(
            [sys.executable, script], input=talk, env=environment, capture_output=True, text=True, check=True
        )

    assert done.stdout.count("You are Ana.") == 2
    assert [len(request.body["messages"]) for request in model.requests] == [1, 3]
    assert service.ask("/sessions/agent/memory")["usage"]["actor"]["turns"] == 2


def test_both_shapes_of_a_tool_call_are_stored_alike(service: Running) -> None:
    neutral, openai = (json.loads(fence.text) for fence in fences("Messages in"))

    for key, messages in (("neutral", neutral), ("openai", openai)):
        posted = httpx2.post(f"{service.url}/sessions/{key}/messages", json={"messages": messages})
        posted.raise_for_status()

    stored = [service.ask(f"/sessions/{key}/messages")["items"] for key in ("neutral", "openai")]
    kinds = [[(message["kind"], message["role"]) for message in messages] for messages in stored]
    assert kinds[0] == kinds[1] == [("tool_call", "assistant"), ("tool_result", "tool")]
    assert [plain(messages) for messages in stored] == [plain(neutral)] * 2


def plain(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The parts of messages, without the arguments as they were sent and with what a shape leaves out."""
    parts = [part for message in messages for part in message["content"]]
    filled = [part | ({"is_error": False} if part["type"] == "tool_result" else {}) for part in parts]
    return [{key: value for key, value in part.items() if key != "arguments_json"} for part in filled]


def test_the_built_in_memory_says_what_it_is(service: Running) -> None:
    said = {"messages": [{"role": "user", "content": "Hi"}]}
    httpx2.post(f"{service.url}/sessions/s/messages", json=said).raise_for_status()

    assert '"no_model"' in service.log.read_text()
    assert service.ask("/sessions/s/memory")["observer"] == "extractive"


def test_the_key_of_the_compose_file_is_made_once_and_kept_where_a_shell_finds_it(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not on this machine")
    [block] = fences("Docker compose")
    make, run = block.text.splitlines()
    assert run.startswith("docker compose ")
    assert f"# {make}\n" in (ROOT / "docker-compose.yml").read_text(encoding="utf-8")

    keys = [shell(f'cd {tmp_path}\n{make}\n. ./.env\nprintf %s "$DAYBOOK_BOOTSTRAP_KEY"') for _ in range(2)]

    assert re.fullmatch("[0-9a-f]{64}", keys[0])
    assert keys[1] == keys[0]
    assert (tmp_path / ".env").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("before", ["ANTHROPIC_API_KEY=sk-1", "DAYBOOK_BOOTSTRAP_KEY=\nANTHROPIC_API_KEY=sk-1\n"])
def test_the_key_of_the_compose_file_is_made_in_a_file_that_has_other_lines(tmp_path: Path, before: str) -> None:
    """It was joined to a last line without an end, and an empty one passed for a key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not on this machine")
    make = fences("Docker compose")[0].text.splitlines()[0]
    (tmp_path / ".env").write_text(before)

    told = shell(f'cd {tmp_path}\n{make}\n. ./.env\nprintf "%s %s" "$ANTHROPIC_API_KEY" "$DAYBOOK_BOOTSTRAP_KEY"')

    assert re.fullmatch("sk-1 [0-9a-f]{64}", told)


def test_every_setting_that_is_named_exists() -> None:
    named = set(re.findall(r"DAYBOOK_[A-Z_]*[A-Z]", README)) - {"DAYBOOK_MEMORY"}

    assert len(named) >= 20
    assert named <= setting_names()


def test_every_route_that_is_named_exists() -> None:
    def nameless(path: str) -> str:
        return re.sub(r"\{\w+\}", "{}", path)

    named = set(re.findall(r"`(?:GET|PUT|POST|PATCH|DELETE) (/[^`?]*)", README))

    assert len(named) >= 4
    assert set(map(nameless, named)) <= set(map(nameless, create_app(Settings()).openapi()["paths"]))


def test_the_presets_are_told_as_they_are() -> None:
    rows = {row[0].partition(":")[0]: row[1:] for row in table("| preset |")}

    for key in ("message_tokens", "observation_tokens", "message_budget", "memory_budget", "keep_last"):
        assert rows[f"`{key}`"] == [f"{preset[key]:,}" for preset in PRESETS.values()]
    assert rows["`max_reflections`, `max_observations`"] == [
        f"{preset['max_reflections']}, {preset['max_observations']}" if preset["max_reflections"] else "no limit"
        for preset in PRESETS.values()
    ]
    assert [cell.partition(",")[0] for cell in rows["`strategy`"]] == [p["strategy"] for p in PRESETS.values()]


def test_every_key_of_the_memory_is_told_or_told_to_be_missing() -> None:
    untold = {"preset", "keep_last_tool_results", "timezone"}

    assert {key for key in MemoryConfig.model_fields if f"`{key}" not in README} <= untold


def test_the_default_models_are_told_as_they_are() -> None:
    rows = {row[0]: row[1:] for row in table("| provider |")}

    assert set(rows) == {f"`{provider}`" for provider in Provider}
    for provider in SMALL_MODELS:
        assert rows[f"`{provider}`"] == [f"`{SMALL_MODELS[provider]}`", f"`{MID_MODELS[provider]}`"]


def test_the_formats_are_told_as_they_are() -> None:
    assert [row[0] for row in table("| `format` |")] == [f"`{name}`" for name in Format]
