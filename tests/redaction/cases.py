"""The tables: secrets, each in the text it stands in, and texts that only look like them.

None was ever valid. A secret is kept in two pieces, so that nothing that looks for secrets finds one here.
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
