"""Tells tool use by its outcome: one line for a run of calls to one tool, never the output itself."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from app.kit.patterns import lazy_pattern
from app.memory.cited import joined
from app.memory.extractive.cues import is_error
from app.memory.extractive.sentences import neutral, shortened
from app.memory.model import Cite, Item, Origin, Priority, Tag
from app.memory.spans import CLOSING
from app.sessions.model import Message, Part, PartType
from app.sessions.open_calls import OpenCalls

ARGUMENT_CHARACTERS_MAX = 80
ARGUMENTS_CHARACTERS_MAX = 120
OUTCOME_CHARACTERS_MAX = 160
OF_SEVERAL_CHARACTERS_MAX = 80  # of an outcome if a line tells several
EXAMPLES_MAX = 3
OUTPUT_CHARACTERS_READ = 20_000
SHORT_OUTPUT_LINES = 3
_TELLING_KEYS = ("error", "message", "status", "result", "summary", "detail", "title", "name", "id")
_FAULT_KEYS = ("error", "exception", "errors")  # a count under them is a finding, not a failure
_EXIT_KEYS = ("exit_code", "exitcode", "exit_status", "returncode", "return_code")
# Keys of what a program printed; of one that failed stderr comes first.
_PRINTED_KEYS = ("stderr", "stdout", "output", "content", "text")
_SUCCESS_KEYS = ("ok", "success", "succeeded")
_FAILED_STATES = frozenset({"error", "failed", "failure"})
# In words: a number that no message says would be taken for an invented one (memory-rules.md section 4, grounded).
_TIMES = ("", " twice", *(f" {n} times" for n in ("three", "four", "five", "six", "seven", "eight", "nine", "many")))
_LEADS_TO = "->"
_ERROR_FIRST = lazy_pattern(r"\W*(?:errors?|fatal|exception|failed|failure)\b", re.IGNORECASE)


@dataclass(slots=True)
class Use:
    """One call of a tool and, once it has come, its outcome."""

    name: str
    arguments: str
    seq: int
    last_seq: int
    outcome: str = ""
    failed: bool = False


@dataclass(slots=True)
class Uses:
    """The tool uses of a span, in order. A result is added to its call; without one it is a use of its own."""

    made: list[Use] = field(default_factory=list)
    _by_id: dict[str, Use] = field(default_factory=dict)
    _waiting: OpenCalls[Use] = field(default_factory=OpenCalls)

    def add(self, message: Message) -> None:
        if message.kind in CLOSING:
            self._waiting.clear()
        for part in message.parts:
            match part.get("type"):
                case PartType.TOOL_CALL:
                    self._called(part, message.seq)
                case PartType.TOOL_RESULT:
                    self._ended(part, message)

    def _called(self, part: Part, seq: int) -> None:
        use = Use(neutral(str(part.get("name") or "tool")), _arguments(part.get("arguments")), seq, seq)
        self.made.append(use)
        self._by_id[str(part.get("id"))] = use
        self._waiting.called(part, use, message=seq)

    def _ended(self, part: Part, message: Message) -> None:
        use = self._waiting.answered(part) or self._by_id.get(str(part.get("tool_call_id")))
        if use is None:
            use = Use(neutral(message.name or "tool"), "", message.seq, message.seq)
            self.made.append(use)
        use.last_seq = message.seq
        use.outcome, use.failed = _outcome(part.get("output"), flagged=part.get("is_error") is True)


def tool_lines(uses: Iterable[Use], *, breaks: Iterable[int]) -> Iterator[tuple[int, Item]]:
    """(first seq, line) for each run of uses of one tool that ended alike; a run ends at a seq of ``breaks``."""
    stops = sorted(breaks)
    run: list[Use] = []
    for use in uses:
        if run and not (_alike(run[-1], use) and not any(run[-1].seq < stop < use.seq for stop in stops)):
            yield run[0].seq, _line(run)
            run = []
        run.append(use)
    if run:
        yield run[0].seq, _line(run)


def _alike(left: Use, right: Use) -> bool:
    return left.name == right.name and left.failed == right.failed


def _line(run: list[Use]) -> Item:
    """One line for a run: uses that ended with the same words together, of many endings the first ones and the last."""
    alike = [list(group) for _, group in groupby(run, _ending)]
    characters = OUTCOME_CHARACTERS_MAX if len(alike) == 1 else OF_SEVERAL_CHARACTERS_MAX
    told = list(dict.fromkeys(_told(group, characters) for group in alike))
    shown = "; ".join(told if len(told) <= EXAMPLES_MAX else [*told[: EXAMPLES_MAX - 1], "…", told[-1]])
    times = _TIMES[min(len(run), len(_TIMES)) - 1]
    return Item(
        text=f"Ran {run[0].name}{times}{' ' if shown.startswith(_LEADS_TO) else ': '}{shown}",
        priority=Priority.MEDIUM,
        tag=Tag.ISSUE if run[0].failed else Tag.OUTCOME,
        origin=Origin.TOOL,
        cites=joined(Cite(seq, seq) for use in run for seq in (use.seq, use.last_seq)),
    )


def _ending(use: Use) -> str:
    outcome = use.outcome or "no result"
    return f"error: {outcome}" if use.failed and not _ERROR_FIRST.match(outcome) else outcome


def _told(uses: list[Use], characters: int) -> str:
    """Examples of the arguments of these uses, and how all of them ended."""
    examples = list(dict.fromkeys(use.arguments for use in uses if use.arguments))
    called = "; ".join(examples[:EXAMPLES_MAX]) + ("; … " if len(examples) > EXAMPLES_MAX else " " if examples else "")
    return f"{called}{_LEADS_TO} {shortened(_ending(uses[0]), characters)}"


def _arguments(arguments: object) -> str:
    if not isinstance(arguments, Mapping):
        return shortened(neutral(str(arguments or "")), ARGUMENTS_CHARACTERS_MAX)
    shown = [f"{neutral(str(key))}={_scalar(value)}" for key, value in arguments.items() if _is_scalar(value)]
    return shortened(", ".join(shown), ARGUMENTS_CHARACTERS_MAX)


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | int | float) and len(str(value)) <= ARGUMENT_CHARACTERS_MAX and value != ""


def _scalar(value: object) -> str:
    return neutral(str(value).lower() if isinstance(value, bool) else str(value))


def _outcome(output: Any, *, flagged: bool) -> tuple[str, bool]:
    """The outcome of a result in a line, and whether it is a failure."""
    text = _text(output)
    found = _object(text)
    if found is None:
        told, failed = _told_by_lines(text[:OUTPUT_CHARACTERS_READ], flagged=flagged)
    else:
        failed = flagged or _says_failed(found)
        told = ", ".join(filter(None, (_told_by_keys(found), _printed(found, failed=failed))))
        told = told or text[:OUTPUT_CHARACTERS_READ]
    return shortened(neutral(told), OUTCOME_CHARACTERS_MAX) or "no output", failed


def _text(output: Any) -> str:
    if isinstance(output, str):
        return output
    if isinstance(output, list):
        parts = [part for part in output if isinstance(part, Mapping)]
        if parts and all("type" in part for part in parts):
            return "\n".join(str(part.get("text") or part.get("name") or part["type"]) for part in parts)
    return json.dumps(output, ensure_ascii=False, default=str)


def _object(text: str) -> dict[str, Any] | None:
    """The result as a JSON object, a list as the entries of one; None for anything else."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):  # not JSON, or nested past reading
        return None
    return value if isinstance(value, dict) else {"entries": value}


def _says_failed(found: Mapping[str, Any]) -> bool:
    """Whether an object tells of a failure by its own fields; the words of its values say nothing about that."""
    if any(found.get(key) is False for key in _SUCCESS_KEYS):
        return True
    faults = [found[key] for key in _FAULT_KEYS if found.get(key)]
    if any(fault is True or not isinstance(fault, int | float) for fault in faults):
        return True
    if any(key.lower() in _EXIT_KEYS and code not in {0, "0", None} for key, code in found.items() if _is_scalar(code)):
        return True
    return str(found.get("status")).lower() in _FAILED_STATES


def _printed(found: Mapping[str, Any], *, failed: bool) -> str:
    """The line of a program's output that says how it went, if the output is too long to be told whole."""
    keys = _PRINTED_KEYS if failed else reversed(_PRINTED_KEYS)
    texts = (str(found.get(key) or "")[:OUTPUT_CHARACTERS_READ] for key in keys if isinstance(found.get(key), str))
    return next((_told_by_lines(text, flagged=failed)[0] for text in texts if not _is_scalar(text) and text), "")


def _told_by_keys(found: Mapping[str, Any]) -> str:
    """The telling scalars of an object, then those one level deeper; of a list, or lists in it, the first entry's."""
    keys = sorted(found, key=_rank)
    told = [f"{key}: {_scalar(found[key])}" for key in keys if _is_scalar(found[key])]
    deeper = [f"{key}: {inner}" for key in keys if (inner := _inner(found[key]))]
    return ", ".join(told + deeper)


def _inner(value: object) -> str:
    match value:
        case dict():
            return _arguments(value)
        case [first, *others]:
            while isinstance(first, list) and first:
                others, first = others or first[1:], first[0]
            shown = _scalar(first) if _is_scalar(first) else _arguments(first) if isinstance(first, dict) else ""
            return f"{shown}; …" if shown and others else shown
    return ""


def _rank(key: str) -> int:
    return next((at for at, telling in enumerate(_TELLING_KEYS) if telling in key.lower()), len(_TELLING_KEYS))


def _told_by_lines(text: str, *, flagged: bool) -> tuple[str, bool]:
    """The line that says how it went, and whether that is a failure.

    It is the last that speaks of an error if the text is short, a traceback, or flagged as one; else the first that
    says anything: a long text with errors in it is a log that was read, not a call that failed.
    """
    lines = [line for line in map(str.strip, text.splitlines()) if any(map(str.isalnum, line))]
    if not lines:
        return "", flagged
    errors = [line for line in lines if is_error(line)]
    failed = flagged or (bool(errors) and (len(lines) <= SHORT_OUTPUT_LINES or "Traceback" in text))
    if errors and failed:
        return errors[-1], True
    return lines[0], failed or _ERROR_FIRST.match(lines[0]) is not None
