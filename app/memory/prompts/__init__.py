"""The prompts, versioned. The first line of each file is ``<!-- version: NAME -->``; it is stored with every run."""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from app.kit.patterns import lazy_pattern

VERSION = lazy_pattern(r"<!-- version: (\S+) -->\n+")
EXAMPLE = lazy_pattern(r"^\* \S+ .*?\[\w+\] (.+?) #\d", re.MULTILINE)
NAMES = ("observer", "reflector", "extractor")


@dataclass(frozen=True, slots=True)
class Prompt:
    version: str
    text: str


@cache
def prompt(name: str) -> Prompt:
    """The prompt in ``NAME.md`` beside this file, without its version line."""
    text = files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8")
    version = VERSION.match(text)
    if version is None:
        raise ValueError(f"{name}.md does not begin with its version")
    return Prompt(version[1], text[version.end() :].strip())


@cache
def examples() -> frozenset[str]:
    """What the lines say that the prompts have as examples."""
    return frozenset(said for name in NAMES for said in EXAMPLE.findall(prompt(name).text))
