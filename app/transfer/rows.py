"""Validates the columns of imported rows as the service reads them. Pure.

Anybody may have written or changed a file, and the service trusts what is in its database: a row that cannot be read
would fail each read of its session, and each list that it is in.
"""

from collections.abc import Callable, Mapping
from datetime import date
from functools import partial
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BaseModel, Field, TypeAdapter, ValidationError, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from app.artifacts.parts import part_at
from app.artifacts.schemas import is_media_type
from app.kit.errors import DomainError
from app.kit.invalid import invalid_detail
from app.kit.times import TIME_MAX, TIME_MIN, Time
from app.memory.log import items_from_json
from app.memory.model import Status
from app.memory.rules import MemoryConfig
from app.memory.steps import Request
from app.sessions.model import Kind, Role, Trust
from app.sessions.schemas import KEY_PATTERN, MESSAGE_ID_PATTERN
from app.sessions.wire import WireError, normalise
from app.state.reading import check_name
from app.state.templates import Scope, scope_of
from app.transfer.lines import config_of

NUMBER_MAX = 2**62  # leaves room for the numbers that follow: the last bigint would leave none


def _refused(detail: str) -> PydanticCustomError:
    return PydanticCustomError("row", "{detail}", {"detail": detail})


def _day(found: date) -> date:
    if TIME_MIN.date() <= found <= TIME_MAX.date():
        return found
    raise _refused("a day between the years 2 and 9998 is expected")


def _lines(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    try:
        items_from_json(found)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _refused(f"these are no lines of a log: {error!r}") from error
    return found


def _named(found: str) -> str:
    if part_at(found) is None:
        return found
    raise _refused("this is the name of a message's part")


def _media_type(found: str) -> str:
    if is_media_type(found):
        return found
    raise _refused("this is no media type")


def _of_session(found: str) -> str:
    try:
        check_name(found, "")
    except DomainError as error:
        raise _refused(error.detail) from error
    if scope_of(found) is Scope.SESSION:
        return found
    raise _refused("the session's own values are named without a scope")


Number: TypeAlias = Annotated[int, Field(strict=True, ge=-NUMBER_MAX, le=NUMBER_MAX)]
Count: TypeAlias = Annotated[int, Field(strict=True, ge=0, le=NUMBER_MAX)]
Seq: TypeAlias = Annotated[int, Field(strict=True, ge=1, le=NUMBER_MAX)]
Amount: TypeAlias = Annotated[float, Field(strict=True)]
Day: TypeAlias = Annotated[date, AfterValidator(_day)]
Key: TypeAlias = Annotated[str, Field(pattern=KEY_PATTERN)]
Spans: TypeAlias = list[tuple[Count, Count]]
Lines: TypeAlias = Annotated[list[dict[str, Any]], AfterValidator(_lines)]

OF_TYPE: Mapping[str, TypeAdapter[Any]] = {
    "bigint": TypeAdapter(Number | None),
    "integer": TypeAdapter(Number | None),
    "date": TypeAdapter(Day | None),
    "timestamp with time zone": TypeAdapter(Time | None),
}


# For each table the columns with rules beyond their type. One that is not in the file gets its default.
class _Session(BaseModel):
    resource_id: Key | None = None
    metadata: dict[str, Any] = {}


class _Message(BaseModel):
    id: Annotated[str, Field(pattern=MESSAGE_ID_PATTERN)]
    kind: Kind
    role: Role
    parts: list[dict[str, Any]]
    tokens: Count
    trust: Trust
    metadata: dict[str, Any] | None = None
    covers: Spans | None = None


class _Failure(BaseModel):
    at: Time
    step: str
    kind: str
    message: str
    session: str | None = None


class _Memory(BaseModel):
    requested: Request | None = None
    last_error: _Failure | None = None
    usage: dict[str, dict[str, Amount]] = {}
    rebuilding: Spans = []


class _Cursor(BaseModel):
    last_seq: Count = 0
    observed_seq: Count = 0
    activated_seq: Count = 0
    tail_from_seq: Count = 1
    compacted_seq: Count = 0
    summary_seq: Count | None = None
    anchor_date: Day | None = None


class _Version(BaseModel):
    cursors: dict[str, _Cursor | None]


class _Note(BaseModel):
    """An active or condensed note has a ``born_version``, a buffered one has none; a retired one went after it came."""

    status: Status
    items: Lines
    from_seq: Seq
    to_seq: Seq
    retired_by: str | None = None
    retired_version: Seq | None = None
    born_version: Seq | None = Field(None, validate_default=True)

    @field_validator("to_seq")
    @classmethod
    def _ends(cls, found: int, told: ValidationInfo) -> int:
        if found < told.data.get("from_seq", found):
            raise _refused("it is before from_seq")
        return found

    @field_validator("retired_version")
    @classmethod
    def _goes(cls, found: int | None, told: ValidationInfo) -> int | None:
        if found is not None and told.data.get("status") is not Status.RETIRED:
            raise _refused("what is not retired has none")
        return found

    @field_validator("born_version")
    @classmethod
    def _comes(cls, found: int | None, told: ValidationInfo) -> int | None:
        status, retired = told.data.get("status"), told.data.get("retired_version")
        if found is None and (status is Status.ACTIVE or (told.data.get("retired_by") or "").startswith("reflection:")):
            raise _refused("what is active, or was condensed, has one")
        if status is Status.BUFFERED and found is not None:
            raise _refused("what is buffered has none")
        if status is Status.RETIRED and found is not None and (retired is None or retired < found):
            raise _refused("what is retired came before it went")
        return found


class _Observation(_Note):
    covers: Spans


class _Sources(BaseModel):
    observations: list[Count] = []
    reflections: list[Count] = []


class _Reflection(_Note):
    covers: dict[str, Spans]
    sources: _Sources


class _State(BaseModel):
    name: Annotated[str, AfterValidator(_of_session)]


class _DeletedArtifact(BaseModel):
    name: Annotated[Key, AfterValidator(_named)]
    version: Seq
    created_at: Time


class _Artifact(_DeletedArtifact):
    media_type: Annotated[str, AfterValidator(_media_type)]


ROWS: Mapping[str, type[BaseModel]] = {
    "sessions": _Session,
    "messages": _Message,
    "memories": _Memory,
    "memory_versions": _Version,
    "observations": _Observation,
    "reflections": _Reflection,
    "state_entries": _State,
    "artifacts": _Artifact,
}


def check_columns(table: str, row: Mapping[str, Any], types: Mapping[str, str]) -> None:
    """Raises ValueError naming the column at fault; ``types``: those of the table's columns, by their names."""
    for name, value in row.items():
        if (reader := OF_TYPE.get(types[name])) is not None:
            _read(partial(reader.validate_python, value), name)
    if "config" in row:  # one that no PUT would take would fail at each append or step
        _read(lambda: MemoryConfig.model_validate(config_of(row["config"]), strict=True), "config")
    if table in ROWS:
        kept = _DeletedArtifact if table == "artifacts" and row.get("content") is None else ROWS[table]
        _read(lambda: kept.model_validate(row))
    if table == "messages":
        _check_parts(row)


def _read(read: Callable[[], object], *at: str) -> None:
    try:
        read()
    except ValidationError as error:
        found = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, (*at, *found['loc'])))}: {invalid_detail(found)}") from error


def _check_parts(row: Mapping[str, Any]) -> None:
    """Raises ValueError unless an append would store the parts as they are; an erased message has none."""
    if row["parts"]:
        try:
            again = normalise({"role": row["role"], "content": row["parts"], "name": row.get("name")})
        except WireError as error:
            at = error.pointer.removeprefix("/").replace("content", "parts", 1).replace("/", ".")
            raise ValueError(f"{at or 'parts'}: {error.detail}") from error
        if again.role != row["role"] or list(again.parts) != row["parts"]:
            raise ValueError(f"parts: an append would store them differently, with role '{again.role}'")
