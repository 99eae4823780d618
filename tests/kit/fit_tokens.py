"""Fits the weights of `app/kit/tokens.py`: `python -m tests.kit.fit_tokens` prints them, and the errors per language.

Robust non-negative least squares on the relative error: squares are re-weighted until they approximate the absolute
error (whose optimum is the median), each language counts the same, and each weight is pulled a little to its prior.
"""

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from app.kit.tokens import (
    ASCII_CLASSES,
    HAN_COMMON,
    HANGUL_COMMON,
    PAIRS,
    SCALE,
    SEAM_GAIN_MAX,
    SEAM_LOSS_MAX,
    WIDE_CLASSES,
    text_tokens,
)

DATA = Path(__file__).parents[3] / "shared" / "data" / "tokens" / "o200k_base.jsonl"
LONG_CHARACTERS = 200

# Prior weights, from o200k_base's splitting rule and a look at code.
PRIOR: Mapping[str, float] = {
    "letter_common": 0.05,
    "letter_usual": 0.12,
    "letter_rare": 0.2,
    "capital": 0.3,
    "digit": 0.33,
    "space": 0.02,
    "line": 0.3,
    "tab": 0.3,
    "control": 1.0,
    "stop": 0.3,
    "quote": 0.2,
    "bracket": 0.2,
    "rule": 0.1,
    "colon": 0.3,
    "underscore": 0.3,
    "slash": 0.3,
    "sign": 0.3,
    "punctuation": 0.8,
    "fullwidth": 0.8,
    "kana": 0.6,
    "han": 0.9,
    "han_common": 0.6,
    "hangul": 0.6,
    "hangul_common": 0.5,
    "word_start": 0.5,
    "number_start": 0.5,
    "mark_start": 0.6,
    "wide_start": 0.3,
    "case_change": 0.5,
    "loose_space": 0.3,
}
# Classes of which the data has next to none: counted with o200k_base on the Universal Declaration of Human Rights (the
# scripts, as means of their languages; `latin` is accented letters, which also pay for the plain ones around them)
FIXED: Mapping[str, float] = {
    "latin": 0.7,
    "latin_vietnamese": 0.1,
    "greek": 0.33,
    "cyrillic": 0.25,
    "hebrew_armenian": 0.34,
    "arabic": 0.29,
    "indic": 0.31,
    "thai": 0.42,
    "burmese_georgian": 0.4,
    "symbol": 1.0,
    "emoji": 1.5,
    "pair_end": 0.0,
    "other": 0.7,
}
SEAM_LOSS, SEAM_GAIN = SEAM_LOSS_MAX / SCALE, SEAM_GAIN_MAX / SCALE
CEILING: Mapping[str, float] = {
    "word_start": SEAM_LOSS,
    "number_start": SEAM_LOSS,
    "mark_start": SEAM_LOSS,
    "wide_start": SEAM_LOSS,
    "case_change": 0.8,  # when two texts are joined at one, a word's start is lost as well
    "loose_space": SEAM_GAIN,
    "tab": 0.4,  # the data's tabs follow line numbers; in code they are cheap
}
PULL = 0.3  # the strength with which a weight is pulled to its prior
NEAR = 0.02  # relative errors below this count as squares
ROUNDS = 25
SWEEPS = 300


@dataclass(frozen=True, slots=True)
class Sample:
    language: str
    text: str
    tokens: int

    @property
    def is_long(self) -> bool:
        return len(self.text) > LONG_CHARACTERS


def halves(path: Path = DATA) -> tuple[list[Sample], list[Sample]]:
    """The samples to fit and to test: alternating within each language, in the order of the file."""
    by_language: defaultdict[str, list[Sample]] = defaultdict(list)
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["o200k_base"]:
            by_language[row["lang"]].append(Sample(row["lang"], row["text"], row["o200k_base"]))
    samples = list(by_language.values())
    return [s for group in samples for s in group[::2]], [s for group in samples for s in group[1::2]]


def class_counts(text: str) -> Counter[str]:
    """The counts that the estimate weights: characters by class, and pairs."""
    counts = Counter(name for character in text for name in _classes(character))
    encoded = b"\0" + text.encode("utf-8", "surrogatepass")
    return counts + Counter({name: encoded.translate(table).count(pair) for name, (table, pair) in PAIRS.items()})


def _classes(character: str) -> Iterator[str]:
    if character in HANGUL_COMMON:
        yield "hangul_common"
    elif character in HAN_COMMON:
        yield "han_common"
    elif character.isascii():
        yield _class_of(ord(character), ASCII_CLASSES)
    else:
        for high in character.encode("utf-16-be", "surrogatepass")[::2]:
            yield _class_of(high, WIDE_CLASSES)


def _class_of(code: int, classes: Mapping[str, bytes]) -> str:
    return next((name for name, members in classes.items() if code in members), "other")


@dataclass(frozen=True, slots=True)
class Row:
    """One text as shares of its true tokens: the weighted sum of `shares` should be `target`."""

    shares: list[float]
    target: float
    weight: float


def rows(samples: Sequence[Sample], names: Sequence[str]) -> list[Row]:
    sizes: defaultdict[str, int] = defaultdict(int)
    for sample in samples:
        sizes[sample.language] += 1
    return [_row(sample, names, sizes[sample.language]) for sample in samples]


def _row(sample: Sample, names: Sequence[str], size: int) -> Row:
    counts = class_counts(sample.text)
    # Rounding takes 0.5 - SEAM_GAIN off on average; what is fixed is taken off the target.
    fixed = sum(FIXED.get(name, 0) * count for name, count in counts.items())
    target = (sample.tokens + 0.5 - SEAM_GAIN - fixed) / sample.tokens
    weight = 400 / size * min(len(sample.text), 600) / 600
    return Row([counts[name] / sample.tokens for name in names], target, weight)


def fit(samples: Sequence[Sample]) -> dict[str, int]:
    """Weights in thousandths of a token, by class."""
    names = list(PRIOR)
    equations = rows(samples, names)
    weights = list(PRIOR.values())
    for _ in range(ROUNDS):
        weights = _solve(names, equations, weights)
    fitted = {**dict(zip(names, weights, strict=True)), **FIXED}
    return {name: round(weight * SCALE) for name, weight in fitted.items()}


def _solve(names: Sequence[str], equations: Sequence[Row], weights: list[float]) -> list[float]:
    """One round of least squares within the bounds: normal equations, then coordinate descent."""
    size = range(len(names))
    gram = [[PULL**2 if i == j else 0.0 for j in size] for i in size]
    right = [PULL**2 * PRIOR[name] for name in names]
    for row in equations:
        miss = abs(sum(s * w for s, w in zip(row.shares, weights, strict=True)) - row.target)
        importance = row.weight * NEAR / max(miss, NEAR)
        used = [i for i in size if row.shares[i]]
        for i in used:
            scaled = importance * row.shares[i]
            right[i] += scaled * row.target
            for j in used:
                gram[i][j] += scaled * row.shares[j]
    return _descend(names, gram, right, weights)


def _descend(
    names: Sequence[str], gram: Sequence[Sequence[float]], right: Sequence[float], weights: list[float]
) -> list[float]:
    weights = list(weights)
    for _ in range(SWEEPS):
        for i, name in enumerate(names):
            pull = right[i] - sum(g * w for g, w in zip(gram[i], weights, strict=True)) + gram[i][i] * weights[i]
            weights[i] = min(max(pull / gram[i][i], 0.0), CEILING.get(name, 10.0))
    return weights


def errors(samples: Sequence[Sample], estimate: Callable[[str], int]) -> dict[str, float]:
    """Median absolute relative error per language."""
    misses: defaultdict[str, list[float]] = defaultdict(list)
    for sample in samples:
        misses[sample.language].append(abs(estimate(sample.text) / sample.tokens - 1))
    return {language: median(found) for language, found in misses.items()}


def table(title: str, estimate: Callable[[str], int]) -> str:
    columns = {
        f"{half_name} {length}": errors([sample for sample in half if sample.is_long is is_long], estimate)
        for length, is_long in ((f">{LONG_CHARACTERS}", True), (f"<={LONG_CHARACTERS}", False))
        for half_name, half in zip(("fit", "test"), halves(), strict=True)
    }
    lines = [f"{title:12}" + "".join(f"{name:>12}" for name in columns)]
    lines += [
        f"{language:12}" + "".join(f"{column[language]:12.1%}" for column in columns.values())
        for language in next(iter(columns.values()))
    ]
    return "\n".join(lines) + "\n"


def frequent(samples: Sequence[Sample], first: str, last: str, limit: int) -> str:
    """The most frequent characters of a range, for `HANGUL_COMMON` and `HAN_COMMON`."""
    seen = Counter(character for sample in samples for character in sample.text if first <= character <= last)
    return "".join(character for character, _ in seen.most_common(limit))


def main() -> None:
    fitting, _ = halves()
    weights = fit(fitting)

    def fitted(text: str) -> int:
        thousandths = sum(weights[name] * count for name, count in class_counts(text).items())
        return max(1, (thousandths + SEAM_GAIN_MAX) // SCALE)

    sys.stdout.write(table("shipped", text_tokens) + "\n" + table("fitted", fitted) + "\n")
    sys.stdout.write(f"WEIGHTS = {json.dumps(weights, indent=4)}\n")
    sys.stdout.write(f"HANGUL_COMMON = {frequent(fitting, '가', '힣', 250)!r}\n")
    sys.stdout.write(f"HAN_COMMON = {frequent(fitting, '一', '鿿', 200)!r}\n")


if __name__ == "__main__":
    main()
