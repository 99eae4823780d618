"""The lines of an export, one JSON object each (docs/export.md). Pure.

    {"type": "header", "schema": 1, "scope": "session", "of": "s1", "exported_at": "..."}
    {"type": "messages", "session": "s1", "data": {...}}
    {"type": "end", "lines": 412}

``type`` names the table, ``data`` is its row. The lines between the header and the end are in the order of TABLES,
session by session, so that a row never precedes what it belongs to.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from app.kit.json import dumps
from app.memory.rules import MACHINE_ZONE, set_keys

SCHEMA = 1
HEADER, END = "header", "end"
TABLES = (
    "sessions",
    "session_configs",
    "messages",
    "memories",
    "memory_versions",
    "observations",
    "reflections",
    "runs",
    "state_entries",
    "corrections",
    "artifacts",
)
CORRECTIONS = "corrections"  # no table, but the session's refusals and corrections of facts (facts/rereading.py)
ARTIFACTS = "artifacts"  # the last table, whose bytes may be in an object store
MEMORIES = "memories"
OF_MEMORY = ("memory_versions", "observations", "reflections", "runs")  # tables of rows that belong to a memory
NUMBERED = ("observations", "reflections", "runs")  # tables whose ids are drawn from a sequence

NO_BRANCH = {"branched_from": None, "branched_at_seq": None}
UNREAD = {"facts_seq": 0}  # to be read for facts again: those of its resource are others here
NO_LEASE = {"lease_epoch": 0, "lease_owner": None, "lease_step": None}
BY_SESSION = {"memory_versions": ("cursors",), "reflections": ("covers",)}  # columns whose keys are ids of sessions
# Columns that get their value in the database that imports.
MADE_HERE = {"state_entries": ("version",), "sessions": ("waiting", "created_at", "facts_again_seq")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A session's tenant, key and id, from which it is exported or to which it is imported."""

    tenant: str
    key: str
    id: UUID


def header(*, scope: str, of: str, now: datetime) -> bytes:
    return line({"type": HEADER, "schema": SCHEMA, "scope": scope, "of": of, "exported_at": now.isoformat()})


def end(lines: int, *, lost: int, digest: str) -> bytes:
    """The last line, without which a file was cut off. ``lines``: the number before it; ``digest``: of their bytes.

    ``lost``: how many versions of artifacts are among them without their bytes.
    """
    return line({"type": END, "lines": lines, "lost": lost, "sha256": digest})


def line(value: Mapping[str, Any]) -> bytes:
    return dumps(value) + b"\n"


def correction(session: str, told: Mapping[str, Any]) -> bytes:
    return line({"type": CORRECTIONS, "session": session, "data": told})


def artifact(session: str, row: Mapping[str, Any], content: bytes | None) -> bytes:
    """The line of a version with its bytes, in base64; null if they are lost."""
    data = {**row, "content": None if content is None else b64encode(content).decode("ascii")}
    return line({"type": ARTIFACTS, "session": session, "data": data})


def deleted_artifact(session: str, row: Mapping[str, Any], *, at: datetime) -> bytes:
    """The line of a version that was deleted: its number is never again that of another."""
    data = {name: row[name] for name in ("session_id", "name", "version", "created_at")}
    return line({"type": ARTIFACTS, "session": session, "data": data | {"deleted_at": at}})


def is_lost(row: bytes) -> bool:
    return row.startswith(b'{"type":"artifacts"') and row.endswith(b'"content":null}}\n')


def content_of(row: Mapping[str, Any]) -> bytes | None:
    """The bytes of an exported version, if it has any: they may be lost, and older Daybooks wrote none.

    Raises ValueError for other bytes.
    """
    told = row.get("content")
    if told is None:
        return None
    content = b64decode(told)
    if sha256(content).hexdigest() != row.get("sha256"):
        raise ValueError("its bytes do not match its sha256")
    if row.get("size") != len(content):
        raise ValueError("the number of its bytes does not match its size")
    return content


def config_of(config: Any) -> Any:
    """A row's config as a PUT would store it: a null unsets its key.

    So does the machine's zone, which older versions stored, and which is none (migration 0030).
    """
    if not isinstance(config, dict):
        return config
    return {key: value for key, value in set_keys(config).items() if (key, value) != ("timezone", MACHINE_ZONE)}


def moved(table: str, row: dict[str, Any], place: Place) -> dict[str, Any]:
    """The row of an exported session moved to ``place``: under its key, without a lease, and a branch of no session.

    Owners named in a file are replaced, since whoever writes one could else write to other sessions, or name them.
    """
    new = str(place.id)
    own: dict[str, dict[str, Any]] = {
        "sessions": {"id": new, "key": place.key, "tenant": place.tenant, "memory_id": new}
        | NO_BRANCH
        | UNREAD
        | {"began_at": row.get("began_at") or row.get("created_at")},
        "memories": {"id": new, "tenant": place.tenant} | NO_LEASE,
        "memory_versions": {"memory_id": new},
        "reflections": {"memory_id": new},
        "observations": {"memory_id": new, "session_id": new},
        "runs": {"memory_id": new, "session_id": None},
        "state_entries": {"tenant": place.tenant, "scope": "session", "owner": place.key},
    }
    renamed = {name: {new: value for value in row[name].values()} for name in BY_SESSION.get(table, ())}  # noqa: B035 - there is one
    named = own.get(table, {"session_id": new})
    told = {"config": config_of(row["config"])} if "config" in row else {}
    return {name: value for name, value in row.items() if name not in MADE_HERE.get(table, ())} | told | named | renamed
