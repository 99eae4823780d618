"""What the documents name is there, and what they promise about themselves holds."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

ROOT = Path(__file__).parents[1]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "examples" / "README.md",
    ROOT / "clients" / "typescript" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
DECISION_LINES_MAX = 40
# A path of the project, in backticks or as the target of a link.
PATH = re.compile(r"(?:`|\]\()((?:app|clients|docs|examples|migrations|openapi|tests)/[\w./-]+)[`)]")


def named(document: Path) -> list[str]:
    return PATH.findall(document.read_text(encoding="utf-8"))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_path_a_document_names_exists(document: Path) -> None:
    assert [path for path in named(document) if not (ROOT / path).exists()] == []


def test_the_index_names_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}

    assert {page for page in pages if f"`{page}`" not in index} == set()


def test_the_map_of_the_code_names_every_module_of_memory_context_and_recall() -> None:
    returning = {"__init__", "schemas", "routes", "service", "tables", "model", "errors", "examples"}  # in every domain
    folders = {ROOT / "app" / name for name in ("memory", "context", "recall")}
    modules = [path for folder in folders for path in folder.rglob("*.py")]

    told = {ROOT / name for name in named(ROOT / "docs" / "code.md")} - folders

    untold = [path for path in modules if path.stem not in returning and told.isdisjoint([path, path.parent])]
    assert untold == []


def test_operators_are_told_what_each_warning_of_the_log_means() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "app").rglob("*.py"))
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    logged = set(re.findall(r"\blog\.(?:warning|error|exception)\(\s*\"(\w+)\"", code))
    table = page.partition("| `event` |")[2]

    assert len(logged) > 20
    assert set(re.findall(r"`([a-z]+_[a-z_]+)`", table)) == logged


def test_decisions_are_numbered_without_gaps_and_titled_by_their_number() -> None:
    numbers = [path.name[:4] for path in DECISIONS]

    assert numbers == [f"{number:04d}" for number in range(1, len(DECISIONS) + 1)]
    assert all(path.read_text(encoding="utf-8").startswith(f"# {path.name[:4]} ") for path in DECISIONS)


@pytest.mark.parametrize("decision", DECISIONS, ids=lambda path: path.stem)
def test_a_decision_is_short_and_has_its_three_parts(decision: Path) -> None:
    lines = decision.read_text(encoding="utf-8").splitlines()

    assert len(lines) <= DECISION_LINES_MAX
    assert [line for line in lines if line.startswith("## ")] == ["## Context", "## Decision", "## Consequences"]


def test_the_picture_has_a_ground_of_its_own_and_a_title() -> None:
    svg = ET.parse(ROOT / "docs" / "how-it-works.svg").getroot()  # noqa: S314 - our own file
    space = "{http://www.w3.org/2000/svg}"
    ground = next(svg.iter(f"{space}rect"))

    assert svg.findtext(f"{space}title")
    assert ground.get("fill") == "#ffffff"  # dark text on it reads on a light and on a dark page
