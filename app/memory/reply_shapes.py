"""Converts replies in other shapes than requested, as small models give them, to lines of the log. Pure.

JSON, a table, XML elements, headings in place of tags, a quoted whole. Each record of these becomes one line: its day,
mark, time and tag first, then its words, then its citations. A reply in the requested form is left as it is.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any, Final

from app.kit.days import parse_day
from app.kit.patterns import lazy_pattern
from app.memory.lines import LEVELS, read_bullet, read_day
from app.memory.model import Priority, Tag

_BLOCKS: Final = r"observations|current[ _-]?task|suggested[ _-]?response"
_TASK: Final = frozenset({"current-task", "suggested-response"})
_BLOCK_TAG: Final = lazy_pattern(rf"(?:^|\n)[ \t]*</?(?:{_BLOCKS})\s*>", re.IGNORECASE)
_HEADING: Final = lazy_pattern(
    rf"\s*(?:#{{1,6}} +[*_]*|\*\*|__)(?P<name>{_BLOCKS})(?P<colon>[*_]*\s*[:：])?[*_]*\s*(?P<rest>.*)", re.IGNORECASE
)
_QUOTED: Final = lazy_pattern(r"[ \t]*(?:>[ \t]?)+")

_ELEMENTS: Final = "observation|item|entry|note|fact|event|memory|date|li"
_LIST: Final = lazy_pattern(r"(?:^|\n)[ \t]*(?:[*+•-]|[0-9]{1,3}[.)]) ")
_AROUND_ELEMENTS: Final = lazy_pattern(r"(?:^|(?<=\n))[ \t]*</?(?:ul|ol|list)>[ \t]*(?=\n|$)", re.IGNORECASE)
_ELEMENT: Final = lazy_pattern(rf"<(?P<closes>/?)(?P<name>{_ELEMENTS})(?P<attributes>\s[^<>]*)?>", re.IGNORECASE)
_CHILD: Final = lazy_pattern(r"<([a-z][\w-]*)(?:\s[^<>]*)?>([^<>]*)</\1\s*>", re.IGNORECASE)
_STYLE: Final = lazy_pattern("</?(?:b|strong|em|i)>", re.IGNORECASE)
_ATTRIBUTE: Final = lazy_pattern(r"=\s*(?:\"([^\"]*)\"|'([^']*)')")
_BULLET_SIGNS: Final = " \t*+-•"
_LINE_BREAK: Final = lazy_pattern(r"(?<!<br>)(?<!<br/>)(?:<br/?>)++[^\S\n]*(?=\n|$|</)", re.IGNORECASE)

_ROW: Final = lazy_pattern(r"\s*\|(.*)\|\s*")
_BETWEEN_CELLS: Final = lazy_pattern(r"(?<!\\)\|")
_RULE_OF_TABLE: Final = lazy_pattern(r"\s*\|(?:\s*:?-+:?\s*\|)+\s*")

# JSON from the start of a line to the end of one; each object of an array may be on a line of its own.
_JSON_BEGINS: Final = lazy_pattern(r"(?:^|\n|>)[^\S\n]*(?=[{\[])(\[(?=\s*[\"{\[\]])|\{(?=\s*[\"}]))")
_JSON_ENDS: Final = lazy_pattern(r"[ \t]*,?[ \t]*(?=\n|$|<)")

_CITES: Final = lazy_pattern(r"[(\[]?#[0-9].*")
_CITING_KEY: Final = lazy_pattern(r"(?i:.*(?:cit|message|msg|source|ref|seq))|#")
_NUMBERING_KEY: Final = lazy_pattern(r"(?i:id|index|no|nr|number|score|confidence|importance|level|priority)")
_TIME: Final = lazy_pattern(r"(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?:\s?[ap]m)?", re.IGNORECASE)
_NOTHING: Final = frozenset({"", "-", "–", "—", "n/a", "none", "null"})


def in_lines(reply: str) -> str:
    """The reply with parts in other shapes converted to lines of the log, and all else as it was."""
    reply = _without_elements(_AROUND_ELEMENTS.sub("", _LINE_BREAK.sub("", _with_json_read(reply))))
    lines = _unquoted(reply.split("\n"))
    if not _BLOCK_TAG.search(reply):
        lines = [*_with_tags(lines)]
    return "\n".join(_without_tables(lines))


def _with_tags(lines: Sequence[str]) -> Iterator[str]:
    """The lines with the tags that headings stand for: ``## Current task``, ``**Observations:**``."""
    opened = ""
    for line in lines:
        heading = _HEADING.fullmatch(line)
        if heading is None or (heading["rest"] and not heading["colon"]):
            yield line
            continue
        if opened:
            yield f"</{opened}>"
        opened = _block_name(heading["name"])
        yield f"<{opened}>"
        yield heading["rest"]
    if opened:
        yield f"</{opened}>"


def _block_name(name: str) -> str:
    plain = re.sub("[ _-]", "", name.lower())
    return {"currenttask": "current-task", "suggestedresponse": "suggested-response"}.get(plain, plain)


def _unquoted(lines: Sequence[str]) -> Sequence[str]:
    """The lines without ``>`` if all of them but tags and blank ones are quoted."""
    quoted = [_QUOTED.match(line) for line in lines]
    told = [quote for line, quote in zip(lines, quoted, strict=True) if line.strip() and not _BLOCK_TAG.match(line)]
    if not told or None in told:
        return lines
    return [line[quote.end() :] if quote else line for line, quote in zip(lines, quoted, strict=True)]


def _without_tables(lines: Sequence[str]) -> Iterator[str]:
    """Each row as a line. The header, above a rule, is dropped unless it cites something."""
    for line, following in pairwise((*lines, "")):
        row = _ROW.fullmatch(line)
        if row is None:
            yield line
        elif not _RULE_OF_TABLE.fullmatch(line):
            cells = [cell.replace("\\|", "|").strip() for cell in _BETWEEN_CELLS.split(row[1])]
            if not _RULE_OF_TABLE.fullmatch(following) or any(map(_CITES.fullmatch, cells)):
                yield from _record(cells)


# Elements


def _without_elements(reply: str) -> str:
    """Each element that begins a line as a line: its attributes and the texts of its children, or its own text.

    Of an element around a list only the tags are removed.
    """
    told, at, opened = [], 0, None
    for tag in _ELEMENT.finditer(reply):
        if not tag["closes"]:
            start = max(at, reply.rfind("\n", 0, tag.start()) + 1)
            if opened is None and not reply[start : tag.start()].strip(_BULLET_SIGNS):
                opened, begun = tag, start
        elif opened and tag["name"].lower() == opened["name"].lower():
            inside = reply[opened.end() : tag.start()]
            told += [reply[at:begun], "\n", "\n".join(_element(opened["attributes"] or "", inside))]
            at, opened = tag.end(), None
    return "".join([*told, reply[at:]])


def _element(attributes: str, inside: str) -> Iterator[str]:
    """The lines of an element: its list, those of its children if several have one name, else one line."""
    if _LIST.search(inside):
        yield f"{inside}\n"
        return
    names = [tag["name"].lower() for tag in _ELEMENT.finditer(inside) if not tag["closes"]]
    if len(names) > len(set(names)):
        yield _without_elements(inside)
        return
    plain = _STYLE.sub("", inside)
    named = [one or other for one, other in _ATTRIBUTE.findall(attributes)]
    cells = [plain] if _CHILD.sub("", plain).strip() else [child[2] for child in _CHILD.finditer(plain)]
    yield from _record([*filter(_is_head, named), *cells])


# JSON


def _with_json_read(reply: str) -> str:
    """The reply with each JSON value on lines of its own converted, in the log's block, unless it has a list line."""
    begun = _JSON_BEGINS.search(reply)
    if begun is None or any(map(read_bullet, reply.split("\n"))):
        return reply
    told, records, at, is_of_task = list[str](), list[str](), 0, True
    while begun is not None:
        try:
            value, end = json.JSONDecoder(strict=False).raw_decode(reply, begun.start(1))
            lines = [*_values(value)]
        except (ValueError, RecursionError):
            break
        behind = _JSON_ENDS.match(reply, end)
        if behind is None:
            break
        told += [reply[at : begun.start(1)], "\n", *(f"{line}\n" for line in lines)]
        records += lines
        is_of_task = is_of_task and bool(value) and isinstance(value, dict) and {*map(_block_name, value)} <= _TASK
        at = behind.end()
        begun = _JSON_BEGINS.search(reply, at)
    read = "".join([*told, reply[at:]])
    if at == 0 or _BLOCK_TAG.search(reply):
        return read
    # "Sure!" and "Let me know" around an empty list are no notes; lines beside JSON of the task alone may be.
    if not (is_of_task or any(map(read_bullet, records))):
        read = "\n".join(records)
    return f"<observations>\n{read}\n</observations>"


def _values(value: Any) -> Iterator[str]:
    """A JSON value as lines. The scalars of an object are one record; its other values are read in turn."""
    match value:
        case str():
            yield from _record([value])
        case list():
            yield from chain.from_iterable(map(_values, value))
        case dict():
            yield from _record(chain.from_iterable(_cells(key, item) for key, item in value.items()))
            for key, item in value.items():
                name = _block_name(key)
                if name in _TASK and isinstance(item, str):
                    yield from (f"<{name}>", item, f"</{name}>")
                elif isinstance(item, dict | list) and not _CITING_KEY.match(key):
                    yield from _day(key)
                    yield from _values(item)


def _cells(key: str, value: Any) -> Iterator[str]:
    if _block_name(key) in _TASK or isinstance(value, bool):
        return
    if _CITING_KEY.match(key):
        cited = value if isinstance(value, list) else [value]
        yield from (f"#{one}" for one in cited if isinstance(one, int))
        yield from (
            one if one.startswith("#") or not one.isdecimal() else f"#{one}" for one in cited if isinstance(one, str)
        )
    elif isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not _NUMBERING_KEY.fullmatch(key):
        yield f"{key}: {value}"


# Records


def _record(cells: Iterable[str]) -> Iterator[str]:
    """One line of the cells, below a ``Date:`` header if one of them is a day; nothing of empty cells."""
    told = [cell for cell in (" ".join(cell.split()) for cell in cells) if cell.lower() not in _NOTHING]
    days = [line for cell in told for line in _day(cell)]
    heads = [_head(cell) for cell in told if _is_head(cell)]
    cites = [cell for cell in told if _CITES.fullmatch(cell)]
    words = [cell for cell in told if not (_is_head(cell) or _CITES.fullmatch(cell) or [*_day(cell)])]
    yield from days
    if words:
        yield " ".join(["*", *heads, " – ".join(words).removeprefix("* "), *cites])


def _day(cell: str) -> Iterator[str]:
    day = read_day(cell)
    if day and parse_day(day):
        yield f"Date: {day}"


def _is_head(cell: str) -> bool:
    return cell.lower() in {*LEVELS, *Tag, *Priority} or _TIME.fullmatch(cell) is not None


def _head(cell: str) -> str:
    if cell.lower() in {*Tag}:
        return f"[{cell}]"
    return f"({cell})" if _TIME.fullmatch(cell) else LEVELS.get(cell.lower(), cell)
