"""Shortens sentences: takes off openings and, in old notes, words that carry nothing.

Quoted text and code keep every letter: a quotation that was tidied is no quotation.
"""

import re

from app.kit.patterns import lazy_pattern

_OPENING = lazy_pattern(
    r"^(?:(?:oh|wow|whoa|woah|yeah|yes|yep|yup|no way|ok|okay|sure|well|so|aw+|ha(?:ha)+|lol|hey|hi|hello"
    r"|thanks|thank you"
    r"|absolutely|definitely|totally|exactly|anyway|btw|by the way|also|and"
    r"|but)(?:,? [A-Z]\w+)?[,!.]+ )+(?=\S)",
    re.IGNORECASE,
)
_KEPT = lazy_pattern(r"(\"[^\"]*\"|“[^“”]*”|`[^`]*`|「[^「」]*」|\([^()]*\))")
_IDLE = lazy_pattern(
    r"\b(?:really|just|so(?! that\b)|very|pretty|super|quite|actually|definitely|totally|absolutely|basically|honestly"
    r"|literally|kinda|kind of|sort of|a bit|a little|you know|i guess|i mean|of course|the"
    r"|an?(?! (?:second|minute|hour|day|night|week|month|quarter|year)\b))\s+",
    re.IGNORECASE,
)
# "a" and "an" say something in other languages: "de 9 a 17", "ich denke an dich".
_ENGLISH = lazy_pattern(
    r"\b(?:the|and|this|that|with|from|have|they|she|you|your|their|were|been|would|could|it|its|i'm|i've)\b",
    re.IGNORECASE,
)


def trimmed(sentence: str) -> str:
    """The sentence without "Yeah, ", "Thanks, Mel! " and the like at its head."""
    return _OPENING.sub("", sentence)


def telegraphic(text: str) -> str:
    """English without articles and filling adverbs, as notes are taken; quotations and brackets stay as they are."""
    if not _ENGLISH.search(text):
        return text
    pieces = _KEPT.split(text)
    return "".join(piece if at % 2 else _IDLE.sub("", piece) for at, piece in enumerate(pieces)).strip()
