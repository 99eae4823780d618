"""Detects questions for a number or a time ("how many", "when"), and texts that contain one. Pure.

Ranking reads no texts. For such questions those of the best hits are read, and score higher with one (docs/recall.md).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from enum import Enum, auto
from operator import attrgetter
from typing import Final

from app.kit.days import MONTHS
from app.kit.patterns import lazy_pattern
from app.recall.model import Place
from app.recall.ranking import Ranked

LOOKED_AT_MAX: Final = 30  # best hits whose texts are read; with 100 the measured results were the same
CHARACTERS_MAX: Final = 4_000  # read of a text
MORE: Final = 1.2  # factor for the score of a message that contains a number or a time


class Figure(Enum):
    NUMBER = auto()
    TIME = auto()


# English, German, French, Spanish, Portuguese, Italian, Dutch; Russian; Chinese, Japanese, Korean. "When" also begins
# clauses, so in English it counts only at the beginning of the query, or before an auxiliary verb.
_HOW_MANY: Final = lazy_pattern(
    r"\bhow (?:many|much|old|long|often|far)\b|\bwie ?viele?\b|\bwie (?:alt|lange|oft|weit)\b|\bcombien\b|\bquel âge\b"
    r"|\bcu[aá]nt[oa]s?\b|\bquant[oaie]s?\b|\bhoe ?veel\b|\bhoe (?:oud|lang|vaak|ver)\b|\bсколько\b"
    r"|多少|[几幾][^乎]|多[大久长長远遠]|いくら|いくつ|何[人個回年月日時歳才本枚冊台匹件円番度週泊]|ど[のれ](?:くらい|ぐらい|だけ)|몇|얼마|며칠"
)
_WHEN: Final = lazy_pattern(
    r"^\W*when\b|\bwhen (?:did|do|does|had|has|have|is|are|was|were|will|would)\b|\bwann\b|^\W*quand\b|\bcu[aá]ndo\b"
    r"|^\W*quando\b|\bwanneer\b|\bкогда\b|什么时候|甚麼時候|什麼時候|何时|何時|哪[天年]|いつ|언제"
)
_DIGIT: Final = lazy_pattern(r"\d|[两兩二三四五六七八九十百千万萬亿億]")
_WORDS: Final = lazy_pattern(r"\w+")
_NUMBERS: Final = """
two three four five six seven eight nine ten eleven twelve fifteen dozen twenty thirty forty fifty sixty seventy eighty
ninety hundred thousand couple twice half zwei drei vier fünf sechs sieben acht neun zehn elf zwölf zwanzig dreißig
vierzig fünfzig sechzig siebzig achtzig neunzig hundert tausend deux trois quatre cinq sept huit neuf dix douze quinze
vingt trente quarante cinquante soixante cent mille dos tres cuatro cinco siete ocho nueve diez doce veinte treinta
cuarenta cincuenta sesenta setenta ochenta noventa cien mil dois duas três quatro oito nove dez vinte trinta quarenta
tre quattro cinque sette otto dieci venti trenta quaranta twee drie vijf zes zeven negen tien twaalf twintig dertig
два две три четыре пять шесть семь восемь девять десять двадцать тридцать сорок сто
"""
_TIMES: Final = """
monday tuesday wednesday thursday friday saturday sunday yesterday today tonight tomorrow ago weekend montag dienstag
mittwoch donnerstag freitag samstag sonntag gestern heute morgen lundi mardi mercredi jeudi vendredi samedi dimanche
hier aujourd demain lunes martes miércoles jueves viernes sábado domingo ayer hoy mañana hace segunda terça quarta
quinta sexta ontem hoje lunedì martedì mercoledì giovedì venerdì sabato domenica ieri oggi domani maandag dinsdag
woensdag donderdag vrijdag zaterdag zondag gisteren vandaag geleden вчера сегодня завтра назад
"""
_TELLING: Final = {
    Figure.NUMBER: frozenset(_NUMBERS.split()),
    Figure.TIME: frozenset(_NUMBERS.split() + _TIMES.split()) | (MONTHS.keys() - {"may", "mar"}),
}
_RELATIVE: Final = lazy_pattern(
    r"(?:last|next|this|past|previous) (?:night|week|month|year|spring|summer|fall|autumn|winter|evening|morning)"
    r"|letzte[nrs]? (?:woche|monat|jahr)|(?:semaine|mois|année|l'an) (?:derni|pass)|(?:semana|mes|mês|año|ano) pass?ad"
    r"|(?:settimana|mese|anno) scors|vorige? (?:week|maand|jaar)"
)
_EITHER: Final = lazy_pattern(
    rf"{_RELATIVE.pattern}|[昨今明前后後]天|[昨今明]日|[上下这這]个?[周週月]|[去今明]年|星期|[先今来來]週|[先今来]月|어제|오늘|내일|지난|작년|올해|요일"
)


def wanted_figure(query: str) -> Figure | None:
    """Whether the query asks for a number or a time; None: for neither."""
    lowered = query.lower()
    if _HOW_MANY.search(lowered):
        return Figure.NUMBER
    return Figure.TIME if _WHEN.search(lowered) else None


def tells(text: str, figure: Figure) -> bool:
    lowered = text[:CHARACTERS_MAX].lower()
    if _DIGIT.search(lowered) or not _TELLING[figure].isdisjoint(_WORDS.findall(lowered)):
        return True
    if figure is Figure.NUMBER:
        return False
    return (_RELATIVE if lowered.isascii() else _EITHER).search(lowered) is not None


def telling(texts: Mapping[Place, str], figure: Figure) -> set[Place]:
    return {place for place, text in texts.items() if tells(text, figure)}


def preferred(found: Sequence[Ranked], telling: Collection[Place]) -> list[Ranked]:
    """``found`` sorted again, best first, with a higher score for the messages at the places ``telling``."""
    weighed = [replace(one, score=one.score * MORE) if one.place in telling else one for one in found]
    return sorted(weighed, key=attrgetter("score"), reverse=True)
