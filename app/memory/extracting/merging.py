"""What a new fact does to those that are known: it says the same, refines one, or contradicts it (docs/facts.md). Pure.

Told from words alone, so that no fact was ever shown to a model that noted another: what is erased with a session was
in no other session's sight. Where the words do not tell, both stand.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeAlias

from app.facts.model import FOREIGN, Fact, NewFact
from app.kit.patterns import lazy_pattern
from app.kit.words import overlap, terms
from app.memory.extracting.slots import Spoken, other, spoken_of
from app.memory.grounding.claims import BEFORE
from app.memory.trust import USERS

DENIED_SHARE: Final = 0.5  # of the words in common, where one says it and the other denies it
BEFORE_SHARE: Final = 0.5  # of the words of a "(before: ...)" that a fact has which it speaks of
HELD_WORDS_MIN: Final = 2
TURNED_WORDS_MAX: Final = 6  # in what is longer they mostly are of no weight

# What denies and is no content of its own.
_DENIALS: Final = "nicht ne pas não non niet не нет değil لا لم ليس ليست नहीं ya já mehr plus più mais"
# What other languages say of the speaker and of the present, as "I" and "now" are no content in English.
_PRESENT: Final = "ich yo je eu io jetzt inzwischen ahora maintenant agora adesso en em la"
_FRAME: Final = frozenset(
    terms(f"assistant currently today recently lately these days anymore longer before {USERS} {_DENIALS} {_PRESENT}")
)
_DENIED: Final = lazy_pattern(
    r"\b(?:not|never|no longer|no more|cannot|stopped|quit|gave up|without|hates?|dislikes?)\b|n't\b"
    r"|\b(?:ha[sd]|have|got|is|are|was|were|with|in|of|eats?|drinks?|uses?|owns?|wants?|needs?|takes?|speaks?) no\b"
    r"|\b(?:nicht|kein\w*|nie|jamais|pas|ne|nunca|nicht mehr|non|não|jamás|tampoco|niet|geen|не|нет|никогда)\b"
    r"|\b(?:ya|usuari[oa]|él|ella|ellos|ellas|yo|mí|nosotr[oa]s|que|y|pero) no\b"
    r"|\b(?:el|la|los|las|mis?|sus?|nuestr[oa]s?) \w+(?: de \w+)? no (?=[^\W\d_])|\bn['’](?=\w)"
    r"|\b(?:değil|yok|hiç)\b|\b\w+m[ıiuü]yor\w*|\b\w+m[ae]z\b|\b(?:لا|لم|لن|ليس|ليست)\b|(?<!\w)(?:नहीं|मत)(?!\w)"
    r"|않|(?<![가-힣])안 |(?<![가-힣])못(?:[ 하해])|지 못|그만|없|싫|끊|아니(?=[에예다야고라]|었)"
    r"|(?<!差)不(?![错錯但仅僅过過断斷少同管])|没|沒"
    r"|(?<!なら)(?<!しれ)(?<!いけ)(?<!少)(?<!危)ない|(?<!なり)(?<!しれ)(?<!いけ)ません"
)
# Where capitals tell names: "Ana no come carne", "No vivo en Madrid", but not "Ana mora no Porto".
_DENIED_FIRST: Final = lazy_pattern(r"(?:^|[:,;¿¡] ?)(?:[A-ZÁÉÍÓÚÑ]\w+ ){0,3}[Nn]o (?=[a-záéíóúñ])")
_CEASED: Final = lazy_pattern(
    r"\b(?:no longer|no more|any ?more|any longer|stopped|quit|gave up)\b|nicht mehr|그만|끊었|더 ?이상|不再"
    r"|\b(?:ya no|já não|niet meer|больше не|już nie|não\b.{1,30}\bmais|non\b.{1,30}\bpiù|не\b.{1,30}\bбольше)\b"
    r"|\bn(?:e |['’])\w+ plus\b|لم يعد|もう.{1,30}(?:ない|ません)"
)
# French runs "ne" and "je" into the word behind them; Chinese has no blanks around what denies.
_ELIDED: Final = lazy_pattern(r"\b([nj])['’](?=\w)", re.IGNORECASE)
_DENIAL_ZH: Final = lazy_pattern(r"(?<!差)[不没沒](?![错錯但仅僅过過断斷少同管])")
_ATTITUDES: Final = frozenset(terms("like likes love loves enjoy enjoys hate hates dislike dislikes"))
# What denies in Korean goes with the ending of its verb, which is another one then: 먹어요, 먹지 않아요.
_HANGUL: Final = lazy_pattern("[가-힣]")
_DENIAL_KO: Final = lazy_pattern(
    r"지(?:는|도)? ?(?:않|못)[가-힣]*|(?<![가-힣])(?:안|못) (?=[가-힣])|(?<![가-힣])더 ?이상 |(?<![가-힣])이제(?:는)? "
    r"|이 아니(?=[에예다야고라]|었)[가-힣]*"
)
_ENDING_KO: Final = lazy_pattern(
    r"(?P<last>[가-힣])(?:이에요|예요|입니다|이다|어요|아요|습니다|는다|니다|요|다)(?![가-힣])"
)
_STEM_VOWELS_KO: Final = {6: 20, 14: 13, 9: 8}  # of 마셔, 배워 and 봐: 마시, 배우, 보
_VOWELS_KO, _FINALS_KO = 21, 28
_HANGUL_FIRST: Final = 0xAC00
_FINALS_OF_ENDINGS: Final = {4, 17}  # of 마신다 and 마십니다
_PREFIX: Final = lazy_pattern(r"^[\w .@'’-]{1,60}: ")
# Words that tell nothing by themselves and turn what is told: "had a dog", "may have", "works before noon"; not May.
_TURNING: Final = lazy_pattern(
    r"\b(?:had|was|were|may|might|maybe|perhaps|probably|will|would|could|should|few|many|only|before|after|out|off|under"
    r"|below|over|above|up|down|more|less|most|least|always|often|sometimes|rarely|seldom)\b"
)
# What stands on one side, and what on the other: "from Porto to Lisbon", "tea over coffee".
_SIDES: Final = lazy_pattern(
    r"\bfrom ((?:\S+ ){1,4}?)to ((?:\S+ ?){1,3})|\bprefer\w* ((?:\S+ ){1,4}?)to ((?:\S+ ?){1,3})"
    r"|((?:\S+ ){1,3})(?:over|than|instead of) ((?:\S+ ?){1,3})"
)
_SIDED: Final = (" over ", " than ", " instead of ", "from ", "refer")  # one of these is in all of them
# Of one of these every sign counts, also those that are no word or a common one: ana@example.com, orders-us, vitamin B.
_EXACT: Final = lazy_pattern(r"\b\w++(?:[-.@/:+]++\w++)+|(?<=\w )[A-HJ-Z]\b(?!['’])", re.ASCII)
# Of whom it may be instead, in other languages than slots.py knows.
_RELATIVE: Final = lazy_pattern(
    r"\b(?:mutter|vater|eltern|schwester|bruder|sohn|tochter|ehefrau|ehemann|mère|père|sœur|frère|fille"
    r"|épouse|madre|padre|padres|hermana|hermano|hijo|hija|esposa|esposo|marido|mãe|irmã|irmão|filho|filha"
    r"|sogra|sogro|sorella|fratello|figlio|figlia|moglie|marito|genitori|мать|матери|мама|мамы|отец|отца|папа|родители"
    r"|сестра|сестры|брат|брата|сын|сына|дочь|дочери|муж|мужа|жена|жены|annesi|babası|kardeşi|ablası|abisi|oğlu|kızı|eşi"
    r"|أمها?|أمه|والدها?|والدته|والدتها|أخته|أختها|أخوه|أخوها|ابنه|ابنها|ابنته|ابنتها|زوجها|زوجته)\b"
    r"|(?<!\w)(?:माँ|मां|पिता|बहन|भाई|बेटा|बेटी|पति|पत्नी)(?!\w)"
    r"|妈妈|爸爸|母亲|父亲|父母|姐姐|妹妹|哥哥|弟弟|儿子|女儿|妻子|老婆|丈夫|老公|媽媽|母親|父親|兒子|女兒|両親|息子|娘|妻|夫|兄|姉|弟|妹"
    r"|어머니|아버지|부모님?|엄마|아빠|언니|누나|오빠|형님|남동생|여동생|동생|아들|딸|아내|남편"
)
# Of which of two it is: "my other sister", "la otra cita".
_OTHER: Final = lazy_pattern(
    r"\b(?:other (?!hand\b|day\b|than\b)|another |otr[oa] |outr[oa] |altr[oa] |(?:l['’])?autre |andere[nrsm]? "
    r"|друг\w+ )"
    r"(?=[^\W\d])|(?<![가-힣])다른 |另一|もう一"
)
_TOGETHER: Final = lazy_pattern(r"\band (?:i|user)\b", re.IGNORECASE)
# Of what is nobody's alone it does not matter who says it: "the budget", "our deadline".
_SPEAKER: Final = lazy_pattern(r"^([\w .@'’-]{1,60}): (?!(?:the|our)\b)", re.IGNORECASE)
_ASSISTANT: Final = "assistant"
_BY_ASSISTANT: Final = lazy_pattern(rf"^(?:the )?{_ASSISTANT}\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Said:
    """What a text says: its content words, whether it denies, or that it was so once, what of somebody it speaks of.

    ``claimed``: the words of what is claimed or denied. ``whose``: who says it, where they have a name, and of whom,
    where it is not of themselves. ``sides``: the words on either side, where it matters which is which. ``turns``: what
    turns it and is no content. ``exact``: addresses, paths, identifiers. ``is_other``: it is of another one of several.
    """

    words: frozenset[str]
    claimed: frozenset[str]
    denies: bool
    ceases: bool
    spoken: Spoken
    whose: tuple[str, str]
    sides: tuple[frozenset[str], frozenset[str]]
    turns: frozenset[str]
    exact: frozenset[str]
    is_other: bool


def said(text: str) -> Said:
    ordered = tuple(_words(_DENIAL_ZH.sub("", _ELIDED.sub(r"\1e ", text))))
    now = BEFORE.sub("", text)
    spoken = spoken_of(_PREFIX.sub("", now), ordered)
    relative = _RELATIVE.search(text.casefold())
    whose = (_speaker(text), "" if _TOGETHER.search(text) else other(ordered) or (relative[0] if relative else ""))
    return Said(
        words=frozenset(ordered),
        claimed=frozenset(_words(_plain_korean(text)) if _HANGUL.search(text) else ordered),
        denies=_DENIED.search(text.lower()) is not None or _DENIED_FIRST.search(text) is not None,
        ceases=_CEASED.search(text.lower()) is not None,
        spoken=spoken,
        whose=whose,
        sides=_sides(text),
        turns=frozenset(_TURNING.findall(now)),
        exact=frozenset(found.casefold() for found in _EXACT.findall(now)),
        is_other=_OTHER.search(now.casefold()) is not None,
    )


def _plain_korean(text: str) -> str:
    """Its verbs by their stems, without what denies them: 마시지 않아요 and 마셔요 as 마시."""
    text = _DENIAL_KO.sub("", text)
    for denial, claim in (("없", "있"), ("못해", "해"), ("싫어", "좋아")):
        text = text.replace(denial, claim)
    return _ENDING_KO.sub(_stem_ko, text)


def _stem_ko(ending: re.Match[str]) -> str:
    last = ending["last"]
    if last == "해":
        return "하"
    place = ord(last) - _HANGUL_FIRST
    final = place % _FINALS_KO
    if final in _FINALS_OF_ENDINGS and ending[0][1:] in {"다", "니다"}:
        return chr(ord(last) - final)
    vowel = place // _FINALS_KO % _VOWELS_KO
    return last if final else chr(ord(last) + (_STEM_VOWELS_KO.get(vowel, vowel) - vowel) * _FINALS_KO)


Read: TypeAlias = Callable[[str], Said]


class Relation(StrEnum):
    SAME = "same"
    REFINES = "refines"
    CONTRADICTS = "contradicts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """``same`` says the new fact already; else it ends those of ``ended``, or was ended itself by ``ended_by``."""

    same: Fact | None = None
    ended: tuple[Fact, ...] = ()
    ended_by: Fact | None = None


def merge(known: Sequence[Fact], new: NewFact, *, read: Read = said) -> Merge:
    """The newer wins, by when it came to be true, whichever was noted first.

    A tool's or a stranger's word neither is the user's nor ends it.

    Who merges several into the same facts gives a ``read`` that remembers what it has read.
    """
    foreign = new.trust in FOREIGN
    related = _related([fact for fact in known if fact.valid_to is None], new, read)
    if same := _same(related, foreign=foreign):
        return Merge(same=same)
    replaced = [fact for fact in known if fact.valid_from > new.valid_from and fact.replaced_by is not None]
    later = [
        fact
        for fact, found in (*related, *_related(replaced, new, read))
        if fact.valid_from > new.valid_from and found is not Relation.SAME and (fact.trust in FOREIGN) == foreign
    ]
    if later:
        ended_by = min(later, key=lambda fact: fact.valid_from)
        before = [fact for fact in known if fact.replaced_by == ended_by.id and _lasted(fact, new.valid_from)]
        if same := _same(_related(before, new, read), foreign=foreign):
            return Merge(same=same)
        return Merge(ended_by=ended_by)
    others = [fact for fact, _ in related if not foreign or fact.trust in FOREIGN]
    return Merge(ended=tuple(others))


def _related(known: Sequence[Fact], new: NewFact, read: Read) -> list[tuple[Fact, Relation]]:
    """Also those of another category that were noted in this one: somebody has corrected it."""
    compared = [fact for fact in known if new.category in {fact.category, *(one.category for one in fact.sources)}]
    return [(fact, found) for fact in compared if (found := relation(fact.text, new.text, read=read))]


def _same(related: Iterable[tuple[Fact, Relation]], *, foreign: bool) -> Fact | None:
    same = (fact for fact, found in related if found is Relation.SAME and (fact.trust in FOREIGN) == foreign)
    return next(same, None)


def _lasted(fact: Fact, at: datetime) -> bool:
    return fact.valid_to is None or fact.valid_to >= at


def relation(old: str, new: str, *, read: Read = said) -> Relation | None:
    """What ``new`` says of ``old``; None: it speaks of something else."""
    if old == new:  # also where none of its words tells anything
        return Relation.SAME
    before = BEFORE.search(new)
    one, other = read(old), read(BEFORE.sub("", new))
    if _are_apart(one.whose, other.whose):
        return None
    if one.whose[0] != other.whose[0]:  # one has a name: it may be the user's, or somebody else's
        return Relation.SAME if _among(_unnamed(one), _unnamed(other)) is Relation.SAME else None
    if before and (gone := read(before[1]).words):
        held = read(BEFORE.sub("", old)).words  # what was before in both is no news
        if _held(gone, held) >= BEFORE_SHARE and _are_of_one(held - gone, other.words - gone, gone):
            return Relation.CONTRADICTS
    if one.denies != other.denies and _is_denied(*((other, one) if other.denies else (one, other))):
        return Relation.CONTRADICTS
    return _among(one, other)


def _are_of_one(old: frozenset[str], new: frozenset[str], gone: frozenset[str]) -> bool:
    """Whether the rest of the words is of one thing: so many others may have been four hours, or on September 4."""
    return not any(map(_is_exact, gone)) or not old or bool(old & new)


def _is_denied(denial: Said, claim: Said) -> bool:
    """Who does not like blue cheese may like cheese; who has stopped to, whenever that was, does so no more."""
    if overlap(denial.claimed, claim.claimed) < DENIED_SHARE:
        return False
    return denial.ceases or denial.claimed - _ATTITUDES <= claim.claimed


def _among(old: Said, new: Said) -> Relation | None:
    one, other = old.words, new.words
    if old.denies == new.denies:
        if _are_swapped(old.sides, new.sides):
            return Relation.CONTRADICTS
        if other and _says_it(old, new):
            return Relation.SAME
        if one < other and _says_it(new, old):
            return Relation.REFINES
    replaces = old.is_other == new.is_other and new.spoken.replaces(old.spoken, alike=overlap(one, other))
    return Relation.CONTRADICTS if replaces else None


def _says_it(larger: Said, smaller: Said) -> bool:
    """Whether all that the second says stands in the first. With one word for another each says what the other lacks.

    A few words may stand in what says something else: "is vegan" in "cooks vegan dinners for Tom".
    """
    if _are_turned(larger, smaller) or (larger.exact - smaller.exact and smaller.exact - larger.exact):
        return False
    few = len(smaller.words) < HELD_WORDS_MIN
    held = larger.words > smaller.words and not few and larger.spoken.tells >= smaller.spoken.tells
    return held or larger.words == smaller.words


def _are_turned(one: Said, other: Said) -> bool:
    """Whether one of them has a word that turns it, among few words, and the other has not."""
    return max(len(one.words), len(other.words)) <= TURNED_WORDS_MAX and one.turns != other.turns


def _are_swapped(old: tuple[frozenset[str], frozenset[str]], new: tuple[frozenset[str], frozenset[str]]) -> bool:
    """The same words with their sides changed: who moved from Porto to Lisbon has moved back."""
    return bool(old[0] & new[1] and old[1] & new[0])


def _sides(text: str) -> tuple[frozenset[str], frozenset[str]]:
    found = _SIDES.search(text) if any(word in text for word in _SIDED) else None
    if found is None:
        return frozenset(), frozenset()
    left, right = (side for side in found.groups() if side is not None)
    return frozenset(terms(left)), frozenset(terms(right))


def _are_apart(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Two speakers by name, the assistant and anybody else, or what is said of others of theirs."""
    named = all((one[0], other[0])) or _ASSISTANT in {one[0], other[0]}
    return one[1] != other[1] or (named and one[0] != other[0])


def _speaker(text: str) -> str:
    """By the name before what is said; none is who is called the user there."""
    if _BY_ASSISTANT.match(text):
        return _ASSISTANT
    named = _SPEAKER.match(text)
    return "" if named is None or _FRAME.issuperset(terms(named[1])) else named[1].casefold()


def _unnamed(one: Said) -> Said:
    return replace(one, words=one.words - frozenset(terms(one.whose[0])))


def _words(text: str) -> list[str]:
    return [term for term in terms(text) if term not in _FRAME]


def _held(words: frozenset[str], by: frozenset[str]) -> float:
    return len(words & by) / len(words)


def _is_exact(term: str) -> bool:
    """Whether another number says another thing."""
    return any(character.isdigit() for character in term)
