"""The tables of docs/limits.md are compared with the code they tell of."""

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from app.kit import paging
from app.memory.rules import Rules
from app.sessions import schemas
from app.settings import Settings

PAGE = (Path(__file__).parents[1] / "docs" / "limits.md").read_text(encoding="utf-8")
ROWS = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.startswith("| ") and " limit |" not in line]
# A row may tell of several settings, and then of a default for each that has one.
SET = [
    pair
    for _, default, setting in ROWS
    for pair in zip(re.findall(r"`DAYBOOK_(\w+)`", setting), default.split("; "), strict=False)
]
FIXED = {
    "page of a list": [paging.PAGE_DEFAULT, paging.PAGE_MAX],
    "`wait_ms`": [schemas.WAIT_MS_MAX],
}


def numbers(cell: str) -> list[float]:
    return [float(found.replace(",", "")) for found in re.findall(r"\d[\d,]*(?:\.\d+)?", cell)]


@pytest.mark.parametrize(("setting", "told"), SET)
def test_a_limit_has_the_default_that_is_told(setting: str, told: str) -> None:
    *groups, key = setting.lower().split("__")
    holder: BaseModel | Rules = Settings()
    for group in groups:
        holder = Rules.resolve({}, {}) if group == "memory" else getattr(holder, group)

    assert numbers(told)[0] == getattr(holder, key)


@pytest.mark.parametrize("limit", FIXED)
def test_a_fixed_limit_is_told_as_it_is(limit: str) -> None:
    (told,) = [default for name, default, _ in ROWS if name == limit]

    assert numbers(told) == FIXED[limit]
