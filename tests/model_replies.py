"""The model server's default replies: a deterministic observer, reflector and extractor, computed from the prompt."""

import math
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import Any


class PromptKind(StrEnum):
    OBSERVER = "observer"
    REFLECTOR = "reflector"
    EXTRACTOR = "extractor"
    EMBEDDER = "embedder"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request, independent of its wire format."""

    model: str
    system: str
    prompt: str
    max_tokens: int
    results: tuple[str, ...] = ()  # of tools, in the whole request
    texts: tuple[str, ...] = ()  # to be embedded

    def has(self, text: str) -> bool:
        return any(text in one for one in (self.prompt, *self.texts))

    @property
    def kind(self) -> PromptKind:
        if self.texts:
            return PromptKind.EMBEDDER
        if block(self.prompt, "messages") is not None:
            return PromptKind.OBSERVER
        if block(self.prompt, "notes") is not None or block(self.prompt, "conversation") is not None:
            return PromptKind.EXTRACTOR
        return PromptKind.OTHER if block(self.prompt, "log") is None else PromptKind.REFLECTOR


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A reply that calls a tool instead of a text."""

    name: str
    arguments: dict[str, Any]


Answer = Callable[[Asked], str | ToolCall]

LABEL = re.compile(r"#(\d+) (\w+).*\((\d\d:\d\d)\)$")
LINE_CHARS = 110  # of one line of the answer, about
SHARE = 0.35  # of the source's length: the bound of the answer's
QUOTE_CHARS = 70


@dataclass(frozen=True, slots=True)
class Said:
    """One labelled message of the prompt."""

    day: str
    seq: int
    role: str
    time: str
    text: str


SYNONYMS = {"automobile": "car", "vehicle": "car", "physician": "doctor", "surgeon": "doctor", "feline": "cat"}
DIMENSIONS = 256


def embed(text: str) -> list[float]:
    """Hashed word counts in which synonyms are one word, so that texts are similar if they share meanings."""
    numbers = [0.0] * DIMENSIONS
    for word in re.findall(r"\w+", text.lower()):
        numbers[zlib.crc32(SYNONYMS.get(word, word).encode()) % DIMENSIONS] += 1
    return numbers


def observe(asked: Asked) -> str:
    """Well-formed observations that quote the messages of the prompt and cite every one of them."""
    said = list(messages(block(asked.prompt, "messages") or ""))
    lines = ["<observations>"]
    for day, group in groupby(_chunks(said), key=lambda chunk: chunk[0].day):
        lines.append(f"Date: {day}")
        lines += [_line(chunk, first=chunk[0] is said[0]) for chunk in group]
    return "\n".join([*lines, "</observations>", "<current-task>", "Carry on.", "</current-task>"])


def messages(block: str) -> Iterator[Said]:
    """The labelled messages of a span, in order."""
    day, day_next, label, text = "", "", None, list[str]()
    for line in [*block.split("\n"), "#0 end (00:00)"]:
        if line.startswith("Date: "):
            day_next = line.removeprefix("Date: ").partition(" (")[0]  # without its weekday
        elif (found := LABEL.match(line)) is not None:
            if label is not None:
                yield Said(day, int(label[1]), label[2], label[3], " ".join(text))
            day, label, text = day_next, found, []
        else:
            text.append(line.partition("|")[2].strip())


def _chunks(said: list[Said]) -> Iterator[list[Said]]:
    """Chunks of consecutive messages of one day, as many as the answer can have lines."""
    affordable = max(1, int(sum(len(one.text) for one in said) * SHARE / LINE_CHARS))
    size = math.ceil(len(said) / affordable)
    for _, day in groupby(said, key=lambda one: one.day):
        of_day = list(day)
        yield from (of_day[start : start + size] for start in range(0, len(of_day), size))


def _line(chunk: list[Said], *, first: bool) -> str:
    told = next((one for one in chunk if one.role == "user" and one.text), chunk[0])
    cite = f"#{chunk[0].seq}" if len(chunk) == 1 else f"#{chunk[0].seq}-{chunk[-1].seq}"
    return f"* {'🔴' if first else '🟡'} ({told.time}) [fact] {told.role.capitalize()} said: {_quote(told.text)} {cite}"


def _quote(text: str) -> str:
    """The beginning of the text, cut between words where it has any."""
    if len(text) <= QUOTE_CHARS:
        return text
    return text[:QUOTE_CHARS].rpartition(" ")[0] or text[:QUOTE_CHARS]


def reflect(asked: Asked) -> str:
    """The given log with fewer lines: the important ones, then the newest, as many as fit the requested size."""
    log = block(asked.prompt, "log") or ""
    lines = [line for line in log.split("\n") if line]
    kept = _kept(lines, chars=len(log) * _target_share(asked.prompt) * 0.8)
    shortened = [line for number, line in enumerate(lines) if number in kept or line.startswith("Date: ")]
    following = [*shortened[1:], "Date: end"]
    told = [one for one, after in zip(shortened, following, strict=False) if not _empty_day(one, after)]
    return "\n".join(["<observations>", *told, "</observations>"])


def extract(asked: Asked) -> str:
    """A fact for each message, or for each line of the notes."""
    notes = block(asked.prompt, "notes")
    said = messages(block(asked.prompt, "conversation") or "")
    told = [f"* 🔴 [fact] {one.role.capitalize()} said: {_quote(one.text)} #{one.seq}" for one in said if one.text]
    return "\n".join(["<observations>", *(notes.split("\n") if notes else told), "</observations>"])


def _empty_day(line: str, following: str) -> bool:
    return line.startswith("Date: ") and following.startswith("Date: ")


def _kept(lines: list[str], *, chars: float) -> set[int]:
    order = sorted(range(len(lines)), key=lambda number: ("🔴" not in lines[number], -number))
    kept, used = set[int](), 0
    for number in order:
        if lines[number].startswith("* ") and (used + len(lines[number]) <= chars or not kept):
            kept.add(number)
            used += len(lines[number])
    return kept


def _target_share(prompt: str) -> float:
    found = re.search(r"has about ([\d,]+) tokens, your text must have fewer than ([\d,]+)\.", prompt)
    if found is None:
        return 0.5
    has, target = (int(number.replace(",", "")) for number in found.groups())
    return min(1.0, target / max(1, has))


def block(prompt: str, tag: str) -> str | None:
    found = re.search(rf"^<{tag}>\n(.*?)^</{tag}>$", prompt, re.MULTILINE | re.DOTALL)
    return found[1].rstrip("\n") if found else None
