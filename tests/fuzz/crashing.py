"""Runs the real service in a process that kills itself at a statement: ``python -m tests.fuzz.crashing``.

Imports everything once, including lazy imports, then forks a service for each line of JSON on stdin (``Life``), and
writes its pid to stdout: so a start takes a tenth of a second, not two.
"""

import json
import os
import signal
import socket
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import uvicorn

from app.kit.db import Database, Tx
from app.kit.logging import configure
from app.llm.port import Usage
from app.llm.prices import cost_usd
from app.locating import Location
from app.main import create_app
from app.recall.languages import stem
from app.recall.times import named_time
from app.settings import Settings
from tests.fuzz.statements import Watched

PORT, STATEMENTS = "port", "statements"  # files that a life writes: its port, and the statements it has executed
DIED = "died"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Before or after the ``number``-th statement of this name, from 1."""

    name: str
    number: int = 1
    after: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """One process of the service, which writes its files into ``folder``. ``dies_at`` None: it does not kill itself."""

    url: str
    settings: dict[str, Any]
    folder: str
    dies_at: Point | None = None

    def line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def read(cls, line: str) -> "Life":
        values = json.loads(line)
        point = values.pop("dies_at")
        return cls(**values, dies_at=None if point is None else Point(**point))


class Killer:
    """Kills its process at the point. Writes each statement, and the death, as a line of ``statements``."""

    def __init__(self, life: Life) -> None:
        self._point = life.dies_at
        self._begun, self._made = Counter[str](), Counter[str]()  # both, because two of one name may run at once
        self._statements = (Path(life.folder) / STATEMENTS).open("a", buffering=1, encoding="utf-8")

    def before(self, name: str) -> None:
        self._begun[name] += 1
        self._pass(name, self._begun[name], after=False)

    def after(self, name: str) -> None:
        self._statements.write(f"{name}\n")
        self._made[name] += 1
        self._pass(name, self._made[name], after=True)

    def _pass(self, name: str, number: int, *, after: bool) -> None:
        if self._point == Point(name=name, number=number, after=after):
            self._statements.write(f"{DIED}\n")
            os.kill(os.getpid(), signal.SIGKILL)


def watch(database: Database, killer: Killer) -> None:
    """Watch every connection of the service's own pool."""
    plain = database._acquired

    @asynccontextmanager
    async def watched() -> AsyncIterator[Tx]:
        async with plain() as connection:
            yield Watched(connection, killer)

    database._acquired = watched  # type: ignore[method-assign] # for this process only, from its start to its end


def live(life: Life) -> None:
    """Serve until SIGTERM, or until the death."""
    configure(json=False, level="error")
    app = create_app(Settings(**life.settings), Location(url=life.url, name="the tests' database"))
    watch(app.state.database, Killer(life))
    config = uvicorn.Config(app, loop="uvloop", http="httptools", ws="none", log_config=None)
    # Listens before it serves, so that whoever reads the port can connect, and no other process can take it.
    # With IPPROTO_TCP as in tests/conftest.py.
    listening = socket.socket(proto=socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    _tell_port(Path(life.folder), listening.getsockname()[1])
    uvicorn.Server(config).run(sockets=[listening])


def _tell_port(folder: Path, port: int) -> None:
    """Write the port atomically, because a reader might find half of it otherwise."""
    written = folder / f"{PORT}.new"
    written.write_text(str(port), encoding="utf-8")
    written.rename(folder / PORT)


def _child(line: str) -> None:
    """Serve in the forked child. Never returns, because the code after the fork is the parent's."""
    try:
        sys.stdin.close()
        live(Life.read(line))
    finally:
        os._exit(0)


def use_what_is_imported_late() -> None:
    cost_usd(None, "", Usage())
    named_time("last May", datetime.now(UTC))
    stem("lives", "english")


def main() -> None:
    use_what_is_imported_late()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so that dead children are reaped; the caller polls their pids
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            _child(line)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
