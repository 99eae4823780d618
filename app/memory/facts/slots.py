"""Finds what a person has one of at a time in a sentence: home, work, name, age, a wish (docs/facts.md). Pure.

By frames of a subject, a verb and what must follow it, not by a word alone: "I live in Porto" says where somebody
lives; "my living room", "I lived in Tokyo" and "I live with two friends" do not. Without a frame the sentence says
nothing of such a thing. Frames of languages other than English (frames.py) are fewer, and of the user only.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Self, TypeAlias

from app.kit.patterns import lazy_pattern
from app.kit.words import terms
from app.memory.facts import frames

Slot: TypeAlias = tuple[str, str, str]  # its kind, which of several, and whose: "" the user's, or a name's, or kin's

EARLY_WORDS: Final = 3  # a sentence names early what it is about
_OTHERS: Final = (
    "wife husband spouse partner fiance girlfriend boyfriend son daughter child children kid kids baby toddler"
    " mother father mom mum mama dad papa parent parents brother brothers sister sisters sibling siblings twin"
    " grandmother grandfather grandma grandpa granny grandson granddaughter uncle aunt cousin nephew niece"
    " friend friends colleague coworker boss manager neighbour neighbor roommate flatmate landlord"
    " dog dogs puppy cat cats kitten pet pets horse parrot rabbit"
)
# Others than the speaker: what is said of one of them says nothing of the user, nor of another one.
OTHERS: Final = frozenset(terms(_OTHERS))
# Words that mean the same.
_ALIKE: Final = {
    other: first
    for words in ("mother mom mum mama", "father dad papa", "child children kid kids", "grandmother grandma granny")
    for first, *others in [list(terms(words))]
    for other in others
}
# Words that begin the statement; before them it is said whose it is.
_OPENING: Final = frozenset(
    terms(
        "live lives lived living move moved moves moving reside resides relocate relocated work works working job"
        " employed joined name named called age aged old prefer prefers preferred favourite favorite decided decides"
        " chose chosen choose settled deadline due birthday scheduled appointment budget address phone email timezone"
    )
)
# Kinds whose object is only a word at the end, which may be of another thing: two decisions about Oslo.
_LOOSE: Final = frozenset({"choice", "chosen"})
ALIKE_MIN: Final = 0.4
# One for each object, which is the first word or the last: "the deadline of the report", "prefers a window seat".
_EARLY: Final = {
    term: (kind, at)
    for kind, at, words in (
        ("choice", -1, "prefer prefers preferred bevorzuge"),
        ("chosen", -1, "decided decides chose chosen choose settled"),
        ("date", 0, "deadline due birthday appointment"),
    )
    for term in terms(words)
}

_ADVERBS: Final = (
    r"(?:now|currently|presently|still|just|recently|finally|actually|already|both|all|mostly|mainly|officially"
    r"|permanently|happily|again)"
)
_AUXILIARIES: Final = rf"(?:(?:['’](?:ve|m|re|s)|\s?(?:have|has|am|is|are|been|{_ADVERBS}))\b)*"
_WHICH: Final = "other|second|third|older|elder|younger|eldest|oldest|youngest|middle|little|big|twin|step|half|ex"
_KIN: Final = rf"\b(?:(?P<which>(?i:{_WHICH}))[ -])?(?P<kin>(?i:{'|'.join(_OTHERS.split())}))\b"
_NO_NAME: Final = (
    r"(?:I|We|You|User|The|This|That|These|Those|It|She|He|They|My|Our|Your|His|Her|Their|There|Here|What|Who|When|Where"
    r"|Since|After|Before|If|Yes|No|And|But|So|Then|Also)\b"
)
_NAME: Final = rf"(?!{_NO_NAME})[A-Z][\w-]{{1,40}}+"
_NAMED: Final = rf"(?<![\w-])(?P<named>{_NAME})"
_WHO: Final = (
    rf"(?:^|\b(?i:i|we|(?:the )?user)\b|{_KIN}(?:,? (?P<called>{_NAME}),?)?|{_NAMED})"
    rf"(?P<auxiliaries>{_AUXILIARIES})(?:\s[^.;:!?]{{1,80}}? and{_AUXILIARIES})?\s?\b"
)
_PLACE: Final = (
    r"(?!(?:an?|my|our|your|his|her|their|this|that|these|those|one|some|home|college|university|school|peace|harmony"
    r"|fear|the (?!city|town|village|[A-Z]))\b)\w"
)
_NO_EMPLOYER: Final = (
    r"(?!(?:home|nights?|least|the moment|myself|himself|herself|themselves|free|fun|him|her|them|it)\b"
    r"|\S+ (?:years?|months?|weeks?|days?|hours?)\b)"
)
_WORKS: Final = rf"(?:works?|working|(?P<past>worked))(?: {_ADVERBS}| full[- ]time| part[- ]time)*"
_STARTED: Final = r"(?:started|began) (?:to work|work|working) "
_NAMES: Final = r"(?:called|named|known as) [^a-z\s]"
_OWNER: Final = r"(?:(?!user['’])(?P<owner>\w[\w-]{0,40})['’]s )?"
_YEARS: Final = r"(?:about |almost |nearly )?\d{1,3}(?: years?[ -]old\b|[.!]?$)"


@dataclass(frozen=True, slots=True)
class _Frame:
    """A pattern of sentences that tell these ``kinds`` and, as news, ``ends`` others: a new job ends that at the bank.

    ``verbs``: every sentence of the frame has one, which is a quick check; empty if they are too many. ``copula``: only
    behind "is" or "am".
    """

    kinds: tuple[str, ...]
    verbs: tuple[str, ...]
    pattern: re.Pattern[str]
    ends: tuple[str, ...] = ()
    copula: bool = False


def _job(preposition: str) -> str:
    return rf"(?:started|began|got|found|took|accepted) (?:an?|my|the) (?:[\w-]+ ){{0,2}}job {preposition}\b"


_WORK: Final = ("work at", "work as")
_FRAMES: Final = (
    _Frame(
        ("home",),
        ("liv", "resid", "moved", "relocated"),
        lazy_pattern(
            _WHO + r"(?:(?:lives?|living|resides?|residing|(?P<past>lived|resided))"
            rf"(?: {_ADVERBS})*(?: with [^.;,]{{1,40}}?)? (?:in|at|near) {_PLACE}"
            rf"|(?:moved|relocated)(?: (?:{_ADVERBS}|back|over|out|down|up|abroad))*(?: from [^.;]{{1,40}}?)?"
            r"(?: with [^.;]{1,40}?)? to (?:an? (?:[\w-]+ ){0,3}?(?:apartment|flat|house|place|home|studio|condo) in )?"
            rf"{_PLACE})"
        ),
    ),
    _Frame(
        ("work at",),
        ("work", "employed"),
        lazy_pattern(_WHO + rf"(?:{_WORKS}(?: as [^.;]{{1,60}}?)? (?:at|for)|employed (?:at|by)) {_NO_EMPLOYER}\w"),
    ),
    _Frame(("work as",), ("work", "employed"), lazy_pattern(_WHO + rf"(?:{_WORKS}|employed) as \w")),
    _Frame(("work at",), ("work",), lazy_pattern(_WHO + _STARTED + r"(?:at|for) \w"), ends=_WORK),
    _Frame(("work as",), ("work",), lazy_pattern(_WHO + _STARTED + r"as \w"), ends=_WORK),
    _Frame(("work at",), ("job",), lazy_pattern(_WHO + _job("(?:at|with|for)")), ends=_WORK),
    _Frame(("work as",), ("job",), lazy_pattern(_WHO + _job("as")), ends=_WORK),
    _Frame(("name",), ("called", "named", "known as"), lazy_pattern(_WHO + _NAMES), copula=True),
    _Frame(("name",), ("by",), lazy_pattern(_WHO + r"go(?:es)? by(?: the name(?: of)?)? [^a-z\s]")),
    _Frame(("name",), ("all me ",), lazy_pattern(r"^(?i:(?:please |just |you can )*call me) [^a-z\s]")),
    _Frame(
        ("name",),
        ("name",),
        lazy_pattern(
            rf"(?:(?i:\bmy|\bour|\buser['’]s)|{_KIN}['’]s|{_NAMED}['’]s)"
            r" (?P<of>first |last |middle |nick|maiden |family )?(?:full |real )?name(?:['’]s| is| has changed to)\b"
        ),
    ),
    _Frame(
        ("favourite",),
        ("avorite ", "avourite "),
        lazy_pattern(
            r"(?i:\bfavou?rite (?!part|thing|moment|memory|one|bit|scene|line)(?P<of>[a-z]+(?: [a-z]+)?)) is "
        ),
    ),
    _Frame(("age",), ("m ", "is ", "are ", "re "), lazy_pattern(_WHO + _YEARS), copula=True),
    _Frame(("age",), ("turned",), lazy_pattern(_WHO + r"turned \d{1,3}\b")),
    _Frame(
        ("budget",),
        ("udget",),
        lazy_pattern(
            rf"(?i:\b{_OWNER}(?:(?P<of>[a-z]+) )?budget"
            r"(?: (?:for|on) (?:the |my |our |this |an? )?(?P<called>[^\W\d]\w*))?)"
            r"(?: is| of|:| (?:was |has been )?(?:raised|cut|changed) to)[^.;\d]{0,20}\d"
        ),
    ),
    _Frame(
        ("reached",),
        ("mail", "hone", "ddress", "zone"),
        lazy_pattern(
            rf"(?i:\b{_OWNER}(?:(?P<of>[a-z]+) )?(?P<called>e-?mail|phone|address|time ?zone)(?: address| number)?)"
            r"(?: is|:| has changed to)(?: now)? \S*[\d@/]"
        ),
    ),
    _Frame(("home",), (), lazy_pattern(frames.HOME)),
    _Frame(("work at",), (), lazy_pattern(frames.WORKPLACE)),
    _Frame(("age",), (), lazy_pattern(frames.AGE)),
    _Frame(("name",), (), lazy_pattern(frames.CALLED)),
)
_VALUE: Final = lazy_pattern(rf"{frames.NAME}[\w'’-]*(?: {frames.NAME}[\w'’-]*)*")
_COPULA: Final = lazy_pattern(r"['’](?:m|re|s)\b|\b(?:am|is|are)\b")
_PERFECT: Final = lazy_pattern(r"['’]ve\b|\b(?:have|has)\b")
_MOVED: Final = lazy_pattern(r"\b(?:moved|relocated)\b")
_LONG_AGO: Final = lazy_pattern(
    r"(?i:\bwhen (?:i|we|he|she|they|(?:the )?user) (?:was|were)\b|\bas an? (?:child|kid|baby|boy|girl|teen\w*)\b"
    r"|\bin (?:the )?19\d\d)"
)
# Negations, for the frames of other languages, which do not say what may stand before or within them.
_NOT: Final = lazy_pattern(
    r"\b[Nn]o\b(?! [A-ZÀ-ÖØ-Þ])|(?i:\b(?:non|não|ne|n['’]|nicht(?!.{1,60}\bsondern )|niet|не|nunca|jamás|nie|nooit"
    r"|jamais|никогда)(?!\w)|\bkein)"
)
_SUPPOSED: Final = lazy_pattern(r"(?i:if|unless|suppos(?:e|ing)|assuming|si(?! è)|wenn|falls|если)\b")
_TITLES: Final = frozenset(terms("dr doctor mr mrs ms prof professor"))
_MONTHS: Final = frozenset(
    terms(
        "january february march april june july august september october november december"
        " jan feb mar apr jun jul aug sep sept oct nov dec"
    )
)
_BEFORE: Final = 12  # characters
_OF_NONE: Final = frozenset({"", "my", "our", "the", "a", "s", "new", "current", "total", "whole", "overall", "is"})


@dataclass(frozen=True, slots=True)
class Spoken:
    """The slots of a sentence: those it ``tells``; ``ends``: these, and others whose earlier values it replaces.

    ``values``: for some slots the name that it gives, by which two sentences may tell the same.
    """

    tells: frozenset[Slot]
    ends: frozenset[Slot]
    values: frozenset[tuple[Slot, str]]

    def replaces(self, earlier: Self, *, alike: float) -> bool:
        """Whether this tells another value of what the earlier one told; ``alike``: the share of common words."""
        same = {slot for slot, _ in self.values & earlier.values}
        told = {slot for slot in earlier.tells & self.ends if alike >= ALIKE_MIN or slot[0] not in _LOOSE}
        return bool(told - same)


def spoken_of(text: str, words: Sequence[str]) -> Spoken:
    """The slots of a sentence, of its ``text`` without the speaker, and its content ``words``."""
    if _SUPPOSED.match(text):
        return Spoken(frozenset(), frozenset(), frozenset())
    found = [(frame, match) for frame in _FRAMES if (match := _found(frame, text))]
    tells = {(kind, *_whose(match)) for frame, match in found for kind in frame.kinds} | set(_early(words))
    ends = {(kind, *_whose(match)) for frame, match in found for kind in frame.ends}
    values = {
        ((kind, *_whose(match)), value)
        for frame, match in found
        for kind in frame.kinds
        if (value := _value(text, match))
    }
    return Spoken(frozenset(tells), frozenset(tells | ends), frozenset(values))


def other(words: Sequence[str]) -> str:
    """The first word for somebody else before the statement begins, or early on: "my sister lives in Porto"."""
    early = words[:EARLY_WORDS]
    end = next((at for at, word in enumerate(early) if word in _OPENING), len(early))
    return next((_ALIKE.get(word, word) for word in early[:end] if word in OTHERS), "")


def _found(frame: _Frame, text: str) -> re.Match[str] | None:
    """The match, unless it is denied or past: "lived in Tokyo" is, "has lived in Tokyo" is not."""
    if not frame.verbs:
        return next((match for match in frame.pattern.finditer(text) if not _is_denied(match, text)), None)
    match = frame.pattern.search(text) if any(verb in text for verb in frame.verbs) else None
    if match is None:
        return None
    held = match.groupdict()
    auxiliaries = held.get("auxiliaries") or ""
    if (frame.copula and not _COPULA.search(auxiliaries)) or (held.get("past") and not _PERFECT.search(auxiliaries)):
        return None
    return None if _MOVED.search(match[0]) and _LONG_AGO.search(text) else match


def _is_denied(match: re.Match[str], text: str) -> bool:
    return _NOT.search(text, max(0, match.start() - _BEFORE), match.end()) is not None


def _whose(match: re.Match[str]) -> tuple[str, str]:
    """Which of several it is, and whose."""
    held = {name: (value or "").strip().casefold() for name, value in match.groupdict().items()}
    kin = next(terms(held["kin"]), "") if held.get("kin") else ""
    who = _ALIKE.get(kin, kin) or held.get("named", "") or held.get("owner", "")
    of = held.get("of", "")
    return " ".join(filter(None, [held.get("which", ""), "" if of in _OF_NONE else of, held.get("called", "")])), who


def _value(text: str, match: re.Match[str]) -> str:
    """The name that the frame leads to: a frame ends in its first letter. "" if there is none."""
    name = _VALUE.match(text, match.end() - 1)
    return "" if name is None else name[0].casefold()


def _early(words: Sequence[str]) -> Iterator[Slot]:
    """The slot that one of the first words speaks of, with its object."""
    for at, word in enumerate(words[:EARLY_WORDS]):
        if (kind := _EARLY.get(word)) is not None:
            rest = [other for other in (*words[:at], *words[at + 1 :]) if other not in _TITLES]
            if kind[0] == "date":  # the day itself is no object
                rest = [other for other in rest if other not in _MONTHS and not any(map(str.isdecimal, other))]
            yield kind[0], rest[kind[1]] if rest else "", ""
            return
