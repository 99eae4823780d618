"""Refuses unknown and repeated query parameters, because a misspelt or an earlier one would silently be ignored."""

from collections import Counter
from collections.abc import Collection
from urllib.parse import parse_qsl

from fastapi.dependencies.models import Dependant
from pydantic import BaseModel

from app.kit.errors import FieldError, Invalid
from app.kit.invalid import too_many_errors

REPEATED = "the query parameter may be sent only once"
HARMLESS = "wait_ms"  # a client may send it with every request; a route without parameters ignores it


def query_parameters(dependant: Dependant) -> tuple[str, ...]:
    """The names of the query parameters of an endpoint and its dependencies; a model has one for each field."""
    names = [name for part in dependant.dependencies for name in query_parameters(part)]
    for field in dependant.query_params:
        kind = field.field_info.annotation
        names += kind.model_fields if isinstance(kind, type) and issubclass(kind, BaseModel) else [field.alias]
    return tuple(names)


def check_parameters(query: bytes, known: Collection[str]) -> None:
    """Raise Invalid, naming each parameter that is not ``known``, or is given more than once.

    Also if a route takes none: ``DELETE .../facts?category=`` would delete the facts of every category.
    """
    if not query:
        return
    given = Counter(name for name, _ in parse_qsl(query.decode("latin-1"), keep_blank_values=True))
    detail = "unknown query parameter; " + (f"known are {', '.join(known)}" if known else "this route has none")
    errors = [FieldError(name, detail) for name in given if name not in (known or (HARMLESS,))]
    errors += (FieldError(name, REPEATED) for name, times in given.items() if name in known and times > 1)
    if told := too_many_errors(len(errors)):
        raise Invalid(told)
    if errors:
        raise Invalid.naming(*errors)
