"""The colours of the coverage map: seen on their ground, and told apart by everybody."""

from collections.abc import Sequence
from itertools import combinations
from math import dist

import pytest
from playwright.async_api import Browser, expect

from tests.conftest import Service
from tests.console.conftest import page_of

Colour = tuple[float, ...]  # red, green and blue, linear, 0 to 1

SEEN = 3.0  # WCAG 2, 1.4.11: contrast of what is no text
APART = 0.1  # in OKLab, where 0.02 is the least that is noticed side by side
# How colours look to whom one of the three kinds of cones lacks: Machado, Oliveira and Fernandes, 2009.
SIGHTS: dict[str, list[Colour]] = {
    "usual": [(1, 0, 0), (0, 1, 0), (0, 0, 1)],
    "protanopia": [(0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)],
    "deuteranopia": [(0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)],
    "tritanopia": [(1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)],
}
CONES = [(0.41222147, 0.53633254, 0.05144599), (0.2119035, 0.68069955, 0.10739696), (0.08830246, 0.28171884, 0.6299787)]
OKLAB = [
    (0.21045426, 0.79361779, -0.00407205),
    (1.9779985, -2.4285922, 0.4505937),
    (0.02590404, 0.78277177, -0.80867577),
]
SHOWN = """() => {
  const figure = document.querySelector("main").appendChild(document.createElement("figure"));
  figure.className = "coverage";
  const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]);
  const kinds = rules.map((rule) => /^[.](by-[a-z]+|tail-mark)$/.exec(rule.selectorText)?.[1]).filter(Boolean);
  const shown = (kind) => {
    const piece = figure.appendChild(document.createElement("i"));
    piece.className = kind;
    return getComputedStyle(piece).backgroundColor;
  };
  const ground = getComputedStyle(document.documentElement).backgroundColor;
  return [ground, Object.fromEntries(kinds.map((kind) => [kind, shown(kind)]))];
}"""


def linear(css: str) -> Colour:
    parts = [int(part) / 255 for part in css.removeprefix("rgb(").removesuffix(")").split(",")]
    return tuple(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)


def times(matrix: Sequence[Colour], colour: Colour) -> Colour:
    return tuple(sum(one * other for one, other in zip(row, colour, strict=True)) for row in matrix)


def contrast(one: Colour, other: Colour) -> float:
    lower, higher = sorted(times([(0.2126, 0.7152, 0.0722)], colour)[0] + 0.05 for colour in (one, other))
    return higher / lower


def apart(one: Colour, other: Colour, sight: list[Colour]) -> float:
    def looks(colour: Colour) -> Colour:
        return times(OKLAB, tuple(max(0.0, part) ** (1 / 3) for part in times(CONES, times(sight, colour))))

    return dist(looks(one), looks(other))


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_coverage_map_is_seen_and_its_kinds_are_told_apart(
    service: Service, browser: Browser, scheme: str
) -> None:
    async with page_of(browser, service.url, color_scheme=scheme) as page:
        await expect(page.get_by_role("heading", name="Overview")).to_be_visible()
        ground, shown = await page.evaluate(SHOWN)
    kinds = {kind: linear(colour) for kind, colour in shown.items()}
    assert len(kinds) == 10
    assert [kind for kind, colour in kinds.items() if contrast(colour, linear(ground)) < SEEN] == []
    alike = [
        (one, other, name)
        for one, other in combinations(kinds, 2)
        for name, sight in SIGHTS.items()
        if apart(kinds[one], kinds[other], sight) < APART
    ]
    assert alike == []
