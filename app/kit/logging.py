"""Configures structlog: JSON lines, or coloured ones on a terminal. Never message content, never a key (style.md 25).

The text of an error may quote a message: a row that the database refused, a value that was no number. So of an
exception only types and tracebacks are logged, and of a library's warnings only the first line.

Our own events are written to stderr directly; warnings of libraries go through the standard library's handlers, which
take ten times as long (docs/benchmarks/profile.md). If the process that reads stderr stops, nothing blocks
(nonblocking.py).
"""

import json
import logging
import sys
import traceback
from contextlib import suppress
from functools import partial
from typing import Any, TextIO

import orjson
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from app.kit.helper_main import PLACES
from app.kit.nonblocking import WAITING_BYTES_MAX, NonBlockingStream, may_hang, nonblocking_stream
from app.kit.tracing import add_trace


def configure(*, json: bool, level: str, waiting_bytes_max: int = WAITING_BYTES_MAX) -> None:
    """Send our events and the libraries' warnings to stderr, one line each.

    Up to ``waiting_bytes_max`` wait in memory for a reader that has stopped; further lines are dropped and counted.
    """
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        add_trace,
        structlog.processors.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        tell_failure,
    ]
    console: list[Processor] = [written_out, structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]
    before = _before_stderr(waiting_bytes_max)
    _configure_libraries(shared, [structlog.processors.JSONRenderer()] if json else console, before or sys.stderr)
    structlog.configure(
        processors=[*shared, *([_one_line] if json else console)],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=partial(_Lines, before),
        cache_logger_on_first_use=True,
    )


def _before_stderr(waiting_bytes_max: int) -> NonBlockingStream | None:
    """The non-blocking stream for stderr if that may hang, else None."""
    try:
        descriptor = sys.stderr.fileno()
    except (OSError, ValueError):  # stderr is no file, or is closed
        return None
    return nonblocking_stream(descriptor, waiting_bytes_max=waiting_bytes_max) if may_hang(descriptor) else None


def _configure_libraries(
    shared: list[Processor], rendering: list[Processor], stream: TextIO | NonBlockingStream
) -> None:
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[_first_line, *shared],
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendering],
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    handler.setLevel(logging.WARNING)  # whatever a library's own variables ask for, such as OPENAI_LOG
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)


def tell_failure(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """A structlog processor that replaces an exception by its types and tracebacks, its causes first."""
    given = event.pop("exc_info", None)
    error = sys.exc_info()[1] if given is True else given[1] if isinstance(given, tuple) else given
    if isinstance(error, BaseException):
        event["exception"] = "\n".join(_failure(error))
    return event


def _failure(error: BaseException) -> list[str]:
    earlier = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    before = [] if earlier is None else [*_failure(earlier), "and then"]
    places = [*traceback.format_tb(error.__traceback__), *vars(error).get(PLACES, ())]
    code = getattr(error, "sqlstate", None)
    told = [*before, *map(str.rstrip, places), type(error).__qualname__ + (f" {code}" if code else "")]
    for one in error.exceptions if isinstance(error, BaseExceptionGroup) else ():
        told += ["of which", *_failure(one)]
    return told


def written_out(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Escape control characters for a terminal: a path may come from any web page that calls loopback.

    JSON and the ``repr`` of a list have escapes of their own. The lines of a traceback stay lines.
    """
    return {name: _printable(value, lines=name == "exception") for name, value in event.items()}


def _printable(value: Any, *, lines: bool) -> Any:
    if not isinstance(value, str) or value.isprintable():
        return value
    if lines:
        return "\n".join(_printable(line, lines=False) for line in value.split("\n"))
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in value)


def _first_line(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    event["event"] = str(event["event"]).partition("\n")[0]
    return event


def _one_line(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
    """The event as JSON; with escapes if a text cannot be encoded as UTF-8."""
    try:
        return orjson.dumps(event, default=repr).decode()
    except orjson.JSONEncodeError:
        return json.dumps(event, default=repr)


class _Lines:
    """The sink of every logger: writes one line at once. If stderr is closed, the line is dropped."""

    def __init__(self, before: NonBlockingStream | None, name: str) -> None:
        self.name = name
        self._before = before

    def write(self, line: str) -> None:
        with suppress(OSError, ValueError):
            stream = self._before or sys.stderr
            stream.write(f"{line}\n")
            stream.flush()

    debug = info = warning = error = critical = write
