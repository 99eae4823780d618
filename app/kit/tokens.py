"""Estimates the tokens of a text without a tokenizer, by a weighted count of its characters and of the runs they form.

Source: memory-rules.md section 1. The weights are fitted against `o200k_base`; method, errors and how to refit are in
docs/tokens.md.

Why the laws hold: no count below falls when text is added at either end. When two texts are joined, one pair of
characters at most changes the sum: a run that began there continues instead (`SEAM_LOSS_MAX`), or a pair forms
(`SEAM_GAIN_MAX`). The two add up to one token and the sum is rounded at the gain, so the estimate of the joined text is
within 1 of the sum of both estimates. Integer thousandths make that exact.

All counting is done by passes over bytes in C: 1 MiB in 10 to 20 ms, whatever the script.
"""

import codecs
from collections.abc import Collection, Mapping
from typing import Final
from zlib import adler32

SCALE = 1_000
SEAM_LOSS_MAX = 650
SEAM_GAIN_MAX = SCALE - SEAM_LOSS_MAX

# Classes of ASCII characters, by byte.
ASCII_CLASSES: Mapping[str, bytes] = {
    "letter_common": b"etaoinsr",
    "space": b" ",
    "letter_usual": b"lhdcumpgfywb",
    "digit": b"0123456789",
    "capital": b"ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "stop": b".,",
    "quote": b"\"'",
    "bracket": b"()[]{}<>",
    "rule": b"-=*#~+|",
    "letter_rare": b"vkxjqz",
    "line": b"\n",
    "colon": b":;",
    "underscore": b"_",
    "slash": b"/\\",
    "sign": b"@&%$^`!?",
    "tab": b"\t",
    "control": bytes([*range(9), *range(11, 32), 127]),
}

# Classes of wider characters, by the high byte of their UTF-16 units.
WIDE_CLASSES: Mapping[str, bytes] = {
    "han": bytes([*range(0x34, 0xA0), 0xF9, 0xFA]),
    "hangul": bytes(range(0xAC, 0xD8)),
    "kana": b"\x30",
    "fullwidth": b"\xfe\xff",
    "punctuation": b"\x20",
    "latin": b"\x00\x01\x02",
    "latin_vietnamese": b"\x1e",
    "cyrillic": b"\x04",
    "greek": b"\x03\x1f",
    "hebrew_armenian": b"\x05",
    "arabic": b"\x06\x07\x08",
    "indic": b"\x09\x0a\x0b\x0c\x0d",
    "thai": b"\x0e",
    "burmese_georgian": b"\x10",
    "symbol": bytes(range(0x21, 0x30)),
    "emoji": b"\xd8\xd9\xda\xdb",  # the first half of a surrogate pair; the second costs nothing
    "pair_end": b"\xdc\xdd\xde\xdf",
}

# The frequent characters in the half of the data that was fitted: they are more often part of a longer token.
HANGUL_COMMON = (
    "을하이는에다어를기서니해면가있로고사수나정지용요시화의보게세스한드할리아은습야설으려자동도데인제모그메능전탭터거"
    "일트앱싶버내튼음선들주알택떻상라여성경됩비위대구공방유영오안실디치추장진우원러법중카더호것누및되간후마금만확촬연"
    "생소르른홈좋입래운합없때결단네된켜처행않식업션재필부조변떤줘미같림번까레저과집초또색타통너블콘관력크린임태작바표"
    "품키잠받활절신문배볼목프파옵발명손점눌체록커개잘뒤무적찾길락최친항약텍악계백꾸두환찍속근와든건함못긴급투검청접암"
    "질노쪽삭글분삼루따코말취케람교송릿충난열축당역녹끄외"
)
HAN_COMMON = (
    "的我你一私和好是有很可以些不了喜学欢感这人在自来想会天也最作么个到生今能时要过常什己吗大非行谢去们当多他力友起何"
    "看工影活方觉如习听或近得者没子日趣理中家心助朋乐思建事気帮画旅动但做电情比对同彼分那更议让物地聊教说美定试间还道"
    "享受音上为解持下程意样难出食高元体文尝年部法本犬然考都实知次加呢身伴经棒合太新期技兴需等重小成楽菜校游用题入望找"
    "真啊其女术外色式种希果推于发怎間艺爱化问特里料荐关并确业所働時健"
)

# Thousandths of a token. Printed by `python -m tests.kit.fit_tokens`.
WEIGHTS: Mapping[str, int] = {
    "letter_common": 41,
    "letter_usual": 118,
    "letter_rare": 263,
    "capital": 293,
    "digit": 336,
    "space": 42,
    "line": 213,
    "tab": 400,
    "control": 743,
    "stop": 331,
    "quote": 23,
    "bracket": 236,
    "rule": 97,
    "colon": 405,
    "underscore": 276,
    "slash": 337,
    "sign": 314,
    "punctuation": 784,
    "fullwidth": 791,
    "kana": 663,
    "han": 1009,
    "han_common": 620,
    "hangul": 759,
    "hangul_common": 572,
    "word_start": 591,
    "number_start": 576,
    "mark_start": 609,
    "wide_start": 365,
    "case_change": 505,
    "loose_space": 350,
    "latin": 700,
    "latin_vietnamese": 100,
    "greek": 330,
    "cyrillic": 250,
    "hebrew_armenian": 340,
    "arabic": 290,
    "indic": 310,
    "thai": 420,
    "burmese_georgian": 400,
    "symbol": 1000,
    "emoji": 1500,
    "pair_end": 0,
    "other": 700,
}

_ASCII = bytes(range(128))
_WIDE = bytes(range(128, 256))
_LOWER = b"abcdefghijklmnopqrstuvwxyz"
_UPPER = ASCII_CLASSES["capital"]
_DIGITS = ASCII_CLASSES["digit"]
_MARKS = bytes(code for code in range(33, 127) if not chr(code).isalnum())


def _mask(ones: Collection[int], twos: Collection[int] = ()) -> bytes:
    """A table for `bytes.translate` that maps `ones` to 1, `twos` to 2 and every other byte to 0."""
    return bytes(1 if byte in ones else 2 if byte in twos else 0 for byte in range(256))


# Pairs of adjacent characters that are counted, as a table for `bytes.translate` and the pair it maps them to. Each run
# is counted at its start: words, numbers, marks, and bytes that are not ASCII (in UTF-8). The other pairs split a token
# that would have continued: `aB`, and a space before a digit or a mark.
_BEGINS = b"\0\1"
PAIRS = {
    "word_start": (_mask(_LOWER + _UPPER), _BEGINS),
    "number_start": (_mask(_DIGITS), _BEGINS),
    "mark_start": (_mask(_MARKS), _BEGINS),
    "wide_start": (_mask(_WIDE), _BEGINS),
    "case_change": (_mask(_LOWER, _UPPER), b"\1\2"),
    "loose_space": (_mask(b" ", _DIGITS + _MARKS), b"\1\2"),
}
_NOTHING = b"\0"  # put before the text, so that its first character starts a run
# A charmap codec encodes its 255 characters and ignores all others: the fastest way to count a set of characters.
_COMMON = {
    "hangul": codecs.charmap_build("\0" + HANGUL_COMMON),
    "han": codecs.charmap_build("\0" + HAN_COMMON),
}


def _weighing(classes: Mapping[str, bytes], weighed: Collection[int]) -> tuple[bytes, bytes]:
    """Tables for `bytes.translate`: the low and the high byte of each byte's weight, which exceeds one byte.

    Bytes that are not `weighed` have weight 0.
    """
    names = {code: name for name, members in classes.items() for code in members}
    weights = [WEIGHTS[names.get(code, "other")] if code in weighed else 0 for code in range(256)]
    return bytes(weight % 256 for weight in weights), bytes(weight // 256 for weight in weights)


_ASCII_WEIGHTS = _weighing(ASCII_CLASSES, _ASCII)  # the bytes of wider characters in UTF-8 weigh nothing here
_WIDE_WEIGHTS = _weighing(WIDE_CLASSES, range(256))
_COMMON_WEIGHTS = tuple((table, WEIGHTS[f"{name}_common"] - WEIGHTS[name]) for name, table in _COMMON.items())
SUMMED: Final = 256  # so many bytes never overflow the sum in `_sum`
_WEIGHED_PAIRS = tuple((table, pair, WEIGHTS[name]) for name, (table, pair) in PAIRS.items())
_ASCII_PAIRS = tuple((table, pair, WEIGHTS[name]) for name, (table, pair) in PAIRS.items() if name != "wide_start")


def text_tokens(text: str) -> int:
    """Estimate the tokens of `text`: 0 for none, else at least 1; monotone, and additive within 1. Linear in length."""
    if not text:
        return 0
    encoded = text.encode("utf-8", "surrogatepass")
    thousandths = _weight(encoded, _ASCII_WEIGHTS)
    led = _NOTHING + encoded
    ascii_only = text.isascii()
    for table, pair, weight in _ASCII_PAIRS if ascii_only else _WEIGHED_PAIRS:
        thousandths += led.translate(table).count(pair) * weight
    if not ascii_only:
        thousandths += _wide_weight(_wide(encoded))
    return max(1, (thousandths + SEAM_GAIN_MAX) // SCALE)


def _wide_weight(wide: str) -> int:
    """The weight of the classes of these characters, corrected for the common characters, which weigh less."""
    found = _weight(_high(wide), _WIDE_WEIGHTS)
    for table, more in _COMMON_WEIGHTS:
        common, _ = codecs.charmap_encode(wide, "ignore", table)
        found += len(common) * more
    return found


def _weight(characters: bytes, tables: tuple[bytes, bytes]) -> int:
    low, high = tables
    return _sum(characters.translate(low)) + 256 * _sum(characters.translate(high))


def _sum(numbers: bytes) -> int:
    """The sum of the bytes, by Adler-32 from 0: its lower half is the sum modulo 65,521. 5 times as fast as `sum`."""
    total = 0
    for start in range(0, len(numbers), SUMMED):
        total += adler32(numbers[start : start + SUMMED], 0) & 0xFFFF
    return total


def _wide(encoded: bytes) -> str:
    """The characters of a UTF-8 text that are not ASCII."""
    return encoded.translate(None, _ASCII).decode("utf-8", "surrogatepass")


def _high(wide: str) -> bytes:
    """The high bytes of the text's UTF-16 units."""
    return wide.encode("utf-16-be", "surrogatepass")[::2]
