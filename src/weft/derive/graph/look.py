"""Colours, sizes and places that make sense at once: a node's site or depth, its links, its distance from the start."""

from __future__ import annotations

import colorsys
import math
from array import array
from collections import Counter
from collections.abc import Sequence

from weft.derive.graph.model import Look

Color = tuple[int, int, int]

OUTSIDE: Color = (170, 170, 170)
_WAY: tuple[Color, ...] = ((28, 84, 160), (0, 140, 165), (78, 165, 95), (232, 176, 52), (214, 92, 58))
"""From near to far: blue, teal, green, amber, red."""
_LEAST, _LARGEST = 4.0, 60.0
_GAP = 36.0
_TURN = math.pi * (3 - math.sqrt(5))  # the golden angle: neighbours in number are far apart in direction and hue


def color_of(number: int) -> Color:
    """A colour for the n-th of many things, unlike those of its neighbours."""
    hue = number * _TURN / (2 * math.pi) % 1.0
    red, green, blue = colorsys.hls_to_rgb(hue, 0.5 if number % 2 else 0.42, 0.65)
    return round(red * 255), round(green * 255), round(blue * 255)


def shade(share: float) -> Color:
    """A colour between near (0) and far (1)."""
    place = min(max(share, 0.0), 1.0) * (len(_WAY) - 1)
    first = min(int(place), len(_WAY) - 2)
    rest = place - first
    red, green, blue = (
        round(one + (other - one) * rest) for one, other in zip(_WAY[first], _WAY[first + 1], strict=True)
    )
    return red, green, blue


def size_of(degree: int, most: int) -> float:
    """A diameter whose area grows with the number of links."""
    return round(_LEAST + (_LARGEST - _LEAST) * math.sqrt(degree / most), 2) if most else _LEAST


class Rings:
    """Places for nodes: each group is a disc like a sunflower's, the least deep nodes in the middle, ring by ring.

    Needs the groups and depths of all nodes beforehand, and then gives places one after the other.
    """

    def __init__(self, groups: Sequence[int], depths: Sequence[int]) -> None:
        counts = Counter(zip(groups, depths, strict=True))
        self._next: dict[tuple[int, int], int] = {}  # the next free place of a group at a depth
        sizes: Counter[int] = Counter()
        for group, depth in sorted(counts):
            self._next[group, depth] = sizes[group]
            sizes[group] += counts[group, depth]
        self._centre = _centres({group: _GAP * math.sqrt(size) for group, size in sizes.items()})

    def place(self, group: int, depth: int) -> tuple[float, float]:
        """The next free place of a group at a depth."""
        number = self._next[group, depth]
        self._next[group, depth] += 1
        radius, angle = _GAP * math.sqrt(number), number * _TURN
        x, y = self._centre[group]
        return round(x + radius * math.cos(angle), 2), round(y + radius * math.sin(angle), 2)


def _centres(outer: dict[int, float]) -> dict[int, tuple[float, float]]:
    """Centres on a spiral, the largest groups innermost, each with room for its own rings."""
    centres: dict[int, tuple[float, float]] = {}
    covered = 0.0  # the square of the radius within which everything so far lies, roughly
    for number, (group, radius) in enumerate(sorted(outer.items(), key=lambda item: (-item[1], item[0]))):
        room = (radius + 2 * _GAP) ** 2 * 1.6
        distance = math.sqrt(covered) + (radius if number else 0.0)
        centres[group] = (distance * math.cos(number * _TURN), distance * math.sin(number * _TURN))
        covered += room
    return centres


class Painter:
    """The look of page nodes: coloured by site where there are several, else by depth; sized by links to them."""

    def __init__(self, sites: Sequence[int], depths: Sequence[int], degrees: array[int], fetched: int) -> None:
        self._several = len(set(sites[:fetched])) > 1
        self._numbers = {site: number for number, site in enumerate(dict.fromkeys(sites[:fetched]))}
        self._deepest = max(depths, default=0)
        self._most = max(degrees, default=0)
        self._rings = Rings(sites, depths)
        self._fetched = fetched

    def look(self, number: int, site: int, depth: int, degree: int) -> Look:
        if number >= self._fetched:
            color = OUTSIDE
        elif self._several:
            color = color_of(self._numbers[site])
        else:
            color = shade(depth / self._deepest if self._deepest else 0.0)
        return Look(color, size_of(degree, self._most), *self._rings.place(site, depth))
