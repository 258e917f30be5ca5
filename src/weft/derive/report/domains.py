"""G9: how the domains link to each other, as a picture and as a table; to what was visited, and to all known."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from weft.derive.report.charts import short
from weft.derive.report.markup import Html, tag, text
from weft.derive.stats.model import DomainLink
from weft.text.human import counted

SHOWN = 36
_ROWS = 40
_COLUMNS = 40
_SIZE = 900
_RADIUS = 250
_LABEL = 25
_LEVEL = 16  # so many labels can lie level, more are turned outwards
_HUES = 8
_HEATS = 7

Weights = Mapping[tuple[str, str], int]


class Domain(NamedTuple):
    """A domain of the picture."""

    name: str
    number: int  # in the order of the circle
    hue: int
    within: int  # its links to itself
    is_visited: bool
    is_start: bool


def weights_of(links: Iterable[DomainLink], *, visited: bool) -> dict[tuple[str, str], int]:
    """How many links lead from one domain to another."""
    numbers = {(link.source, link.target): link.visited if visited else link.known for link in links}
    return {pair: number for pair, number in numbers.items() if number}


def shown_domains(weights: Weights, first: Sequence[str], most: int = SHOWN) -> list[str]:
    """The domains worth showing: those named first, then those with the most links from and to others."""
    strength: defaultdict[str, int] = defaultdict(int)
    for (source, target), number in weights.items():
        if source != target:
            strength[source] += number
            strength[target] += number
        else:
            strength[source] += 0
    wanted = [name for name in first if name in strength]
    others = sorted((name for name in strength if name not in set(wanted)), key=lambda name: (-strength[name], name))
    return [*wanted, *others][:most]


# ---- the picture -----------------------------------------------------------------------------------------------


def picture(weights: Weights, names: Sequence[str], visited: frozenset[str], starts: frozenset[str]) -> Html:
    """The domains in a circle, and a line for every pair that links: the thicker, the more links."""
    order = sorted(names, key=_by_domain)
    places = {name: _place(number, len(order)) for number, name in enumerate(order)}
    pairs = sorted(
        ((pair, number) for pair, number in weights.items() if pair[0] in places and pair[1] in places),
        key=lambda one: one[1],
    )
    most = max((number for pair, number in pairs if pair[0] != pair[1]), default=1)
    hues = {name: number % _HUES for number, name in enumerate(order)}
    lines = [
        _line(places[source], places[target], number / most, hues[source],
              f"{source} \u2192 {target}: {counted(number, 'link')}",
              order.index(source), order.index(target))
        for (source, target), number in pairs
        if source != target
    ]  # fmt: skip
    dots = [
        _dot(
            Domain(name, number, hues[name], weights.get((name, name), 0), name in visited, name in starts),
            places[name], is_level=len(order) <= _LEVEL,
        )
        for number, name in enumerate(order)
    ]  # fmt: skip
    drawing = f'<g class="ties">{"".join(lines)}</g><g class="domains">{"".join(dots)}</g>'
    label = f"how {counted(len(order), 'domain')} link to each other"
    top = _SIZE / 2 - _RADIUS - 40 if len(order) <= _LEVEL else 0
    return Html(
        f'<svg viewBox="0 {top:.0f} {_SIZE} {_SIZE - 2 * top:.0f}" class="circle" role="img"'
        f' aria-label="{label}">{drawing}</svg>'
    )


def _by_domain(name: str) -> tuple[list[str], str]:
    """Subdomains beside each other: the labels from the last to the first."""
    return name.partition(":")[0].split(".")[::-1], name


def _place(number: int, of: int) -> float:
    """The angle of a domain."""
    return 2 * math.pi * number / max(1, of) - math.pi / 2


def _at(angle: float, radius: float) -> tuple[float, float]:
    return _SIZE / 2 + radius * math.cos(angle), _SIZE / 2 + radius * math.sin(angle)


def _line(start: float, end: float, strength: float, hue: int, title: str, source: int, target: int) -> str:
    """A curve by the middle that keeps to one side, so that there and back are two lines."""
    x1, y1 = _at(start, _RADIUS)
    x2, y2 = _at(end, _RADIUS)
    apart = min(abs(start - end), 2 * math.pi - abs(start - end)) / math.pi
    middle, side = _SIZE / 2, 0.13
    cx = middle + ((x1 + x2) / 2 - middle) * (1 - apart) * 0.8 - (y2 - y1) * side
    cy = middle + ((y1 + y2) / 2 - middle) * (1 - apart) * 0.8 + (x2 - x1) * side
    width = 0.7 + 5.3 * math.sqrt(strength)
    return (
        f'<path d="M{x1:.1f} {y1:.1f}Q{cx:.1f} {cy:.1f} {x2:.1f} {y2:.1f}" stroke-width="{width:.2f}"'
        f' class="tie h{hue}" data-s="{source}" data-t="{target}"><title>{text(title)}</title></path>'
    )


def _dot(domain: Domain, angle: float, *, is_level: bool) -> str:
    """A domain in the circle, with its name beside it."""
    x, y = _at(angle, _RADIUS)
    tx, ty = _at(angle, _RADIUS + 18)
    left = math.cos(angle) < -1e-9
    turn = 0.0 if is_level else math.degrees(angle) + (180 if left else 0)
    name, number, hue, within, is_visited, is_start = domain
    size = 5 + 5 * min(1.0, math.log10(within + 1) / 5)
    kind = f"dot h{hue}" if is_visited else "dot unseen-domain"
    label = name if len(name) <= _LABEL else f"{name[: _LABEL - 1]}\u2026"
    star = "\u2605 " if is_start else ""
    words = f"{label} {star.strip()}".strip() if left else f"{star}{label}"
    title = text(f"{name}{' (start)' if is_start else ''}: {counted(within, 'link')} within")
    return (
        f'<g class="domain" data-n="{number}"><title>{title}</title>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}" class="{kind}"/>'
        f'<text x="{tx:.1f}" y="{ty:.1f}" transform="rotate({turn:.1f} {tx:.1f} {ty:.1f})"'
        f' text-anchor="{"end" if left else "start"}" dominant-baseline="middle">{text(words)}</text></g>'
    )


# ---- the table -------------------------------------------------------------------------------------------------


def matrix(weights: Weights, names: Sequence[str], name: str) -> Html:
    """Domain by domain: how many links lead from the row to the column."""
    sources = {source for source, _ in weights}
    rows = [one for one in names if one in sources][:_ROWS]
    columns = list(names)[:_COLUMNS]
    most = max((number for (a, b), number in weights.items() if a != b), default=1)
    head = tag(
        "tr",
        tag("th", "from \u2193 to \u2192"),
        [tag("th", tag("span", tag("bdi", one)), scope="col") for one in columns],
    )
    body = [
        tag(
            "tr",
            tag("th", tag("bdi", row), scope="row"),
            [_cell(weights.get((row, one), 0), row == one, most) for one in columns],
        )
        for row in rows
    ]
    inner = tag("table", tag("caption", name, class_="unseen"), tag("thead", head), tag("tbody", body), class_="matrix")
    return tag("div", inner, class_="scroll", tabindex="0", role="region", aria_label=name)


def _cell(number: int, own: bool, most: int) -> Html:
    if not number:
        return tag("td", class_="own" if own else None)
    heat = "own" if own else f"q{heat_of(number, most)}"
    return tag("td", short(number), class_=heat, title=f"{number:,}")


def heat_of(number: int, most: int) -> int:
    """0 to 6, by powers: one link is 0, the most are 6."""
    if most <= 1:
        return _HEATS - 1
    return min(_HEATS - 1, int(_HEATS * math.log(number) / math.log(most))) if number > 0 else 0
