"""Checks that a file is a whole export of one session, with rows that the service can read. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from app.facts.rereading import OVERRIDE_COLUMNS, overrides_from_json
from app.transfer.errors import TransferError
from app.transfer.lines import (
    ARTIFACTS,
    BY_SESSION,
    CORRECTIONS,
    END,
    HEADER,
    MEMORIES,
    NUMBERED,
    OF_MEMORY,
    SCHEMA,
    TABLES,
    content_of,
)
from app.transfer.rows import NUMBER_MAX, check_columns

SESSIONS, MESSAGES, REFLECTIONS = "sessions", "messages", "reflections"
OF_LOG = ("memory_versions", "observations", REFLECTIONS)
VERSIONS, SEQS = ("version", "born_version", "retired_version"), ("from_seq", "to_seq")
CURSORS = ("observed_seq", "buffered_seq", "activated_seq", "summary_seq", "compacted_seq", "expired_seq")


class _Log:
    """State of the checks across rows: the session, the last seq and version, and which reflections others condense."""

    def __init__(self) -> None:
        self._session: Mapping[str, Any] = {}
        self._line = 0
        self._last_seq = 0
        self._version = NUMBER_MAX  # until the memory tells it
        self._reflections: set[int] = set()
        self._condensed: dict[int, int] = {}  # reflections that others condense, each with the line of one of these

    def read(self, table: str, row: Mapping[str, Any], number: int) -> None:
        """Raises ValueError for a message that does not follow the one before, and a note of no message or version."""
        if table == SESSIONS:
            self._session, self._line = row, number
        elif table == MESSAGES:
            self._last_seq += 1
            if row.get("seq") != self._last_seq:
                raise ValueError(f"seq: {self._last_seq} is expected, without a gap")
        elif table == MEMORIES:
            self._version = row.get("log_version") or 0
        elif table in OF_LOG:
            self._check_within(row)
        if table == REFLECTIONS:
            self._reflections.add(row["id"])
            self._condensed |= dict.fromkeys(row["sources"].get("reflections", ()), number)

    def _check_within(self, row: Mapping[str, Any]) -> None:
        for names, last in ((VERSIONS, self._version), (SEQS, self._last_seq)):
            for name in names:
                if (row.get(name) or 0) > last:
                    raise ValueError(f"{name}: {last} is the last")

    def check(self) -> None:
        """Raises TransferError for a session whose positions do not fit its messages, and for a missing reflection.

        An erasure takes a reflection apart into the notes that it condenses, so they have to be there.
        """
        if self._session.get("next_seq", 1) != self._last_seq + 1:
            self._refuse("next_seq", f"{self._last_seq + 1} is expected after {self._last_seq} messages")
        if self._session.get("tail_from_seq", 1) > self._last_seq + 1:
            self._refuse("tail_from_seq", f"it has {self._last_seq} messages")
        for name in CURSORS:
            if (self._session.get(name) or 0) > self._last_seq:
                self._refuse(name, f"it has {self._last_seq} messages")
        for lost in sorted(self._condensed.keys() - self._reflections)[:1]:
            detail = f"it condenses the reflection {lost}, which is not in the file"
            raise TransferError(f"line {self._condensed[lost]}: {REFLECTIONS} with a sources: {detail}")

    def _refuse(self, name: str, detail: str) -> None:
        raise TransferError(f"line {self._line}: {SESSIONS} with a {name}: {detail}")


def checked(values: Iterable[tuple[int, Any]], columns: Mapping[str, Mapping[str, str]]) -> int:
    """Check the lines of a file; answers how many rows. Raises TransferError naming the line at fault.

    ``columns``: those of this database with their types, by table.
    """
    rows: Counter[str] = Counter()
    last, ended, order, log = 0, False, list(TABLES), _Log()
    for number, value in values:
        if ended or not isinstance(value, dict):
            raise TransferError(f"line {number}: not a line of an export")
        kind = value.get("type")
        if number == 1:
            _check_header(value)
        elif kind == END:
            _check_end(value, number)
            ended = True
        elif kind not in order:
            raise TransferError(f"line {number}: a line of type '{kind}' is not expected here")
        else:
            order = order[order.index(kind) :]
            _check_row(kind, value.get("data"), columns, number, log)
            rows[kind] += 1
            if kind in OF_MEMORY and not rows[MEMORIES]:
                raise TransferError(f"line {number}: {kind} without a line of {MEMORIES} before it")
        last = number
    if last == 0:
        raise TransferError("the file is empty")
    if not ended or rows[SESSIONS] != 1:
        raise TransferError(f"line {last}: the file was cut off, or has no session")
    log.check()
    return rows.total()


def _check_header(value: dict[str, Any]) -> None:
    if (value.get("type"), value.get("schema"), value.get("scope")) != (HEADER, SCHEMA, "session"):
        raise TransferError(f"line 1: not the header of an export of one session, of schema {SCHEMA}")


def _check_end(value: dict[str, Any], number: int) -> None:
    if value.get("lines") != number - 1:
        raise TransferError(f"line {number}: {number - 1} lines are before it, but the export had {value.get('lines')}")


def _check_row(table: str, row: Any, columns: Mapping[str, Mapping[str, str]], number: int, log: _Log) -> None:
    if not isinstance(row, dict) or not row:
        raise TransferError(f"line {number}: no row in 'data'")
    types = dict.fromkeys(OVERRIDE_COLUMNS, "") if table == CORRECTIONS else columns[table]
    unknown = sorted(row.keys() - types)
    if unknown:
        raise TransferError(f"line {number}: {table} has no column '{unknown[0]}': is it of a newer version?")
    if table == ARTIFACTS:
        _check_bytes(row, number)
    if table == CORRECTIONS:
        _check_correction(row, number)
    if table in NUMBERED and not (isinstance(row.get("id"), int) and 0 < row["id"] <= NUMBER_MAX):
        raise TransferError(f"line {number}: {table} without a number in 'id', from 1 to {NUMBER_MAX}")
    for name in BY_SESSION.get(table, ()):
        if not isinstance(row.get(name), dict):
            raise TransferError(f"line {number}: {table} without an object in '{name}'")
    try:
        check_columns(table, row, types)
        log.read(table, row, number)
    except ValueError as error:
        raise TransferError(f"line {number}: {table} with a {error}") from error


def _check_correction(row: Mapping[str, Any], number: int) -> None:
    try:
        overrides_from_json([row], UUID(int=0), "")
    except (KeyError, TypeError, ValueError) as error:
        raise TransferError(f"line {number}: {CORRECTIONS}: {error}") from error


def _check_bytes(row: Mapping[str, Any], number: int) -> None:
    try:
        content_of(row)
    except (TypeError, ValueError) as error:
        raise TransferError(f"line {number}: the artifact '{row.get('name')}': {error}") from error
