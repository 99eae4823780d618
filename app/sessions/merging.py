"""Checks config and metadata of a PUT of a session or a resource, and merges them into the stored ones.

A null removes its key, except ``buffer_every`` of a config, where null is a value: it switches buffering off.
"""

import asyncio
from typing import Any

from app.kit.errors import Invalid
from app.kit.json import dumps
from app.redaction.model import Redact, redacted_object
from app.sessions.errors import MetadataTooLarge
from app.sessions.model import MemoryPort
from app.sessions.wire import first_flaw


async def read_given(
    config: dict[str, Any],
    metadata: dict[str, Any],
    *,
    memory: MemoryPort,
    metadata_bytes_max: int,
    redact: Redact | None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Config and metadata of a request, redacted and checked.

    Raises Invalid, naming the key at fault; MetadataTooLarge if the metadata alone is over the limit.
    """
    if flaw := await asyncio.to_thread(first_flaw, {"metadata": metadata, "config": config}):
        raise Invalid.at(flaw.pointer, flaw.detail)
    if redact is not None:
        config = await asyncio.to_thread(redacted_object, config, redact)
        metadata = await asyncio.to_thread(redacted_object, metadata, redact)
    config = memory.check_config(config)
    check_metadata(set_of(metadata), metadata_bytes_max)
    check_metadata(dict.fromkeys(unset_of(metadata), 0), metadata_bytes_max)  # no more can be stored to be removed
    return config, metadata


def set_of(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def off_of(config: dict[str, Any]) -> dict[str, Any]:
    """The keys of a config that are set to null."""
    return {name: value for name, value in config.items() if value is None and name == "buffer_every"}


def unset_of(values: dict[str, Any]) -> list[str]:
    return [name for name, value in values.items() if value is None]


def merged_config(row: str, *, given: str, off: str, unset: str) -> str:
    """The merged config of a row, as SQL. The arguments are SQL expressions of the given config's three parts."""
    return f"({row}.config || {given}) - {unset}::text[] || {off}"


def check_metadata(merged: dict[str, Any], bytes_max: int) -> None:
    """Raises MetadataTooLarge if the merged metadata, as JSON, is larger than ``bytes_max``."""
    if len(dumps(merged)) > bytes_max:
        limit = f"{bytes_max} bytes of metadata (DAYBOOK_SESSIONS__METADATA_BYTES_MAX)"
        raise MetadataTooLarge.at("/metadata", f"a session or resource may have at most {limit}")
