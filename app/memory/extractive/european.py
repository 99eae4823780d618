"""Detects German, Spanish, French, Portuguese and Italian sentences, and builds the patterns of their cues. Pure.

The cues of all five, a line for each, are in ``european_cues`` and ``european_lasting``. They are searched in what
``said`` returns, which is "" for another language: most of their words are cheap to look for, but not in each sentence,
and some are English words too.
"""

import re
from functools import lru_cache
from typing import Final

from app.kit.patterns import lazy_pattern

CHARACTERS_MAX: Final = 1_000  # longer texts are not looked at: no sentence is
TEXTS_KEPT: Final = 64  # each cue looks at the same sentence
# Words that hardly any sentence of these languages does without, and some that make one by themselves.
_GERMAN_WORDS: Final = (
    "ich mich mir mein meine meinen meinem meiner wir uns unser unsere und oder der das ist sind nicht kein keine"
    " keinen ein eine einen einem einer bitte wohne heiße arbeite jetzt ab mit auf für nie niemals immer nein"
    " danke vielen guten schönes nehmen haben habe entschieden beschlossen nach bei zum zur im vom aus seit auch"
    " noch wenn wie wird wurde"
)
_ROMANCE_WORDS: Final = (
    "de del el en la los las le les lo il gli un una um uma mi mis que qu con para por di della alla des du au"
    " dans chez sur como soy somos tenemos quiero queremos estoy tengo vivo vivimos trabajo prefiero preferimos"
    " odio detesto muy pero hemos vegano vegana nunca siempre gracias hola j je l ai moi mon nous notre est pas"
    " jamais toujours suis vous merci bonjour avec ne desde na em com eu sou moro temos tenho trabalho quero gosto"
    " adoro prefiro meu minha meus minhas não sempre obrigado obrigada nós decidimos estou nasci io sono ho abito"
    " lavoro voglio mangio preferisco mio mia miei che non puoi abbiamo ciao grazie chiamo mai adesso ora dopo"
    " niente"
)
_ENGLISH_WORDS: Final = (
    "the and of is are with that this these you your it its to for from have been were would can could should my not be"
    " at by but they their what when which how there we our his her she if than more about"
)
_GERMAN: Final = frozenset(_GERMAN_WORDS.split())
_WORDS: Final = _GERMAN | frozenset(_ROMANCE_WORDS.split())
_ENGLISH: Final = frozenset(_ENGLISH_WORDS.split())
_LETTERS: Final = lazy_pattern("[à-öø-ÿœÀ-ÖØ-Þ¿¡]")


@lru_cache(maxsize=TEXTS_KEPT)
def said(text: str) -> str:
    """The text with plain apostrophes if it has more words of these languages than of English, else ""."""
    if len(text) > CHARACTERS_MAX:
        return ""
    words = text.lower().replace("'", " ").split()
    if _WORDS.isdisjoint(words) and (text.isascii() or not _LETTERS.search(text)):
        return ""
    ours = sum(word in _WORDS for word in words)
    return text.replace("’", "'") if max(1, ours) > sum(word in _ENGLISH for word in words) else ""


def has(text: str, cue: re.Pattern[str]) -> bool:
    """Whether the text is of these languages and has the cue; for a text of another no pattern is compiled."""
    told = said(text)
    return told != "" and cue.search(told) is not None


def is_german(text: str) -> bool:
    """Whether the text is German, where capitals tell nouns and not only names."""
    return not _GERMAN.isdisjoint(text.lower().split())


def anywhere(*rows: str) -> re.Pattern[str]:
    return lazy_pattern(rf"\b(?:{'|'.join(rows)})\b", re.IGNORECASE)


def at_start(*rows: str) -> re.Pattern[str]:
    return lazy_pattern(rf"^\W*(?:{'|'.join(rows)})\b", re.IGNORECASE)
