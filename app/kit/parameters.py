"""Query parameters that a route does not know: a misspelt one would silently ask for something else."""

from collections.abc import Collection
from urllib.parse import parse_qsl

from fastapi.dependencies.models import Dependant
from pydantic import BaseModel

from app.kit.errors import FieldError, Invalid


def query_parameters(dependant: Dependant) -> tuple[str, ...]:
    """The names of the query parameters that an endpoint takes; a model's fields are one each."""
    names: list[str] = []
    for field in dependant.query_params:
        kind = field.field_info.annotation
        names += kind.model_fields if isinstance(kind, type) and issubclass(kind, BaseModel) else [field.alias]
    return tuple(names)


def check_parameters(query: bytes, known: Collection[str]) -> None:
    """Raise Invalid for each parameter that is not ``known``; where a route takes none, none is looked at."""
    if not (query and known):
        return
    given = dict.fromkeys(name for name, _ in parse_qsl(query.decode("latin-1"), keep_blank_values=True))
    detail = f"no such query parameter; there are {', '.join(known)}"
    errors = [FieldError(name, detail) for name in given if name not in known]
    if errors:
        raise Invalid("; ".join(f"{error.pointer}: {error.detail}" for error in errors[:3]), errors=errors)
