"""Redaction hooks of an operator, good and bad."""

import asyncio


def without_codenames(text: str) -> str:
    return text.replace("codename", "[redacted: codename]")


def failing(text: str) -> str:
    raise ValueError(text)


def failing_later(text: str) -> str:
    if "codename" in text:
        raise ValueError(text)
    return text


def off_the_loop(text: str) -> str:
    """Fails where requests wait for it: it is asked in a thread, but for the try at the start."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return text
    if text == "a text":
        return text
    raise ValueError(text)


def silent(_text: str) -> None:
    return None


def unstorable(_text: str) -> str:
    return "\0"


number = 1
