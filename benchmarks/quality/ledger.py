"""A file of results so far, as JSON lines, from which an interrupted run resumes."""

from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import orjson
from pydantic import TypeAdapter

T = TypeVar("T")


class Ledger:
    """Results by key. Without ``resume`` it begins empty. Thread-safe."""

    def __init__(self, path: Path, *, resume: bool) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_bytes().splitlines(keepends=True) if resume and path.exists() else []
        whole = [line for line in lines if line.endswith(b"\n")]  # the last may be partly written
        path.write_bytes(b"".join(whole))
        self._known: dict[str, Any] = dict(map(orjson.loads, whole))
        self._path, self._lock = path, Lock()

    def knows(self, key: str) -> bool:
        return key in self._known

    def once(self, key: str, shape: TypeAdapter[T], measure: Callable[[], T]) -> T:
        """The known result of ``key``, else that of ``measure``, which is saved."""
        if key not in self._known:
            result = shape.dump_python(measure(), mode="json")
            with self._lock, self._path.open("ab") as file:
                file.write(orjson.dumps([key, result]) + b"\n")
            self._known[key] = result
        return shape.validate_python(self._known[key])
