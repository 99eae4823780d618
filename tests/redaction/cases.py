"""Loads the test cases: secrets, each within a text, and texts that only look like secrets.

None was ever valid. A secret is stored in two pieces, so that secret scanners find none here.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    kind: str
    secret: str
    text: str


@cache
def secrets() -> tuple[Secret, ...]:
    rows = map(json.loads, (FOLDER / "secrets.jsonl").read_text().splitlines())
    found = ((row["kind"], "".join(row["secret"]), row["text"]) for row in rows)
    return tuple(Secret(kind=kind, secret=secret, text=text.replace("{}", secret)) for kind, secret, text in found)


@cache
def harmless() -> tuple[str, ...]:
    return tuple(map(json.loads, (FOLDER / "harmless.jsonl").read_text().splitlines()))
