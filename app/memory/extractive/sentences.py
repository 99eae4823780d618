"""Splits a message into plain sentences: markup and code are taken out, our own markup is defused."""

import re
import unicodedata
from collections.abc import Iterator

from app.kit.days import date_phrases
from app.kit.patterns import lazy_pattern
from app.memory.extractive import cues, european, european_cues
from app.memory.model import Priority

SENTENCE_CHARACTERS_MAX = 400

_FENCE = lazy_pattern(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
# Markup is taken off if some of it closes or breaks: a tag that a sentence only speaks of is left.
_MARKUP = lazy_pattern(r"</[a-z][a-z0-9]*\s*>|<!doctype\b|<br\b", re.IGNORECASE)
_UNSHOWN = lazy_pattern(r"<(script|style)\b[^<>]*>.*?(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL)
# Control text: what a harness tells its agent within a user's message (memory-rules.md section 4).
_CONTROL_TEXT = lazy_pattern(
    r"^<(system[-_]reminder|environment_(?:details|context))>.*?(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL | re.MULTILINE
)
_TAG = lazy_pattern(
    r"<(?:!|/?(?:a|abbr|article|aside|b|blockquote|body|br|button|center|code|dd|div|dl|dt|em|figure|font|footer|form|h[1-6]"
    r"|head|header|hr|html|i|iframe|img|input|label|li|link|main|meta|nav|ol|option|p|path|pre|section|select|small|span"
    r"|strong|sub|sup|svg|table|tbody|td|textarea|tfoot|th|thead|title|tr|u|ul)\b)[^<>]*>",
    re.IGNORECASE,
)
_QUOTING = lazy_pattern(r"\s*>\s*[^\W_]")  # a line of somebody else's mail
_LINE_HEAD = lazy_pattern(r"^\s*(?:[-*+•]\s+|#{1,6}\s+|>\s*|\d{1,2}[.)]\s+|\|)+")
# Only what is in pairs of stars: underscores and single stars are parts of names, paths and formulas as often.
_EMPHASIS = lazy_pattern(r"(?<![A-Za-z0-9*])\*\*(?=\S)(.{1,400}?)(?<=\S)\*\*")
_LINK = lazy_pattern(r"\[([^\[\]]+)\]\((?:https?:)?[^()\s]+\)")
# Marks, tags and citations of our own format: text that carries them must not be read as a line of the log.
_MARKS = lazy_pattern("|".join(priority.value for priority in Priority) + "|\ufe0f")
_BLOCK_TAG = lazy_pattern(r"<\s*/?\s*(observations|current-task|suggested-response)\b[^<>]*>?", re.IGNORECASE)
_CITATION = lazy_pattern(r"#(?=\d)")
# Control characters, but not the joiners, which are of Persian and Indic words and of emoji.
_CONTROL = lazy_pattern(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200b\u200e\u200f\u2060\ufeff\ud800-\udfff]")
_JOINER = "\u200d"
_SKINS = range(0x1F3FB, 0x1F400)
_RUN_CUT = lazy_pattern(r"(?<![!-~])[!-~]{2,40}$")  # a number, word or path between signs without spaces

_ABBREVIATION = lazy_pattern(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|vs|etc|e\.g|i\.e|approx|No|Inc|Ltd|Fig|Sr|Sra|Dra|Hr|Mme|Mlle|Sig|bzw|ca|z\.B|d\.h)"
    r"|\b[A-Z])\.$"
)
# Abbreviations that a figure follows: Lindenstr. 14, Nr. 3.
_BEFORE_FIGURE = lazy_pattern(r"(?:[Ss]tr|\b(?:Nr|nr|no|núm|Núm|Av|Ave|Apt|Rd|Blvd|Tel|Art|Abs|Kap|Vol|vol|p|pp|S))\.$")
_DAY_OF_MONTH = lazy_pattern(r"(?<!\d)\d{1,2}\.$")  # am 1. Februar
_DATE_CHARACTERS = 24
_LOOK_BACK = 8  # characters: longer than any abbreviation
# All of several marks at once: else a row of dots would be looked through from each of its dots.
_END = lazy_pattern(r"(?<![.!?…؟۔।॥])[.!?…؟۔।॥]++[\"'”’)\]]*+(?=\s|$)|[。！？｡]+[”」』）]*|(?<=\])\s+|\s+(?=\[)")
_ENUMERATOR = lazy_pattern(r"\s*\d{1,2}\.")
_OPEN_QUOTES = (('"', '"'), ("“", "”"), ("„", "“"), ("«", "»"))
QUOTE_CHARACTERS_MAX = 200  # searched for the closing mark: beyond it the mark opened nothing
_CLAUSE = lazy_pattern(r"(?<=[,;:，、；])\s*|\s+(?=[-–—]\s)")
# "I don't eat meat, can you suggest a place?": from where it asks; without spaces, from the last clause on.
_ASKING = r"(?:do|does|did|can|could|would|will|should|is|are|was|were|have|has|what|when|where|who|why|how|which)\b"
_ASKED = lazy_pattern(rf"[,;]\s+(?=(?:(?:and|but|so) )?{_ASKING}(?: \S+){{3}})", re.IGNORECASE)
_ASKED_UNSPACED = lazy_pattern(r"[，、,；;](?=[^，、,；;\s]{4,}$)")
_NOT_TOLD = lazy_pattern(
    rf"^(?:(?:and|but|so|or),? )?(?:{_ASKING}|(?:if|as|since|while|because|although)\b)"
    r"|如果|要是|是不是|要不要|该不该|該不該|もし|만약",
    re.IGNORECASE,
)


def sentences(text: str) -> Iterator[str]:
    """The sentences of a message, on one line each, at most SENTENCE_CHARACTERS_MAX long; a quoted one keeps its >."""
    for line in filter(str.strip, _unmarked(_FENCE.sub("\n", text)).splitlines()):
        plain = neutral(_LINK.sub(r"\1", _LINE_HEAD.sub("", _EMPHASIS.sub(r"\1", line))))
        is_quoted = _QUOTING.match(line) is not None
        for sentence in _split(plain):
            for piece in _pieces(sentence):
                yield from [shortened(f"> {piece}", SENTENCE_CHARACTERS_MAX)] if is_quoted else _told_and_asked(piece)


def _unmarked(text: str) -> str:
    text = _CONTROL_TEXT.sub("\n", text)
    return _TAG.sub(" ", _UNSHOWN.sub("\n", text)) if _MARKUP.search(text) else text


def neutral(text: str) -> str:
    """One line in which nothing can be taken for the log's own marks, block tags or citations."""
    line = " ".join(_MARKS.sub("", _CONTROL.sub("", text)).split())
    return _CITATION.sub("№", _BLOCK_TAG.sub(r"\1", line))


def _split(line: str) -> Iterator[str]:
    start = 0
    for match in _END.finditer(line):
        if match.end() < len(line) and _goes_on(line, start, match.end()):
            continue
        brief = match.end() - start <= SENTENCE_CHARACTERS_MAX  # a longer quotation is cut, as any sentence is
        if brief and _is_quoting(line[start : match.end()], line[match.end() : match.end() + QUOTE_CHARACTERS_MAX]):
            continue
        if sentence := line[start : match.end()].strip():
            yield sentence
        start = match.end()
    if sentence := line[start:].strip():
        yield sentence


def _goes_on(line: str, start: int, end: int) -> bool:
    """Whether the stop ends no sentence, but an abbreviation, a number before what it counts, or a day."""
    last = line[max(start, end - _LOOK_BACK) : end]
    if _ABBREVIATION.search(last) or _ENUMERATOR.fullmatch(line, start, end):
        return True
    if _BEFORE_FIGURE.search(last) and line[end : end + 2].strip()[:1].isdecimal():
        return True
    dated = line[max(start, end - _DATE_CHARACTERS) : end + _DATE_CHARACTERS] if _DAY_OF_MONTH.search(last) else ""
    at = min(end - start, _DATE_CHARACTERS)
    return any(phrase.start < at < phrase.end for phrase in date_phrases(dated))


def _told_and_asked(sentence: str) -> Iterator[str]:
    """What somebody tells of themselves, split from the question it leads to: the one lasts, the other is over."""
    if cues.is_question(sentence):
        asked = _ASKED.search(sentence) or _ASKED_UNSPACED.search(sentence)
        asked = asked or european_cues.ASKED.search(european.said(sentence))
        told = sentence[: asked.start()] if asked else ""
        untold = _NOT_TOLD.search(told) or european.has(told, european_cues.NOT_TOLD)
        if asked and not untold and cues.is_first_person(told):
            yield told
            sentence = sentence[asked.end() :]
    yield sentence


def _is_quoting(before: str, after: str) -> bool:
    """Whether the end of a sentence stands within a quotation, which another sentence must not be cut out of."""
    for opening, closing in _OPEN_QUOTES:
        if closing in after:
            opened = before.count(opening) % 2 if opening == closing else before.rfind(opening) > before.rfind(closing)
            if opened:
                return True
    return False


def _pieces(sentence: str) -> Iterator[str]:
    """An over-long sentence cut at its clauses or, if it has none, at the limit."""
    piece = ""
    for clause in _CLAUSE.split(sentence) if len(sentence) > SENTENCE_CHARACTERS_MAX else [sentence]:
        joined = f"{piece} {clause}".strip()
        if len(joined) > SENTENCE_CHARACTERS_MAX and piece:
            yield piece
            joined = clause
        piece = joined
    if piece:
        yield shortened(piece, SENTENCE_CHARACTERS_MAX)


def shortened(text: str, characters: int) -> str:
    """The head of a text, ending after a whole word, number or sign of several characters if possible."""
    if len(text) <= characters:
        return text
    whole, _, rest = text[: characters - 1].rpartition(" ")
    if whole and len(rest) < characters // 2:
        head = whole
    else:
        run = _RUN_CUT.search(text[:characters])
        head = text[: run.start() if run and run.start() else _end_of_sign(text, characters - 1)]
    return head.rstrip(" ,;:，、") + "…"


def _end_of_sign(text: str, at: int) -> int:
    """``at``, or before it if it would cut what a reader sees as one sign: a letter with marks, a joined emoji."""
    end = at
    while end and (_is_joined(text[end]) or text[end - 1] == _JOINER):
        end -= 1
    return end or at


def _is_joined(character: str) -> bool:
    return character == _JOINER or ord(character) in _SKINS or unicodedata.category(character)[0] == "M"
