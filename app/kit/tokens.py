"""How many tokens a text is, without a tokenizer: a weighted count of its characters and of where their runs begin.

Source: memory-rules.md section 1. The weights are fitted against `o200k_base`; method, errors and how to refit are in
docs/tokens.md.

Why the laws hold: every count below never falls when text is added at either end, and at the seam of two texts at most
one pair of characters changes the sum: a run that began there begins no more (at most `SEAM_LOSS_MAX`), or a pair
meets (at most `SEAM_GAIN_MAX`). Together they span one token and the sum is rounded at the gain, so the estimate of
two texts joined is within 1 of the sum of theirs. Whole thousandths make that exact.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Mapping

OFFLOAD_BYTES = 64 * 1024
"""Texts larger than this are counted off the event loop (about 2 ms here; the caller's duty, this module is pure)."""

SCALE = 1_000
SEAM_LOSS_MAX = 650
SEAM_GAIN_MAX = SCALE - SEAM_LOSS_MAX

# Classes of ASCII characters, the frequent ones first: each is taken out of the text before the next is counted.
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

# Classes of wider characters: the first code point of each block. The frequent Hangul syllables and Han characters,
# which are more often part of a longer token, are those of the fitting half of the data.
WIDE_BLOCKS: tuple[tuple[int, str], ...] = (
    (0x80, "latin"),
    (0x250, "other"),
    (0x370, "greek"),
    (0x400, "cyrillic"),
    (0x530, "armenian"),
    (0x590, "hebrew"),
    (0x600, "arabic"),
    (0x900, "indic"),
    (0xE00, "thai"),
    (0xE80, "other"),
    (0x10A0, "georgian"),
    (0x1100, "other"),
    (0x1E00, "latin_vietnamese"),
    (0x1F00, "greek"),
    (0x2000, "punctuation"),
    (0x2070, "symbol"),
    (0x3000, "cjk_punctuation"),
    (0x3040, "hiragana"),
    (0x30A0, "katakana"),
    (0x3100, "other"),
    (0x3400, "han"),
    (0xA000, "other"),
    (0xAC00, "hangul"),
    (0xD7A4, "other"),
    (0xF900, "han"),
    (0xFB00, "other"),
    (0xFF00, "cjk_punctuation"),
    (0x10000, "other"),
    (0x1F000, "emoji"),
    (0x20000, "han"),
    (0x30000, "other"),
)
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
    "cjk_punctuation": 801,
    "hiragana": 646,
    "katakana": 686,
    "han": 1012,
    "han_common": 609,
    "hangul": 759,
    "hangul_common": 573,
    "word_start": 590,
    "number_start": 576,
    "mark_start": 609,
    "wide_start": 363,
    "case_change": 505,
    "loose_space": 350,
    "latin": 700,
    "latin_vietnamese": 100,
    "greek": 330,
    "cyrillic": 250,
    "armenian": 260,
    "hebrew": 380,
    "arabic": 290,
    "indic": 310,
    "thai": 420,
    "georgian": 260,
    "symbol": 1000,
    "emoji": 1500,
    "other": 700,
}

_ASCII = bytes(range(128))
_WIDE = bytes(range(128, 256))
_LOWER = b"abcdefghijklmnopqrstuvwxyz"
_UPPER = ASCII_CLASSES["capital"]
_DIGITS = ASCII_CLASSES["digit"]
_MARKS = bytes(code for code in range(33, 127) if not chr(code).isalnum())
_BLOCK_STARTS = [start for start, _ in WIDE_BLOCKS]
_BLOCK_NAMES = [name for _, name in WIDE_BLOCKS]
_COMMON = dict.fromkeys(HANGUL_COMMON, "hangul_common") | dict.fromkeys(HAN_COMMON, "han_common")


def _mask(ones: Collection[int], twos: Collection[int] = ()) -> bytes:
    """A table for `bytes.translate` that maps `ones` to 1, `twos` to 2 and every other byte to 0."""
    return bytes(1 if byte in ones else 2 if byte in twos else 0 for byte in range(256))


# Runs of one kind of byte, counted where they begin: words, numbers, marks, and text outside ASCII (in UTF-8).
_RUNS = {
    "word_start": _mask(_LOWER + _UPPER),
    "number_start": _mask(_DIGITS),
    "mark_start": _mask(_MARKS),
    "wide_start": _mask(_WIDE),
}
# Neighbours that part where a word would have gone on: `aB`, and a space that no word follows.
_PAIRS = {
    "case_change": _mask(_LOWER, _UPPER),
    "loose_space": _mask(b" ", _DIGITS + _MARKS),
}


def text_tokens(text: str) -> int:
    """Estimate the tokens of `text`: 0 for none, else at least 1; monotone, and additive within 1. Linear in length."""
    if not text:
        return 0
    thousandths = sum(WEIGHTS[name] * count for name, count in class_counts(text).items())
    return max(1, (thousandths + SEAM_GAIN_MAX) // SCALE)


def class_counts(text: str) -> Counter[str]:
    """What the estimate is a weighted sum of: characters by class, runs by kind, pairs by kind."""
    encoded = text.encode("utf-8", "surrogatepass")
    counts = _ascii_counts(encoded.translate(None, _WIDE))
    for name, table in _RUNS.items():
        mask = encoded.translate(table)
        counts[name] = mask.count(b"\0\1") + mask.startswith(b"\1")
    for name, table in _PAIRS.items():
        counts[name] = encoded.translate(table).count(b"\1\2")
    if not text.isascii():
        counts.update(_wide_counts(encoded))
    return counts


def _ascii_counts(remaining: bytes) -> Counter[str]:
    counts: Counter[str] = Counter()
    for name, members in ASCII_CLASSES.items():
        others = remaining.translate(None, members)
        counts[name] = len(remaining) - len(others)
        remaining = others
    return counts


def _wide_counts(encoded: bytes) -> Counter[str]:
    counts: Counter[str] = Counter()
    wide = encoded.translate(None, _ASCII).decode("utf-8", "surrogatepass")
    for character, count in Counter(wide).items():
        counts[_wide_class(character)] += count
    return counts


def _wide_class(character: str) -> str:
    common = _COMMON.get(character)
    return common or _BLOCK_NAMES[bisect_right(_BLOCK_STARTS, ord(character)) - 1]
