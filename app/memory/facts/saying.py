"""Parses the text of a fact into the terms by which it is compared with another (docs/facts.md). Pure."""

import re
from dataclasses import dataclass
from typing import Final

from app.facts.worth import SPEAKER
from app.kit.patterns import lazy_pattern
from app.kit.words import terms
from app.memory.facts.slots import Spoken, other, spoken_of
from app.memory.grounding.claims import BEFORE
from app.memory.trust import USERS

# Negations, which are no content.
_DENIALS: Final = "nicht ne pas não non niet не нет değil لا لم ليس ليست नहीं ya já mehr plus più mais"
# "I" and "now" in other languages, which are no content in English either.
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
# Korean denies with the ending of the verb, which then is another one: 먹어요, 먹지 않아요.
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
# Words that are no content and turn what is told: "had a dog", "may have", "works before noon"; not May.
_TURNING: Final = lazy_pattern(
    r"\b(?:had|was|were|may|might|maybe|perhaps|probably|will|would|could|should|few|many|only|before|after|out|off|under"
    r"|below|over|above|up|down|more|less|most|least|always|often|sometimes|rarely|seldom)\b"
)
# Two sides of a statement: "from Porto to Lisbon", "tea over coffee".
_SIDES: Final = lazy_pattern(
    r"\bfrom ((?:\S+ ){1,4}?)to ((?:\S+ ?){1,3})|\bprefer\w* ((?:\S+ ){1,4}?)to ((?:\S+ ?){1,3})"
    r"|((?:\S+ ){1,3})(?:over|than|instead of) ((?:\S+ ?){1,3})"
)
_SIDED: Final = (" over ", " than ", " instead of ", "from ", "refer")  # one of these is in all of them
# Terms in which every sign counts, also if it is no word or a common one: ana@example.com, orders-us, vitamin B.
_EXACT: Final = lazy_pattern(r"\b\w++(?:[-.@/:+]++\w++)+|(?<=\w )[A-HJ-Z]\b(?!['’])", re.ASCII)
# Relatives whom it may be about instead, in languages that slots.py does not know.
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
# Which of two it is about: "my other sister", "la otra cita".
_OTHER: Final = lazy_pattern(
    r"\b(?:other (?!hand\b|day\b|than\b)|another |otr[oa] |outr[oa] |altr[oa] |(?:l['’])?autre |andere[nrsm]? "
    r"|друг\w+ )"
    r"(?=[^\W\d])|(?<![가-힣])다른 |另一|もう一"
)
_TOGETHER: Final = lazy_pattern(r"\band (?:i|user)\b", re.IGNORECASE)
# The speaker does not matter for what is nobody's alone: "the budget", "our deadline".
_NAMED: Final = lazy_pattern(r"^([\w .@'’-]{1,60}): (?!(?:the|our)\b)", re.IGNORECASE)
ASSISTANT: Final = "assistant"
_BY_ASSISTANT: Final = lazy_pattern(rf"^(?:the )?{ASSISTANT}\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Said:
    """What a text says: its content words, whether it denies something or tells that it ceased, and its slots.

    ``claimed``: the words of the claim or denial. ``whose``: the speaker, if named, and the person it is about, if
    another. ``sides``: the words on either side, if it matters which is which. ``turns``: turning words, which are no
    content. ``exact``: addresses, paths, identifiers. ``is_other``: it is of another one of several.
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
    spoken = spoken_of(SPEAKER.sub("", now), ordered)
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
    """The text with Korean verbs by their stems, without negation: 마시지 않아요 and 마셔요 as 마시."""
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


def _speaker(text: str) -> str:
    """The speaker by the name before the text; "" for the user."""
    if _BY_ASSISTANT.match(text):
        return ASSISTANT
    named = _NAMED.match(text)
    return "" if named is None or _FRAME.issuperset(terms(named[1])) else named[1].casefold()


def _sides(text: str) -> tuple[frozenset[str], frozenset[str]]:
    found = _SIDES.search(text) if any(word in text for word in _SIDED) else None
    if found is None:
        return frozenset(), frozenset()
    left, right = (side for side in found.groups() if side is not None)
    return frozenset(terms(left)), frozenset(terms(right))


def _words(text: str) -> list[str]:
    return [term for term in terms(text) if term not in _FRAME]
