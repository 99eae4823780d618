"""What was measured so far, a line of JSON each: a run that was broken off goes on where it was."""

from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import orjson
from pydantic import TypeAdapter

T = TypeVar("T")


class Ledger:
    """Results by key. Without ``resume`` it begins empty. Threads may share it."""

    def __init__(self, path: Path, *, resume: bool) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_bytes().splitlines(keepends=True) if resume and path.exists() else []
        whole = [line for line in lines if line.endswith(b"\n")]  # of one that was being written there is a part
        path.write_bytes(b"".join(whole))
        self._known: dict[str, Any] = dict(map(orjson.loads, whole))
        self._path, self._lock = path, Lock()

    def knows(self, key: str) -> bool:
        return key in self._known

    def once(self, key: str, shape: TypeAdapter[T], measure: Callable[[], T]) -> T:
        """The result that is known by ``key``; else what ``measure`` answers, which is kept."""
        if key not in self._known:
            result = shape.dump_python(measure(), mode="json")
            with self._lock, self._path.open("ab") as file:
                file.write(orjson.dumps([key, result]) + b"\n")
            self._known[key] = result
        return shape.validate_python(self._known[key])
