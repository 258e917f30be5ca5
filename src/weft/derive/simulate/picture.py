"""The curves of a comparison as a picture: SVG, PNG, or a page that holds the SVG and the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from weft.derive.graph.paint import font
from weft.derive.report.markup import Html, join, tag
from weft.derive.simulate.compare import IDEAL, OMNISCIENT, Comparison
from weft.derive.simulate.measured import ideal
from weft.derive.simulate.model import Simulated
from weft.errors import SpecError
from weft.extras import need
from weft.text.safe import in_xml

WIDTH, HEIGHT = 1_000, 620
_LEFT, _TOP, _RIGHT, _BOTTOM = 80, 70, 250, 70
_POINTS = 400
_COLORS = (
    "#1f6feb", "#d1242f", "#1a7f37", "#bf8700", "#8250df", "#0a7ea4", "#bc4c00", "#57606a", "#bf3989", "#4d2d00"
)  # fmt: skip
_GREY = "#8c959f"
ENDINGS = (".png", ".svg", ".html")


class Line(NamedTuple):
    """A polyline."""

    points: list[tuple[float, float]]
    color: str
    width: float
    dashed: bool = False


class Words(NamedTuple):
    """A text; ``anchor`` is start, middle or end."""

    x: float
    y: float
    words: str
    anchor: str = "start"
    size: int = 15
    color: str = "#1f2328"


class Picture(NamedTuple):
    """All that is drawn."""

    lines: list[Line]
    texts: list[Words]


def require_form(file: str) -> None:
    """Raises ``SpecError`` for an ending that is no form of a picture, and where PNG cannot be written."""
    if Path(file).suffix.lower() not in ENDINGS:
        raise SpecError(f"{file}: a plot is written as {', '.join(ENDINGS)}")
    if file.lower().endswith(".png"):
        need("graph")


def write_plot(file: str, comparison: Comparison, answer: Simulated) -> None:
    """Writes the picture, in the form of the file's ending."""
    picture = _drawn(comparison, answer)
    path, form = Path(file), Path(file).suffix.lower()
    if form == ".png":
        _write_png(path, picture)
    elif form == ".svg":
        path.write_text(_svg(picture), encoding="utf-8")
    else:
        path.write_text(_page(picture, answer), encoding="utf-8")


def _drawn(comparison: Comparison, answer: Simulated) -> Picture:
    fetched = comparison.fetched
    curves: list[tuple[str, npt.NDArray[np.int64], str, bool]] = [
        (IDEAL, ideal(fetched[OMNISCIENT], comparison.importance), _GREY, True),
        (OMNISCIENT, fetched[OMNISCIENT], "#1f2328", True),
    ]
    names = [name for name in answer.orders if name not in (IDEAL, OMNISCIENT)]
    curves += [(name, fetched[name], _COLORS[at % len(_COLORS)], False) for at, name in enumerate(names)]
    lines, texts = _axes(answer)
    for place, (name, nodes, color, dashed) in enumerate(curves):
        gained = np.cumsum(comparison.importance[nodes])
        shares = gained / gained[-1] if gained[-1] else gained
        at = np.unique(np.linspace(0, len(nodes) - 1, _POINTS).astype(np.int64))
        points = [_place(0.0, 0.0), *(_place((n + 1) / len(nodes), float(shares[n])) for n in at)]
        lines.append(Line(points, color, 2.5, dashed))
        y = _TOP + 20 + 26 * place
        lines.append(Line([(WIDTH - _RIGHT + 20, y - 5), (WIDTH - _RIGHT + 55, y - 5)], color, 3.0, dashed))
        texts.append(Words(WIDTH - _RIGHT + 63, y, name))
    return Picture(lines, texts)


def _place(x: float, y: float) -> tuple[float, float]:
    across, down = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM
    return round(_LEFT + x * across, 1), round(HEIGHT - _BOTTOM - y * down, 1)


def _axes(answer: Simulated) -> tuple[list[Line], list[Words]]:
    lines, texts = [], []
    for tenth in range(0, 11, 2):
        share = tenth / 10
        lines.append(Line([_place(0, share), _place(1, share)], "#d0d7de", 1.0))
        lines.append(Line([_place(share, 0), _place(share, 1)], "#d0d7de", 1.0))
        (x, bottom), (left, y) = _place(share, 0), _place(0, share)
        texts.append(Words(x, bottom + 24, f"{tenth * 10} %", "middle"))
        texts.append(Words(left - 10, y + 5, f"{tenth * 10} %", "end"))
    title = f"{Path(answer.graph).name}: share of {answer.by} in the pages fetched first"
    texts.append(Words(_LEFT, 38, title, size=20))
    middle = _place(0.5, 0)
    texts.append(Words(middle[0], HEIGHT - 18, f"of the {answer.reachable:,} pages that can be reached", "middle"))
    return lines, texts


def _svg(picture: Picture) -> str:
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
    ]
    for line in picture.lines:
        points = " ".join(f"{x:g},{y:g}" for x, y in line.points)
        dashes = ' stroke-dasharray="7 5"' if line.dashed else ""
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{line.color}" stroke-width="{line.width:g}"{dashes}/>'
        )
    for text in picture.texts:
        parts.append(
            f'<text x="{text.x:g}" y="{text.y:g}" font-size="{text.size}" fill="{text.color}"'
            f' text-anchor="{text.anchor}">{in_xml(text.words)}</text>'
        )
    return "\n".join([*parts, "</svg>\n"])


def _page(picture: Picture, answer: Simulated) -> str:
    """One file of HTML, which needs no network."""
    at = list(next(iter(answer.orders.values())).share)
    head = tag("tr", tag("th", "order"), *(tag("th", f"{text} %") for text in at), tag("th", "mean"))
    rows = [
        tag("tr", tag("td", name), *(tag("td", f"{value:.3f}") for value in (*curve.share.values(), curve.mean)))
        for name, curve in {**answer.orders, **answer.references}.items()
    ]  # fmt: skip
    style = "body{font-family:sans-serif;max-width:70rem;margin:2rem auto}td,th{padding:.2rem 1rem;text-align:right}"
    body = join([Html(_svg(picture)), tag("table", head, *rows), *(tag("p", note) for note in answer.notes)])
    title = f"{answer.graph}: orders compared"
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{in_xml(title)}</title>'
        f"<style>{style}</style></head><body>{body}</body></html>\n"
    )


def _write_png(path: Path, picture: Picture) -> None:
    """Drawn twice as large and made smaller, for smooth lines."""
    from PIL import Image, ImageDraw

    large = Image.new("RGB", (2 * WIDTH, 2 * HEIGHT), "#ffffff")
    draw = ImageDraw.Draw(large)
    for line in picture.lines:
        for points in _dashes(line.points) if line.dashed else [line.points]:
            draw.line([(2 * x, 2 * y) for x, y in points], fill=line.color, width=round(2 * line.width), joint="curve")
    small = large.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS)
    words = ImageDraw.Draw(small)
    for text in picture.texts:
        anchor = {"start": "ls", "middle": "ms", "end": "rs"}[text.anchor]
        words.text((text.x, text.y), text.words, font=font(text.size, False), fill=text.color, anchor=anchor)
    small.save(path, "PNG", optimize=True)


def _dashes(points: Sequence[tuple[float, float]]) -> list[list[tuple[float, float]]]:
    """A line in pieces of seven pixels, with gaps of five between them."""
    dashes: list[list[tuple[float, float]]] = []
    way, drawn = 0.0, False
    for (x1, y1), (x2, y2) in pairwise(points):
        length = float(np.hypot(x2 - x1, y2 - y1))
        steps = max(1, round(length))
        for step in range(steps):
            at = way + length * step / steps
            point = (x1 + (x2 - x1) * step / steps, y1 + (y2 - y1) * step / steps)
            draws = at % 12 < 7
            if draws and not drawn:
                dashes.append([])
            if draws:
                dashes[-1].append(point)
            drawn = draws
        way += length
    return [dash for dash in dashes if len(dash) > 1]
