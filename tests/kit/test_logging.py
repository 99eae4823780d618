import contextlib
import io
import json
import logging
from collections.abc import Iterator

import asyncpg
import pytest
import structlog

from app.kit.logging import configure

SAID = "xyzzy"


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    handlers, level = logging.root.handlers[:], logging.root.level
    yield
    structlog.reset_defaults()
    logging.root.handlers[:], logging.root.level = handlers, level


def test_an_event_is_one_line_with_its_fields(capfd: pytest.CaptureFixture[str]) -> None:
    configure(json=True, level="info")

    structlog.get_logger("daybook.http").info("request", path="/x", status=200)

    line = json.loads(capfd.readouterr().err)
    assert line.pop("timestamp").endswith("Z")
    assert line == {"event": "request", "path": "/x", "status": 200, "level": "info", "logger": "daybook.http"}


def test_an_event_below_the_level_is_not_written(capfd: pytest.CaptureFixture[str]) -> None:
    configure(json=True, level="warning")

    structlog.get_logger("daybook").info("quiet")
    structlog.get_logger("daybook").warning("loud")

    assert [json.loads(line)["event"] for line in capfd.readouterr().err.splitlines()] == ["loud"]


@pytest.mark.parametrize("value", ["\ud800", 2**70, {1, 2}, float("nan"), object], ids=repr)
def test_a_value_that_is_no_json_never_stops_the_caller(capfd: pytest.CaptureFixture[str], value: object) -> None:
    configure(json=True, level="info")

    structlog.get_logger("daybook").info("odd", value=value)

    assert json.loads(capfd.readouterr().err)["event"] == "odd"


@pytest.mark.parametrize(
    "sign", ["\x1b]0;title\x07", "\x1b[2J", "\x9b2J", "\u202e", "\r", "\n", "\ud800", "\x7f"], ids=ascii
)
def test_what_would_steer_a_terminal_is_written_out(capfd: pytest.CaptureFixture[str], sign: str) -> None:
    configure(json=False, level="info")

    structlog.get_logger("daybook.http").info("request", path=f"/{sign}")
    structlog.get_logger("daybook").info(f"a{sign}b", values=[sign])
    logging.getLogger("a.library").warning("odd%s", sign)

    told = capfd.readouterr().err
    assert all(line.isprintable() for line in told.split("\n"))
    assert len(told.splitlines()) == 3
    assert ascii(sign)[1:-1].split("]")[0] in told


def test_a_failure_is_told_with_its_traceback(capfd: pytest.CaptureFixture[str]) -> None:
    configure(json=True, level="info")

    try:
        json.loads("{")
    except ValueError:
        structlog.get_logger("daybook").exception("broke")

    line = json.loads(capfd.readouterr().err)
    assert line["level"] == "error"
    assert "JSONDecodeError" in line["exception"]


def test_the_lines_of_a_traceback_stay_lines_on_a_terminal_and_what_was_hushed_up_is_not_told(
    capfd: pytest.CaptureFixture[str],
) -> None:
    configure(json=False, level="info")

    try:
        try:
            json.loads("{")
        except ValueError:
            raise KeyError(SAID) from None
    except KeyError:
        structlog.get_logger("daybook").exception("broke")

    lines = capfd.readouterr().err.splitlines()
    assert lines[-1] == "KeyError"
    assert [line for line in lines if line.lstrip().startswith("File ")]
    assert "JSONDecodeError" not in "".join(lines)


@pytest.mark.parametrize("json_lines", [True, False])
def test_what_an_error_says_is_not_told_but_what_it_is_and_what_led_to_it(
    capfd: pytest.CaptureFixture[str], json_lines: bool
) -> None:
    configure(json=json_lines, level="debug")

    try:
        try:
            raise asyncpg.NotNullViolationError(f"Failing row contains ({SAID}).")
        except asyncpg.PostgresError as error:
            raise KeyError(SAID) from error
    except KeyError:
        structlog.get_logger("daybook").exception("broke")
        logging.getLogger("uvicorn.error").exception("Exception in ASGI application\n%s", SAID)

    told = capfd.readouterr().err
    assert SAID not in told
    assert told.count("NotNullViolationError 23502") == 2
    assert told.count("and then") == 2
    assert "test_logging.py" in told


def test_of_several_errors_at_once_each_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    configure(json=True, level="debug")

    structlog.get_logger("daybook").error("broke", exc_info=ExceptionGroup(SAID, [KeyError(SAID), ValueError(SAID)]))

    told = capfd.readouterr().err
    assert SAID not in told
    assert all(name in told for name in ("ExceptionGroup", "KeyError", "ValueError"))


def test_a_library_is_heard_from_warnings_on_whatever_it_is_set_to(capfd: pytest.CaptureFixture[str]) -> None:
    configure(json=True, level="debug")
    logger = logging.getLogger("openai")
    logger.setLevel(logging.DEBUG)

    logger.debug("Request options: %s", SAID)
    logger.setLevel(logging.NOTSET)

    assert capfd.readouterr().err == ""


def test_what_a_library_warns_of_is_a_line_like_ours(capfd: pytest.CaptureFixture[str]) -> None:
    configure(json=True, level="info")

    logging.getLogger("asyncio").warning("slow %s", "callback")
    logging.getLogger("asyncio").info("not told")

    line = json.loads(capfd.readouterr().err)
    assert (line["event"], line["level"], line["logger"]) == ("slow callback", "warning", "asyncio")


class Gone(io.StringIO):
    def write(self, _text: str) -> int:
        raise BrokenPipeError


def test_a_line_that_nobody_reads_any_more_stops_nothing() -> None:
    configure(json=True, level="info")
    closed = io.StringIO()
    closed.close()

    for nobody in (Gone(), closed):
        with contextlib.redirect_stderr(nobody):
            structlog.get_logger("daybook").info("lost")
