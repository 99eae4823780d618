"""Checks whether the lines of a log are grounded in the messages that they cite."""

from calendar import day_abbr, day_name, month_abbr, month_name
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from app.kit.days import day_label
from app.kit.words import names
from app.memory.grounding.checking import stands_on
from app.memory.grounding.sources import Ground, item_source
from app.memory.model import Item
from benchmarks.cache.evidence import items_of
from benchmarks.quality.talks import Talk

# A date is checked as a date, which may be computed: "yesterday (7 May 2023)".
OF_DATES = frozenset([*day_abbr, *day_name, *month_abbr, *month_name])


def grounded(talk: Talk, log: Sequence[str]) -> list[bool]:
    """For each line whether its names, numbers, dates and quotations occur in its cited messages.

    Lines that cite nothing are not counted: the memory guide beside the log has lines too.
    """
    return [_is_grounded(talk, item) for text in log for item in items_of(text) if item.cites]


def _is_grounded(talk: Talk, item: Item) -> bool:
    text = " ".join([item.text, *(detail.text for detail in item.details)])
    return is_said(talk, text, {seq for cite in item.all_cites for seq in range(cite.first, cite.last + 1)})


def is_said(talk: Talk, text: str, seqs: Collection[int]) -> bool:
    """Whether the names, numbers, dates and quotations of a text occur in these messages."""
    said = [_said(message) for seq, message in enumerate(talk.messages, start=1) if seq in seqs]
    named = all(any(name in one.text for one in said) for name in names(text) if name not in OF_DATES)
    return bool(said) and named and stands_on(text, [Ground(sources=[item_source(one) for one in said])])


def _said(message: dict[str, Any]) -> Item:
    """A message as the source of a line: speaker, content and day."""
    speaker = message.get("name") or str(message["role"]).capitalize()
    said_on = datetime.fromisoformat(message["created_at"]).date()
    return Item(text=f"{speaker}: {message['content']}", day=day_label(said_on))
