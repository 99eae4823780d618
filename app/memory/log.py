"""The log as text and as JSON. ``parse`` reads back what ``render`` writes (memory-rules.md sections 4 and 6)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import groupby
from typing import Any, Final

from app.kit.days import DatePhrase, date_phrases, days_apart, parse_day, relative
from app.memory.model import Cite, Detail, Item, Origin, Priority, Tag

UNCERTAIN: Final = "(uncertain)"
HAPPENED: Final = "(likely already happened)"
_LASTING: Final = {"week of ": 6, "weekend of ": 1, "week after ": 7, "week before ": -1}  # days after the one named


def render(items: Sequence[Item], *, anchor: date | None = None) -> str:
    """The lines of ``items`` in the order given, under a ``Date:`` header wherever the day changes.

    With ``anchor`` each header says how long ago it was, and a dated intention that has passed is marked. No text of
    an item can pose as a line of its own.
    """
    lines: list[str] = []
    for number, (day, of_day) in enumerate(groupby(items, key=lambda item: item.day)):
        if day or number:
            lines.append(_header(day, anchor))
        for item in of_day:
            lines.append(item_line(item, anchor=anchor))
            lines.extend(map(detail_line, item.details))
    return "\n".join(lines)


def item_line(item: Item, *, anchor: date | None = None) -> str:
    """``* 🔴 (10:00) [fact] User moved to Lisbon. #12``, without its details."""
    mark = Priority.LOW if item.uncertain else item.priority
    head = (
        "*",
        mark or "",
        UNCERTAIN if item.uncertain else "",
        f"({item.origin})" if item.origin else "",
        f"({item.time})" if item.time else "",
        f"[{item.tag}]" if item.tag else "",
    )
    happened = HAPPENED if anchor and _has_passed(item, anchor) else ""
    return _joined((*head, one_line(item.text), happened, _cites(item.cites)))


def detail_line(detail: Detail) -> str:
    """``  * -> detail of the line above #13``."""
    return "  " + _joined(("*", "->", one_line(detail.text), _cites(detail.cites)))


def one_line(text: str) -> str:
    """The text with every run of white space as one space."""
    return " ".join(text.split())


def in_time_order(items: Iterable[Item]) -> tuple[Item, ...]:
    """The lines of each day sorted by time, if every line of that day has one; details stay with their line."""
    ordered: list[Item] = []
    for _, of_day in groupby(items, key=lambda item: item.day):
        lines = list(of_day)
        if all(item.time for item in lines):
            lines.sort(key=lambda item: item.time or "")
        ordered.extend(lines)
    return tuple(ordered)


def items_to_json(items: Iterable[Item]) -> list[dict[str, Any]]:
    """Plain JSON values for the ``items`` column; what is unset is left out.

    ``cites`` are pairs of seqs, inclusive, followed by the conversation if it is named.
    """
    return [_item_to_json(item) for item in items]


def items_from_json(values: Iterable[Mapping[str, Any]]) -> tuple[Item, ...]:
    """The items that ``items_to_json`` wrote, exactly."""
    return tuple(_item_from_json(value) for value in values)


def _header(day: str, anchor: date | None) -> str:
    found = parse_day(day) if anchor else None
    ago = f"({relative(found, anchor)})" if found and anchor else ""
    return _joined(("Date:", one_line(day), ago))


def _has_passed(item: Item, anchor: date) -> bool:
    """Whether the line plans something for a day before ``anchor``.

    An open line does if it names a day after its own, and a next step also if it names its own day. "Pay the bill of
    July 10", said in August, plans nothing. A next step without a day of its own counts as planned, another line does
    not.
    """
    if item.priority is Priority.DONE or item.tag is Tag.OUTCOME:
        return False
    said = parse_day(item.day)
    planned = max(_days_named(item.text, said if item.tag is Tag.NEXT_STEP else None), default=None)
    if planned is None or planned >= anchor:
        return False
    if item.tag is Tag.NEXT_STEP:
        return said is None or planned >= said
    return said is not None and planned > said


def _days_named(text: str, said: date | None) -> Iterator[date]:
    """The days that a text names; for "week of 14 Aug 2023", the built-in observer's name of a week, the last one."""
    if next(date_phrases(text), None) is None:  # as in most lines, which then skip the search for ranges
        return
    text = days_apart(text)
    for phrase in date_phrases(text):
        if day := _meant(phrase, said):
            lasting = next((days for words, days in _LASTING.items() if text.endswith(words, 0, phrase.start)), 0)
            yield date.fromordinal(max(1, min(day.toordinal() + lasting, date.max.toordinal())))


def _meant(phrase: DatePhrase, said: date | None) -> date | None:
    """The day of a phrase; without a year, the next such day from ``said`` on, if that is known."""
    if phrase.full or said is None or phrase.day is None or phrase.year is not None:
        return phrase.full
    days = (phrase.on(year) for year in (said.year, said.year + 1))
    return next((day for day in days if day and day >= said), None)


def _cites(cites: Iterable[Cite]) -> str:
    return " ".join(map(cite_text, cites))


def cite_text(cite: Cite) -> str:
    """``#12``, ``#15-18``, or with the conversation: ``#chat-7:12``."""
    of = "" if cite.conversation is None else f"{cite.conversation}:"
    return f"#{of}{cite.first}" if cite.first == cite.last else f"#{of}{cite.first}-{cite.last}"


def _joined(pieces: Iterable[str]) -> str:
    return " ".join(piece for piece in pieces if piece)


def _item_to_json(item: Item) -> dict[str, Any]:
    value = {
        "text": item.text,
        "day": item.day,
        "time": item.time,
        "priority": item.priority and item.priority.value,
        "tag": item.tag and item.tag.value,
        "uncertain": item.uncertain,
        "origin": item.origin and item.origin.value,
        "cites": _cites_to_json(item.cites),
        "details": [{"text": d.text, "cites": _cites_to_json(d.cites)} for d in item.details],
    }
    return {key: part for key, part in value.items() if part or key == "text"}


def _item_from_json(value: Mapping[str, Any]) -> Item:
    return Item(
        text=value["text"],
        day=value.get("day", ""),
        time=value.get("time"),
        priority=Priority(value["priority"]) if "priority" in value else None,
        tag=Tag(value["tag"]) if "tag" in value else None,
        uncertain=value.get("uncertain", False),
        origin=Origin(value["origin"]) if "origin" in value else None,
        cites=_cites_from_json(value.get("cites", ())),
        details=tuple(
            Detail(text=d["text"], cites=_cites_from_json(d.get("cites", ()))) for d in value.get("details", ())
        ),
    )


def _cites_to_json(cites: Iterable[Cite]) -> list[list[int | str]]:
    return [[cite.first, cite.last, *([] if cite.conversation is None else [cite.conversation])] for cite in cites]


def _cites_from_json(values: Iterable[Sequence[Any]]) -> tuple[Cite, ...]:
    return tuple(Cite(*value) for value in values)
