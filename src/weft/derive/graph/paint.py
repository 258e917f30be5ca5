"""Pictures of a graph: SVG for screens (names at every node, links that can be clicked), PNG for documents."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import IO, Any

from weft.derive.graph.look import Color
from weft.derive.graph.model import Graph
from weft.derive.graph.scene import HEIGHT, WIDTH, Curve, Scene, Text, scene_of
from weft.ports import Progress, silent
from weft.text.safe import in_xml

_FONTS = ("DejaVuSans.ttf", "NotoSans-Regular.ttf", "Arial.ttf", "Helvetica.ttc", "LiberationSans-Regular.ttf")
_BOLD = ("DejaVuSans-Bold.ttf", "NotoSans-Bold.ttf", "Arial_Bold.ttf", "LiberationSans-Bold.ttf")
_FINER = 2  # drawn this many times as large, then made smaller: smooth lines
_STEPS = 14


# ---- SVG -------------------------------------------------------------------------------------------------------


def write_svg(graph: Graph, out: IO[bytes], progress: Progress = silent) -> None:
    """A picture that browsers show: a page's title and address at the pointer, a click opens the page."""
    for part in _svg(scene_of(graph, progress)):
        out.write(part.encode("utf-8"))


def _svg(scene: Scene) -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
        ' font-family="DejaVu Sans, Verdana, Helvetica, Arial, sans-serif">\n'
        f'<title>{in_xml(scene.title)}</title>\n<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>\n'
        '<g fill="none" stroke-linecap="round">\n'
    )
    for curve in scene.curves:
        (x, y), (cx, cy), (ex, ey) = curve.start, curve.control, curve.end
        yield (
            f'<path d="M{x:.1f} {y:.1f}Q{cx:.1f} {cy:.1f} {ex:.1f} {ey:.1f}" stroke="{_hex(curve.color)}"'
            f' stroke-width="{curve.width}" stroke-opacity="{curve.opacity}"/>\n'
        )
    yield "</g>\n<g>\n"
    for curve in scene.curves:
        if curve.arrow:
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in _arrow(curve))
            yield f'<polygon points="{points}" fill="{_hex(curve.color)}" fill-opacity="{curve.opacity}"/>\n'
    yield "</g>\n<g>\n"
    for disc in scene.discs:
        circle = (
            f'<circle cx="{disc.x}" cy="{disc.y}" r="{disc.radius}" fill="{_hex(disc.color)}" stroke="#ffffff"'
            f' stroke-width="1.5"><title>{in_xml(disc.tooltip)}</title></circle>'
        )
        yield f'<a href="{in_xml(disc.url)}">{circle}</a>\n' if disc.url else f"{circle}\n"
    yield "</g>\n<g>\n"
    for text in scene.texts:
        weight = ' font-weight="bold"' if text.bold else ""
        halo = ' stroke="#ffffff" stroke-width="4" stroke-linejoin="round" paint-order="stroke"' if text.halo else ""
        yield (
            f'<text x="{text.x:.1f}" y="{text.y:.1f}" font-size="{text.size:g}" text-anchor="{text.anchor}"'
            f' fill="{_hex(text.color)}"{weight}{halo} pointer-events="none">{in_xml(text.words)}</text>\n'
        )
    yield "</g>\n</svg>\n"


def _hex(color: Color) -> str:
    return "#{:02x}{:02x}{:02x}".format(*color)


def _arrow(curve: Curve) -> list[tuple[float, float]]:
    """The three corners of the head at a curve's end."""
    (cx, cy), (ex, ey) = curve.control, curve.end
    angle = math.atan2(ey - cy, ex - cx)
    size = 5 + curve.width * 1.5
    sides = [(ex - size * math.cos(angle + turn), ey - size * math.sin(angle + turn)) for turn in (-0.4, 0.4)]
    return [(ex, ey), *sides]


# ---- PNG -------------------------------------------------------------------------------------------------------


def write_png(graph: Graph, out: IO[bytes], progress: Progress = silent) -> None:
    """The same picture as pixels."""
    from PIL import Image, ImageDraw

    scene = scene_of(graph, progress)
    progress("painting", 0, 0)
    large = Image.new("RGB", (WIDTH * _FINER, HEIGHT * _FINER), (255, 255, 255))
    draw = ImageDraw.Draw(large, "RGBA")
    for curve in scene.curves:
        shade = (*curve.color, round(255 * curve.opacity))
        draw.line(
            [(x * _FINER, y * _FINER) for x, y in _points(curve)], fill=shade,
            width=max(1, round(curve.width * _FINER)), joint="curve",
        )  # fmt: skip
        if curve.arrow:
            draw.polygon([(x * _FINER, y * _FINER) for x, y in _arrow(curve)], fill=shade)
    for disc in scene.discs:
        box = [(value * _FINER) for value in (
            disc.x - disc.radius, disc.y - disc.radius, disc.x + disc.radius, disc.y + disc.radius
        )]  # fmt: skip
        draw.ellipse(box, fill=disc.color, outline=(255, 255, 255), width=_FINER)
    picture = large.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS)
    words = ImageDraw.Draw(picture)
    for text in scene.texts:
        _write_words(words, text)
    picture.save(out, "PNG", optimize=True)


def _points(curve: Curve) -> list[tuple[float, float]]:
    """Points along a quadratic curve."""
    (x, y), (cx, cy), (ex, ey) = curve.start, curve.control, curve.end
    points = []
    for step in range(_STEPS + 1):
        t = step / _STEPS
        a, b, c = (1 - t) ** 2, 2 * t * (1 - t), t * t
        points.append((a * x + b * cx + c * ex, a * y + b * cy + c * ey))
    return points


def _write_words(draw: Any, text: Text) -> None:
    anchor = {"start": "ls", "middle": "ms", "end": "rs"}[text.anchor]
    chosen = font(text.size, text.bold)
    words = text.words
    if not hasattr(chosen, "getmask2"):  # a font of pixels without accents
        words = words.encode("latin-1", "replace").decode("latin-1")
    draw.text(
        (text.x, text.y), words, font=chosen, fill=text.color, anchor=anchor, stroke_width=3 if text.halo else 0,
        stroke_fill=(255, 255, 255),
    )  # fmt: skip


@lru_cache(maxsize=32)
def font(size: float, bold: bool) -> Any:
    """A font of the system that knows many scripts, else Pillow's own."""
    from PIL import ImageFont

    for name in (*(_BOLD if bold else ()), *_FONTS):
        try:
            return ImageFont.truetype(name, round(size))
        except OSError:
            continue
    return ImageFont.load_default(round(size))
