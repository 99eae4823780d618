"""Redaction hooks of an operator, good and bad."""

import asyncio
import threading
from collections.abc import Callable

asked, answering = threading.Event(), threading.Event()
changes: list[Callable[[], object]] = []  # run by ``changing`` while it holds a text
_changing = threading.Lock()


def without_codenames(text: str) -> str:
    return text.replace("codename", "[redacted: codename]")


def without_names(text: str) -> str:
    return text.replace("Ultra", "[redacted: name]")


def failing(text: str) -> str:
    raise ValueError(text)


def failing_later(text: str) -> str:
    if "codename" in text:
        raise ValueError(text)
    return text


def off_the_loop(text: str) -> str:
    """Fails if called on the event loop: it is called in a thread, except for the trial call at the start."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return text
    if text == "a text":
        return text
    raise ValueError(text)


def waiting(text: str) -> str:
    """Holds a text with "hold this" until ``answering`` is set."""
    if "hold this" in text:
        asked.set()
        assert answering.wait(60)
    return text


def changing(text: str) -> str:
    """Runs ``changes`` during a text with "hold this"; calls caused by a change return at once."""
    if "hold this" in text and _changing.acquire(blocking=False):
        try:
            for change in changes:
                change()
        finally:
            _changing.release()
    return text


def silent(_text: str) -> None:
    return None


def unstorable(_text: str) -> str:
    return "\0"


number = 1
