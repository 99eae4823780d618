"""Parses single lines of the log: day headers, bullets, sub-bullets, and a bullet's head and citations.

Parsing is a fixed point: what ``log`` writes of an item reads back as that item. All patterns are anchored and without
nested repetition, so it is linear.
"""

import re
from dataclasses import dataclass
from typing import Final

from app.kit.days import LABEL_CHARACTERS_MAX, day_behind_label, day_label, is_day_alone, parse_day
from app.kit.patterns import lazy_pattern
from app.kit.words import plain_digits
from app.memory.log import HAPPENED, UNCERTAIN, detail_line, item_line, one_line
from app.memory.model import Cite, Detail, Item, Origin, Priority, Tag

LINE_CHARACTERS_MAX: Final = 10_000

_RULED: Final = lazy_pattern(r"[\s`*_=~#+•|:–—.,;、，；。-]*|\s*```\w*\s*")
_MARKS: Final = "|".join(Priority)
# Other marks that models use: signs of their own, and the codes of ours. Words (LEVELS) stand in brackets.
_MARKS_ALIKE: Final = {
    sign: mark
    for mark, signs in {
        Priority.HIGH: "🟥 :red_circle:",
        Priority.MEDIUM: "🟠 🟨 :yellow_circle:",
        Priority.LOW: "🟩 :green_circle:",
        Priority.DONE: "✔ ☑ ✓ :white_check_mark:",
    }.items()
    for sign in signs.split()
}
LEVELS: Final = {
    **dict.fromkeys(("high", "critical", "important"), Priority.HIGH),
    **dict.fromkeys(("medium", "normal"), Priority.MEDIUM),
    **dict.fromkeys(("low", "minor"), Priority.LOW),
}
_BULLET: Final = lazy_pattern(rf"(?:[*+\-–—](?:[ ]|(?={_MARKS}))|[•◦▪●○‣・·]|[0-9]{{1,3}}[.)][ ])\s*(?P<text>\S.*)")
_ARROW: Final = r"(?:->|→|⇒|=>|-&gt;)"
_ARROWS: Final = lazy_pattern(rf"(?:{_ARROW}\s*)+")
_LEADING: Final = lazy_pattern(rf"(?:(?P<arrow>{_ARROW})\s*|\[[ xX]\]\s+)+")  # or the checkbox of a task
_TAGS: Final = "|".join(tag.replace("_", "[_ -]") for tag in Tag)
# Chinese, Japanese and Arabic forms of the signs of a line, and ours at the same places.
_SIGNS: Final = str.maketrans("（）［］【】〔〕：，；、。．－–—〜～＊＋＃｜＞،؛।＿", "()[][][]:,;,..-----*+#|>,;._")
_MORNING: Final = "上午|早上|凌晨|午前|오전|새벽|아침|صباحا|صباحًا|ص|सुबह"
_EVENING: Final = "下午|晚上|傍晚|午後|夜|오후|저녁|밤|مساء|مساءً|عصرًا|عصرا|م|दोपहर|शाम|रात"
# A time in the notation of other countries; only in brackets, where it can hardly be anything else.
_LOCAL_TIME: Final = rf"""
    [(\[]\s?(?:(?:{_MORNING})|(?P<late>{_EVENING}))?\s?(?P<local_hour>[01]?[0-9]|2[0-3])
      (?: \s?[:.hH]\s?(?P<local_minute>[0-5][0-9])(?:\s?(?:h|hs|uhr|ч\.?))?
        | \s?[時时点點시]\s?(?:(?P<cjk_minute>[0-5]?[0-9])\s?[分분]|(?P<cjk_half>[半반]))?
        | \s?(?:uhr|часов|बजे)
      )
      \s?(?:(?:{_MORNING})|(?P<late_behind>{_EVENING}))?\s?[)\]]
"""
_STAMP: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}|[a-z]{3,9}\.?\ [0-9]{1,2},?\ [0-9]{4}"  # in verbose patterns
_HEAD: Final = lazy_pattern(
    rf"""
    (?P<bold>[*_`]*+)
    (?: (?P<priority>{_MARKS})\ufe0f?
      | (?P<open>[(\[](?:(?P<stamp>{_STAMP}),?[\ T])?)?(?P<hour>[01]?[0-9]|2[0-3]):(?P<minute>[0-5][0-9])
        (?:\s?(?P<half>[ap])\.?m\b\.?)?
        (?(open)(?::[0-5][0-9])?(?:\.[0-9]{{1,6}})?Z?(?:\s?[-–—~]\s?[0-9]{{1,2}}:[0-9]{{2}}(?:\s?(?P<end_half>[ap])\.?m\b\.?)?)?[)\]]
          |(?=[\s,|–—-]\s|\s|:\s|\*\*|$))
      | {_LOCAL_TIME}
      | (?P<sign>{"|".join(_MARKS_ALIKE)})\ufe0f?
      | (?P<symbol>[\u2600-\u27bf\U0001f300-\U0001faff]\ufe0f?)(?=\s*[(\[])
      | [(\[](?:priority\s?[:=]\s?)?(?P<level>{"|".join(LEVELS)})(?:\spriority)?[)\]]
      | (?P<label>(?:observation|note|item)\s?\#?[0-9]{{1,3}}\s?[:.)–—-](?=[\s*_]))
      | \[(?P<tag>{_TAGS})(?:\s?[,/|]\s?(?:{_TAGS}))*\]
      | (?P<bare_tag>{_TAGS})(?=\s?[:|]\s|\s[–—-]\s)
      | (?P<uncertain>{re.escape(UNCERTAIN)})
      | \((?P<origin>{"|".join(Origin)})\)
      | (?P<arrow>{_ARROW})
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_SAYING_NOTHING: Final = ("arrow", "symbol", "label")
_BREAK: Final = lazy_pattern(r"(?:\s?[-–—:|,](?=\s|$))*\s?")
_BREAK_IN_BOLD: Final = lazy_pattern(r"(?:(?P<closed>[*_`])|\s?[-–—:|,](?=[\s*_`]|$))*\s?")
_BOLD: Final = lazy_pattern(r"(?<![\w*/\\`])\*\*(?=[^\s*/])([^*`]+)(?<![\s*])\*\*(?![\w*/`])")
_DAY_PREFIX: Final = lazy_pattern(r"[\s*#_]*date\s*[:：](?P<label>.*)", re.IGNORECASE)
_LABEL_START: Final = lazy_pattern(r"(?:[\s*#_:：]|date\s*[:：])*", re.IGNORECASE)
_CITE: Final = r"#[0-9]{1,9}(?:-#?[0-9]{1,9})?"
_CITE_WORD: Final = lazy_pattern(rf"(?P<open>[(\[])?{_CITE}(?:[,;]{_CITE})*(?P<close>[)\]])?[.,;:]?")
_CITE_START: Final = lazy_pattern(r"[*_`\\(\[]*#")
_CITE_CHARACTERS: Final = "#0123456789()[],;.:/ -~*_`\\"
# Words between two citations: of a range, or of a list.
_TO: Final = "to|bis|à|a|até|al|do|до|tot|から|到|至"
_AND: Final = "and|&|und|et|y|e|и|та|i|oraz|en|ve|dan|og|och|și|και|و|और|と|和|及|与|與|및|와|과"
_JOINED: Final = lazy_pattern(
    rf"(?P<one>{_CITE}[.,;)\]*_`]*+)(?P<by>\s?(?:(?P<to>{_TO})|{_AND})\s?)(?=[(\[*_`\\]{{0,9}}#[0-9])", re.IGNORECASE
)
# (message #12), [sources: #12, #14]; in "(see #12)" the number belongs to the sentence.
_WORDED_CITES: Final = lazy_pattern(
    r"[(\[](?:messages?|msgs?|sources?|refs?|references?|cit(?:es?|ations?)|nachrichten?|quellen?|mensajes?|fuentes?"
    r"|메시지|출처|消息|来源|メッセージ|出典)\.?\s?:?\s?(#[0-9][#0-9,; &–—-]*)[)\]]\.?$",
    re.IGNORECASE,
)
# Other separators and emphasis of citations: **#12**, #12、#13, #12, 14, #12#13.
_PLAIN: Final = str.maketrans("/~", ",-", "*_`\\")
_UNMARKED: Final = lazy_pattern(r"(?<=[0-9]), (?=[0-9])")
_RUN_ON: Final = lazy_pattern(r"(?<=[0-9])(?=#)")
_DASHES: Final = frozenset("-–—")
_CITE_ENDS: Final = lazy_pattern(r"#([0-9]+)(?:-#?([0-9]+))?")
_HAPPENED_WORDS: Final = HAPPENED.split()


@dataclass(frozen=True, slots=True)
class Bullet:
    """A list line. ``indent`` is in columns; ``arrow`` says it began with ``->``, as a detail does."""

    text: str
    indent: int
    arrow: bool


def is_ruled(line: str) -> bool:
    """Whether the line says nothing: it is blank, a rule, also of a table, a fence, or punctuation alone."""
    return _RULED.fullmatch(line) is not None


def read_day(line: str) -> str | None:
    """The day of a header, ``Aug 1, 2026`` if it names a date, else its words; None if the line is no header.

    ``**Date: ...**``, ``## Aug 1, 2026`` and a bare date are headers too; a bullet never is.
    """
    if match := _DAY_PREFIX.match(line):
        return _label(match["label"])
    if rest := day_behind_label(line):
        return _label(rest)
    return _label(line) if is_day_alone(line) else None


def read_bullet(line: str) -> Bullet | None:
    """The line as a bullet, which may also start with a mark or an arrow; None if it is no bullet."""
    columns = line.expandtabs(4)
    text = columns.strip()
    indent = len(columns) - len(columns.lstrip())
    if text[:1].isdigit() and is_day_alone(text):  # "1. August 2026" is no list item
        return None
    if match := _BULLET.match(_in_our_signs(text)):
        text = text[match.start("text") :]
    elif not text.lstrip("*_`").startswith((*Priority, "->", "→")):
        return None
    leading = _LEADING.match(text)
    if leading is None:
        return Bullet(text=text, indent=indent, arrow=False)
    return Bullet(text=text[leading.end() :], indent=indent, arrow=leading["arrow"] is not None)


def read_item(text: str, *, day: str) -> Item | None:
    """A top-level bullet's text as an item; None if no words are left. Too long a text is cut to fit its line."""
    item = _item(text, day=day)
    if item and len(line := item_line(item)) > LINE_CHARACTERS_MAX:
        item = _item(line[2:LINE_CHARACTERS_MAX], day=day)
    return item


def read_detail(text: str) -> Detail | None:
    """A sub-bullet's text as a detail; None if no words are left. Too long a text is cut to fit its line."""
    detail = _detail(text)
    if detail and len(line := detail_line(detail)) > LINE_CHARACTERS_MAX:
        detail = _detail(line.removeprefix("  * ")[: LINE_CHARACTERS_MAX - 4])
    return detail


def _item(text: str, *, day: str) -> Item | None:
    head, body, bold = _head(one_line(text))
    words, cites = _tail(body)
    words = _without_bold(words.removesuffix(bold) if bold else words)
    if is_ruled(words):
        return None
    uncertain = "uncertain" in head
    marked = Priority(head["priority"]) if "priority" in head else None
    return Item(
        text=words,
        day=head.get("day", day),
        time=head.get("time"),
        priority=Priority.LOW if uncertain else marked,
        tag=Tag(head["tag"]) if "tag" in head else None,
        uncertain=uncertain,
        origin=Origin(head["origin"]) if "origin" in head else None,
        cites=cites,
    )


def _detail(text: str) -> Detail | None:
    flat = one_line(text)
    arrows = _ARROWS.match(flat)
    words, cites = _tail(flat[arrows.end() :] if arrows else flat)
    words = _without_bold(words)
    return None if is_ruled(words) else Detail(text=words, cites=cites)


def _head(text: str) -> tuple[dict[str, str], str, str]:
    """Mark, time, tag, uncertainty and origin at a line's start, in any order and each once, and the text after them.

    Last the signs that made the head bold, if they are not closed in it.
    """
    head: dict[str, str] = {}
    at, bold, signs = 0, "", _in_our_signs(text)
    while match := _HEAD.match(signs, at):
        name, value = _head_token(match)
        if name in head or (match["bare_tag"] and not head):
            break
        if name not in _SAYING_NOTHING:
            head[name] = value
        if match["stamp"] and (day := parse_day(match["stamp"])):
            head["day"] = day_label(day)
        bold = match["bold"] or bold
        at = match.end()
        if bold and (end := _BREAK_IN_BOLD.match(signs, at)):
            at, bold = end.end(), "" if end["closed"] else bold
        elif end := _BREAK.match(signs, at):
            at = end.end()
    return head, text[at:], bold


def _head_token(match: re.Match[str]) -> tuple[str, str]:
    if match["hour"]:
        return "time", _clock(int(match["hour"]), match["minute"], match["half"] or match["end_half"])
    if match["local_hour"]:
        late = match["late"] or match["late_behind"]
        minute = match["local_minute"] or match["cjk_minute"] or ("30" if match["cjk_half"] else "0")
        return "time", _clock(int(match["local_hour"]), f"{int(minute):02d}", "p" if late else None)
    if tag := match["tag"] or match["bare_tag"]:
        return "tag", re.sub("[ -]", "_", tag.lower())
    if alike := match["sign"] or match["level"]:
        return "priority", (_MARKS_ALIKE | LEVELS)[alike.lower()]
    if match["origin"]:
        return "origin", match["origin"].lower()
    name = next(name for name in ("priority", "uncertain", *_SAYING_NOTHING) if match[name])
    return name, match[name]


def _clock(hour: int, minute: str, half: str | None) -> str:
    if half:
        hour = hour % 12 + (12 if half in "pP" else 0) if hour <= 12 else hour  # noqa: PLR2004 - the clock's own twelve
    return f"{hour:02d}:{minute}"


def _tail(text: str) -> tuple[str, tuple[Cite, ...]]:
    """The text before the trailing citations, and these.

    The longest run of citations with balanced brackets is taken: in ``(see #12)`` the number belongs to the sentence.
    """
    words = _with_plain_cites(text).split(" ")
    start, depth, end = len(words), 0, len(words)
    while start:
        if words[start - 3 : start] == _HAPPENED_WORDS:
            start -= 3
        elif match := _CITE_WORD.fullmatch(words[start - 1]):
            start -= 1
            depth += bool(match["close"]) - bool(match["open"])
        else:
            break
        end = start if depth == 0 else end
    if end == len(words):
        return text, ()
    said = words[: end - 1] if end and words[end - 1] in _DASHES else words[:end]
    return " ".join(said), _cites(" ".join(words[end:]))


def _with_plain_cites(text: str) -> str:
    """The text with its trailing citations in plain form, after a space.

    After a letter or a character of a path ``#12`` is a name: ``acme/app#12``. Chinese and Japanese have no spaces.
    """
    if worded := _WORDED_CITES.search(text):
        text = f"{text[: worded.start()]}({worded[1].strip()})"
    signs = _JOINED.sub(_beside, _in_our_signs(text))
    start = _CITE_START.search(signs, len(signs.rstrip(_CITE_CHARACTERS)))
    if start is None:
        return text
    said, cited = text[: start.start()], signs[start.start() :].translate(_PLAIN)
    before = said[-1:]
    if before.isascii() and (before.isalnum() or before in {"/", "_", "-", "&"}):
        return text
    return f"{said.rstrip()} {_RUN_ON.sub(' ', _UNMARKED.sub(',#', cited))}".strip()


def _without_bold(text: str) -> str:
    """``**Ana** left`` as ``Ana left``; what may be a power or a path stays."""
    return _BOLD.sub(r"\1", text) if "**" in text else text


def _beside(match: re.Match[str]) -> str:
    """Two citations with a sign in place of the word between them, padded so that all else keeps its position."""
    by = "-" if match["to"] and match["one"][-1].isdigit() else " "
    return match["one"] + by + "*" * (len(match["by"]) - 1)


def _in_our_signs(text: str) -> str:
    """The text, of the same length, with the signs of a line's head and end as we write them."""
    return text if text.isascii() else plain_digits(text).translate(_SIGNS)


def _cites(text: str) -> tuple[Cite, ...]:
    pairs = ((int(first), int(last or first)) for first, last in _CITE_ENDS.findall(text))
    return tuple(dict.fromkeys(Cite(min(pair), max(pair)) for pair in pairs))


def _label(text: str) -> str:
    """A header's words without decoration: cut, cleaned, and only then read as a date, so that it reads back."""
    cut = one_line(text)[:LABEL_CHARACTERS_MAX]
    match = _LABEL_START.match(cut)
    plain = cut[match.end() if match else 0 :].rstrip("*#_: ")
    day = parse_day(plain)
    return day_label(day) if day else plain
