"""The settings as documents: they are what the code says, and name every setting."""

import re
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from app.memory.rules import Rules
from app.reference import env_example, settings_page
from app.settings import PREFIX, Settings, SettingsError, load_settings, setting_names

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / ".env.example"
PAGE = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")


pytestmark = pytest.mark.usefixtures("clean_environment")


def test_the_example_of_the_environment_is_what_make_env_writes() -> None:
    assert EXAMPLE.read_text() == env_example(), "run `make env`"


def test_the_example_names_every_setting_once_with_a_line_about_it() -> None:
    lines = EXAMPLE.read_text().splitlines()
    named = [line.removeprefix("#").partition("=")[0] for line in lines if line.startswith(f"#{PREFIX}")]
    about = [above for above, line in pairwise(lines) if line.startswith(f"#{PREFIX}")]
    assert sorted(named) == sorted(setting_names())
    assert all(re.fullmatch(r"# \S.+", line) and line != "# None" for line in about)


def test_a_copy_of_the_example_with_nothing_commented_out_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for line in EXAMPLE.read_text().splitlines():
        name, _, value = line.removeprefix("#").partition("=")
        if name.startswith(PREFIX):
            monkeypatch.setenv(name, value)
    settings = load_settings()
    assert settings.model_dump(exclude={"memory"}) == Settings().model_dump(exclude={"memory"})
    assert Rules.resolve(settings.memory.values(), {}) == Rules.resolve({}, {})


def test_a_copy_is_loaded_by_a_shell_as_its_head_says(tmp_path: Path) -> None:
    """A database's URL with two parameters was lost at its &, and the service started the embedded Postgres."""
    lines = [line.removeprefix("#") for line in EXAMPLE.read_text().splitlines() if line.startswith(f"#{PREFIX}")]
    url, signs = "postgresql://u:p$w@host/db?sslmode=require&application_name=x", '& ; $ # "'
    (tmp_path / ".env").write_text("\n".join([*lines, f"DAYBOOK_DATABASE_URL='{url}'", f"DAYBOOK_MODEL='{signs}'"]))
    load = re.findall("`(set -a.+)`", EXAMPLE.read_text())[0]
    shell = subprocess.run(["/bin/sh", "-c", f"{load}; env"], cwd=tmp_path, env={}, capture_output=True, check=True)
    found = dict(line.split("=", 1) for line in shell.stdout.decode().splitlines())
    wanted = dict(line.split("=", 1) for line in lines) | {"DAYBOOK_DATABASE_URL": url, "DAYBOOK_MODEL": signs}
    assert {name: value for name, value in found.items() if name.startswith(PREFIX)} == wanted
    assert all(sign in EXAMPLE.read_text().partition("into '...'")[0] for sign in signs.split())


def test_the_page_of_the_settings_is_what_make_env_writes() -> None:
    assert settings_page() == PAGE, "run `make env`"


def test_the_page_names_every_setting_once_with_a_line_about_it() -> None:
    rows = re.findall(r"^\| `(DAYBOOK_\w+)` \|.*\| (\S[^|]*) \|$", PAGE, re.MULTILINE)

    assert sorted(name for name, _ in rows) == sorted(setting_names())


RANGES = re.findall(r"^\| `(\w+)` \|[^|]*\| ([\d,]+) to ([\d,]+) \|", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("name", "least", "most"), RANGES)
def test_a_value_beyond_the_range_that_is_told_stops_the_start(
    monkeypatch: pytest.MonkeyPatch, name: str, least: str, most: str
) -> None:
    for wrong in (int(least.replace(",", "")) - 1, int(most.replace(",", "")) + 1):
        monkeypatch.setenv(name, str(wrong))
        with pytest.raises(SettingsError, match=rf"^{name}: .+"):
            load_settings()


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.stem)
def test_a_page_names_only_settings_there_are(page: Path) -> None:
    names = set(re.findall(r"`(DAYBOOK_[A-Z_]*[A-Z])(?=[`=])", page.read_text(encoding="utf-8")))

    assert names <= setting_names()
