"""asyncpg's connections as the pool opens them: JSON by orjson, and types that are introspected once per process."""

from collections.abc import Iterable
from typing import Any, ClassVar

import asyncpg

from app.kit.json import dumps, loads

OWN_TYPES_END = 10_000  # type OIDs below it are the same in every Postgres (its access/transam.h)
# Every type of which a statement takes or returns an array.
LISTED = ("bool", "bytea", "float8", "int4", "int8", "json", "jsonb", "text", "timestamptz", "uuid")
LISTS = f"SELECT {', '.join(f'NULL::{name}[]' for name in LISTED)}"
JSONB_VERSION = b"\x01"  # precedes the text in Postgres's binary format; only that format works inside composite rows


class PooledConnection(asyncpg.Connection):  # type: ignore[misc]  # the library is untyped
    """Caches the introspection of Postgres's own types for the process: two thirds of what a connection takes to open.

    Overrides a private method of the driver, which has no other hook; a version without it introspects as before.
    """

    __slots__ = ()
    _own_types: ClassVar[dict[frozenset[int], Any]] = {}

    async def _introspect_types(self, typeoids: Iterable[int], timeout: float | None) -> Any:  # noqa: ASYNC109 - the driver's
        wanted = frozenset(typeoids)
        found = self._own_types.get(wanted)
        if found is None:
            found = await super()._introspect_types(wanted, timeout)
            if max(wanted) < OWN_TYPES_END:
                self._own_types[wanted] = found
        return found


async def prepare(connection: Any) -> None:
    """Set the codecs of a new connection, and have the driver introspect the array types.

    On meeting an array type the driver queries the server, with ``jit`` off meanwhile: here for all at once, and rolled
    back, so that nothing stays set on a connection that a pooler gives to others.
    """
    await connection.set_type_codec(
        "jsonb", encoder=_to_jsonb, decoder=_from_jsonb, schema="pg_catalog", format="binary"
    )
    await connection.set_type_codec("json", encoder=dumps, decoder=loads, schema="pg_catalog", format="binary")
    looking = connection.transaction()
    await looking.start()
    await connection.prepare(LISTS, name="")
    await looking.rollback()


async def leave_as_it_is(_connection: Any) -> None:
    """On return to the pool: the driver ends an open transaction; nothing else of ours needs a round trip."""


def _to_jsonb(value: Any) -> bytes:
    return JSONB_VERSION + dumps(value)


def _from_jsonb(stored: bytes) -> Any:
    return loads(stored[1:])
