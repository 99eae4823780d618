"""Finds relative times in a text: "two weeks ago", "last weekend", "over the summer", 三天前. Pure.

dateparser knows "ago" and "last" in few of the languages, and no weekends or seasons, and mistakes a duration for a
time: "for two weeks" is not a time, and "the last two weeks" is all of them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from app.recall.periods import SEASONS, Stretch
from app.recall.time_forms import FORMS
from app.recall.time_patterns import Meaning, units_of

_WORDS: Final = frozenset({*SEASONS, "decade"})


@dataclass(frozen=True, slots=True)
class TimePhrase:
    """A phrase of a text; ``stretch`` None: it says how long, and not when.

    ``is_word``: a message of that time may contain it too: "summer".
    """

    phrase: str
    stretch: Stretch | None
    is_word: bool = False


def time_phrases(text: str, now: datetime) -> Iterator[TimePhrase]:
    """The relative times in a text, as they are written there; none is part of another. ``now`` has a zone."""
    rest = text
    for form, meaning in FORMS:
        for match in form.finditer(rest):
            yield TimePhrase(match[0], _stretch(meaning, match, now), is_word=not _WORDS.isdisjoint(units_of(match)))
        rest = form.sub("\n", rest)


def _stretch(meaning: Meaning, match: re.Match[str], now: datetime) -> Stretch | None:
    try:
        found = meaning(match, now)
        if found is not None:
            found[0].astimezone(UTC)
    except (OverflowError, ValueError):  # before the year 1, here or in UTC; a letter that matches only in another case
        return None
    return found
