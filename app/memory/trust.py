"""Checks whose word a line rests on: text of a tool or a stranger never becomes the user's wish (docs/security.md).

A line is judged by the messages it cites and by its words, because citations can be false. A line that rests on foreign
text is marked; if it claims to be the user's, it becomes an uncertain fact; if the text gave orders, nothing of it is
kept but that it was there.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, groupby
from typing import Final

from app.kit.days import parse_day
from app.kit.words import terms
from app.memory.cited import Cited
from app.memory.commands import commands
from app.memory.disguises import readings
from app.memory.model import WISHES, Cite, Detail, Item, Origin, Parsed, Priority, Tag, seqs_of
from app.memory.ranges import Ranges
from app.memory.texts import all_text
from app.sessions.files import file_content, without_bytes
from app.sessions.model import Message, PartType, Trust

WITHHELD: Final = "Text that gives orders to the assistant; it is left out here."
SAID_SHARE: Final = 0.5  # of a line's words: a foreign text that holds so many may be its source
SAID_TIMES: Final = 2  # if it holds this many times as many as the trusted messages that the line cites
PASSAGE_CHARACTERS: Final = 800
SEARCH_RESULT: Final = "search_result"  # what Anthropic calls a page that was found
OWN_SHARE: Final = 0.1  # of its words: with fewer in trusted messages, no trusted speaker said it

_REPORTED: Final = frozenset({Tag.FACT, Tag.ISSUE, Tag.OUTCOME, None})
# Words for the user in logs, in the languages of most conversations.
USERS: Final = (
    "user usuario usuaria usuário usuária nutzer nutzerin benutzer benutzerin utilisateur utilisatrice utente gebruiker"
    " пользователь пользовательница користувач użytkownik kullanıcı المستخدم المستخدمة उपयोगकर्ता pengguna"
    " 用户 用戶 使用者 ユーザー 사용자"
)
_ARTICLES: Final = ("", "the ", "el ", "la ", "o ", "l'", "l’", "der ", "die ", "de ")
_USER: Final = (*(article + user for article in _ARTICLES for user in USERS.split()), "a usuária")
FRAME: Final = frozenset(
    terms(
        "assistant prefers preferred preference wants wanted wishes says said asks asked told requests requested"
        f" decides decided decision needs likes instructs instructed states stated {USERS}"
    )
)


@dataclass(frozen=True, kw_only=True)  # no slots: the words are cached, and never needed if no voice is foreign
class Voice:
    """What a message says from one origin, or a line to condense. ``origin`` None: the user's or the operator's."""

    seqs: Ranges
    text: str
    origin: Origin | None

    @cached_property
    def words(self) -> frozenset[str]:
        return _words(self.text)

    @cached_property
    def orders(self) -> bool:
        """Whether foreign text gives orders. Trusted text is not searched: a megabyte takes seconds."""
        return self.origin is not None and commands(self.text)


def message_voices(messages: Iterable[Message]) -> tuple[Voice, ...]:
    return tuple(voice for message in messages for voice in _voices(message))


def item_voices(items: Iterable[Item]) -> tuple[Voice, ...]:
    """The voices of a log's lines, each detail by itself: it may have another origin than its line."""
    return tuple(voice for item in items for voice in _of_item(item))


def vetted(parsed: Parsed, voices: Sequence[Voice], *, task: str | None = None) -> Parsed:
    """The reply without claims that foreign text planted. ``task``: the current task, which is trusted."""
    if not any(voice.origin for voice in voices):
        return parsed
    heard, known = _Heard(voices), _Heard((*voices, Voice(seqs=(), text=task or "", origin=None)))
    return replace(
        parsed,
        items=tuple(item for item, _ in groupby(_vetted(item, heard) for item in parsed.items)),
        current_task=_vetted_task(parsed.current_task, known),
        suggested_response=_vetted_task(parsed.suggested_response, known),
    )


def _voices(message: Message) -> Iterator[Voice]:
    """The message's own words and, separately, its tool results and what its files say.

    A file is a stranger's text, whoever sent it, and so is the title of a page that was found. What a call says is
    nobody's statement.
    """
    seqs = ((message.seq, message.seq),)
    outside = Origin.EXTERNAL if message.trust is Trust.EXTERNAL else Origin.TOOL
    files = [part for part in message.parts if part.get("type") == PartType.FILE]
    named = [{**without_bytes(part), "content": None} for part in files if part.get("native") != SEARCH_RESULT]
    own = all_text([*(part for part in message.parts if part.get("type") in {PartType.TEXT, PartType.IMAGE}), *named])
    attached = all_text(
        part if part.get("native") == SEARCH_RESULT else {"type": PartType.FILE, "content": file_content(part)}
        for part in files
    )
    told = all_text(part for part in message.parts if part.get("type") == PartType.TOOL_RESULT)
    if own and not message.is_foreign:
        yield Voice(seqs=seqs, text=own, origin=None)
    elif own:
        told = f"{own}\n{told}"
    for text, origin in ((told, outside), (attached, Origin.EXTERNAL)):
        yield from (Voice(seqs=seqs, text=passage, origin=origin) for passage in _passages(text))


def _passages(text: str) -> Iterator[str]:
    """Overlapping passages of a text: the words of a line count only if they stand close together."""
    for start in range(0, max(1, len(text) - PASSAGE_CHARACTERS // 2), PASSAGE_CHARACTERS // 2):
        if piece := text[start : start + PASSAGE_CHARACTERS].strip():
            yield piece


def _of_item(item: Item) -> Iterator[Voice]:
    yield Voice(seqs=seqs_of(item.cites), text=item.text, origin=item.origin)
    for detail in item.details:
        origin = _named_origin(detail) or item.origin
        yield Voice(seqs=seqs_of(detail.cites or item.cites), text=detail.text, origin=origin)


def _words(text: str) -> frozenset[str]:
    return frozenset(terms(readings(text))) - FRAME


def _vetted(item: Item, heard: "_Heard") -> Item:
    posing = bool(item.day) and not parse_day(item.day)  # a header without a date is text too
    said = f"{item.day} {item.text}" if posing else item.text
    claimed = _is_wish(item)
    basis = _basis(_words(said), item.cites, heard)
    origin = basis.origin or item.origin
    unsaid = not origin and basis.unsaid and (claimed or item.priority is Priority.HIGH)
    if origin and _is_planted(said, basis, claimed=claimed or posing):
        return _withheld(item, origin)
    details = tuple(_vetted_detail(detail, item, heard, claimed=claimed) for detail in item.details)
    marked = replace(item, origin=origin, details=details)
    if unsaid or (origin and claimed):
        return _taken_back(marked)
    return replace(marked, priority=Priority.MEDIUM) if origin and item.priority is Priority.HIGH else marked


def _is_wish(item: Item) -> bool:
    """Whether the line speaks for the user: by its tag, by its words, or by a 🔴 that no report bears."""
    if item.tag in WISHES or item.text.casefold().startswith(_USER):
        return True
    return item.priority is Priority.HIGH and item.tag not in _REPORTED


def _is_planted(text: str, basis: "_Basis", *, claimed: bool) -> bool:
    """Whether two of these hold: the line gives orders, the foreign text near it does, the line claims to be a wish.

    One alone is no attack: a log often says what the user agreed to, or that something is "always required".
    """
    own = commands(text) + claimed
    return own > 1 or (own == 1 and basis.orders)


def _vetted_detail(detail: Detail, item: Item, heard: "_Heard", *, claimed: bool) -> Detail:
    basis = _basis(_words(detail.text), detail.cites or item.cites, heard)
    if basis.origin is None or _named_origin(detail):
        return detail
    withheld = _is_planted(detail.text, basis, claimed=claimed)
    return replace(detail, text=f"({basis.origin}) {WITHHELD if withheld else detail.text}")


def _named_origin(detail: Detail) -> Origin | None:
    return next((origin for origin in Origin if detail.text.startswith(f"({origin}) ")), None)


def _withheld(item: Item, origin: Origin) -> Item:
    """The line without its words: its place, time and citations stay, so that the message can be found."""
    day = item.day if parse_day(item.day) else ""
    return Item(
        text=WITHHELD, day=day, time=item.time, priority=Priority.LOW, tag=Tag.FACT, origin=origin, cites=item.cites
    )


def _taken_back(item: Item) -> Item:
    return replace(item, priority=Priority.LOW, uncertain=True, tag=Tag.FACT)


def _vetted_task(text: str | None, heard: "_Heard") -> str | None:
    """The task, which is an order to the assistant; None if foreign text set it."""
    if not text:
        return text
    basis = _basis(_words(text), (), heard)
    return None if basis.origin or (basis.unsaid and basis.orders) else text


@dataclass(frozen=True, slots=True, kw_only=True)
class _Basis:
    """What a line rests on. ``unsaid``: hardly a word of it is trusted; ``near``: the voices that may give orders."""

    origin: Origin | None
    unsaid: bool
    near: Sequence["Voice | _Chorus"]

    @property
    def orders(self) -> bool:
        return any(one.orders for one in self.near)


@dataclass(frozen=True, kw_only=True)  # no slots, as above
class _Chorus:
    """Several voices as one: the ``words`` of the trusted ones; ``all_foreign``: there are none of these.

    ``first``: index and origin of the first foreign one.
    """

    voices: Sequence[Voice]
    words: frozenset[str]
    all_foreign: bool
    first: tuple[int, Origin] | None

    @cached_property
    def orders(self) -> bool:
        """Whether a foreign voice gives orders."""
        return any(voice.orders for voice in self.voices)


class _Heard:
    """All voices, by citation and by word."""

    def __init__(self, voices: Sequence[Voice]) -> None:
        self._voices = voices
        self.cited = Cited([voice.seqs for voice in voices], self._chorus)
        self._saying: dict[str, list[int]] = {}
        for place, voice in enumerate(voices):
            for word in voice.words if voice.origin else ():
                self._saying.setdefault(word, []).append(place)

    def saying(self, words: frozenset[str], *, own: int) -> list[Voice]:
        """The foreign voices that say the words rather than the trusted ones, which say ``own`` of them."""
        held = Counter(chain.from_iterable(self._saying.get(word, ()) for word in words))
        least = max(SAID_SHARE * len(words), own + 1)
        near = sorted((place, count) for place, count in held.items() if count >= least)
        found = ((self._voices[place], count) for place, count in near)
        return [voice for voice, count in found if _says(voice, count, of=len(words), own=own)]

    def _chorus(self, places: Sequence[int]) -> _Chorus:
        voices = [(place, self._voices[place]) for place in places]
        trusted = [voice for _, voice in voices if voice.origin is None]
        return _Chorus(
            voices=[voice for _, voice in voices],
            words=frozenset[str]().union(*(voice.words for voice in trusted)),
            all_foreign=not trusted,
            first=next(((place, voice.origin) for place, voice in voices if voice.origin), None),
        )


def _basis(words: frozenset[str], cites: Sequence[Cite], heard: _Heard) -> _Basis:
    cited = heard.cited.of(cites)
    own = sum(any(word in chorus.words for chorus in cited) for word in words)
    firsts = [chorus.first for chorus in cited if chorus.first]
    by_citation = min(firsts)[1] if firsts and all(chorus.all_foreign for chorus in cited) else None
    by_words = heard.saying(words, own=own)
    return _Basis(
        origin=by_citation or (by_words[0].origin if by_words else None),
        unsaid=bool(words) and own < OWN_SHARE * len(words),
        near=by_words or (cited if by_citation else [heard.cited.all]),
    )


def _says(voice: Voice, held: int, *, of: int, own: int) -> bool:
    """Whether a line ``of`` so many words comes rather from this foreign voice, which holds ``held`` of them.

    A voice that gives orders, or says all of the line, is suspected sooner.
    """
    least = own + 1 if held == of or voice.orders else SAID_TIMES * own
    return held >= max(1, SAID_SHARE * of, least)
