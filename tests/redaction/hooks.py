"""Redaction hooks of an operator, good and bad."""


def without_codenames(text: str) -> str:
    return text.replace("codename", "[redacted: codename]")


def failing(text: str) -> str:
    raise ValueError(text)


def failing_later(text: str) -> str:
    if "codename" in text:
        raise ValueError(text)
    return text


def silent(_text: str) -> None:
    return None


def unstorable(_text: str) -> str:
    return "\0"


number = 1
