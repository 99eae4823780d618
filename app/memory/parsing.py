"""Parses the replies of observer, reflector and extractor (memory-rules.md section 4, Parsing). It never raises."""

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Final

from app.kit.days import parse_day
from app.kit.json import storable
from app.kit.patterns import lazy_pattern
from app.memory.lines import LINE_CHARACTERS_MAX, Bullet, is_ruled, read_bullet, read_day, read_detail, read_item
from app.memory.log import in_time_order, item_line
from app.memory.model import Item, Parsed
from app.memory.repetition import is_repetitive
from app.memory.reply_shapes import in_lines

OBSERVATIONS: Final = "observations"
CURRENT_TASK: Final = "current-task"
SUGGESTED_RESPONSE: Final = "suggested-response"
NAMES: Final = frozenset({OBSERVATIONS, CURRENT_TASK, SUGGESTED_RESPONSE})

# Invisible marks of text direction; a model for Arabic or Hebrew puts one before a bullet and after a number.
_UNSEEN: Final = dict.fromkeys((0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF))
_TASKS: Final = "current[-_]task|suggested[-_]response"
_TAG: Final = lazy_pattern(rf"\s*<(/?)(observations|{_TASKS})\s*>", re.IGNORECASE)
_ESCAPED: Final = lazy_pattern("&lt;observations&gt;", re.IGNORECASE)
_GLUED: Final = lazy_pattern(
    rf"(#[0-9]+(?:[-–—]#?[0-9]+)?[\])]?[.,;]?\s*(?:</observations\s*>\s*)?)<({_TASKS})\s*>", re.IGNORECASE
)
_HEADING: Final = lazy_pattern(r"\s*#{1,6} +\S")
_CITES: Final = lazy_pattern(r"[#＃]\d")
# "None" in the language of the conversation, as the observer is asked to write.
_NOTHING: Final = lazy_pattern(
    r"[\s*_(（[-]*(?:none|nothing|n/a|kein[es]?|nichts|ningun[oa]|ningún|nada|nenhum(?:a)?|aucune?|rien|nessun[oa]?|niente"
    r"|geen|niets|нет|ничего|немає|brak|yok|ingen|inget|tidak ada|không(?: có)?|无|無|没有|沒有|暂无|暫無"
    r"|(?:特に)?(?:なし|無し)|없음|لا شيء|لا يوجد|कुछ नहीं|कोई नहीं)[\s*_.。．)）\]-]*",
    re.IGNORECASE,
)
_CLOSES_AT_END: Final = lazy_pattern(rf"</(observations|{_TASKS})\s*>\s*$", re.IGNORECASE)


def block(tag: str, text: str) -> str:
    return f"<{tag}>\n{text}\n</{tag}>"


def parse(raw: str) -> Parsed:
    """The parsed reply of a model; a repetitive reply gives nothing.

    In a whole ``<observations>`` block wrapped lines are joined or, if it has no list line, each line is an item;
    without a block every list line of the reply counts.
    """
    plain = html.unescape(raw) if _ESCAPED.search(raw) and not _TAG.search(raw) else raw
    lines = [line[:LINE_CHARACTERS_MAX] for line in in_lines(storable(plain).translate(_UNSEEN)).split("\n")]
    if is_repetitive("\n".join(lines)):
        return Parsed(items=(), complete=False, repetitive=True)
    blocks, rest = _blocks(_closed([piece for line in lines for piece in _pieces(line)]))
    complete = OBSERVATIONS in blocks
    outside = (piece.text for piece in rest if not piece.name)
    return Parsed(
        items=_items(_listed(blocks[OBSERVATIONS]) if complete else filter(_is_listed, outside)),
        current_task=_task(blocks.get(CURRENT_TASK)),
        suggested_response=_task(blocks.get(SUGGESTED_RESPONSE)),
        complete=complete,
    )


# Blocks: a tag counts at the start of a line. A block that no such tag closes is closed by the last closing tag at the
# end of a line. A task's block also counts if it follows a citation, with which a line of the log is over, and ends the
# line.


@dataclass(frozen=True, slots=True)
class _Piece:
    """A line, or a tag of the block ``name``."""

    text: str
    name: str | None = None
    closes: bool = False


def _pieces(line: str) -> Iterator[_Piece]:
    """The tags of a line and the texts between; a block glued to the end of a line of the log is split off first."""
    glued = _GLUED.search(line)
    if glued and _CLOSES_AT_END.search(line) and _last_closing(line[glued.end() :], _name(glued[2])):
        yield from _tagged(line[: glued.end(1)])
        yield from _tagged(line[glued.end(1) :])
    else:
        yield from _tagged(line)


def _tagged(line: str) -> Iterator[_Piece]:
    """The tags at the start of a line, the last tag on it that closes one of them, and the texts between."""
    text = line
    while tag := _TAG.match(text):
        closes, name = bool(tag[1]), _name(tag[2])
        yield _Piece(tag[0], name, closes)
        text = text[tag.end() :]
        if not closes:
            closing = _last_closing(text, name)
            if closing is None:
                break
            yield _Piece(text[: closing.start()])
            text = text[closing.start() :]
    if text.strip() or text == line:
        yield _Piece(text)


def _closed(pieces: list[_Piece]) -> list[_Piece]:
    """The pieces, with closing tags at the end of a line split off for blocks that are never closed otherwise."""
    unclosed = {piece.name for piece in pieces if piece.name} - {piece.name for piece in pieces if piece.closes}
    ends = {
        _name(tag[1]): (at, tag.start())
        for at, piece in enumerate(pieces)
        if unclosed and piece.name is None and (tag := _CLOSES_AT_END.search(piece.text))
    }
    for (at, start), name in sorted(((ends[name], name) for name in unclosed if name in ends), reverse=True):
        text = pieces[at].text
        pieces[at : at + 1] = [_Piece(text[:start]), _Piece(text[start:], name, closes=True)]
    return pieces


def _name(tag: str) -> str:
    return tag.lower().replace("_", "-")


def _last_closing(text: str, name: str) -> re.Match[str] | None:
    closings = re.finditer(rf"</{name.replace('-', '[-_]')}\s*>", text, re.IGNORECASE)
    return max(closings, key=lambda match: match.start(), default=None)


def _blocks(pieces: Sequence[_Piece], names: frozenset[str] = NAMES) -> tuple[dict[str, list[str]], list[_Piece]]:
    """The lines inside whole blocks of these names, those of several of one name joined, and the pieces outside.

    A task's block inside the log's block is taken out of it.
    """
    blocks: dict[str, list[str]] = {}
    rest: list[_Piece] = []
    last_closing = {piece.name: at for at, piece in enumerate(pieces) if piece.closes}
    at = 0
    while at < len(pieces):
        piece = pieces[at]
        if piece.name in names and not piece.closes and last_closing.get(piece.name, -1) > at:
            end = _end(pieces, at)
            block = list(pieces[at:end])
            if piece.name == OBSERVATIONS:
                tasks, block = _blocks(block, NAMES - {OBSERVATIONS})
                for name, lines in tasks.items():
                    blocks.setdefault(name, []).extend(lines)
            blocks.setdefault(piece.name, []).extend(_inside(block))
            at = end
        else:
            rest.append(piece)
        at += 1
    return blocks, rest


def _inside(pieces: Sequence[_Piece]) -> Iterator[str]:
    """The texts of pieces from an opening tag on; between two blocks of that name only the list lines."""
    name, between = pieces[0].name, False
    last_opening = max(at for at, piece in enumerate(pieces) if piece.name == name and not piece.closes)
    for at, piece in enumerate(pieces):
        if piece.name == name:
            between = piece.closes and at < last_opening
        elif not piece.name and (not between or _is_listed(piece.text)):
            yield piece.text


def _end(pieces: Sequence[_Piece], start: int) -> int:
    """Where the block opened at ``start`` closes: the last closing tag before another kind of block opens.

    If there is none before, the first one after. The caller knows that there is one.
    """
    name, end = pieces[start].name, len(pieces)
    for at in range(start + 1, len(pieces)):
        piece = pieces[at]
        if piece.closes and piece.name == name:
            end = at
        elif piece.name not in {None, name} and not piece.closes and end < at:
            break
    return end


def _task(lines: Sequence[str] | None) -> str | None:
    """The text of a task's block; None if it is empty or missing, "" if it says that there is none.

    It is cut to the length of a line, because it stands in every context.
    """
    told = "\n".join(lines).strip()[:LINE_CHARACTERS_MAX].rstrip() if lines else ""
    return "" if told and _NOTHING.fullmatch(told) else told or None


# Lines: bullets with their wrapped lines and sub-bullets, by day.


@dataclass(slots=True)
class _Entry:
    """A top-level bullet being read: its own text and its details', each as the lines it was wrapped into."""

    day: str
    indent: int
    text: list[str]
    details: list[list[str]] = field(default_factory=list)

    def item(self) -> Item | None:
        """The item; if the bullet is all head, a time alone for instance, the first detail is the text."""
        texts, details = self.text, self.details
        item = read_item(" ".join(texts), day=self.day)
        if item is None and details:
            item, details = read_item(" ".join([*texts, *details[0]]), day=self.day), details[1:]
        if item is None:
            return None
        read = (read_detail(" ".join(lines)) for lines in details)
        return replace(item, details=tuple(detail for detail, _ in groupby(read) if detail))


def _listed(lines: Sequence[str]) -> Sequence[str]:
    """The lines, each made a list line if none is one."""
    if any(map(read_bullet, lines)):
        return lines
    return [line if _says_nothing(line) or read_day(line) is not None else f"* {line.strip()}" for line in lines]


def _says_nothing(line: str) -> bool:
    """Whether the line is ruled, or a heading that is no day's."""
    return is_ruled(line) or (_HEADING.match(line) is not None and read_day(line) is None)


def _is_listed(line: str) -> bool:
    return read_bullet(line) is not None or read_day(line) is not None


def _items(lines: Iterable[str]) -> tuple[Item, ...]:
    """The items of a log, those of each day sorted by time; of equal neighbours one is kept."""
    items = (item for entry in _entries(lines) if (item := entry.item()))
    return tuple(item for item, _ in groupby(in_time_order(items)))


def _entries(lines: Iterable[str]) -> Iterator[_Entry]:
    day, entry, wrapped = "", None, None
    for line in lines:
        bullet = read_bullet(line)
        if _says_nothing(line):
            wrapped = None
        elif (found := _begun_day(line, bullet, entry)) is not None:
            if entry:
                yield entry
            day, entry, wrapped = found, None, None
        elif bullet:
            wrapped = [bullet.text]
            if entry and (bullet.arrow or bullet.indent > entry.indent + 1):
                entry.details.append(wrapped)
                continue
            if entry:
                yield entry
            entry = _Entry(day, bullet.indent, wrapped)
        elif wrapped:
            wrapped.append(line)
    if entry:
        yield entry


def _begun_day(line: str, bullet: Bullet | None, entry: _Entry | None) -> str | None:
    """The day of a header, or of a top-level bullet that only names a day; None of other lines."""
    if bullet is None:
        return read_day(line)
    if entry and (bullet.arrow or bullet.indent > entry.indent + 1):
        return None
    text = bullet.text
    if text[:1].isdigit() and (item := read_item(text, day="")):  # "0:00 Aug 1, 2026", which is "(00:00) ..." in a log
        text = item_line(item)[2:]
    return day if (day := read_day(text)) and parse_day(day) and not _CITES.search(text) else None
